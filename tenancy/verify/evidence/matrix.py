"""Kinds × teams: how many promises of each were held, broken, not run. For the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .model import Outcome, Verdict
from .words import counts


@dataclass(frozen=True)
class Matrix:
    """`rows` are (scheduler, kind), a scheduler's together, and `teams` the columns, both in the order of the checks; `cells` has
    those with checks."""

    rows: tuple[tuple[str, str], ...]
    teams: tuple[str, ...]
    cells: dict[tuple[str, str, str], dict[Verdict, int]]


def matrix(outcomes: Iterable[Outcome]) -> Matrix:
    cells: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        check = outcome.check
        cells.setdefault((str(check.scheduler), check.kind, check.team), []).append(outcome)
    rows = dict.fromkeys((scheduler, kind) for scheduler, kind, _ in cells)
    schedulers = list(dict.fromkeys(scheduler for scheduler, _ in rows))
    return Matrix(
        rows=tuple(sorted(rows, key=lambda row: schedulers.index(row[0]))),
        teams=tuple(dict.fromkeys(team for _, _, team in cells)),
        cells={key: counts(these) for key, these in cells.items()},
    )
