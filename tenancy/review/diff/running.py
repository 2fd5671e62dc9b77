"""The jobs that hold quota now, as a comparison of two agreements wants them (`compare.jobs`).

Queues are found by the old agreement's names, which are what a cluster holds before a change, and by the new one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ...agreement.plan import Plan
from ...cluster import listing
from ...cluster import read_nodes as nodes
from ...cluster.clients import Client
from ...cluster.fields import Object, labels_of, owner_of
from ...cluster.jobs import KAI_QUEUE, JobState, in_quota, of_pods, of_workload
from ...cluster.queues import by_name, of_teams
from ...cluster.usage import QUEUES
from ...objects.difference import covers
from ...objects.identity import reference
from ...objects.registry import OBJECTS
from ...objects.schedulers import PerScheduler, Scheduler
from ...quota.jobs import Job
from .domains import Domains, largest_domains


@dataclass(frozen=True)
class Now:
    """`unlike`: queues that are not there as the old agreement has them. `already`: all are as the new one has them. `domains`:
    of the new agreement's topologies."""

    jobs: tuple[Job, ...]
    unlike: tuple[str, ...]
    already: bool
    domains: Domains


def read(client: Client, old: Plan, new: Plan, scheduler: Scheduler) -> Now:
    """Raises NotThere where the cluster does not say."""
    jobs = tuple(_JOBS[scheduler](client, old, new))
    objects = OBJECTS[scheduler].objects
    there = by_name(listing.objects(client, QUEUES[scheduler]))
    unlike_old, unlike_new = (tuple(_unlike(there, objects(plan))) for plan in (old, new))
    return Now(jobs, unlike_old, bool(unlike_old) and not unlike_new, _domains(client, new))


def _domains(client: Client, plan: Plan) -> Domains:
    """Nodes are read only where there is a topology to pack them by."""
    if not any(flavor.topology for flavor in plan.flavors):
        return {}
    return largest_domains(plan, nodes.read(client))


def _unlike(there: Mapping[str, Object], objects: Iterable[Object]) -> Iterator[str]:
    for body in objects:
        if body["kind"] in {QUEUES[scheduler] for scheduler in Scheduler}:
            live = there.get(body["metadata"]["name"])
            if live is None or not covers(live["spec"], body["spec"]):
                yield reference(body)


def _resources(*plans: Plan) -> dict[str, str]:
    return {flavor.name: flavor.resource for plan in plans for flavor in plan.flavors}


def _of_kueue(client: Client, old: Plan, new: Plan) -> Iterator[Job]:
    queues = of_teams(new, Scheduler.KUEUE) | of_teams(old, Scheduler.KUEUE)
    for body in listing.objects(client, "Workload"):
        job = of_workload(body, queues)
        if job.queue and job.state in (JobState.ADMITTED, JobState.RUNNING, JobState.EVICTED):
            yield in_quota(job, _resources(new, old))


def _of_kai(client: Client, old: Plan, new: Plan) -> Iterator[Job]:
    """A gang goes by its PodGroup, a pod alone by its owner."""
    queues = of_teams(new, Scheduler.KAI) | of_teams(old, Scheduler.KAI)
    pods = listing.objects(client, "Pod", labels=KAI_QUEUE, fields="status.phase=Running")
    for job in of_pods((pod for pod in pods if labels_of(pod)[KAI_QUEUE] in queues), queues):
        alone = owner_of(job.first) and len(job.bodies) == 1
        named = job if alone else replace(job, kind="PodGroup", name=job.group)
        yield in_quota(named, _resources(new, old))


_JOBS = PerScheduler(kueue=_of_kueue, kai=_of_kai)
