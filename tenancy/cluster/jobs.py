"""A job as a scheduler has it: its pod sets, what each requests and was given, whose queue it is in, and since when.

On Kueue a job is a Workload. On KAI it is a PodGroup, of which the pods say what it has: KAI makes one of each pod of a batch Job,
unless the Job sets a minimum of members. Either way `kind` and `name` are those of what a person made: the first owner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction

from ..objects.schedulers import Place
from ..quota import jobs as quota
from ..text.quantity import amount as quantity
from ..text.quantity import whole
from .fields import (
    NONE,
    Object,
    annotations_of,
    changed,
    created,
    is_true,
    labels_of,
    name_of,
    namespace_of,
    owner_of,
    spec_of,
    status_of,
    time,
    uid_of,
)
from .queues import Queue
from .requests import ZERO, Requests, of, of_pod

KAI_QUEUE = "kai.scheduler/queue"  # label of a pod
POD_GROUP = "pod-group-name"  # annotation of a pod; KAI's podgrouper puts it there
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class JobState(StrEnum):
    PENDING = "pending"
    ADMITTED = "admitted"
    """It has quota; whether its pods run is not said."""
    RUNNING = "running"
    EVICTED = "evicted"
    """It is being taken off: it has quota still, and loses it."""
    INACTIVE = "inactive"
    """The scheduler leaves it alone until somebody says otherwise."""
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods alike of one job. `requests` is what one of them requests."""

    name: str
    count: int
    requests: Requests
    selector: Mapping[str, str] = field(default_factory=dict)
    level: str = ""
    """The topology level that all of them must, or would best, share."""
    required: bool = False
    tolerations: tuple[Object, ...] = ()
    counted: Requests = field(default_factory=dict)
    """What all of them request as the scheduler counted it; empty where it has not."""
    flavors: Mapping[str, str] = field(default_factory=dict)
    """Flavor by resource, once it has quota."""
    admitted: int = 0
    """Pods that have quota."""
    usage: Requests = field(default_factory=dict)
    """What these hold together."""

    def total(self, resource: str) -> Fraction:
        return self.count * self.requests.get(resource, ZERO)

    def allows(self, node_labels: Mapping[str, str]) -> bool:
        """Whether its pods may have a flavor with these labels: Kueue looks only at the keys that the flavor has."""
        return all(self.selector.get(key, value) == value for key, value in node_labels.items())


@dataclass(frozen=True, slots=True)
class Job:
    namespace: str
    kind: str
    name: str
    uid: str
    """Of its Workload, or of the first of its pods on KAI."""
    queue_name: str
    """The ClusterQueue, or KAI's Queue; empty where its LocalQueue is not known."""
    queue: Queue | None
    """None: no team's."""
    pod_sets: tuple[PodSet, ...]
    state: JobState
    priority: int
    since: datetime
    """Pending: since it was submitted, or evicted last. Otherwise: since it got its quota, or its first pod started."""
    group: str = ""
    """KAI: its PodGroup."""
    obstacles: tuple[str, ...] = ()
    """What stands in its way, besides quota."""
    bodies: tuple[Object, ...] = field(default=(), compare=False, repr=False)
    """Its Workload, or its pods."""

    @property
    def first(self) -> Object:
        """Its Workload, or the pod that was made first."""
        return self.bodies[0]

    @property
    def holds(self) -> dict[str, dict[str, Fraction]]:
        """Flavor → resource → amount."""
        held: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for pods in self.pod_sets:
            for resource, flavor in pods.flavors.items():
                held[flavor][resource] += pods.usage.get(resource, ZERO)
        return held

    def wants(self) -> dict[str, Fraction]:
        """What all its pods request, by resource."""
        total: dict[str, Fraction] = defaultdict(Fraction)
        for pods in self.pod_sets:
            each = pods.counted or {name: pods.count * amount for name, amount in pods.requests.items()}
            for name, amount in each.items():
                total[name] += amount
        return total

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def in_quota(job: Job, resources: Mapping[str, str]) -> quota.Job:
    """A job of a team as the arithmetic of quotas counts it, in whole units of each flavor. `resources`: what each flavor is
    counted in."""
    assert job.queue is not None and job.queue.team is not None
    units = {flavor: whole(held[resources[flavor]]) for flavor, held in job.holds.items()
             if resources.get(flavor) in held}  # fmt: skip
    return quota.Job(
        namespace=job.namespace,
        name=job.name,
        kind=job.kind,
        team=job.queue.team,
        prod=job.queue.place is Place.PROD,
        units=units,
        priority=job.priority,
        since=job.since,
        evicted=job.state is JobState.EVICTED,
        uid=job.uid,
    )


# --- Kueue


def of_workload(body: Object, queues: Mapping[str, Queue], local: Mapping[tuple[str, str], str] | None = None) -> Job:
    """`queues`: those of the teams, by name; `local`: the ClusterQueue of each LocalQueue, for one that has no quota yet."""
    spec, admission = spec_of(body), status_of(body).get("admission") or NONE
    state = _state(body)
    owner = owner_of(body) or {"kind": "Workload", "name": name_of(body)}
    named = (namespace_of(body), str(spec.get("queueName") or ""))
    queue_name = str(admission.get("clusterQueue") or (local or {}).get(named, ""))
    evicted = changed(body, "Evicted") if is_true(body, "Evicted") else None
    pending = state in (JobState.PENDING, JobState.INACTIVE)
    since = (evicted or created(body)) if pending else changed(body, "QuotaReserved")
    return Job(
        namespace=namespace_of(body),
        kind=str(owner["kind"]),
        name=str(owner["name"]),
        uid=uid_of(body),
        queue_name=queue_name,
        queue=queues.get(queue_name),
        pod_sets=pod_sets(body),
        state=state,
        priority=int(spec.get("priority") or 0),
        since=since or EPOCH,
        bodies=(body,),
    )


def pod_sets(workload: Object) -> tuple[PodSet, ...]:
    """Its templates, and what its admission gives them; of a Workload whose templates were not read the admission alone."""
    status = status_of(workload)
    assigned = {
        str(assignment.get("name")): assignment
        for assignment in (status.get("admission") or NONE).get("podSetAssignments") or ()
    }
    counted = {str(request.get("name")): request for request in status.get("resourceRequests") or ()}
    templates = spec_of(workload).get("podSets") or ()
    unknown = [{"name": name} for name in assigned if name not in {str(template.get("name")) for template in templates}]
    return tuple(_pod_set(template, assigned, counted) for template in (*templates, *unknown))


def _pod_set(body: Object, assigned: Mapping[str, Object], counted: Mapping[str, Object]) -> PodSet:
    name = str(body.get("name"))
    spec = (body.get("template") or NONE).get("spec") or NONE
    topology, given = body.get("topologyRequest") or NONE, assigned.get(name, NONE)
    count = int(body.get("count") or 0)
    return PodSet(
        name=name,
        count=count,
        requests=of_pod(spec),
        selector=spec.get("nodeSelector") or {},
        level=str(topology.get("required") or topology.get("preferred") or ""),
        required=bool(topology.get("required")),
        tolerations=tuple(spec.get("tolerations") or ()),
        counted=_amounts(counted.get(name, NONE).get("resources")),
        flavors=given.get("flavors") or {},
        admitted=int(given.get("count") or count) if given else 0,
        usage=_amounts(given.get("resourceUsage")),
    )


def _amounts(texts: Mapping[str, object] | None) -> dict[str, Fraction]:
    return {name: quantity(text) for name, text in (texts or {}).items()}


def _state(workload: Object) -> JobState:
    if is_true(workload, "Finished"):
        return JobState.FINISHED
    if is_true(workload, "QuotaReserved"):
        if is_true(workload, "Evicted"):
            return JobState.EVICTED
        return JobState.RUNNING if is_true(workload, "PodsReady") else JobState.ADMITTED
    return JobState.INACTIVE if spec_of(workload).get("active") is False else JobState.PENDING


# --- KAI


def of_pods(pods: Iterable[Object], queues: Mapping[str, Queue]) -> list[Job]:
    """The jobs that these pods are of: those of a PodGroup together. A job is of the queue that its first pod names."""
    groups: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for pod in pods:
        groups[namespace_of(pod), annotations_of(pod).get(POD_GROUP) or name_of(pod)].append(pod)
    return [_of_group(name, several, queues) for (_, name), several in groups.items()]


def _of_group(group: str, pods: list[Object], queues: Mapping[str, Queue]) -> Job:
    first = min(pods, key=lambda pod: created(pod) or EPOCH)
    queue_name = labels_of(first).get(KAI_QUEUE, "")
    queue = queues.get(queue_name)
    owner = owner_of(first) or {"kind": "Pod", "name": name_of(first)}
    running = [pod for pod in pods if status_of(pod).get("phase") == "Running"]
    state = JobState.RUNNING if len(running) == len(pods) else JobState.PENDING
    started = [time(status_of(pod).get("startTime")) or created(pod) or EPOCH for pod in running]
    return Job(
        namespace=namespace_of(first),
        kind=str(owner["kind"]),
        name=str(owner["name"]),
        uid=uid_of(first),
        queue_name=queue_name,
        queue=queue,
        pod_sets=_alike(pods, queue.flavor if queue else ""),
        state=state,
        priority=max(int(spec_of(pod).get("priority") or 0) for pod in pods),
        since=(created(first) or EPOCH) if state is JobState.PENDING else min(started),
        group=group,
        bodies=(first, *(pod for pod in pods if pod is not first)),
    )


def _alike(pods: Iterable[Object], flavor: str) -> tuple[PodSet, ...]:
    """Pods that request the same, of the same nodes, are one set; those that run hold what they request."""
    sets: dict[str, list[Object]] = defaultdict(list)
    for pod in pods:
        sets[str((sorted(of(pod).items()), sorted((spec_of(pod).get("nodeSelector") or {}).items())))].append(pod)
    found = []
    for several in sets.values():
        spec, requests = spec_of(several[0]), of(several[0])
        running = sum(status_of(pod).get("phase") == "Running" for pod in several)
        found.append(
            PodSet(
                name="",
                count=len(several),
                requests=requests,
                selector=spec.get("nodeSelector") or {},
                tolerations=tuple(spec.get("tolerations") or ()),
                flavors=dict.fromkeys(requests, flavor) if running and flavor else {},
                admitted=running,
                usage={name: running * amount for name, amount in requests.items()},
            )
        )
    return tuple(found)
