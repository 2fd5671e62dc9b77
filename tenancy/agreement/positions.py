"""Where in a TOML file the value at a path stands, by tree-sitter's grammar for TOML.

The answer is the value itself, else the key or table header that comes nearest to it: a missing key points at the table
it is missing from. Lines and columns count from 1, columns in characters.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from .findings import Path

_LANGUAGE = Language(tree_sitter_toml.language())
_KEYS = ("bare_key", "quoted_key", "dotted_key")


class Positions:
    """An index of one file from path to position."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode("utf-8", "surrogatepass").split(b"\n")
        self._found: dict[Path, tuple[int, int]] = {}
        self._array_lengths: dict[Path, int] = {}
        self._walk(Parser(_LANGUAGE).parse(b"\n".join(self._lines)).root_node)

    def of(self, path: Path) -> tuple[int, int]:
        """Line and column of the value at `path`, or of the nearest table around it; (1, 1) for the whole file."""
        while path and path not in self._found:
            path = path[:-1]
        return self._found.get(path, (1, 1))

    def _walk(self, document: Node) -> None:
        for node in document.named_children:
            if node.type == "pair":
                self._pair(node, ())
            elif node.type in ("table", "table_array_element"):
                self._table(node)

    def _table(self, node: Node) -> None:
        header = next((child for child in node.named_children if child.type in _KEYS), None)
        if header is None:
            return
        path: Path = tuple(_parts(header))
        if node.type == "table_array_element":
            index = self._array_lengths.get(path, 0)
            self._array_lengths[path] = index + 1
            self._note(path, header)
            path = (*path, index)
        for length in range(1, len(path) + 1):
            self._note(path[:length], header)
        for child in node.named_children:
            if child.type == "pair":
                self._pair(child, path)

    def _pair(self, node: Node, table: Path) -> None:
        children = [child for child in node.named_children if child.type != "comment"]
        if len(children) < 2:
            return
        key, value = children[0], children[1]
        path: Path = (*table, *_parts(key))
        for length in range(len(table) + 1, len(path)):
            self._note(path[:length], key)
        self._value(value, path)

    def _value(self, node: Node, path: Path) -> None:
        """Iterative: a hostile file may nest deeper than Python's stack."""
        pending: list[tuple[Node, Path]] = [(node, path)]
        while pending:
            node, path = pending.pop()
            self._note(path, node)
            if len(path) > 16:
                continue
            if node.type == "inline_table":
                for child in node.named_children:
                    parts = [part for part in child.named_children if part.type != "comment"]
                    if child.type == "pair" and len(parts) >= 2:
                        keys: Path = (*path, *_parts(parts[0]))
                        for length in range(len(path) + 1, len(keys)):
                            self._note(keys[:length], parts[0])
                        pending.append((parts[1], keys))
            elif node.type == "array":
                items = [child for child in node.named_children if child.type != "comment"]
                pending.extend((item, (*path, index)) for index, item in enumerate(items))

    def _note(self, path: Path, node: Node) -> None:
        row, column = node.start_point
        before = self._lines[row][:column] if row < len(self._lines) else b""
        self._found.setdefault(path, (row + 1, len(before.decode("utf-8", "replace")) + 1))


def _parts(key: Node) -> Iterator[str]:
    pending = [key]
    while pending:
        node = pending.pop()
        if node.type == "dotted_key":
            pending.extend(reversed([child for child in node.named_children if child.type in _KEYS]))
        else:
            yield _plain((node.text or b"").decode("utf-8", "replace"))


def _plain(text: str) -> str:
    """A key as tomllib reads it: quotes and escapes resolved."""
    if text[:1] not in ("'", '"'):
        return text
    try:
        return next(iter(tomllib.loads(f"{text} = 0")))
    except (tomllib.TOMLDecodeError, ValueError):
        return text[1:-1]
