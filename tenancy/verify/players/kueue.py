"""Checks on Kueue: each is played on copies of the agreement's live tree of queues.

On simulated nodes the copies have nodes of their own, and checks go side by side. On real nodes there are no others than the
agreement's: checks of one flavor go one after the other there, and only while enough of it is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from threading import Lock

from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.types import CascadeType

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan
from ...cluster.clients import WorkloadPriorityClass
from ...objects.access.namespaces import DEFAULT_QUEUE, PROD_QUEUE
from ...objects.kueue import PROD_SUFFIX
from ...objects.schedulers import Place
from ...text.quantity import amount, whole
from ..checks.model import Check, JobGroup
from ..play import Clock
from . import free_capacity as room
from . import kueue_job as job
from . import live_objects
from .kueue_sandbox import GONE, KueueSandbox, delete, until, used
from .messages import Words
from .observer import Key, Object, Observer, condition, is_true, stops
from .sandbox import RUN_LABEL, JobState, NotKept, NotRunnable, Phase, Refused
from .sandbox_objects import SandboxObjects, run_prefix

AT_ONCE, NODES_AT_ONCE = (
    6,
    128,
)  # checks side by side; copied nodes of all of them, whose number costs more than that of checks
REFUSALS = (400, 403, 422)  # what the API server answers to a job that it does not take


@dataclass
class KueueStage:
    client: Client
    plan: Plan
    run: str
    clock: Clock
    _lock: Lock = field(default_factory=Lock)
    _free: dict[tuple[str, ...], list[KueueSandbox]] = field(default_factory=dict)
    """Stands that no check uses, by the flavors that they have copies of."""
    _all: list[KueueSandbox] = field(default_factory=list)
    _priorities: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.live_objects = live_objects.read(self.client, self.plan)
        self.observer = Observer(self.client, self.run, run_prefix(self.run))
        self.observer.open()
        largest = max(
            (
                len(self.live_objects.nodes_of(flavor.name))
                for flavor in self.plan.flavors
                if flavor.name in self.live_objects.flavors
            ),
            default=0,
        )
        self.at_once = max(1, min(AT_ONCE, NODES_AT_ONCE // max(largest, 1)))
        self._real = {flavor.name: Lock() for flavor in self.plan.flavors}

    def sandbox(self, check: Check) -> KueueCheckSandbox:
        return KueueCheckSandbox(self, check)

    def close(self) -> None:
        """Stands of checks that failed to clear them too: their namespaces take the jobs with them."""
        for entry in self._all:
            entry.remove()
        for name in self._priorities.values():
            delete(self.client, WorkloadPriorityClass, name)
        until(lambda: not any(next(shared_sandbox.left(), None) for shared_sandbox in self._all), GONE)
        self.observer.close()

    def take(self, flavors: tuple[str, ...]) -> KueueSandbox:
        """A stand that nobody uses, with copies of these flavors."""
        with self._lock:
            if free := self._free.get(flavors):
                return free.pop()
            idle = next((free.pop() for free in self._free.values() if free), None)
            levels = (level for topology in self.plan.topologies for level in topology.levels)
            keys = frozenset([*levels, *(key for flavor in self.plan.flavors for key in flavor.node_labels)])
            sandbox_objects = SandboxObjects(self.live_objects, keys, flavors, self.run, len(self._all))
            shared_sandbox = KueueSandbox(self.client, self.plan, sandbox_objects, self.observer, self.clock)
            self._all.append(shared_sandbox)
        if idle:  # of other flavors: checks come flavor by flavor
            idle.remove()
        shared_sandbox.make()
        return shared_sandbox

    def give_back(self, shared_sandbox: KueueSandbox) -> None:
        with self._lock:
            self._free.setdefault(shared_sandbox.sandbox_objects.flavors, []).append(shared_sandbox)

    def real(self, flavor: str) -> Lock:
        """Held while a check uses real nodes of the flavor."""
        return self._real[flavor]

    def priority(self, value: int) -> str:
        """The WorkloadPriorityClass of that value: the agreement's where it has one, else one of the run's own."""
        for name, entry in self.plan.priorities.items():
            if entry == value:
                if name not in self.live_objects.priorities:
                    raise NotKept(f"workloadpriorityclass/{name} is not on the cluster")
                return name
        with self._lock:
            if value not in self._priorities:
                name = f"{run_prefix(self.run)}priority-{value}".replace("--", "-minus-")
                body = {"metadata": {"name": name, "labels": {RUN_LABEL: self.run}}, "value": value}
                self.client.create(WorkloadPriorityClass.from_dict(body))
                self._priorities[value] = name
            return self._priorities[value]


class KueueCheckSandbox:
    """See `sandbox.Replica`."""

    def __init__(self, stage: KueueStage, check: Check) -> None:
        self.stage, self.check, self.plan = stage, check, stage.plan
        self.submitted: dict[str, tuple[JobGroup, str]] = {}
        """With the namespace, by name."""
        self.held = ExitStack()
        self.shared_sandbox: KueueSandbox | None = None

    def open(self) -> None:
        every = [jobs for step in self.check.steps for jobs in step.submit]
        flavors = used(jobs.flavor for jobs in every)
        for entry in missing(self.stage.live_objects, self.plan, every):
            raise NotKept(f"{entry} is not on the cluster")
        real = [name for name in flavors if not self.stage.live_objects.simulated(name)]
        for name in flavors:
            if not self.stage.live_objects.nodes_of(name):
                labels = self.plan.flavor[name].node_labels.items()
                if any(
                    labels <= (node["metadata"].get("labels") or {}).items() for node in self.stage.live_objects.nodes
                ):
                    raise NotKept(f"resourceflavor/{name} selects none of its nodes")
                raise NotRunnable(f"the cluster has no node of flavor {name}")
        for name in real:
            self.held.enter_context(self.stage.real(name))
        for name in real:
            room.require(self.stage.client, self.stage.live_objects, self.plan.flavor[name], most(self.check, name))
        self.shared_sandbox = self.stage.take(tuple(name for name in flavors if name not in real))
        self.words = Words(self.shared_sandbox.sandbox_objects.prefix)
        for queue in used(queue_of(jobs) for jobs in every):
            active = condition(self.stage.observer.queue(self.shared_sandbox.sandbox_objects.name(queue)), "Active")
            if active.get("status") != "True":
                raise NotKept(self.words.say(f"clusterqueue/{queue} is not active: {active.get('message')}"))

    def submit(self, jobs: JobGroup) -> None:
        shared_sandbox = self.there
        if jobs.namespace_of in ("", jobs.team):
            namespace = shared_sandbox.namespace(jobs.team)
            queue = PROD_QUEUE if jobs.place is Place.PROD else DEFAULT_QUEUE
        else:  # where somebody has made the LocalQueue by hand, under the name that a team's own one would have
            namespace = shared_sandbox.namespace(jobs.namespace_of, guest=queue_of(jobs))
            queue = DEFAULT_QUEUE
        shared_sandbox.local_queue(namespace, queue, queue_of(jobs))
        priority = "" if jobs.priority is None else self.stage.priority(jobs.priority)
        image = job.SIMULATED if self.stage.live_objects.simulated(jobs.flavor) else job.REAL
        flavor = self.plan.flavor[jobs.flavor]
        # A job names its flavor by the agreement's labels, as a team's would: the flavor on the cluster may have others.
        own = jobs.flavor in shared_sandbox.sandbox_objects.flavors
        labels = {
            key: shared_sandbox.sandbox_objects.value(label) if own else label
            for key, label in flavor.node_labels.items()
        }
        self.submitted[jobs.name] = (jobs, namespace)
        for number in range(jobs.count):
            body = job.body(
                jobs, number, flavor, namespace, queue, priority, labels, image, shared_sandbox.sandbox_objects.labels
            )
            try:
                self.stage.client.create(from_dict(body))
            except ApiError as error:
                if error.status.code in REFUSALS:
                    raise Refused(self.words.say(str(error.status.message))) from None
                raise

    def remove(self, name: str) -> None:
        jobs, namespace = self.submitted[name]
        for number in range(jobs.count):
            self.stage.client.delete(Job, job.name(jobs, number), namespace=namespace, cascade=CascadeType.BACKGROUND)

    def look(self) -> Sequence[JobState]:
        shared_sandbox = self.there
        namespaces = [*shared_sandbox.namespaces.values()]
        workloads = self.stage.observer.workloads_in(namespaces)
        pods = self.stage.observer.pods_in(namespaces)
        self.words.know(workloads, dict(self._jobs()))
        there = [
            (jobs, number, workloads[key], pods.get(key, ()))
            for key, (jobs, number) in self._jobs()
            if key in workloads
        ]
        states = [self._state(*entry) for entry in there]
        answers = {_shape(jobs): state.told for (jobs, *_), state in zip(there, states, strict=True) if state.told}
        return [
            state if condition(workload, "QuotaReserved") else replace(state, told=answers.get(_shape(jobs), ()))
            for (jobs, _, workload, _), state in zip(there, states, strict=True)
        ]

    def usage(self) -> Mapping[str, int]:
        shared_sandbox = self.there
        flavor = self.plan.flavor[self.check.flavor]
        found = {}
        for queue in used(queue_of(jobs) for jobs, _ in self.submitted.values()):
            status = self.stage.observer.queue(shared_sandbox.sandbox_objects.name(queue)).get("status") or {}
            found[queue] = _units(status, shared_sandbox.sandbox_objects.flavor(flavor.name), flavor)
        return found

    def labels(self, node: str) -> Mapping[str, str]:
        copied = self.stage.observer.node(node)
        real = (entry for entry in self.stage.live_objects.nodes if entry["metadata"]["name"] == node)
        labels: Mapping[str, str] = (copied or next(real, {"metadata": {}}))["metadata"].get("labels") or {}
        return labels

    def close(self) -> None:
        with self.held:
            if self.shared_sandbox and self.shared_sandbox.clear():
                self.stage.give_back(self.shared_sandbox)

    @property
    def there(self) -> KueueSandbox:
        assert self.shared_sandbox is not None, "open() comes first"
        return self.shared_sandbox

    def _jobs(self) -> Iterator[tuple[Key, tuple[JobGroup, int]]]:
        """Every job that was ever submitted, by namespace and name."""
        for jobs, namespace in self.submitted.values():
            for number in range(jobs.count):
                yield (namespace, job.name(jobs, number)), (jobs, number)

    def _state(self, jobs: JobGroup, number: int, workload: Object, pods: Sequence[Object]) -> JobState:
        running = [pod for pod in pods if pod["status"].get("phase") == "Running" and not _leaving(pod)]
        admitted = is_true(workload, "Admitted") and not is_true(workload, "Evicted")
        runs = admitted and len(running) == jobs.pods
        stopped = stops(workload)
        return JobState(
            jobs.name,
            number,
            Phase.RUNNING if runs else Phase.WAITING,
            told=() if runs and not stopped else tuple(self.words.told(jobs, number, workload)),
            stops=stopped,
            stuck="" if runs or not admitted else _stuck(pods),
            nodes=tuple(sorted(entry["spec"]["nodeName"] for entry in running)) if runs else (),
        )


def queue_of(jobs: JobGroup) -> str:
    """The ClusterQueue, by its name in the agreement."""
    return jobs.team + PROD_SUFFIX if jobs.place is Place.PROD else jobs.team


def _shape(jobs: JobGroup) -> JobGroup:
    """Kueue looks at one of several equal jobs of a queue; where that one does not fit it passes over the others, and tells them
    nothing (SchedulingEquivalenceHashing, since 0.18). Its answer is theirs too."""
    return replace(jobs, name="", count=0)


def missing(there: live_objects.LiveObjects, plan: Plan, every: Sequence[JobGroup]) -> Iterator[str]:
    """What of the agreement these jobs cannot do without, and is not on the cluster."""
    for jobs in every:
        team = plan.team[jobs.team]
        cohorts = [
            plan.cluster,
            *([team.department] if team.department else []),
            *([team.name] if team.has_prod else []),
        ]
        wanted = {
            "resourceflavor": ([jobs.flavor], there.flavors),
            "cohort": (cohorts, there.cohorts),
            "clusterqueue": ([queue_of(jobs)], there.queues),
        }
        for kind, (names, found) in wanted.items():
            yield from (f"{kind}/{name}" for name in names if name not in found)


def most(check: Check, flavor: str) -> int:
    """The most that the check's jobs hold of a flavor at once if its promise is kept."""
    jobs = {jobs.name: jobs for step in check.steps for jobs in step.submit if jobs.flavor == flavor}
    return max(
        sum(jobs[name].each * count for name, count in step.running.items() if name in jobs) for step in check.steps
    )


def _units(status: Object, name: str, flavor: Hardware) -> int:
    """What a queue's status says it uses of a flavor, by the name it has there."""
    rows = (row for entry in status.get("flavorsUsage") or () if entry["name"] == name for row in entry["resources"])
    return whole(next((amount(row["total"]) for row in rows if row["name"] == flavor.resource), Fraction(0)))


def _leaving(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _stuck(pods: Sequence[Object]) -> str:
    """Why the pods of an admitted job are on no node."""
    placed = (condition(pod, "PodScheduled") for pod in pods if not _leaving(pod))
    return next((entry.get("message", "") for entry in placed if entry.get("reason") == "Unschedulable"), "")
