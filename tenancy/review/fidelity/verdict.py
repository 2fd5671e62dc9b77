"""A verdict: how exactly a scheduler keeps a promise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...agreement.plan import Plan
from ...objects.schedulers import Scheduler


class Level(StrEnum):
    EXACT = "exact"
    APPROXIMATE = "approximate"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How `scheduler` keeps `promise` for `subjects` (teams as `team (flavor)`, or empty for all): `level` and `how`."""

    scheduler: Scheduler
    promise: str
    level: Level
    how: str
    subjects: tuple[str, ...] = ()


EXACT, APPROXIMATE, REFUSED = Level.EXACT, Level.APPROXIMATE, Level.REFUSED
Case = tuple[Level, str]


def weighted(plan: Plan) -> bool:
    """Whether the agreement gives anybody another weight than the default."""
    return bool(
        ({team.weight for team in plan.teams} | {department.weight for department in plan.departments}) - {1000}
    )
