"""A difference on the terminal: the story first, then each section under its title."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from .live_impact import LiveImpact
from .model import Difference
from .report import Section, headline, sections

GAP = 2


def text(difference: Difference, width: int, impact: LiveImpact | None = None, *, detail: bool = False) -> str:
    """`width` in cells; a table may be wider. Without `detail` the objects are only counted."""
    lines = [part for said in headline(difference) for part in _wrapped(said, width)]
    for section in sections(difference, impact):
        if detail or not section.detail:
            lines += ["", section.title, *_body(section, width)]
    return "\n".join(lines) + "\n"


def _body(section: Section, width: int) -> Iterator[str]:
    if section.table:
        yield from _table([section.captions, *section.table])
    for line in section.lines:
        yield from _wrapped(line, width, "  ")


def _wrapped(line: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        line,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Names to the left, numbers to the right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    names = rows[0].index("guaranteed")
    for row in rows:
        cells = [
            f"{cell}{pad}" if place < names else f"{pad}{cell}"
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
            for pad in (" " * (size - cell_len(cell)),)
        ]
        yield (" " * GAP + (" " * GAP).join(cells)).rstrip()
