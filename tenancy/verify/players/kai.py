"""A check's sandbox on KAI: copies of the live Queues, nodes and namespaces of its own, jobs as users submit them.

One KAI scheduler serves all sandboxes and the users' own queues. What keeps them apart:

- Every root of a copied tree keeps its limit, so a sandbox holds no more than the agreement's objects say.
- On simulated nodes each sandbox has copies of the flavor's nodes. Its pods select these, and nobody else tolerates their
  taint. KAI stops a job only where that makes room on a node that the waiting job may use, so it stops none outside.
- Real nodes are not copied. There a check runs only while no other job of KAI is on the flavor's nodes.

A job of one pod is an index of an Indexed Job, and KAI 0.12 takes each pod of a Job for itself. When KAI stops one, the Job
controller makes another pod, which says in an annotation how many were before it: that is how stops are counted, and none is
missed between two looks. A job of several pods is a PodGroup and its pods, which nobody makes anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from threading import Lock, RLock
from typing import Any

from lightkube import ApiError, Client, operators
from lightkube.resources.core_v1 import Namespace

from ...agreement.plan import Plan
from ...cluster.clients import EventData, KaiQueue
from ...cluster.watch import Watch
from ..checks.model import Check, JobGroup
from ..evidence.model import Condition
from ..play import Clock
from . import kai_objects as objects
from .kai_objects import GROUP_LABEL, INDEX_LABEL, NUMBER_LABEL, Mark
from .kai_sandbox import EVERY, PATIENCE, KaiSandbox, amount
from .sandbox import CHECK_LABEL, RUN_LABEL, JobState, NotRunnable, Phase, Refused

AT_ONCE = 6  # checks side by side
EVICT = "Evict"
SETTLES = 3.0  # seconds: some of KAI's cycles, so that it has nothing left to write of jobs that are gone

Object = Mapping[str, Any]


@dataclass
class _Member:
    """One pod of a job, over all the pods that it has been: a Job makes another for each that is stopped."""

    name: str = ""
    """Of the pod that it is now, or was last."""
    pod: Object | None = None
    stops: int = 0


@dataclass
class _Group:
    jobs: JobGroup
    names: list[tuple[str, str]]
    """Namespace and name of its Job, or of its pods."""
    members: dict[tuple[int, int], _Member] = field(default_factory=dict)
    """By the job's number, and the pod's in it."""


class KaiStage:
    """Where a run's checks on KAI are played: one watch of all its pods, and stands that checks use one after another. On real
    nodes a flavor has one."""

    at_once = AT_ONCE

    def __init__(self, client: Client, plan: Plan, run: str, clock: Clock) -> None:
        self.client, self.plan, self.run, self.clock = client, plan, run, clock
        self._numbers = count(1)
        self._lock = RLock()
        self._pods: dict[str, Object] = {}
        self._idle: dict[str, list[KaiSandbox]] = {flavor.name: [] for flavor in plan.flavors}
        self._stands: list[KaiSandbox] = []
        self._real = {flavor.name: Lock() for flavor in plan.flavors}
        self._watch = Watch(client, "/api/v1/pods", self._reset, self._changed, f"{RUN_LABEL}={run}")
        self._watch.open()

    def sandbox(self, check: Check) -> KaiCheckSandbox:
        return KaiCheckSandbox(self, check)

    def take(self, flavor: str) -> KaiSandbox:
        """A stand that is free, or a new one."""
        with self._lock:
            shared_sandbox = self._idle[flavor].pop() if self._idle[flavor] else None
        shared_sandbox = shared_sandbox or self._new(flavor)
        if not shared_sandbox.simulated:
            self._real[flavor].acquire()
            try:
                shared_sandbox.require_idle()
            except NotRunnable:
                self._real[flavor].release()
                raise
        return shared_sandbox

    def _new(self, flavor: str) -> KaiSandbox:
        with self._lock:
            mark = Mark(self.run, next(self._numbers))
            shared_sandbox = KaiSandbox(self.client, self.plan, self.plan.flavor[flavor], mark, self.clock)
            self._stands.append(shared_sandbox)
        shared_sandbox.make()
        return shared_sandbox

    def give_back(self, shared_sandbox: KaiSandbox) -> None:
        """One that does not get clear is used no more."""
        if shared_sandbox.clear(lambda: self.pods(shared_sandbox)):
            with self._lock:
                self._idle[shared_sandbox.flavor.name].append(shared_sandbox)
        if not shared_sandbox.simulated:
            self._real[shared_sandbox.flavor.name].release()

    def pods(self, shared_sandbox: KaiSandbox) -> list[Object]:
        number = str(shared_sandbox.mark.number)
        with self._lock:
            return [pod for pod in self._pods.values() if pod["metadata"]["labels"].get(CHECK_LABEL) == number]

    def close(self) -> None:
        time.sleep(SETTLES)
        for shared_sandbox in self._stands:
            shared_sandbox.remove()
        deadline = time.monotonic() + PATIENCE
        while self._left() and time.monotonic() < deadline:
            time.sleep(EVERY)
        self._watch.close()

    def _left(self) -> bool:
        labels: dict[str, Any] = {RUN_LABEL: self.run, CHECK_LABEL: operators.exists()}
        return next(iter(self.client.list(Namespace, labels=labels)), None) is not None

    def _reset(self, pods: Iterable[Object]) -> None:
        with self._lock:
            self._pods = {pod["metadata"]["uid"]: pod for pod in pods}

    def _changed(self, pod: Object, there: bool) -> None:
        with self._lock:
            if there:
                self._pods[pod["metadata"]["uid"]] = pod
            else:
                self._pods.pop(pod["metadata"]["uid"], None)


class KaiCheckSandbox:
    """See `sandbox.Replica`."""

    def __init__(self, stage: KaiStage, check: Check) -> None:
        self.stage, self.client, self.plan = stage, stage.client, stage.plan
        self.flavor = self.plan.flavor[check.flavor]
        self._stand: KaiSandbox | None = None
        self._groups: dict[str, _Group] = {}
        self._going: list[_Group] = []
        """Removed; its pods may still be there."""
        self._said: dict[str, Condition] = {}

    @property
    def shared_sandbox(self) -> KaiSandbox:
        assert self._stand
        return self._stand

    def open(self) -> None:
        self._stand = self.stage.take(self.flavor.name)

    def close(self) -> None:
        if self._stand:
            self.stage.give_back(self._stand)

    def submit(self, jobs: JobGroup) -> None:
        team, flavor = self.plan.team[jobs.team], self.plan.flavor[jobs.flavor]
        named = objects.queue_of(self.plan, team, flavor, jobs.place)
        namespace = self.shared_sandbox.namespace(jobs.namespace_of or jobs.team)
        queue = self.shared_sandbox.queues.get(named, self.shared_sandbox.mark.name(named))
        template = objects.Template(
            self.plan,
            self.shared_sandbox.mark,
            flavor,
            queue,
            namespace,
            self.shared_sandbox.simulated,
            self.shared_sandbox.uses,
        )
        bodies = list(template.objects(jobs))
        names = [(namespace, one["metadata"]["name"]) for one in bodies if one["kind"] != "PodGroup"]
        group = _Group(jobs, names)
        group.members = {(number, pod): _Member() for number in range(jobs.count) for pod in range(jobs.pods)}
        try:
            self.shared_sandbox.submit(bodies)
        except ApiError as error:
            if error.status.code not in (403, 422):
                raise
            raise Refused(str(error.status.message)) from None
        self._groups[jobs.name] = group

    def remove(self, name: str) -> None:
        group = self._groups.pop(name)
        self._going.append(group)
        self.shared_sandbox.end(group.names)

    def look(self) -> Sequence[JobState]:
        """Every job that was submitted and not removed, and those that are not gone yet."""
        pods: dict[str, list[Object]] = {}
        for pod in self.stage.pods(self.shared_sandbox):
            pods.setdefault(pod["metadata"]["labels"].get(GROUP_LABEL, ""), []).append(pod)
        for group in self._groups.values():
            self._take(group, pods.get(group.jobs.name, []))
        self._hear()
        states = [state for group in self._groups.values() for state in self._states(group)]
        there = [(group.jobs.name, pod) for group in self._going for pod in pods.get(group.jobs.name, ())]
        return [*states, *(JobState(name, _place(pod)[0], Phase.WAITING) for name, pod in there)]

    def _take(self, group: _Group, pods: Sequence[Object]) -> None:
        """What is there of each member now. A pod that is gone, or on its way, was stopped."""
        there = {
            _place(pod): pod
            for pod in pods
            if not pod["metadata"].get("deletionTimestamp") and pod["status"].get("phase") != "Failed"
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
            gone = {
                member.name for member in group.members.values() if member.stops and member.pod is None
            } - self._said.keys()
            if not gone:
                continue
            for event in self.client.list(EventData, namespace=group.names[0][0], fields={"reason": EVICT}):
                about = str(event["involvedObject"]["name"])
                for name in gone:
                    if about.startswith(f"pg-{name}-") or name.rpartition("-")[0].startswith(about):
                        self._said[name] = Condition(name, EVICT, "True", EVICT, str(event.get("message", "")))

    def _states(self, group: _Group) -> Iterator[JobState]:
        jobs = group.jobs
        for number in range(jobs.count):
            members = [group.members[number, pod] for pod in range(jobs.pods)]
            running = [
                member.pod for member in members if member.pod and member.pod["status"].get("phase") == "Running"
            ]
            bound = [member.pod for member in members if member.pod and member.pod["spec"].get("nodeName")]
            whole = len(running) == jobs.pods
            # Half a job is neither: nobody is told that it waits, so no check takes it for waiting.
            told = [] if bound else [said for member in members if (said := self._why(member))]
            yield JobState(
                jobs=jobs.name,
                number=number,
                phase=Phase.RUNNING if whole else Phase.WAITING,
                told=tuple(told),
                stops=max(member.stops for member in members),
                nodes=tuple(sorted({pod["spec"]["nodeName"] for pod in bound})),
                gpus=tuple(gpu for pod in bound if (gpu := pod["metadata"]["labels"].get(objects.GPU_GROUP))),
            )

    def _why(self, member: _Member) -> Condition | None:
        if member.pod is None:
            return self._said.get(member.name)
        for condition in member.pod["status"].get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                name = str(member.pod["metadata"]["name"])
                return Condition(
                    name,
                    condition["type"],
                    condition["status"],
                    condition.get("reason", ""),
                    condition.get("message", ""),
                )
        return None

    def usage(self) -> Mapping[str, int]:
        """A part of a unit counts as a whole one. What it says of a parent arrives late."""
        sandbox_objects = self.client.list(KaiQueue, labels=dict(self.shared_sandbox.mark.labels))
        status = {str(copy.metadata.name): copy.get("status") or {} for copy in sandbox_objects if copy.metadata}
        used = {}
        for name, copy in self.shared_sandbox.queues.items():
            allocated = status.get(copy, {}).get("allocated") or {}
            if units := ceil(amount(allocated.get(self.flavor.resource))):
                used[name] = units
        return used

    def labels(self, node: str) -> Mapping[str, str]:
        return self.shared_sandbox.nodes[node]


def _place(pod: Object) -> tuple[int, int]:
    labels = pod["metadata"]["labels"]
    index = int(labels[INDEX_LABEL])
    return (int(labels[NUMBER_LABEL]), index) if NUMBER_LABEL in labels else (index, 0)
