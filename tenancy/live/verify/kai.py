"""A check's replica on KAI: copies of the live Queues, nodes and namespaces of its own, jobs as users submit them.

One KAI scheduler serves all replicas and the users' own queues. What keeps them apart:

- Every root of a copied tree keeps its limit, so a replica holds no more than the agreement's objects say.
- On simulated nodes each replica has copies of the flavor's nodes. Its pods select these, and nobody else tolerates their
  taint. KAI stops a job only where that makes room on a node that the waiting job may use, so it stops none outside.
- Real nodes are not copied. There a check runs only while no other job of KAI is on the flavor's nodes.

A job of one pod is an index of an Indexed Job, and KAI 0.12 takes each pod of a Job for itself. When KAI stops one, the Job
controller makes another pod, which says in an annotation how many were before it: that is how stops are counted, and none is
missed between two looks. A job of several pods is a PodGroup and its pods, which nobody makes anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from threading import Lock
from typing import Any

from lightkube import ApiError, Client, operators
from lightkube.codecs import from_dict
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace
from lightkube.types import CascadeType
from lightkube.utils.quantity import parse_quantity

from ... import kai
from ...evidence.model import Condition
from ...identity import AGREEMENT_LABEL
from ...plan import Plan
from ...promises.model import Check, Jobs
from ..clients import KaiQueue
from . import kai_objects as objects
from .data import EventData, NodeData, PodData
from .kai_objects import GROUP_LABEL, INDEX_LABEL, NUMBER_LABEL, Mark
from .play import Clock
from .replica import CHECK_LABEL, RUN_LABEL, JobState, NotKept, NotRunnable, Phase, Refused

# As plain data: a look reads many, and of what a typed one holds most is of no use here.
PodGroup = create_namespaced_resource("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups")

PATIENCE = 60.0  # seconds for copies to be ready, and for jobs to go
EVERY = 0.2
AT_ONCE = 8  # checks side by side
EVICT = "Evict"
RESERVATIONS = "kai-resource-reservation"  # the namespace of the pods that hold shared GPUs


@dataclass
class _Member:
    """One pod of a job, over all the pods that it has been: a Job makes another for each that is stopped."""

    name: str = ""
    """Of the pod that it is now, or was last."""
    pod: Mapping[str, Any] | None = None
    stops: int = 0


@dataclass
class _Group:
    jobs: Jobs
    namespace: str
    members: dict[tuple[int, int], _Member] = field(default_factory=dict)
    """By the job's number, and the pod's in it."""


class KaiStage:
    """Where a run's checks on KAI are played. On real nodes those of a flavor come one after another."""

    at_once = AT_ONCE

    def __init__(self, client: Client, plan: Plan, run: str, clock: Clock) -> None:
        self.client, self.plan, self.run, self.clock = client, plan, run, clock
        self.real_nodes = {flavor.name: Lock() for flavor in plan.flavors}
        self._numbers = count(1)

    def replica(self, check: Check) -> KaiReplica:
        return KaiReplica(self, check, next(self._numbers))

    def close(self) -> None:
        """Namespaces go in their own time."""
        deadline = time.monotonic() + PATIENCE
        while self._left() and time.monotonic() < deadline:
            time.sleep(EVERY)

    def _left(self) -> bool:
        labels: dict[str, Any] = {RUN_LABEL: self.run, CHECK_LABEL: operators.exists()}
        return next(iter(self.client.list(Namespace, labels=labels)), None) is not None


class KaiReplica:
    """See `replica.Replica`. `number` tells the replicas of a run apart."""

    def __init__(self, stage: KaiStage, check: Check, number: int) -> None:
        self.stage, self.client, self.plan = stage, stage.client, stage.plan
        self.mark = Mark(stage.run, number)
        self.flavor = self.plan.flavor[check.flavor]
        self.queues: dict[str, str] = {}
        """Names of the copies by those of the live ones."""
        self.nodes: dict[str, Mapping[str, str]] = {}
        """Labels of the nodes that the replica's pods may run on."""
        self.simulated = False
        self._locked: Lock | None = None
        self._groups: dict[str, _Group] = {}
        self._spaces: dict[str, str] = {}
        self._said: dict[str, Condition] = {}

    # Copies -----------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        live = self._live_queues()
        nodes = list(self._live_nodes())
        if not nodes:
            raise NotRunnable(f"no node of flavor {self.flavor.name} is ready")
        self.simulated = all(objects.FAKE in (it["metadata"].get("annotations") or {}) for it in nodes)
        self.queues = {name: self.mark.name(name) for name in live}
        for one in live.values():
            self.client.create(KaiQueue.from_dict(objects.queue(self.mark, one, self.queues)))
        if self.simulated:
            self._copy(nodes)
        else:
            self._locked = self.stage.real_nodes[self.flavor.name]
            self._locked.acquire()
            self._require_idle(nodes)
            self.nodes = {it["metadata"]["name"]: it["metadata"].get("labels") or {} for it in nodes}

    def _live_queues(self) -> dict[str, Mapping[str, Any]]:
        """The agreement's of this flavor, and whatever they hang from."""
        every: dict[str, Mapping[str, Any]] = {
            str(it.metadata.name): it for it in self.client.list(KaiQueue) if it.metadata
        }
        pool = kai.pool(self.plan, self.flavor)
        found: dict[str, Mapping[str, Any]] = {}
        for name, one in every.items():
            labels = one["metadata"].get("labels") or {}
            if (
                labels.get(AGREEMENT_LABEL) == self.plan.cluster
                and RUN_LABEL not in labels
                and (not pool or labels.get(kai.NODE_POOL) == pool)
            ):
                found[name] = one
        for one in list(found.values()):
            while (parent := one["spec"].get("parentQueue")) in every and parent not in found:
                found[parent] = one = every[parent]
        if not found:
            raise NotKept(
                f"the cluster has no KAI Queue of agreement {self.plan.cluster} for flavor {self.flavor.name}: "
                "pulumi up, or tenancy render and kubectl apply"
            )
        return found

    def _live_nodes(self) -> Iterator[Mapping[str, Any]]:
        wanted = dict(self.flavor.node_labels)
        if pool := kai.pool(self.plan, self.flavor):
            wanted[kai.NODE_POOL] = pool
        for one in self.client.list(NodeData, labels=dict(wanted)):
            if (
                RUN_LABEL not in (one["metadata"].get("labels") or {})
                and _ready(one)
                and not one["spec"].get("unschedulable")
            ):
                yield one

    def _copy(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        levels = next((it.levels for it in self.plan.topologies if it.name == self.flavor.topology), ())
        for one in nodes:
            self.client.create(NodeData.from_dict(objects.node(self.mark, one, levels)))

        def ready() -> bool:
            copies = [it for it in self.client.list(NodeData, labels=dict(self.mark.labels)) if _ready(it)]
            self.nodes = {it["metadata"]["name"]: it["metadata"]["labels"] for it in copies}
            return len(copies) == len(nodes)

        self._wait(ready, "copies of simulated nodes do not become ready")

    def _require_idle(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        """KAI may move or stop any job that it put on these nodes to make room for another, so none may be there."""
        names = {it["metadata"]["name"]: it for it in nodes}
        pods = [it for it in self.client.list(PodData, namespace="*") if it["spec"].get("nodeName") in names]
        held = [it for it in pods if it["status"].get("phase") in ("Pending", "Running")]
        if busy := next((it for it in held if it["spec"].get("schedulerName") == objects.SCHEDULER), None):
            where = f"{busy['metadata']['namespace']}/{busy['metadata']['name']}"
            raise NotRunnable(f"{where} runs on a node of {self.flavor.name}, and KAI could stop it for a check")
        free = sum(_amount(it["status"]["allocatable"].get(self.flavor.resource)) for it in nodes) - sum(
            _amount((container.get("resources", {}).get("requests") or {}).get(self.flavor.resource))
            for it in held
            for container in it["spec"]["containers"]
        )
        if free < self.flavor.capacity:
            raise NotRunnable(
                f"{self.flavor.count(int(free))} are free on the nodes of {self.flavor.name}, and the agreement is over "
                f"{self.flavor.capacity}"
            )

    # Jobs -------------------------------------------------------------------------------------------------------------

    def submit(self, jobs: Jobs) -> None:
        team, flavor = self.plan.team[jobs.team], self.plan.flavor[jobs.flavor]
        named = objects.queue_of(self.plan, team, flavor, jobs.place)
        namespace = self._namespace(jobs.namespace_of or jobs.team)
        queue = self.queues.get(named, self.mark.name(named))
        template = objects.Template(self.plan, self.mark, flavor, queue, namespace, self.simulated)
        group = _Group(jobs, namespace)
        group.members = {(number, 0): _Member() for number in range(jobs.count)}
        if jobs.pods > 1:
            group.members = {(number, pod): _Member() for number in range(jobs.count) for pod in range(jobs.pods)}
        try:
            for one in template.objects(jobs):
                kind = PodGroup if one["kind"] == "PodGroup" else None
                self.client.create(kind.from_dict(one) if kind else from_dict(one))
        except ApiError as error:
            if error.status.code not in (403, 422):
                raise
            raise Refused(str(error.status.message)) from None
        self._groups[jobs.name] = group

    def remove(self, name: str) -> None:
        group = self._groups.pop(name)
        if group.jobs.pods == 1:
            self.client.delete(Job, name, namespace=group.namespace, cascade=CascadeType.BACKGROUND)
        for number in range(group.jobs.count if group.jobs.pods > 1 else 0):
            self.client.delete(PodGroup, f"{name}-{number}", namespace=group.namespace)
            for pod in range(group.jobs.pods):
                self.client.delete(PodData, f"{name}-{number}-{pod}", namespace=group.namespace)

    def look(self) -> Sequence[JobState]:
        """Every job of the groups that were submitted and not removed."""
        pods = list(self.client.list(PodData, namespace="*", labels=dict(self.mark.labels)))
        for group in self._groups.values():
            self._take(group, [it for it in pods if it["metadata"]["labels"].get(GROUP_LABEL) == group.jobs.name])
        self._hear()
        return [state for group in self._groups.values() for state in self._states(group)]

    def _take(self, group: _Group, pods: Sequence[Mapping[str, Any]]) -> None:
        """What is there of each member now. A pod that is gone, or on its way, was stopped."""
        there = {
            _place(it): it
            for it in pods
            if not it["metadata"].get("deletionTimestamp") and it["status"].get("phase") != "Failed"
        }
        for place, member in group.members.items():
            pod = there.get(place)
            if pod is None:
                if member.pod is not None:
                    member.stops += 1
                    member.pod = None
                continue
            before = int((pod["metadata"].get("annotations") or {}).get(objects.FAILURES, 0))
            member.stops = max(member.stops, before)
            member.name, member.pod = str(pod["metadata"]["name"]), pod

    def _hear(self) -> None:
        """Why KAI stopped what it stopped: events on PodGroups, asked for only while something is gone of which it is not known."""
        for group in self._groups.values():
            gone = {it.name for it in group.members.values() if it.stops and it.pod is None} - self._said.keys()
            if not gone:
                continue
            for event in self.client.list(EventData, namespace=group.namespace, fields={"reason": EVICT}):
                about = str(event["involvedObject"]["name"])
                for name in gone:
                    if about.startswith(f"pg-{name}-") or name.rpartition("-")[0].startswith(about):
                        self._said[name] = Condition(name, EVICT, "True", EVICT, str(event.get("message", "")))

    def _states(self, group: _Group) -> Iterator[JobState]:
        jobs = group.jobs
        for number in range(jobs.count):
            members = [group.members[number, pod] for pod in range(jobs.pods)]
            running = [it.pod for it in members if it.pod and it.pod["status"].get("phase") == "Running"]
            bound = [it.pod for it in members if it.pod and it.pod["spec"].get("nodeName")]
            whole = len(running) == jobs.pods
            # Half a job is neither: nobody is told that it waits, so no check takes it for waiting.
            told = [] if bound else [said for it in members if (said := self._why(it))]
            yield JobState(
                jobs=jobs.name,
                number=number,
                phase=Phase.RUNNING if whole else Phase.WAITING,
                told=tuple(told),
                stops=max(it.stops for it in members),
                nodes=tuple(sorted({pod["spec"]["nodeName"] for pod in bound})),
                gpus=tuple(gpu for pod in bound if (gpu := pod["metadata"]["labels"].get(objects.GPU_GROUP))),
            )

    def _why(self, member: _Member) -> Condition | None:
        if member.pod is None:
            return self._said.get(member.name)
        for it in member.pod["status"].get("conditions") or ():
            if it["type"] == "PodScheduled" and it["status"] == "False":
                name = str(member.pod["metadata"]["name"])
                return Condition(name, it["type"], it["status"], it.get("reason", ""), it.get("message", ""))
        return None

    def usage(self) -> Mapping[str, int]:
        """A part of a unit counts as a whole one. What it says of a parent arrives late."""
        copies = self.client.list(KaiQueue, labels=dict(self.mark.labels))
        status = {str(it.metadata.name): it.get("status") or {} for it in copies if it.metadata}
        used = {}
        for name, copy in self.queues.items():
            allocated = status.get(copy, {}).get("allocated") or {}
            if amount := ceil(_amount(allocated.get(self.flavor.resource))):
                used[name] = amount
        return used

    def labels(self, node: str) -> Mapping[str, str]:
        return self.nodes[node]

    # Namespaces, and the end ------------------------------------------------------------------------------------------

    def _namespace(self, team: str) -> str:
        """A namespace of the team's, once pods are taken in it: they need its ServiceAccount, and webhooks hear of it late."""
        if team in self._spaces:
            return self._spaces[team]
        body = objects.namespace(self.plan, self.mark, team)
        name = str(body["metadata"]["name"])
        self.client.create(from_dict(body))
        self._spaces[team] = name
        pod = {"containers": [{"name": "probe", "image": objects.IMAGE}]}
        probe = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": name}, "spec": pod}

        def takes_pods() -> bool:
            try:
                self.client.create(from_dict(probe), dry_run=True)
            except ApiError as error:
                if "not found" not in str(error):
                    raise
                return False
            return True

        self._wait(takes_pods, f"namespace {name} takes no pods")
        return name

    def close(self) -> None:
        """Jobs first: nothing that is still on its way may find a node or a queue gone. Namespaces go on their own."""
        for namespace in self._spaces.values():
            self.client.deletecollection(Job, namespace=namespace, cascade=CascadeType.BACKGROUND)
            self.client.deletecollection(PodGroup, namespace=namespace)
            self.client.deletecollection(PodData, namespace=namespace)
        deadline = time.monotonic() + PATIENCE
        while not self._all_gone() and time.monotonic() < deadline:
            time.sleep(EVERY)
        kinds: tuple[Any, ...] = (NodeData, KaiQueue, Namespace)
        for kind in kinds:
            for one in list(self.client.list(kind, labels=dict(self.mark.labels))):
                _delete(self.client, kind, one.metadata.name)
        if self._locked:
            self._locked.release()

    def _all_gone(self) -> bool:
        """Also of the pods that hold a shared GPU."""
        mine = next(iter(self.client.list(PodData, namespace="*", labels=dict(self.mark.labels))), None)
        if mine or not self.simulated:
            return not mine
        return not [
            it for it in self.client.list(PodData, namespace=RESERVATIONS) if it["spec"].get("nodeName") in self.nodes
        ]

    def _wait(self, so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not so():
            if time.monotonic() > deadline:
                raise NotRunnable(f"after {PATIENCE:.0f} s {otherwise}")
            self.stage.clock.sleep(EVERY)


def _place(pod: Mapping[str, Any]) -> tuple[int, int]:
    labels = pod["metadata"]["labels"]
    index = int(labels[INDEX_LABEL])
    return (int(labels[NUMBER_LABEL]), index) if NUMBER_LABEL in labels else (index, 0)


def _ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    hindered = any(it["key"].startswith("node.kubernetes.io/") for it in node["spec"].get("taints") or ())
    return not hindered and any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)


def _amount(quantity: object) -> float:
    return float(parse_quantity(str(quantity)) or 0) if quantity is not None else 0.0


def _delete(client: Client, kind: Any, name: str) -> None:
    try:
        client.delete(kind, name)
    except ApiError as error:
        if error.status.code not in (404, 409):
            raise
