"""An agreement's values as the file a person would write: tables in order, amounts in line, numbers under each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Table

Values = Mapping[str, Any]


def document(values: Values, comments: Mapping[tuple[str, ...], str], head: Sequence[str]) -> str:
    """TOML. `comments` stand beside a table's header, `head` above all."""
    made = tomlkit.document()
    for line in head:
        made.add(tomlkit.comment(line))
    for name, section in values.items():
        if name in ("topologies", "flavors", "departments", "teams"):
            parent = tomlkit.table(is_super_table=True)
            for key, value in section.items():
                parent.append(key, _table(value, comments.get((name, key))))
            made.append(name, parent)
        else:
            made.append(name, _table(section, comments.get((name,))))
    return made.as_string().strip("\n") + "\n"


def _table(values: Values, comment: str | None) -> Table:
    made = tomlkit.table()
    if comment:
        made.comment(comment)
    for key, value in values.items():
        made.append(key, _in_line(value))
    made.add(tomlkit.nl())
    return made


def _in_line(value: Any) -> Any:
    if isinstance(value, Mapping):
        made: InlineTable = tomlkit.inline_table()
        for key, item in value.items():
            made.append(key, _in_line(item))
        return made
    if isinstance(value, list):
        array = tomlkit.array()
        for entry in value:
            array.append(_in_line(entry))
        return array
    return value
