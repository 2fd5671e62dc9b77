"""How Kueue keeps each promise, and Kubernetes what is not a scheduler's."""

from __future__ import annotations

from collections.abc import Iterator

from ...agreement.hardware import HOSTNAME, Hardware
from ...agreement.plan import Plan, Share, TeamPlan
from ...objects import kueue
from .verdict import APPROXIMATE, EXACT, REFUSED, Case, weighted


def to_team(plan: Plan, team: TeamPlan, flavor: Hardware, share: Share) -> Iterator[tuple[str, Case]]:
    if share.guaranteed:
        how = "nominalQuota; what others borrowed of it is reclaimed (reclaimWithinCohort: Any)"
        if goes_by_shares(plan, team):
            how += (
                "; a reclaim for its regular queue compares shares over all flavors together, so while the team borrows "
                "another flavor it gets its guarantee back only until the others borrow no more than it does; "
                'with guarantee_on = "queue" it gets all of it back'
            )
            yield "guaranteed", (APPROXIMATE, how)
        else:
            yield "guaranteed", (EXACT, how)
        yield "lendable", (EXACT, "lendingLimit: the rest never leaves the team")
    if share.borrowable is not None:
        yield "borrowable", (EXACT, "borrowingLimit")
    if share.prod:
        first = {
            "cohort": "when it takes the slice back, the newest regular job is preempted first, even one of the same team, "
            "which then reclaims from borrowers",
            "queue": "when it takes the slice back, borrowers are preempted first",
        }[plan.guarantee_on]
        yield "prod", (EXACT, f"a queue of its own that owns the slice and never borrows; {first}")


def goes_by_shares(plan: Plan, team: TeamPlan) -> bool:
    """Whether Kueue gives a regular queue its guarantee back by shares: its nominal quota stands on the Cohort, and fair
    sharing looks at the queue's own (FairSharingPreemptWithinNominal, kueue#9406). Of one flavor only, both are one."""
    fair = plan.sharing.policy == "fair"
    return fair and team.has_prod and plan.guarantee_on == "cohort" and len(plan.flavors) > 1


def to_all(plan: Plan) -> Iterator[tuple[str, Case]]:
    if any(plan.pool.values()):
        yield "free pool", (EXACT, "nominalQuota of the root Cohort, open to every queue")
    yield "priority", (APPROXIMATE, _priority(plan))
    trees = [kueue.topology_of(plan, flavor) for flavor in plan.flavors]
    if all(tree and tree.levels[-1] == HOSTNAME for tree in trees):
        yield (
            "whole or not at all",
            (EXACT, "a job is admitted whole, and only where nodes have room for all its pods"),
        )
    else:
        how = (
            "a job is admitted whole by quota; Kueue does not check that nodes have room for each of its pods if its "
            "flavor has no topology down to the host, so on fragmented nodes some pods of an admitted job may wait"
        )
        yield "whole or not at all", (APPROXIMATE, how)
    yield "own namespaces", (EXACT, "a team's queues take jobs only from namespaces that carry its label")
    yield from _access(plan)
    yield "CPU and memory", (EXACT, "quota in each flavor's ratio, lent and borrowed as the units are")
    if any(flavor.topology for flavor in plan.flavors):
        how = "topologyName of the flavor; a job asks for a level by annotation, and one that asks for none is packed by host"
        if kueue.topologies(plan) != plan.topologies:
            how += (
                "; flavors that name none have one of hosts, or jobs without the annotation got only those (kueue#7491)"
            )
        yield "topologies", (EXACT, how)
    if any(flavor.taints for flavor in plan.flavors):
        yield "taints", (EXACT, "jobs that are given the flavor get its tolerations")
    if plan.priorities:
        yield "priorities", (EXACT, "a WorkloadPriorityClass each")
    yield from _sharing(plan)


def _priority(plan: Plan) -> str:
    """Kueue looks for lower priorities to stop only where the job, as it would then run, borrows nothing for its queue."""
    how = "in each queue the higher priority goes first; it preempts a lower one if it requests no more than its queue owns"
    if any(team.has_prod for team in plan.teams):
        if plan.guarantee_on == "cohort":
            how += ", and the regular queue of a team with prod owns nothing (decision 22)"
        how += "; a team's prod queue takes back its slice whatever the priorities"
    return how


def _sharing(plan: Plan) -> Iterator[tuple[str, Case]]:
    """What Kueue's own Configuration switches on."""
    if plan.sharing.policy == "fair":
        how = (
            "fairSharing.weight, compared by the resource of which a node borrows most, all flavors together, in whole jobs; "
            "Kueue's Configuration must have fairSharing (kueue-values.yaml)"
        )
        yield "weights", (APPROXIMATE, how)
    elif weighted(plan):
        yield "weights", (REFUSED, 'Kueue reads them only with [sharing] policy = "fair"')
    if plan.sharing.usage:
        how = "admissionScope of each queue; Kueue's Configuration must have admissionFairSharing (kueue-values.yaml)"
        yield "usage", (EXACT, how)


def _access(plan: Plan) -> Iterator[tuple[str, Case]]:
    """What Kubernetes keeps, not the scheduler."""
    if plan.access:
        how = "the API server refuses a job that asks for GPUs and names no queue of its namespace; Kueue must manage its kind"
        yield "who may do what", (EXACT, how)
    if plan.prod_priority and any(team.has_prod for team in plan.teams):
        if plan.access:
            how = "given by a policy that Kubernetes serves from 1.36 on; on an older cluster jobs name it themselves"
            yield "prod priority", (EXACT, how)
        else:
            how = "only for jobs that name it: the policy that gives it to prod jobs comes with [access]"
            yield "prod priority", (APPROXIMATE, how)
    if any(team.machines for team in plan.teams):
        how = (
            "a quota of their number and of the memory of their pods; a live migration needs one pod more for a while, "
            "for which a full quota has no room"
        )
        yield "machines", (APPROXIMATE, how)
