"""Promises that a scheduler keeps more or less exactly than before (`fidelity`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...agreement.plan import Plan
from ...objects.schedulers import Scheduler
from ..fidelity import Level, verdicts
from .model import FidelityChange

_Key = tuple[Scheduler, str, str]


def fidelity_changes(old: Plan, new: Plan, schedulers: Collection[Scheduler]) -> Iterator[FidelityChange]:
    """Where the level is another one, and what is new and refused; one for all teams for which it is alike."""
    was, becomes = _levels(old), _levels(new)
    found: dict[tuple[Scheduler, str, Level | None, Level, str], list[str]] = {}
    for (scheduler, promise, subject), (level, how) in becomes.items():
        before = was.get((scheduler, promise, subject))
        if (
            scheduler not in schedulers
            or (before and before[0] is level)
            or (not before and level is not Level.REFUSED)
        ):
            continue
        key = (scheduler, promise, before[0] if before else None, level, how)
        found.setdefault(key, []).extend([subject] if subject else [])
    for (scheduler, promise, level_before, level, how), subjects in found.items():
        yield FidelityChange(scheduler, promise, level_before, level, how, tuple(subjects))


def _levels(plan: Plan) -> dict[_Key, tuple[Level, str]]:
    """By scheduler, promise and team (with its flavor); of several verdicts on one the least exact."""
    order = list(Level)
    made: dict[_Key, tuple[Level, str]] = {}
    for verdict in verdicts(plan):
        for subject in verdict.subjects or ("",):
            key = (verdict.scheduler, verdict.promise, subject)
            if key not in made or order.index(made[key][0]) < order.index(verdict.level):
                made[key] = (verdict.level, verdict.how)
    return made
