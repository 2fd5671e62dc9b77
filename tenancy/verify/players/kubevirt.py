"""Checks on KubeVirt: each is played in a namespace of its own with copies of the quotas of the team's machines.

A machine's pod holds quota from when it is made, wherever it is and whether or not it runs. So but for the one that is to boot,
machines choose a node that does not exist: they need no image, and take nothing on real nodes. KubeVirt makes their pods all the same.

A namespace for machines does not carry the team's label here, as a controller that makes queues by that label would not know it for
what it is. Where a pod is to be refused a GPU there is another namespace with the label, since without it a policy may refuse first.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from lightkube import ApiError, Client, operators
from lightkube.codecs import from_dict
from lightkube.resources.core_v1 import Namespace, Node
from lightkube.types import CascadeType

from ...agreement.plan import Plan
from ...cluster.clients import LocalQueue, PodData, QuotaData, RangeData, VirtualMachine, VirtualMachineInstance
from ...objects.access import quotas
from ...objects.access.namespaces import DEFAULT_QUEUE
from ...objects.kueue import API_VERSION as KUEUE
from ..checks.machines import machines_of
from ..checks.model import Check, JobGroup, Machine
from ..evidence.model import Condition
from ..play import Clock
from ..safety import PREFIX
from .machine_counts import Counts
from .sandbox import CHECK_LABEL, RUN_LABEL, JobState, NotKept, NotRunnable, Phase, Refused

# As plain data: they are copied, or looked at often.
AT_ONCE = 5
COUNTED = 90.0  # seconds until a quota counts; a new kind is counted half a minute after it is defined
ACTS = 15.0  # seconds for Kueue to know a queue; without Kueue it never does
GONE = 60.0  # seconds for machines to go, and to be counted no more
COUNTS = 30.0  # seconds for machines to have pods, or be told why not, and to be counted
EVERY = 0.2
SCHEDULABLE = "kubevirt.io/schedulable"  # what virt-handler says of its node
SIMULATED = "kwok.x-k8s.io/node"
QUEUE_LABEL, MANAGED_LABEL = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/managed"
POD_NAME = re.compile(r"(virt-launcher-[a-z0-9.-]+)-[a-z0-9]{5}\b")  # another one at each try
PAUSE = "registry.k8s.io/pause:3.10"

Object = Mapping[str, Any]


@dataclass
class KubeVirtStage:
    """Where a run's checks of machines are played."""

    client: Client
    plan: Plan
    run: str
    clock: Clock
    at_once: int = AT_ONCE
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def sandbox(self, check: Check) -> KubeVirtSandbox:
        return KubeVirtSandbox(self, check, f"{PREFIX}{self.run}-machines-{next(self._numbers)}")

    def close(self) -> None:
        """Namespaces go in their own time."""
        labels: dict[str, Any] = {RUN_LABEL: self.run, CHECK_LABEL: operators.exists()}
        _until(lambda: not list(self.client.list(Namespace, labels=labels)), time.sleep, GONE)


@dataclass
class KubeVirtSandbox:
    """See `sandbox.Replica`. `name` is that of its namespace; its pods that are no machines have one of their own."""

    stage: KubeVirtStage
    check: Check
    name: str
    submitted: dict[str, JobGroup] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.client, self.plan = self.stage.client, self.stage.plan
        self.team = self.plan.team[self.check.team]
        self.pods = f"{self.name}-pods"
        self.counts = Counts(self.client, self.name, self.stage.clock)
        self.labels_of_run = {RUN_LABEL: self.stage.run, CHECK_LABEL: self.name.removeprefix(PREFIX)}

    # Copies -----------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        every = [jobs for step in self.check.steps for jobs in step.submit]
        self._require(any(jobs.machine and jobs.machine.boots for jobs in every))
        bodies = self._originals()
        self._make(self.name, {}, bodies)
        if any(jobs.machine is None for jobs in every):
            self._make(self.pods, {self.plan.team_label: self.team.name}, bodies)

    def _require(self, boots: bool) -> None:
        """Raises NotRunnable where the cluster has not what the check needs."""
        try:
            next(iter(self.client.list(VirtualMachine, namespace="default")), None)
        except ApiError as error:
            if error.status.code != 404:
                raise
            raise NotRunnable("the cluster has no KubeVirt: it does not know virtualmachines.kubevirt.io") from None
        if boots and not any(_runs_machines(node) for node in self.client.list(Node, labels={SCHEDULABLE: "true"})):
            raise NotRunnable("no node of the cluster runs virt-handler: on simulated nodes no machine boots")

    def _originals(self) -> Sequence[Object]:
        """What the namespace of the team's machines says of what is in it, as it is on the cluster; what the agreement would write
        where the team has no machines. Queues lead nowhere: nothing is to be admitted from here. (Kueue overlooks one on hold.)"""
        machines = self.team.machines
        if not machines:
            return list(quotas.machines_quota(self.plan, replace(self.team, machines=machines_of(self.team))))
        there = machines.namespace
        found = [_copy("v1", "ResourceQuota", entry) for entry in self.client.list(QuotaData, namespace=there)]
        if not any(entry["metadata"]["name"] == quotas.QUOTA for entry in found):
            raise NotKept(f"resourcequota/{quotas.QUOTA} is not in namespace {there}")
        found += [_copy("v1", "LimitRange", entry) for entry in self.client.list(RangeData, namespace=there)]
        try:
            nowhere = {"clusterQueue": self.name}
            found += [
                _copy(KUEUE, "LocalQueue", queue, nowhere) for queue in self.client.list(LocalQueue, namespace=there)
            ]
        except ApiError as error:
            if error.status.code != 404:
                raise
        return found

    def _make(self, namespace: str, labels: Mapping[str, str], bodies: Sequence[Object]) -> None:
        """The namespace with copies of these objects; returns when its quotas count all that they limit. Raises NotKept."""
        metadata = {"name": namespace, "labels": {**labels, **self.labels_of_run}}
        self.client.create(from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
        for body in bodies:
            metadata = {"name": body["metadata"]["name"], "namespace": namespace, "labels": self.labels_of_run}
            self.client.create(from_dict({**body, "metadata": metadata}))
        if any(body["kind"] == "LocalQueue" for body in bodies):
            _until(lambda: self._queues_act(namespace), self.stage.clock.sleep, ACTS)
        if not _until(lambda: not self._uncounted(namespace), self.stage.clock.sleep, COUNTED):
            raise NotKept(f"resourcequota/{quotas.QUOTA}: the cluster does not count {self._uncounted(namespace)}")

    def _queues_act(self, namespace: str) -> bool:
        """Kueue's webhook hears of a queue with its controller, which says so in the queue's status."""
        return all(
            (queue.get("status") or {}).get("conditions") for queue in self.client.list(LocalQueue, namespace=namespace)
        )

    def _uncounted(self, namespace: str) -> str:
        keys = set()
        for entry in self.client.list(QuotaData, namespace=namespace):
            keys |= set(entry["spec"].get("hard") or ()) - set((entry.get("status") or {}).get("used") or ())
        return ", ".join(sorted(keys))

    # Machines and pods ------------------------------------------------------------------------------------------------

    def submit(self, jobs: JobGroup) -> None:
        """Once the quotas count the machines that are there: what they miss would make room for one too many."""
        _until(self._settled, self.stage.clock.sleep, COUNTS)
        self.submitted[jobs.name] = jobs
        for number in range(jobs.count):
            self._create(self._machine(jobs, jobs.machine, number) if jobs.machine else self._pod(jobs, number))

    def _create(self, body: Object, *, try_only: bool = False) -> None:
        """Raises Refused."""
        try:
            self.client.create(from_dict(dict(body)), dry_run=try_only)
        except ApiError as error:
            if error.status.code in (400, 403, 422):
                raise Refused(str(error.status.message)) from None
            raise

    def remove(self, name: str) -> None:
        """Returns when the quota counts them no more, and the API server, which hears of that a moment later, would take one of them
        again: it would refuse what comes in their place."""
        jobs = self.submitted.pop(name)
        for number in range(jobs.count):
            self.client.delete(VirtualMachine, f"{name}-{number}", namespace=self.name, cascade=CascadeType.BACKGROUND)
        names = {f"{name}-{number}" for number in range(jobs.count)}

        def are_gone() -> bool:
            pods = map(_owner, self.client.list(PodData, namespace=self.name))
            there = {*self._by_name(VirtualMachine), *self._by_name(VirtualMachineInstance), *pods}
            return not names & there and self._settled() and (jobs.machine is None or taken(jobs, jobs.machine))

        def taken(jobs: JobGroup, machine: Machine) -> bool:
            try:
                self._create(self._machine(jobs, machine, 0), try_only=True)
            except Refused:
                return False
            return True

        _until(are_gone, self.stage.clock.sleep, GONE)

    def look(self) -> Sequence[JobState]:
        machines = self._by_name(VirtualMachine)
        instances = self._by_name(VirtualMachineInstance)
        pods = {_owner(pod): pod for pod in self.client.list(PodData, namespace=self.name)}
        states = []
        for jobs in self.submitted.values():
            for number in range(jobs.count):
                name = f"{jobs.name}-{number}"
                if jobs.machine and name in machines:
                    found = machines[name], instances.get(name), pods.get(name)
                    states.append(_state(jobs, jobs.machine, number, *found))
        return states

    def usage(self) -> Mapping[str, int]:
        """What the quotas count, by the resource."""
        return self.counts.look()

    def _settled(self) -> bool:
        """Whether every machine has what it is to have, or was told why not, and the quotas count it all."""
        self.counts.look()
        return self.counts.right and all(
            job_state.told or job_state.phase is Phase.RUNNING for job_state in self.look()
        )

    def labels(self, node: str) -> Mapping[str, str]:
        metadata = self.client.get(Node, node).metadata
        return (metadata and metadata.labels) or {}

    def close(self) -> None:
        """Machines first: their namespace would wait for what KubeVirt must let go of."""
        try:
            self.client.deletecollection(VirtualMachine, namespace=self.name, cascade=CascadeType.BACKGROUND)
            _until(lambda: not self._by_name(VirtualMachineInstance), time.sleep, GONE)
        except ApiError as error:
            if error.status.code != 404:
                raise
        for namespace in (self.name, self.pods):
            try:
                self.client.delete(Namespace, namespace)
            except ApiError as error:
                if error.status.code not in (404, 409):
                    raise

    def _by_name(self, kind: Any) -> dict[str, Object]:
        return {entry["metadata"]["name"]: entry for entry in self.client.list(kind, namespace=self.name)}

    def _machine(self, jobs: JobGroup, machine: Machine, number: int) -> dict[str, Any]:
        """Without a disk. Its memory is said twice: KubeVirt's webhook does that, where there is one."""
        spec: dict[str, Any] = {
            "terminationGracePeriodSeconds": 0,
            "domain": {
                "cpu": {"cores": machine.vcpus},
                "memory": {"guest": str(machine.memory)},
                "resources": {"requests": {"memory": str(machine.memory)}},
                "devices": {},
            },
        }
        if not machine.boots:
            spec["nodeSelector"] = {CHECK_LABEL: self.name}
        template = {"metadata": {"labels": self.labels_of_run}, "spec": spec}
        return {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": self._metadata(jobs, number, self.name),
            "spec": {"runStrategy": "Always" if machine.runs else "Halted", "template": template},
        }

    def _pod(self, jobs: JobGroup, number: int) -> dict[str, Any]:
        """One that asks for the flavor's device, as a member of the team would write it: without a queue a policy refuses it."""
        asks = {self.plan.flavor[jobs.flavor].resource: str(jobs.units)}
        container = {"name": "main", "image": PAUSE, "resources": {"requests": {**asks, "memory": "0"}, "limits": asks}}
        metadata = self._metadata(jobs, number, self.pods)
        metadata["labels"] |= {QUEUE_LABEL: DEFAULT_QUEUE}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "nodeSelector": {CHECK_LABEL: self.name}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _metadata(self, jobs: JobGroup, number: int, namespace: str) -> dict[str, Any]:
        return {"name": f"{jobs.name}-{number}", "namespace": namespace, "labels": dict(self.labels_of_run)}


def _state(
    jobs: JobGroup, machine: Machine, number: int, defined: Object, instance: Object | None, pod: Object | None
) -> JobState:
    held = _held_by_kueue(pod) if pod else []
    status = (instance or {}).get("status") or {}
    runs = status.get("phase") == "Running" if machine.boots else bool(pod) and not held
    found = [*_false(status), *_failures(defined, machine, instance), *held]
    told = [
        Condition(f"{jobs.name}-{number}", type_, value, reason, POD_NAME.sub(r"\1", message))
        for type_, value, reason, message in found
    ]
    nodes = (status["nodeName"],) if status.get("nodeName") else ()
    return JobState(
        jobs.name, number, Phase.RUNNING if runs else Phase.WAITING, () if runs else tuple(told), nodes=nodes
    )


Said = tuple[str, str, str, str]
"""A condition's type, status, reason and message."""


def _false(status: Object) -> list[Said]:
    """Why the instance has no pod."""
    return [
        _said(condition)
        for condition in status.get("conditions") or ()
        if condition["type"] == "Synchronized" and condition["status"] == "False"
    ]


def _failures(defined: Object, machine: Machine, instance: Object | None) -> list[Said]:
    """Why a machine has no instance: it is not to run, or none could be made."""
    conditions = (defined.get("status") or {}).get("conditions") or ()
    found = [
        _said(condition) for condition in conditions if condition["type"] == "Failure" and condition["status"] == "True"
    ]
    if not machine.runs and instance is None:
        found += [
            _said(condition)
            for condition in conditions
            if condition["type"] == "Ready" and condition["status"] == "False"
        ]
    return found


def _held_by_kueue(pod: Object) -> list[Said]:
    gates = ", ".join(gate["name"] for gate in pod["spec"].get("schedulingGates") or ())
    if gates or MANAGED_LABEL in (pod["metadata"].get("labels") or {}):
        return [
            ("PodScheduled", "False", "SchedulingGated", f"Kueue holds the machine's pod: {gates or MANAGED_LABEL}")
        ]
    return []


def _said(body: Object) -> Said:
    return body["type"], body["status"], body.get("reason") or "", body.get("message") or ""


def _owner(pod: Object) -> str:
    """The instance that a launcher's pod is of; empty for other pods."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner["name"] for owner in owners if owner["kind"] == "VirtualMachineInstance"), "")


def _runs_machines(node: Node) -> bool:
    metadata = node.metadata
    return metadata is not None and SIMULATED not in (metadata.annotations or {})


def _copy(version: str, kind: str, live: Object, changes: Object | None = None) -> dict[str, Any]:
    spec = {**live["spec"], **(changes or {})}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": live["metadata"]["name"]}, "spec": spec}


def _until(is_so: Callable[[], bool], sleep: Callable[[float], None], timeouts: float) -> bool:
    """Whether it came to be so."""
    deadline = time.monotonic() + timeouts
    while not is_so():
        if time.monotonic() > deadline:
            return False
        sleep(EVERY)
    return True
