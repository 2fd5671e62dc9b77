"""What each team uses of each flavor, as the queues' own status says it, and which scheduler's queues a cluster has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ..agreement.plan import Plan
from ..objects import kai
from ..objects.schedulers import PerScheduler, Place, Scheduler
from ..quota.lending import Use
from ..text.quantity import amount, whole
from .clients import Client
from .fields import NONE, Object, status_of
from .listing import NotThere, objects
from .queues import of_teams

__all__ = ["QUEUES", "NotThere", "kai_uses", "kueue_uses", "present"]

QUEUES = PerScheduler(kueue="ClusterQueue", kai="Queue")
"""The kind whose status says what is in use."""


def present(client: Client) -> str:
    """The scheduler whose queues are in the cluster; Kueue where both have some. Raises NotThere when neither has."""
    for scheduler in Scheduler:
        if objects(client, QUEUES[scheduler]):
            return str(scheduler)
    raise NotThere("neither Kueue nor KAI has a queue in this cluster: pulumi up, or tenancy render and kubectl apply")


def kueue_uses(plan: Plan, queues: Mapping[str, Object]) -> dict[tuple[str, str], Use]:
    """By team and flavor, what ClusterQueues say is admitted; one that is not there uses nothing."""
    units: dict[tuple[str, str], dict[Place, int]] = defaultdict(lambda: defaultdict(int))
    for name, queue in of_teams(plan, Scheduler.KUEUE).items():
        for entry in status_of(queues.get(name, NONE)).get("flavorsUsage") or ():
            flavor = plan.flavor.get(entry["name"])
            for resource in entry.get("resources") or ():
                if flavor and resource["name"] == flavor.resource:
                    units[queue.team or "", flavor.name][queue.place] += whole(amount(resource.get("total")))
    return {key: Use(by[Place.REGULAR], by[Place.PROD]) for key, by in units.items()}


def kai_uses(plan: Plan, queues: Mapping[str, Object]) -> dict[tuple[str, str], Use]:
    """By team and flavor, what Queues say is allocated of the flavor's resource (a status counts slices as they are, only quota
    counts them as GPUs). A part of a unit counts as a whole one."""
    units: dict[tuple[str, str], dict[Place, int]] = defaultdict(lambda: defaultdict(int))
    reserved: dict[tuple[str, str], int] = defaultdict(int)
    for name, queue in of_teams(plan, Scheduler.KAI).items():
        key = team, flavor = queue.team or "", queue.flavor
        allocated = status_of(queues.get(name, NONE)).get("allocated") or NONE
        used = whole(amount(allocated.get(plan.flavor[flavor].resource)))
        units[key][queue.place] += used
        # Of two queues of a prod slice the first is that of what is never lent (kai.names.prod_bases).
        first = next(iter(kai.prod_queues(plan, plan.team[team], plan.flavor[flavor])), "")
        parts = kai.parts(plan.team[team].shares[flavor])
        if queue.place is Place.RESERVED or (name == first and parts.prod_reserved):
            reserved[key] += used
    return {key: Use(by[Place.REGULAR], by[Place.PROD], by[Place.RESERVED], reserved[key]) for key, by in units.items()}
