"""How KAI Scheduler keeps each promise."""

from __future__ import annotations

from collections.abc import Iterator

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, Share, TeamPlan
from ...objects import kai
from .verdict import APPROXIMATE, EXACT, REFUSED, Case, weighted


def to_team(plan: Plan, team: TeamPlan, flavor: Hardware, share: Share) -> Iterator[tuple[str, Case]]:
    regular, reserved = kai.regular(plan, team, flavor), kai.reserved(plan, team, flavor)
    counted = "" if kai.per_unit(flavor) == 1 or flavor.unit == "cpu" else _slices(flavor)
    if share.guaranteed:
        if share.reserved and share.lendable:
            how = (
                f"exact in counts, in two queues: {share.lendable} in {regular!r} and {share.reserved} in {reserved!r}; "
                f"a job has one queue, so none larger than {max(share.lendable, share.reserved)} fits the guarantee{counted}"
            )
            yield "guaranteed", (APPROXIMATE, how)
        elif share.reserved:
            how = f"quota and limit of {reserved!r}; a job in {regular!r} only borrows and may be preempted for others"
            yield "guaranteed", (EXACT, how + counted)
        else:
            yield "guaranteed", (EXACT, "quota of the team; what others use over quota is reclaimed" + counted)
        if share.reserved:
            yield "lendable", (EXACT, "the reserved part has a root queue of its own, outside 'shared'")
        else:
            yield "lendable", (EXACT, "all of the guarantee is quota in 'shared'")
    if share.borrowable is not None:
        yield "borrowable", (EXACT, "limit of the team in 'shared': lendable + borrowable")
    if share.prod:
        yield "prod", _prod(plan, team, flavor)


def _prod(plan: Plan, team: TeamPlan, flavor: Hardware) -> Case:
    how = (
        "a queue of its own, its quota and limit the slice: its jobs are never over quota, so no other queue preempts them, "
        "and it reclaims what others use of it; a job with a priority of 100 or more is not preempted by its own queue either"
    )
    level = EXACT
    if len(own := kai.prod_queues(plan, team, flavor)) > 1:
        level, how = (
            APPROXIMATE,
            f"in two queues, so no job larger than {max(own.values())} fits the slice; each is {how}",
        )
    if plan.sharing.reclaim_min_runtime:
        level, how = APPROXIMATE, f"{how}; from other teams only after reclaim_min_runtime"
    return level, how


def _slices(flavor: Hardware) -> str:
    return f"; KAI counts a slice of {flavor.profile} as {kai.per_unit(flavor)} GPU{'s' * (kai.per_unit(flavor) > 1)}"


def to_all(plan: Plan) -> Iterator[tuple[str, Case]]:
    """What the agreement says and KAI gets no object for is refused by name."""
    if any(plan.pool.values()):
        yield "free pool", (EXACT, "part of the quota of 'shared', over quota for every queue in it")
    if plan.departments:
        yield "departments", _departments(plan)
    if len(plan.flavors) > 1:
        how = "a node pool and a tree of queues each: a job names the pool and a queue of it, and gets no other flavor"
        yield "flavors", (APPROXIMATE, how)
    how = "in each queue the higher priority goes first; a job with a priority of 100 or more is never preempted"
    yield "priority", (APPROXIMATE, how)
    how = "by PodGroup; a plain Job gets one for each pod in KAI 0.12, and later unless its minimum of members is set"
    yield "whole or not at all", (APPROXIMATE, how)
    how = "KAI trusts the queue that a pod names, and does not check who may name it"
    if plan.access:
        how = (
            "policies refuse another team's queue on pods and on the kinds of job they know; KAI reads it from the topmost "
            "owner of a pod, and trusts it for other kinds"
        )
    yield "own namespaces", (APPROXIMATE, how)
    how = "queues limit only GPUs, because reclaiming GPUs would fail on CPU and memory limits: a job may take more of a node than its share"
    if any(flavor.unit == "cpu" for flavor in plan.flavors):
        how += "; on a flavor of CPUs these are quota, and memory is not"
    yield "CPU and memory", (APPROXIMATE, how)
    if any(flavor.topology for flavor in plan.flavors):
        how = "a Topology each; a job names it and a level of it by annotation, and one that names none is not packed by it"
        yield "topologies", (APPROXIMATE, how)
    if any(flavor.taints for flavor in plan.flavors):
        yield "taints", (APPROXIMATE, "KAI gives a job no tolerations: it must bring them itself")
    yield from _priorities(plan)
    yield from _sharing(plan)


def _departments(plan: Plan) -> Case:
    how = (
        "a queue above its teams' queues: what one of them lends goes to the others before it goes to other departments"
    )
    if any(team.department and share.prod for team in plan.teams for share in team.shares.values()):
        how += (
            "; it is not taken back from those for a team with a prod slice, whose regular queue stands a level deeper: KAI "
            "0.12 reclaims what such a team is guaranteed, and no more (decision 24)"
        )
        return APPROXIMATE, how
    return EXACT, how


def _priorities(plan: Plan) -> Iterator[tuple[str, Case]]:
    for name, value in plan.priorities.items():
        if why := kai.priority_refusal(name, value):
            yield "priorities", (REFUSED, f"{name!r} is no PriorityClass: {why}")
    if any(kai.priority_refusal(name, value) is None for name, value in plan.priorities.items()):
        how = "a PriorityClass each; a job with a priority of 100 or more is never preempted, so it must fit the quota of its queue"
        yield "priorities", (APPROXIMATE, how)


def _sharing(plan: Plan) -> Iterator[tuple[str, Case]]:
    if weighted(plan) or plan.sharing.policy == "fair":
        yield "weights", (EXACT, "overQuotaWeight, for each flavor by itself")
    if plan.sharing.policy == "first" and len(plan.teams) > 1:
        how = "KAI always divides over-quota capacity by weight: a team that borrows more may be preempted for a team that borrows less"
        yield "first come", (APPROXIMATE, how)
    if plan.sharing.usage and any(kai.pool(plan, flavor) for flavor in plan.flavors):
        how = (
            "between queues, not between the namespaces of one: usageDBConfig of each shard, for which KAI's configuration "
            "must have a Prometheus (without one its operator starts no scheduler); resource_weights do not count"
        )
        yield "usage", (APPROXIMATE, how)
    elif plan.sharing.usage:
        how = (
            "with one flavor there is only the shard of KAI's chart, and that is not ours: set spec.usageDBConfig there "
            f"(halfLifePeriod {plan.sharing.usage.half_life}s); it is between queues, not between the namespaces of one"
        )
        yield "usage", (REFUSED, how)
