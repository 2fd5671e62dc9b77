"""Teams with real jobs on a lab: a namespace each, jobs in its queues, and what is seen of them.

A job is looked at from both sides: which flavor Kueue has given its Workload, or why it waits, and on which nodes its pods
run. Whoever uses this leaves nothing running (`clear`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Event, Namespace, Node, Pod
from lightkube.types import CascadeType

from tenancy.agreement.hardware import Hardware
from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import LocalQueue, Workload
from tenancy.objects import kueue
from tenancy.text.quantity import bytes_text, milli_text

PATIENCE = 120.0  # seconds; on an idle machine of two cores the slowest wait takes about ten
EVERY = 0.2  # seconds between two looks
JOB_LABEL = "batch.kubernetes.io/job-name"
PREFERRED, REQUIRED = "kueue.x-k8s.io/podset-preferred-topology", "kueue.x-k8s.io/podset-required-topology"


@dataclass(frozen=True)
class Ask:
    """What a job asks for: pods of so many units of a flavor's device with the CPUs and memory that go with them.
    `named` says that it also names the flavor, by the labels of its nodes; `cpu` is per unit, in milli-CPUs."""

    flavor: Hardware
    units: int
    pods: int = 1
    named: bool = True
    cpu: int | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    priority: str = ""
    port: int | None = None
    """A container port of its own makes Kueue look at a job that equals another one that waits (docs/decisions/0022)."""


@dataclass(frozen=True)
class Teams:
    """The teams of a plan on a cluster that holds its objects."""

    client: Client
    plan: Plan

    def settle(self, also: Mapping[str, str] | None = None) -> None:
        """A namespace for each team, named as it is, with the LocalQueues `default` and `prod`; `also` are more labels."""
        there = {namespace.metadata.name for namespace in self.client.list(Namespace) if namespace.metadata}
        for team in self.plan.teams:
            if team.name in there:
                continue
            labels = {self.plan.team_label: team.name, **(also or {})}
            self.client.create(
                from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team.name, "labels": labels}})
            )
            queues = {"default": team.name} | ({"prod": team.name + kueue.PROD_SUFFIX} if team.has_prod else {})
            for name, queue in queues.items():
                spec = {"metadata": {"name": name, "namespace": team.name}, "spec": {"clusterQueue": queue}}
                self.client.create(LocalQueue.from_dict(spec))

    def submit(self, team: str, name: str, ask: Ask, queue: str = "default") -> None:
        self.client.create(from_dict(_job(team, name, ask, queue)))

    def workloads(self) -> dict[str, dict[str, Any]]:
        """Every Workload of the teams' jobs, by `team/job`."""
        found = {}
        for workload in self.client.list(Workload, namespace="*"):
            owner = next(iter(workload.metadata.ownerReferences or ()), None)
            if owner and workload.metadata.namespace in self.plan.team:
                found[f"{workload.metadata.namespace}/{owner.name}"] = dict(workload)
        return found

    def flavors(self) -> dict[str, str]:
        """The flavor of each job that is admitted, by `team/job`."""
        found = {}
        for job, workload in self.workloads().items():
            if condition(workload, "Admitted").get("status") == "True":
                (pods,) = workload["status"]["admission"]["podSetAssignments"]
                (found[job],) = set(pods["flavors"].values())
        return found

    def why_it_waits(self, job: str) -> list[str]:
        """What Kueue says of a job that holds no quota: the condition, and the events. Where nodes have no room in a flavor,
        it looks at the rest of the flavors in a second attempt, and the condition ends by telling of that one only."""
        result = self.workloads().get(job, {})
        reserved = condition(result, "QuotaReserved")
        if reserved.get("status") != "False":
            return []
        of_it = {"involvedObject.uid": result["metadata"]["uid"]}
        events = self.client.list(Event, namespace=result["metadata"]["namespace"], fields=of_it)
        return [str(reserved["message"]), *(str(event.message) for event in events)]

    def preempted(self) -> dict[str, str]:
        """Every job that was ever preempted, with Kueue's reason; of one that holds quota again it is `QuotaReserved`."""
        preempted = {job: condition(workload, "Preempted") for job, workload in self.workloads().items()}
        return {job: value["reason"] for job, value in preempted.items() if value}

    def pods(self) -> dict[str, list[str]]:
        """The nodes of each job's running pods, one entry a pod, by `team/job`."""
        found: dict[str, list[str]] = {}
        for pod in self.client.list(Pod, namespace="*", fields={"status.phase": "Running"}):
            assert pod.metadata and pod.spec
            job = (pod.metadata.labels or {}).get(JOB_LABEL)
            if job and pod.metadata.namespace in self.plan.team and not pod.metadata.deletionTimestamp:
                found.setdefault(f"{pod.metadata.namespace}/{job}", []).append(str(pod.spec.nodeName))
        return found

    def runs(self, job: str, pods: int = 1) -> list[str]:
        """The nodes of a job's pods, once all of them run."""
        self.until(lambda: len(self.pods().get(job, ())) == pods, lambda: f"{job} does not run; {self.said(job)}")
        return sorted(self.pods()[job])

    def waits(self, job: str, because: str) -> None:
        """Until Kueue says so of the job."""
        self.until(
            lambda: any(because in why for why in self.why_it_waits(job)),
            lambda: f"{job} should wait for {because!r}; {self.said(job)}",
        )

    def said(self, job: str) -> str:
        result = self.workloads().get(job)
        return (
            f"all: {result['status'].get('conditions')}"
            if result and result.get("status")
            else "it has no Workload yet"
        )

    def nodes(self) -> dict[str, dict[str, str]]:
        """The labels of every node."""
        return {
            str(node.metadata.name): dict(node.metadata.labels or {})
            for node in self.client.list(Node)
            if node.metadata
        }

    def until(self, true: Callable[[], bool], complaint: Callable[[], str]) -> float:
        """The seconds it took."""
        started = time.monotonic()
        while not true():
            assert time.monotonic() - started < PATIENCE, complaint()
            time.sleep(EVERY)
        return time.monotonic() - started

    def clear(self) -> None:
        """No job, no Workload, no pod of the teams."""
        for team in self.plan.teams:
            self.client.deletecollection(Job, namespace=team.name, cascade=CascadeType.BACKGROUND)
        self.until(
            lambda: not self.workloads() and not self.pods(), lambda: f"left: {[*self.workloads(), *self.pods()]}"
        )


def condition(workload: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """A condition of a Workload; empty where it has none of the kind."""
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return next((dict(condition) for condition in conditions if condition["type"] == kind), {})


def _job(team: str, name: str, ask: Ask, queue: str) -> dict[str, Any]:
    flavor = ask.flavor
    asks = {
        "cpu": milli_text((flavor.cpu if ask.cpu is None else ask.cpu) * ask.units),
        "memory": bytes_text(flavor.memory * ask.units),
    }
    if flavor.unit != "cpu":
        asks[flavor.resource] = str(ask.units)
    container: dict[str, Any] = {
        "name": "work",
        "image": "registry.invalid/none",
        "resources": {"requests": asks, "limits": asks},
    }
    if ask.port is not None:
        container["ports"] = [{"containerPort": ask.port}]
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": dict(flavor.node_labels) if ask.named else {},
        "containers": [container],
    }
    labels = {"kueue.x-k8s.io/queue-name": queue}
    if ask.priority:
        labels["kueue.x-k8s.io/priority-class"] = ask.priority
    template = {"metadata": {"annotations": dict(ask.annotations)}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": team, "labels": labels},
        "spec": {"suspend": True, "parallelism": ask.pods, "completions": ask.pods, "template": template},
    }
