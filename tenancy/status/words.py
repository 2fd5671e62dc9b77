"""Words and short forms of amounts, for every form of a standing."""

from __future__ import annotations

from collections.abc import Sequence

from ..quota.lending import POOL
from ..text.counts import counted
from ..text.plain import plain
from .model import Part

MOST_NAMES = 2  # in a cell
MOST_TEXT = 240  # characters of what a scheduler says: its messages name every flavor


def parts(some: Sequence[Part], most: int = MOST_NAMES, sum_about: bool = False) -> str:
    """What goes to, or comes from, whom: `8 research`, `12: 8 research, ~3 serving, 1 (2 more)`; with `most` 0 `12 (4 teams)`, below
    that `12`. `~` where the split is not known."""
    total = f"{'~' if sum_about else ''}{sum(part.units for part in some)}"
    if most < 0:
        return total
    if len(some) == 1:
        return f"{total} {_name(some[0])}"
    shown = some if len(some) <= most + 1 and most else some[:most]
    rest = some[len(shown) :]
    if not shown:
        pool = any(part.team == POOL for part in rest)
        teams = len(rest) - pool
        return f"{total} ({'the free pool and ' if pool else ''}{counted(teams, 'team')})"
    said = [f"{'~' if part.about else ''}{part.units} {_name(part)}" for part in shown]
    left = sum(part.units for part in rest)
    return f"{total}: {', '.join([*said, *([f'{left} ({len(rest)} more)'] if rest else [])])}"


def _name(part: Part) -> str:
    return part.team if part.team != POOL else "free pool"


def short_text(text: str, most: int = MOST_TEXT) -> str:
    """What somebody else wrote, on one line and not too long."""
    one = " ".join(plain(text).split())
    return one if len(one) <= most else f"{one[: most - 1].rstrip()}…"
