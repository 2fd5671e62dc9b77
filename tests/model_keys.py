"""Every key that the model of the agreement knows, found by walking its types, and a file that sets each of them."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from samples import ROOT

from tenancy.agreement import Agreement

EACH = "*"
"""Stands in a key for the name of a table, or for the place in a list of tables."""
Key = tuple[str, ...]
SAMPLE = ROOT / "tests" / "agreements" / "every-key.toml"


def keys(table: type[BaseModel] = Agreement, path: Key = ()) -> Iterator[Key]:
    """The keys that hold a value and no further table: `("teams", "*", "lendable")`."""
    for name, field in table.model_fields.items():
        inner = next(_tables(field.annotation), None)
        if inner is None:
            yield (*path, name)
        else:
            several = _holds_several(field.annotation)
            yield from keys(inner, (*path, name, *([EACH] if several else [])))


def _tables(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _tables(part)


def _holds_several(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (dict, tuple)


def places(values: Any, key: Key) -> Iterator[tuple[str | int, ...]]:
    """Where plain values have the key: `("teams", "training", "lendable")`."""
    if not key:
        yield ()
        return
    if values is None:
        return
    first, rest = key[0], key[1:]
    if first == EACH:
        names = list(values) if isinstance(values, dict) else range(len(values))
        for name in names:
            yield from ((name, *place) for place in places(values[name], rest))
    elif first in values:
        yield from ((first, *place) for place in places(values[first], rest))


def value_at(values: Any, place: tuple[str | int, ...]) -> Any:
    for part in place:
        values = values[part]
    return values


def dotted(key: Key) -> str:
    return ".".join(key)
