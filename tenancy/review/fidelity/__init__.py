"""How exactly each scheduler keeps each promise: exact, approximate (and how), or refused (and why).

Nothing is dropped in silence: what a scheduler cannot keep is said here, per promise, team and flavor, shown by `render`,
kept beside the manifests, and fails `render --strict`. The rows come from the plan's numbers; a promise that nobody was
given has no row.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...agreement.plan import Plan
from ...objects.kai import refusal
from ...objects.schedulers import Scheduler
from . import kai, kueue
from .report import markdown, subjects_text
from .verdict import REFUSED, Level, Verdict

__all__ = ["Level", "Verdict", "markdown", "refused", "subjects_text", "verdicts"]

_ORDER = ("guaranteed", "lendable", "borrowable", "prod")


def verdicts(plan: Plan) -> list[Verdict]:
    """Every verdict: Kueue's, then KAI's; in each the promises to teams, then those to all."""
    return [*_grouped(plan, Scheduler.KUEUE), *_grouped(plan, Scheduler.KAI)]


def refused(found: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in found if verdict.level is Level.REFUSED]


def _grouped(plan: Plan, scheduler: Scheduler) -> Iterator[Verdict]:
    """One verdict for all teams and flavors that a promise is kept alike for."""
    why = refusal(plan) if scheduler is Scheduler.KAI else None
    to_team, to_all = (kueue.to_team, kueue.to_all) if scheduler is Scheduler.KUEUE else (kai.to_team, kai.to_all)
    cases: dict[tuple[str, Level, str], list[str]] = {}
    for team in plan.teams:
        for flavor in plan.flavors:
            for promise, (level, how) in to_team(plan, team, flavor, team.shares[flavor.name]):
                key = (promise, REFUSED, why) if why else (promise, level, how)
                subject = team.name if len(plan.flavors) == 1 else f"{team.name} ({flavor.name})"
                cases.setdefault(key, []).append(subject)
    order = sorted(cases, key=lambda key: _ORDER.index(key[0]))
    for promise, level, how in order:
        yield Verdict(scheduler, promise, level, how, tuple(cases[promise, level, how]))
    if why:
        yield Verdict(scheduler, "all else", REFUSED, why)
        return
    for promise, (level, how) in to_all(plan):
        yield Verdict(scheduler, promise, level, how)
