"""Where in a TOML file a path stands, by tree-sitter's grammar for TOML.

A path has two places, its key's and its value's; a table with a header has only keys, each part of the header its own.
What is not in the file is answered by the nearest table around it, so a missing key points at the table it is missing
from. Lines and columns count from 1, columns in characters.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from .findings import Path

_LANGUAGE = Language(tree_sitter_toml.language())
_KEYS = ("bare_key", "quoted_key", "dotted_key")
_DEEPEST = 16  # an agreement is at most four tables deep; a hostile file may be thousands

Place = tuple[int, int]


class Positions:
    """An index of one file from path to position."""

    def __init__(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self._lines = data.split(b"\n")
        self._keys: dict[Path, Place] = {}
        self._values: dict[Path, Place] = {}
        self._array_lengths: dict[Path, int] = {}
        self._walk(Parser(_LANGUAGE).parse(data).root_node)

    def of(self, path: Path, *, key: bool = False) -> Place:
        """Line and column of the value at `path` (or of its key), else of the nearest table around it, else (1, 1)."""
        first, second = (self._keys, self._values) if key else (self._values, self._keys)
        path = path[:_DEEPEST]
        while path:
            if place := first.get(path) or second.get(path):
                return self._in_characters(place)
            path = path[:-1]
        return 1, 1

    def _walk(self, document: Node) -> None:
        for node in document.named_children:
            if node.type == "pair":
                self._pairs([(node, ())])
            elif node.type in ("table", "table_array_element"):
                self._table(node)

    def _table(self, node: Node) -> None:
        header = next((child for child in node.named_children if child.type in _KEYS), None)
        if header is None:
            return
        path = self._enter((), header)
        if node.type == "table_array_element":
            index = self._array_lengths.get(path, 0)
            self._array_lengths[path] = index + 1
            path = (*path, index)
            self._keys.setdefault(path, header.start_point)
        self._pairs([(child, path) for child in node.named_children if child.type == "pair"])

    def _pairs(self, pending: list[tuple[Node, Path]]) -> None:
        """`key = value` in the table at a path, and all within the value. Iterative: it may nest deeper than the stack."""
        while pending:
            node, path = pending.pop()
            parts = [child for child in node.named_children if child.type != "comment"]
            if node.type == "pair":
                if len(parts) < 2:
                    continue
                path, node = self._enter(path, parts[0]), parts[1]
                parts = [child for child in node.named_children if child.type != "comment"]
            if node.type != "pair":
                self._values.setdefault(path, node.start_point)
            if len(path) >= _DEEPEST:
                continue
            if node.type == "inline_table":
                pending.extend((part, path) for part in parts if part.type == "pair")
            elif node.type == "array":
                pending.extend((part, (*path, index)) for index, part in enumerate(parts))

    def _enter(self, table: Path, key: Node) -> Path:
        """The path that a key, dotted or not, leads to; each of its parts is noted where it stands."""
        path = table
        for text, node in _parts(key):
            if len(path) >= _DEEPEST:
                break
            path = (*path, text)
            self._keys.setdefault(path, node.start_point)
        return path

    def _in_characters(self, place: Place) -> Place:
        row, column = place
        before = self._lines[row][:column] if row < len(self._lines) else b""
        return row + 1, len(before.decode("utf-8", "replace")) + 1


def _parts(key: Node) -> Iterator[tuple[str, Node]]:
    """The single keys of a key. Iterative, as the grammar nests `a.b.c` as `(a.b).c`."""
    pending = [key]
    while pending:
        node = pending.pop()
        if node.type == "dotted_key":
            pending.extend(reversed([child for child in node.named_children if child.type in _KEYS]))
        else:
            yield _plain((node.text or b"").decode("utf-8", "replace")), node


def _plain(text: str) -> str:
    """A key as tomllib reads it: quotes and escapes resolved."""
    if text[:1] not in ("'", '"'):
        return text
    try:
        return next(iter(tomllib.loads(f"{text} = 0")))
    except (tomllib.TOMLDecodeError, ValueError):
        return text[1:-1]
