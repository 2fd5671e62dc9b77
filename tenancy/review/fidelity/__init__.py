"""How exactly each scheduler keeps each promise: exact, approximate (and how), or refused (and why).

Nothing is dropped in silence: what a scheduler cannot keep is said here, per promise, team and flavor, shown by `render`,
kept beside the manifests, and fails `render --strict`. The rows come from the plan's numbers; a promise that nobody was
given has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, Share, TeamPlan
from ...objects.registry import OBJECTS
from ...objects.schedulers import PerScheduler, Scheduler
from . import kai, kueue
from .report import markdown, subjects_text
from .verdict import REFUSED, Case, Level, Verdict

__all__ = ["Level", "Verdict", "markdown", "refused", "subjects_text", "verdicts"]

_ORDER = ("guaranteed", "lendable", "borrowable", "prod")


@dataclass(frozen=True, slots=True)
class _Keeps:
    """How a scheduler keeps the promises to a team, of one flavor, and those to all."""

    to_team: Callable[[Plan, TeamPlan, Hardware, Share], Iterator[tuple[str, Case]]]
    to_all: Callable[[Plan], Iterator[tuple[str, Case]]]


_KEEPS = PerScheduler(kueue=_Keeps(kueue.to_team, kueue.to_all), kai=_Keeps(kai.to_team, kai.to_all))


def verdicts(plan: Plan, schedulers: Collection[Scheduler] = tuple(Scheduler)) -> list[Verdict]:
    """Every verdict, one scheduler after the other; in each the promises to teams, then those to all."""
    return [verdict for scheduler in Scheduler if scheduler in schedulers for verdict in _grouped(plan, scheduler)]


def refused(found: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in found if verdict.level is Level.REFUSED]


def _grouped(plan: Plan, scheduler: Scheduler) -> Iterator[Verdict]:
    """One verdict for all teams and flavors that a promise is kept alike for."""
    why, keeps = OBJECTS[scheduler].refusal(plan), _KEEPS[scheduler]
    cases: dict[tuple[str, Level, str], list[str]] = {}
    for team in plan.teams:
        for flavor in plan.flavors:
            for promise, (level, how) in keeps.to_team(plan, team, flavor, team.shares[flavor.name]):
                key = (promise, REFUSED, why) if why else (promise, level, how)
                subject = team.name if len(plan.flavors) == 1 else f"{team.name} ({flavor.name})"
                cases.setdefault(key, []).append(subject)
    order = sorted(cases, key=lambda key: _ORDER.index(key[0]))
    for promise, level, how in order:
        yield Verdict(scheduler, promise, level, how, tuple(cases[promise, level, how]))
    if why:
        yield Verdict(scheduler, "all else", REFUSED, why)
        return
    for promise, (level, how) in keeps.to_all(plan):
        yield Verdict(scheduler, promise, level, how)
