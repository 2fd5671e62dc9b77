"""Who held how much when, as SVG that stands inside an HTML page: a row for each holder, its units as a filled line.

The picture is stretched to the width there is; texts stand beside it in HTML, so that nothing of them is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import accumulate, groupby, pairwise
from math import ceil, floor

from ...text.plain import plain
from .model import UsageInterval

WIDTH, HEIGHT = 600, 26  # units of the picture; a change within one is drawn as the most
COLORS = 8  # `.c0` to `.c7` of the page


@dataclass(frozen=True)
class Row:
    """What one holder held over time: `levels` are (since, units), each until the next."""

    name: str
    flavor: str
    color: int
    levels: tuple[tuple[float, int], ...]

    @property
    def most(self) -> int:
        return max(units for _, units in self.levels)


def by_team(held: Iterable[UsageInterval], colors: Mapping[str, int]) -> list[Row]:
    """A row for each flavor and team: what its jobs held in all checks together."""
    return _rows(held, lambda held: (held.flavor, held.team), colors)


def by_queue(held: Iterable[UsageInterval], colors: Mapping[str, int]) -> list[Row]:
    """A row for each queue, of one check."""
    return _rows(held, lambda held: (held.flavor, held.queue or held.team), colors)


def colors(held: Iterable[UsageInterval]) -> dict[str, int]:
    """A colour for each team, by the order in which they appear."""
    return {team: number % COLORS for number, team in enumerate(dict.fromkeys(entry.team for entry in held))}


def svg(row: Row, start: float, end: float, marks: Iterable[float] = ()) -> str:
    """The picture of a row between two times. `marks`: times at which a line stands."""
    scale = WIDTH / max(end - start, 0.001)
    columns = [0] * WIDTH  # the most that was held within each
    for (since, units), (until, _) in pairwise((*row.levels, (end, 0))):
        for x in range(max(0, floor((since - start) * scale)), min(WIDTH, ceil((until - start) * scale))):
            columns[x] = max(columns[x], units)
    path, x = f"M0 {HEIGHT}", 0
    for units, run in groupby(columns):
        x += len(list(run))
        path += f"V{_n(HEIGHT * (1 - units / row.most))}H{x}"
    lines = "".join(f'<path class="mark" d="M{_n((at - start) * scale)} 0V{HEIGHT}"/>' for at in marks)
    title = f"{plain(row.name)}: at most {row.most} of {plain(row.flavor)} at once"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{escape(title)}">'
        f'<path class="area c{row.color}" d="{path}V{HEIGHT}Z"/>{lines}</svg>'
    )


def _rows(
    held: Iterable[UsageInterval], key: Callable[[UsageInterval], tuple[str, str]], colors: Mapping[str, int]
) -> list[Row]:
    changes: dict[tuple[str, str], Counter[float]] = {}
    team: dict[tuple[str, str], str] = {}
    for entry in held:
        of = changes.setdefault(key(entry), Counter())
        of[entry.since] += entry.units
        of[entry.until] -= entry.units
        team[key(entry)] = entry.team
    rows = []
    for holder, of in changes.items():
        times = sorted(of)
        levels = zip(times, accumulate(of[at] for at in times), strict=True)
        row = Row(holder[1], holder[0], colors.get(team[holder], 0), tuple(levels))
        rows += [row] if row.most > 0 else []
    return sorted(rows, key=lambda row: row.flavor)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
