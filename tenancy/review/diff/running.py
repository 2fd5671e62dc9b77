"""The jobs that hold quota now, as a comparison of two agreements wants them (`compare.jobs`).

Kueue: the Workloads with quota, by what their admission says of flavors. KAI: the pods that run and name a queue, those of one
PodGroup together. Queues are found by the old agreement's names, which are what a cluster holds before a change, and by the new one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, TypeVar

import httpx2
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import Pod

from ...agreement.plan import Plan
from ...cluster import read_nodes as nodes
from ...cluster.clients import ClusterQueue, KaiQueue, Workload
from ...cluster.usage import NotThere
from ...objects import kai, kueue
from ...objects.difference import covers
from ...objects.identity import reference
from ...objects.schedulers import Scheduler
from ...quota.jobs import Job
from ...text.quantity import amount, whole
from .domains import Domains, largest_domains

PAGE = 500
QUEUE_LABEL = "kai.scheduler/queue"
POD_GROUP = "pod-group-name"  # annotation of a pod; KAI's podgrouper puts it there

T = TypeVar("T")


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
    reader = {Scheduler.KUEUE: _of_kueue, Scheduler.KAI: _of_kai}[scheduler]
    jobs = _asked(lambda: tuple(reader(client, old, new)))
    kind, objects = (ClusterQueue, kueue.objects) if scheduler is Scheduler.KUEUE else (KaiQueue, kai.objects)
    there: dict[str, Any] = _asked(lambda: {_name(one): one for one in client.list(kind, chunk_size=PAGE)})
    unlike_old, unlike_new = (tuple(_unlike(there, objects(plan))) for plan in (old, new))
    return Now(jobs, unlike_old, bool(unlike_old) and not unlike_new, _domains(client, new))


def _domains(client: Client, plan: Plan) -> Domains:
    """Nodes are read only where there is a topology to pack them by."""
    if not any(flavor.topology for flavor in plan.flavors):
        return {}
    try:
        return largest_domains(plan, nodes.read(client))
    except nodes.Unreadable as error:
        raise NotThere(str(error)) from None


def _name(one: Any) -> str:
    return str(one.metadata.name)


def _unlike(there: Mapping[str, Any], objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for body in objects:
        if body["kind"] in ("ClusterQueue", "Queue"):
            live = there.get(body["metadata"]["name"])
            if live is None or not covers(live["spec"], body["spec"]):
                yield reference(body)


def _asked(question: Callable[[], T]) -> T:
    try:
        return question()
    except ApiError as error:
        raise NotThere(f"the cluster does not let us read: {error.status.message}") from None
    except httpx2.HTTPError as error:
        raise NotThere(f"the cluster does not let us read: {error}") from None


# --- Kueue


def _of_kueue(client: Client, old: Plan, new: Plan) -> Iterator[Job]:
    queues = {}
    for plan in (new, old):
        for team in plan.teams:
            queues[team.name] = (team.name, False)
            if team.has_prod:
                queues[team.name + kueue.PROD_SUFFIX] = (team.name, True)
    resources = {it.name: it.resource for plan in (new, old) for it in plan.flavors}
    for one in client.list(Workload, namespace="*", chunk_size=PAGE):
        status = one.get("status") or {}
        conditions = {it["type"]: it for it in status.get("conditions") or () if it["status"] == "True"}
        admission = status.get("admission")
        if not admission or "QuotaReserved" not in conditions or "Finished" in conditions:
            continue
        if (queue := queues.get(admission["clusterQueue"])) is None:
            continue
        assert one.metadata and one.metadata.namespace and one.metadata.name
        owner = next(iter(one.metadata.ownerReferences or ()), None)
        yield Job(
            namespace=one.metadata.namespace,
            name=owner.name if owner else one.metadata.name,
            kind=owner.kind if owner else "Workload",
            team=queue[0],
            prod=queue[1],
            units=_admitted(admission, resources),
            priority=(one.get("spec") or {}).get("priority") or 0,
            since=_time(conditions["QuotaReserved"]["lastTransitionTime"]),
            evicted="Evicted" in conditions,
            uid=one.metadata.uid or "",
        )


def _admitted(admission: Mapping[str, Any], resources: Mapping[str, str]) -> dict[str, int]:
    units: dict[str, int] = {}
    for pods in admission.get("podSetAssignments") or ():
        for resource, flavor in (pods.get("flavors") or {}).items():
            if resources.get(flavor) == resource:
                number = whole(amount((pods.get("resourceUsage") or {}).get(resource)))
                units[flavor] = units.get(flavor, 0) + number
    return units


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


# --- KAI


def _of_kai(client: Client, old: Plan, new: Plan) -> Iterator[Job]:
    queues = {
        name: (team.name, flavor, name in kai.prod_queues(plan, team, flavor))
        for plan in (new, old)
        for flavor in plan.flavors
        for team in plan.teams
        for name in kai.job_queues(plan, team, flavor)
    }
    groups: dict[tuple[str, str], list[Pod]] = {}
    for pod in client.list(
        Pod, namespace="*", labels={QUEUE_LABEL: None}, fields={"status.phase": "Running"}, chunk_size=PAGE
    ):
        assert pod.metadata and pod.metadata.namespace and pod.metadata.name
        if (pod.metadata.labels or {})[QUEUE_LABEL] in queues:
            name = (pod.metadata.annotations or {}).get(POD_GROUP, pod.metadata.name)
            groups.setdefault((pod.metadata.namespace, name), []).append(pod)
    for (namespace, name), pods in groups.items():
        first = pods[0].metadata
        assert first
        team, flavor, prod = queues[(first.labels or {})[QUEUE_LABEL]]
        owner = next(iter(first.ownerReferences or ()), None)
        alone = owner is not None and len(pods) == 1
        started = [it.status.startTime for it in pods if it.status and it.status.startTime]
        yield Job(
            namespace=namespace,
            name=owner.name if owner and alone else name,
            kind=owner.kind if owner and alone else "PodGroup",
            team=team,
            prod=prod,
            units={flavor.name: sum(asks(pod, flavor.resource) for pod in pods)},
            priority=max((it.spec.priority or 0 for it in pods if it.spec), default=0),
            since=min(started, default=datetime.now(UTC)),
            uid=first.uid or "",
        )


def asks(pod: Pod, resource: str) -> int:
    containers = pod.spec.containers if pod.spec else []
    asked = [(it.resources and (it.resources.requests or it.resources.limits)) or {} for it in containers]
    return whole(sum((amount(it.get(resource)) for it in asked), Fraction(0)))
