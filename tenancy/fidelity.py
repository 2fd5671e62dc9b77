"""How exactly each scheduler keeps each promise: exact, approximate (and how), or refused (and why).

Nothing is dropped in silence: what a scheduler cannot keep is said here, per promise, team and flavor, shown by `render`,
kept beside the manifests, and fails `render --strict`. The rows come from the plan's numbers; a promise that nobody was
given has no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from . import kai, kueue
from .agreement.hardware import HOSTNAME, Hardware
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


_EXACT, _APPROXIMATE, _REFUSED = Level.EXACT, Level.APPROXIMATE, Level.REFUSED
_Case = tuple[Level, str]
_ORDER = ("guaranteed", "lendable", "borrowable", "prod")


def verdicts(plan: Plan) -> list[Verdict]:
    """Every verdict: Kueue's, then KAI's; in each the promises to teams, then those to all."""
    return [*_grouped(plan, Scheduler.KUEUE), *_grouped(plan, Scheduler.KAI)]


def refused(found: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in found if verdict.level is Level.REFUSED]


def _grouped(plan: Plan, scheduler: Scheduler) -> Iterator[Verdict]:
    """One verdict for all teams and flavors that a promise is kept alike for."""
    why = kai.refusal(plan) if scheduler is Scheduler.KAI else None
    to_team, to_all = (_kueue, _kueue_all) if scheduler is Scheduler.KUEUE else (_kai, _kai_all)
    cases: dict[tuple[str, Level, str], list[str]] = {}
    for team in plan.teams:
        for flavor in plan.flavors:
            for promise, (level, how) in to_team(plan, team, flavor, team.shares[flavor.name]):
                key = (promise, _REFUSED, why) if why else (promise, level, how)
                subject = team.name if len(plan.flavors) == 1 else f"{team.name} ({flavor.name})"
                cases.setdefault(key, []).append(subject)
    order = sorted(cases, key=lambda key: _ORDER.index(key[0]))
    for promise, level, how in order:
        yield Verdict(scheduler, promise, level, how, tuple(cases[promise, level, how]))
    if why:
        yield Verdict(scheduler, "all else", _REFUSED, why)
        return
    for promise, (level, how) in to_all(plan):
        yield Verdict(scheduler, promise, level, how)


def _kueue(plan: Plan, team: TeamPlan, flavor: Hardware, share: Share) -> Iterator[tuple[str, _Case]]:
    if share.guaranteed:
        how = "nominalQuota; what others borrowed of it is reclaimed (reclaimWithinCohort: Any)"
        if goes_by_shares(plan, team):
            how += (
                "; of its regular queue a reclaim goes by shares over all flavors together, so while the team borrows of "
                "another flavor it gets its guarantee back only until the others borrow no more than it does; "
                'guarantee_on = "queue" has it back whole'
            )
            yield "guaranteed", (_APPROXIMATE, how)
        else:
            yield "guaranteed", (_EXACT, how)
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


def goes_by_shares(plan: Plan, team: TeamPlan) -> bool:
    """Whether Kueue gives a regular queue its guarantee back by shares: its nominal quota stands on the Cohort, and fair
    sharing looks at the queue's own (FairSharingPreemptWithinNominal, kueue#9406). Of one flavor only, both are one."""
    fair = plan.sharing.policy == "fair"
    return fair and team.has_prod and plan.guarantee_on == "cohort" and len(plan.flavors) > 1


def _kueue_all(plan: Plan) -> Iterator[tuple[str, _Case]]:
    if any(plan.pool.values()):
        yield "free pool", (_EXACT, "nominalQuota of the root Cohort, open to every queue")
    priority = "in each queue the higher priority goes first and may stop a lower one"
    if any(team.has_prod for team in plan.teams):
        yield (
            "priority",
            (_APPROXIMATE, f"{priority}; a team's prod queue takes back its slice whatever the priorities"),
        )
    else:
        yield "priority", (_EXACT, priority)
    trees = [kueue.topology_of(plan, flavor) for flavor in plan.flavors]
    if all(tree and tree.levels[-1] == HOSTNAME for tree in trees):
        yield (
            "whole or not at all",
            (_EXACT, "a job is admitted whole, and only where nodes have room for all its pods"),
        )
    else:
        how = (
            "a job is admitted whole by quota; whether nodes have room for each of its pods is not asked where its "
            "flavor has no topology down to the host, so on fragmented nodes some pods of an admitted job may wait"
        )
        yield "whole or not at all", (_APPROXIMATE, how)
    yield "own namespaces", (_EXACT, "a team's queues take jobs only from namespaces that carry its label")
    yield from _access(plan)
    yield "CPU and memory", (_EXACT, "quota in each flavor's ratio, lent and borrowed as the units are")
    if any(flavor.topology for flavor in plan.flavors):
        how = "topologyName of the flavor; a job asks for a level by annotation, and one that asks for none is packed by host"
        if kueue.topologies(plan) != plan.topologies:
            how += (
                "; flavors that name none have one of hosts, or jobs without the annotation got only those (kueue#7491)"
            )
        yield "topologies", (_EXACT, how)
    if any(flavor.taints for flavor in plan.flavors):
        yield "taints", (_EXACT, "jobs that are given the flavor get its tolerations")
    if plan.priorities:
        yield "priorities", (_EXACT, "a WorkloadPriorityClass each")
    yield from _kueue_sharing(plan)


def _weighted(plan: Plan) -> bool:
    """Whether the agreement gives anybody another weight than the default."""
    return bool(({it.weight for it in plan.teams} | {it.weight for it in plan.departments}) - {1000})


def _kueue_sharing(plan: Plan) -> Iterator[tuple[str, _Case]]:
    """What Kueue's own Configuration switches on."""
    if plan.sharing.policy == "fair":
        how = (
            "fairSharing.weight, compared by the resource of which a node borrows most, all flavors together, in whole jobs; "
            "Kueue's Configuration must have fairSharing (kueue-values.yaml)"
        )
        yield "weights", (_APPROXIMATE, how)
    elif _weighted(plan):
        yield "weights", (_REFUSED, 'Kueue reads them only with [sharing] policy = "fair"')
    if plan.sharing.usage:
        how = "admissionScope of each queue; Kueue's Configuration must have admissionFairSharing (kueue-values.yaml)"
        yield "usage", (_EXACT, how)


def _access(plan: Plan) -> Iterator[tuple[str, _Case]]:
    """What Kubernetes keeps, not the scheduler."""
    if plan.access:
        how = "the API server refuses a job that asks for GPUs and names no queue of its namespace; Kueue must manage its kind"
        yield "who may do what", (_EXACT, how)
    if plan.prod_priority and any(team.has_prod for team in plan.teams):
        if plan.access:
            how = "given by a policy that Kubernetes serves from 1.36 on; on an older cluster jobs name it themselves"
            yield "prod priority", (_EXACT, how)
        else:
            how = "only for jobs that name it: the policy that gives it to prod jobs comes with [access]"
            yield "prod priority", (_APPROXIMATE, how)
    if any(team.machines for team in plan.teams):
        how = (
            "a quota of their number and of the memory of their pods; a live migration needs one pod more for a while, "
            "for which a full quota has no room"
        )
        yield "machines", (_APPROXIMATE, how)


def _kai(plan: Plan, team: TeamPlan, flavor: Hardware, share: Share) -> Iterator[tuple[str, _Case]]:
    regular, reserved = kai.regular(plan, team, flavor), kai.reserved(plan, team, flavor)
    counted = "" if kai.per_unit(flavor) == 1 or flavor.unit == "cpu" else _slices(flavor)
    if share.guaranteed:
        if share.reserved and share.lendable:
            how = (
                f"exact in counts, in two queues: {share.lendable} in {regular!r} and {share.reserved} in {reserved!r}; "
                f"a job has one queue, so none larger than {max(share.lendable, share.reserved)} fits the guarantee{counted}"
            )
            yield "guaranteed", (_APPROXIMATE, how)
        elif share.reserved:
            how = f"quota and limit of {reserved!r}; a job in {regular!r} only borrows and may be stopped for others"
            yield "guaranteed", (_EXACT, how + counted)
        else:
            yield "guaranteed", (_EXACT, "quota of the team; what others use over quota is reclaimed" + counted)
        if share.reserved:
            yield "lendable", (_EXACT, "what is never lent stands under a root of its own, outside 'shared'")
        else:
            yield "lendable", (_EXACT, "all of the guarantee stands in 'shared'")
    if share.borrowable is not None:
        yield "borrowable", (_EXACT, "limit of the team in 'shared': lendable + borrowable")
    if share.prod:
        yield "prod", _kai_prod(plan, team, flavor)


def _kai_prod(plan: Plan, team: TeamPlan, flavor: Hardware) -> _Case:
    how = (
        "a queue of its own, its quota and limit the slice: what runs there is never over quota, so no other queue stops it, "
        "and it takes back what others have of it; a job of priority class 100 or more is stopped by none of its own queue"
    )
    level = _EXACT
    if len(own := kai.prod_queues(plan, team, flavor)) > 1:
        level, how = (
            _APPROXIMATE,
            f"in two queues, so no job larger than {max(own.values())} fits the slice; each is {how}",
        )
    if plan.sharing.reclaim_min_runtime:
        level, how = _APPROXIMATE, f"{how}; from other teams only after reclaim_min_runtime"
    return level, how


def _slices(flavor: Hardware) -> str:
    return f"; KAI counts a slice of {flavor.profile} as {kai.per_unit(flavor)} GPU{'s' * (kai.per_unit(flavor) > 1)}"


def _kai_all(plan: Plan) -> Iterator[tuple[str, _Case]]:
    """What the agreement says and KAI gets no object for is refused by name."""
    if any(plan.pool.values()):
        yield "free pool", (_EXACT, "part of the quota of 'shared', over quota for every queue in it")
    if len(plan.flavors) > 1:
        how = "a node pool and a tree of queues each: a job names the pool and a queue of it, and gets no other flavor"
        yield "flavors", (_APPROXIMATE, how)
    how = "in each queue the higher priority goes first; one of 100 or more is never stopped, whatever comes"
    yield "priority", (_APPROXIMATE, how)
    how = "by PodGroup; a plain Job gets one for each pod in KAI 0.12, and later unless its minimum of members is set"
    yield "whole or not at all", (_APPROXIMATE, how)
    how = "a pod is taken at its word which queue it belongs to: who may name which is not KAI's to check"
    if plan.access:
        how = (
            "policies refuse another team's queue on pods and on the kinds of job they know; KAI reads it off the topmost "
            "owner of a pod, and of another kind takes it at its word"
        )
    yield "own namespaces", (_APPROXIMATE, how)
    how = "beside GPUs not limited by queue, as a reclaim of GPUs would fail on them: a job may take more of a node than its share"
    if any(flavor.unit == "cpu" for flavor in plan.flavors):
        how += "; on a flavor of CPUs these are quota, and memory is not"
    yield "CPU and memory", (_APPROXIMATE, how)
    if any(flavor.topology for flavor in plan.flavors):
        how = "a Topology each; a job names it and a level of it by annotation, and one that names none is not packed by it"
        yield "topologies", (_APPROXIMATE, how)
    if any(flavor.taints for flavor in plan.flavors):
        yield "taints", (_APPROXIMATE, "KAI gives a job no tolerations: it must bring them itself")
    yield from _kai_priorities(plan)
    yield from _kai_sharing(plan)


def _kai_priorities(plan: Plan) -> Iterator[tuple[str, _Case]]:
    for name, value in plan.priorities.items():
        if why := kai.priority_refusal(name, value):
            yield "priorities", (_REFUSED, f"{name!r} is no PriorityClass: {why}")
    if any(kai.priority_refusal(name, value) is None for name, value in plan.priorities.items()):
        how = "a PriorityClass each; with 100 or more a job is never stopped, and so must fit the quota of its queue"
        yield "priorities", (_APPROXIMATE, how)


def _kai_sharing(plan: Plan) -> Iterator[tuple[str, _Case]]:
    if _weighted(plan) or plan.sharing.policy == "fair":
        yield "weights", (_EXACT, "overQuotaWeight, for each flavor by itself")
    if plan.sharing.policy == "first" and len(plan.teams) > 1:
        how = (
            "KAI always divides what is over quota, by weight: who borrows more may be stopped for one who borrows less"
        )
        yield "first come", (_APPROXIMATE, how)
    if plan.sharing.usage and any(kai.pool(plan, flavor) for flavor in plan.flavors):
        how = (
            "between queues, not between the namespaces of one: usageDBConfig of each shard, for which KAI's configuration "
            "must have a Prometheus (without one its operator starts no scheduler); resource_weights do not count"
        )
        yield "usage", (_APPROXIMATE, how)
    elif plan.sharing.usage:
        how = (
            "with one flavor there is only the shard of KAI's chart, and that is not ours: set spec.usageDBConfig there "
            f"(halfLifePeriod {plan.sharing.usage.half_life}s); it is between queues, not between the namespaces of one"
        )
        yield "usage", (_REFUSED, how)


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
