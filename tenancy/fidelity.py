"""How exactly each scheduler keeps each promise: exact, approximate (and how), or refused (and why).

Nothing is dropped in silence: what a scheduler cannot keep is said here, per promise, team and flavor, shown by `render`,
kept beside the manifests, and fails `render --strict`. The rows come from the plan's numbers; a promise that nobody was
given has no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from . import kai
from .agreement.hardware import Hardware
from .plan import Plan, Share, TeamPlan


class Level(StrEnum):
    EXACT = "exact"
    APPROXIMATE = "approximate"
    REFUSED = "refused"


class Scheduler(StrEnum):
    KUEUE = "kueue"
    KAI = "kai"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How `scheduler` keeps `promise` for `subjects` (teams as `team (flavor)`, or empty for all): `level` and `how`."""

    scheduler: Scheduler
    promise: str
    level: Level
    how: str
    subjects: tuple[str, ...] = ()


POOL = "free pool"
_EXACT, _APPROXIMATE, _REFUSED = Level.EXACT, Level.APPROXIMATE, Level.REFUSED
_Case = tuple[Level, str]


def verdicts(plan: Plan) -> list[Verdict]:
    """Every verdict: Kueue's, then KAI's; in each the promises to teams, then those to all."""
    return [*_grouped(plan, Scheduler.KUEUE), *_grouped(plan, Scheduler.KAI)]


def refused(found: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in found if verdict.level is Level.REFUSED]


def _grouped(plan: Plan, scheduler: Scheduler) -> Iterator[Verdict]:
    """One verdict for all teams and flavors that a promise is kept alike for."""
    why = kai.refusal(plan) if scheduler is Scheduler.KAI else None
    judge = _kueue if scheduler is Scheduler.KUEUE else _kai
    cases: dict[tuple[str, Level, str], list[str]] = {}
    for team in plan.teams:
        for flavor in plan.flavors:
            for promise, (level, how) in judge(plan, team, flavor, team.shares[flavor.name]):
                key = (promise, _REFUSED, why) if why else (promise, level, how)
                subject = team.name if len(plan.flavors) == 1 else f"{team.name} ({flavor.name})"
                cases.setdefault(key, []).append(subject)
    order = sorted(cases, key=lambda key: _ORDER.index(key[0]))
    for promise, level, how in order:
        yield Verdict(scheduler, promise, level, how, tuple(cases[promise, level, how]))
    for promise, (level, how) in _KUEUE_ALL if scheduler is Scheduler.KUEUE else _KAI_ALL:
        if promise == POOL and not any(plan.pool.values()):
            continue
        yield Verdict(scheduler, promise, _REFUSED if why else level, why or how)


_ORDER = ("guaranteed", "lendable", "borrowable", "prod")


def _kueue(plan: Plan, team: TeamPlan, flavor: Hardware, share: Share) -> Iterator[tuple[str, _Case]]:
    if share.guaranteed:
        yield "guaranteed", (_EXACT, "nominalQuota; what others borrowed of it is reclaimed (reclaimWithinCohort: Any)")
        yield "lendable", (_EXACT, "lendingLimit: the rest never leaves the team")
    if share.borrowable is not None:
        yield "borrowable", (_EXACT, "borrowingLimit")
    if share.prod:
        first = {
            "cohort": "when it takes the slice back, the newest regular job is stopped first, the team's own too, "
            "which then reclaims from those who borrow",
            "queue": "when it takes the slice back, those who borrow are stopped first",
        }[plan.guarantee_on]
        yield "prod", (_EXACT, f"a queue of its own that owns the slice and never borrows; {first}")


_ROOM = (
    "a job is admitted whole by quota; whether nodes have room for each of its pods is not asked where its flavor has no "
    "topology, so on fragmented nodes some pods of an admitted job may wait"
)
_KUEUE_ALL: tuple[tuple[str, _Case], ...] = (
    (POOL, (_EXACT, "nominalQuota of the root Cohort, open to every queue")),
    ("priority", (_EXACT, "in each queue the higher priority goes first and may stop a lower one")),
    ("whole or not at all", (_APPROXIMATE, _ROOM)),
)


def _kai(plan: Plan, team: TeamPlan, flavor: Hardware, share: Share) -> Iterator[tuple[str, _Case]]:
    if share.guaranteed:
        if share.reserved and share.lendable:
            how = (
                f"exact in counts, in two queues: {share.lendable} in {team.name!r} and {share.reserved} in "
                f"'{team.name}{kai.RESERVED_SUFFIX}'; a job has one queue, so none larger than "
                f"{max(share.lendable, share.reserved)} fits the guarantee"
            )
            yield "guaranteed", (_APPROXIMATE, how)
        else:
            yield "guaranteed", (_EXACT, "quota of one queue; what others use over quota is reclaimed")
        yield "lendable", (_EXACT, "what is never lent stands in a root queue of its own, outside 'shared'")
    if share.borrowable is not None:
        yield "borrowable", (_EXACT, "limit of the team's queue in 'shared': lendable + borrowable")
    if share.prod:
        how = (
            "no slice is set aside: a prod job is one of priority class 100 or more (build, inference), which is never "
            "stopped and must fit the quota of its queue; it may take back as much as that quota, not only the slice"
        )
        yield "prod", (_APPROXIMATE, how)


_KAI_ALL: tuple[tuple[str, _Case], ...] = (
    (POOL, (_EXACT, "part of the quota of 'shared', over quota for every queue in it")),
    (
        "priority",
        (
            _APPROXIMATE,
            "in each queue the higher priority goes first; one of 100 or more is never stopped, whatever comes",
        ),
    ),
    (
        "whole or not at all",
        (_APPROXIMATE, "by PodGroup; a plain Job gets one for each pod unless its minimum number of members is set"),
    ),
)


def markdown(plan: Plan, found: list[Verdict]) -> str:
    """The report kept beside the manifests."""
    lines = [
        f"# How exactly the promises of {plan.cluster} are kept",
        "",
        "Made by `tenancy render`; one row for all teams a promise is kept alike for.",
        "",
        "| scheduler | promise | kept | for | how |",
        "| --- | --- | --- | --- | --- |",
    ]
    for it in found:
        lines.append(
            f"| {it.scheduler} | {it.promise} | {it.level} | {subjects_text(it)} | {it.how.replace('|', '/')} |"
        )
    return "\n".join(lines) + "\n"


def subjects_text(verdict: Verdict, most: int = 12) -> str:
    """Whom a verdict is for, short enough to read."""
    if not verdict.subjects:
        return "all"
    more = len(verdict.subjects) - most
    return ", ".join(verdict.subjects[:most]) + (f" and {more} more" if more > 0 else "")
