"""A difference as a comment on a pull request: what matters in sight, detail folded, and never more than GitHub takes.

A comment of more than 65,536 characters is refused whole, so nothing would be said of the largest changes. Where a difference has
more, lines are left out from the end of the sections, those that matter least first, and each section says how many.

Names come from the agreement, which the pull request itself may have changed: every character that Markdown or GitHub could read
as anything but text is written as its number, so that a name is no HTML and no link. GitHub looks for mentions, issues and emoji
in what comes out of that, so after a character that begins one stands a space without width.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .live_impact import LiveImpact
from .model import Difference
from .report import Section, headline, sections

MARKER = "<!-- tenancy diff -->"
"""By this line whoever posts the comment finds it again."""
MOST = 65_000  # bytes of UTF-8, which are never fewer than characters; GitHub takes 65,536 characters
MOST_OF_LINE = 2_000  # bytes; a sentence may name every team
IN_SIGHT = 12  # lines of a section; a longer one is folded
NOTE = 100  # bytes kept for a section's word on what is left out

_BEGINS = r"[@#]|:(?=[A-Za-z_+/-]|\d+:)|(?<=\bw{3})\.|(?<=\bGH)-"
_NOT_PLAIN = re.compile(rf"(?P<begins>{_BEGINS})|[^\w ,.;:()→–−…+/%?!'-]|_", re.IGNORECASE)
NO_WIDTH = "&#8203;"
_SPACE = re.compile(r"\s+")


@dataclass(slots=True)
class _Block:
    """A section as it will be set: `lines` as many as there is room for, of `wanted`."""

    title: str
    head: list[str]
    wanted: Sequence[str]
    folded: bool
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        left = len(self.wanted) - len(self.lines)
        noted = [f"\n… and {left:,} more lines, for which there is no room here: see `tenancy diff`."] if left else []
        body = [*(self.head if self.lines else []), *self.lines, *noted]
        if not self.folded:
            return "\n".join([*([f"#### {self.title}", ""] if self.title else []), *body])
        return "\n".join(
            [f"<details><summary>{self.title} ({len(self.wanted):,})</summary>", "", *body, "", "</details>"]
        )


def markdown(difference: Difference, impact: LiveImpact | None = None, most: int = MOST) -> str:
    """The whole comment, at most `most` bytes."""
    blocks = [_Block("", [], [f"- {escape(entry)}" for entry in headline(difference)], folded=False)]
    blocks += [block for section in sections(difference, impact) for block in _blocks(section)]
    start = f"{MARKER}\n### The agreement of {escape(difference.new.cluster)}: what changes\n\n"
    room = most - _size(start) - sum(_size(block.text()) + _size("\n".join(block.head)) + NOTE for block in blocks)
    for most_lines in (IN_SIGHT, None):  # first what is in sight of every section, then the rest
        for block in blocks:
            for line in map(_cut, block.wanted[len(block.lines) : most_lines]):
                if room < _size(line):
                    break
                room -= _size(line)
                block.lines.append(line)
    return start + "\n\n".join(block.text() for block in blocks) + "\n"


def escape(text: str) -> str:
    """Text that is shown as it is."""
    return _NOT_PLAIN.sub(_escaped, _SPACE.sub(" ", text))


def _escaped(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};{NO_WIDTH if match['begins'] else ''}"


def _blocks(section: Section) -> list[_Block]:
    title = escape(section.title)
    made = []
    if section.table:
        names = section.captions.index("guaranteed")
        marks = ["---" if place < names else "--:" for place in range(len(section.captions))]
        head = [_row([escape(caption) for caption in section.captions]), _row(marks)]
        rows = [_row([escape(entry) for entry in row]) for row in section.table]
        made.append(_Block(title, head, rows, len(rows) > IN_SIGHT))
    if section.lines:
        lines = [f"- {escape(line)}" for line in section.lines]
        made.append(_Block(title, [], lines, section.detail or len(lines) > IN_SIGHT))
    return made


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cut(line: str) -> str:
    """A line of at most MOST_OF_LINE bytes; a cut is never inside of an escaped character."""
    data = line.encode()
    if len(data) <= MOST_OF_LINE:
        return line
    kept = re.sub(r"&#?\d*$", "", data[:MOST_OF_LINE].decode(errors="ignore"))
    return f"{kept}… and {len(line) - len(kept):,} characters more"


def _size(text: str) -> int:
    return len(text.encode()) + 2
