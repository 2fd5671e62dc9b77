"""Jobs for KAI on a lab: what a test submits to a queue of a flavor, and what is seen to run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import Namespace, Node, Pod, ServiceAccount

from tenancy.agreement.plan import Plan
from tenancy.objects import kai

PodGroup = create_namespaced_resource("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups")
QUEUE = "kai.scheduler/queue"
PATIENCE = 240.0  # seconds; on an idle machine nothing here takes more than twenty
STEADY = 4  # looks in a row that must show the same
JOB = "tests/job"


def until(so: Callable[[], object], otherwise: Callable[[], object], steady: int = 1) -> None:
    """Waits until `so()` has been true this often in a row; fails with what there is instead."""
    deadline, seen = time.monotonic() + PATIENCE, 0
    while seen < steady:
        seen = seen + 1 if so() else 0
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.3)


@dataclass(frozen=True)
class Jobs:
    """The teams' namespaces, called as the teams, with jobs in them: a job's is that of the team whose queue it names."""

    client: Client
    plan: Plan

    def begin(self) -> None:
        """A namespace for each team, where the agreement has made none."""
        there = {space.metadata.name for space in self.client.list(Namespace) if space.metadata}
        for name in (name for name in self.plan.team if name not in there):
            metadata = {"name": name, "labels": {self.plan.team_label: name}}
            self.client.create(from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
        for name in self.plan.team:
            until(lambda name=name: list(self.client.list(ServiceAccount, namespace=name)), lambda: "no ServiceAccount")

    def place(self, queue: str) -> str:
        """The namespace of the team whose queue this is."""
        (team,) = {
            team.name
            for team in self.plan.teams
            for flavor in self.plan.flavors
            if queue in kai.job_queues(self.plan, team, flavor)
        }
        return team

    def submit(self, name: str, queue: str, flavor: str, pods: int, each: int, priority: str = "") -> None:
        """A Job of `pods`, each with so many units of the flavor. KAI 0.12 takes each pod for itself."""
        template = self._pod(name, queue, flavor, each, priority)
        template["spec"]["restartPolicy"] = "Never"
        spec = {"parallelism": pods, "completions": pods, "backoffLimit": 100_000, "template": template}
        metadata = {"name": name, "namespace": self.place(queue)}
        self.client.create(from_dict({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}))

    def gang(self, name: str, queue: str, flavor: str, pods: int, each: int, level: str) -> None:
        """Pods that start together in one domain of a level, or not at all."""
        labels = self._labels(name, queue, flavor)
        constraint = {"topology": self.plan.flavor[flavor].topology, "requiredTopologyLevel": level}
        spec = {"minMember": pods, "queue": queue, "priorityClassName": "train", "topologyConstraint": constraint}
        metadata = {"name": name, "namespace": self.place(queue), "labels": labels}
        self.client.create(PodGroup.from_dict({"metadata": metadata, "spec": spec}))
        for number in range(pods):
            pod = self._pod(name, queue, flavor, each, "")
            pod["metadata"] |= {"name": f"{name}-{number}", "namespace": self.place(queue)}
            pod["metadata"]["annotations"] = {"pod-group-name": name}
            self.client.create(from_dict({"apiVersion": "v1", "kind": "Pod", **pod}))

    def running(self) -> dict[str, int]:
        """Pods that run, by job."""
        pods = self.client.list(Pod, namespace="*", fields={"status.phase": "Running"})
        pods = [pod for pod in pods if JOB in (pod.metadata.labels or {})]
        return dict(Counter(pod.metadata.labels[JOB] for pod in pods if not pod.metadata.deletionTimestamp))

    def names(self, job: str) -> set[str]:
        """A job's pods that run: one that was stopped comes back under another name."""
        pods = self.client.list(Pod, namespace="*", labels={JOB: job}, fields={"status.phase": "Running"})
        return {str(pod.metadata.name) for pod in pods}

    def runs(self, **pods: int) -> None:
        """Waits until these jobs run so many pods each, and stay so."""
        until(lambda: {name: self.running().get(name, 0) for name in pods} == pods, self.running, STEADY)

    def why(self, job: str) -> str:
        """What KAI says of the pods of a job that wait."""
        pods = self.client.list(Pod, namespace="*", labels={JOB: job}, fields={"status.phase": "Pending"})
        return " ".join(str(entry.message) for pod in pods for entry in (pod.status and pod.status.conditions) or ())

    def says(self, job: str, text: str) -> None:
        """Waits until a job that waits is told so."""
        until(lambda: text in self.why(job), lambda: self.why(job))

    def domains(self, job: str, level: str) -> set[str]:
        """Where a job's pods run."""
        nodes = {node.metadata.name: node.metadata.labels for node in self.client.list(Node)}
        pods = self.client.list(Pod, namespace="*", labels={JOB: job})
        return {nodes[pod.spec.nodeName][level] for pod in pods if pod.spec.nodeName}

    def _labels(self, job: str, queue: str, flavor: str) -> dict[str, str]:
        pool = kai.pool(self.plan, self.plan.flavor[flavor])
        return {JOB: job, QUEUE: queue, **({kai.NODE_POOL: pool} if pool else {})}

    def _pod(self, job: str, queue: str, flavor: str, each: int, priority: str) -> dict[str, Any]:
        hardware = self.plan.flavor[flavor]
        asks = {hardware.resource: str(each)}
        return {
            "metadata": {"labels": self._labels(job, queue, flavor)},
            "spec": {
                "schedulerName": "kai-scheduler",
                "terminationGracePeriodSeconds": 0,
                **({"priorityClassName": priority} if priority else {}),
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "work", "image": "none", "resources": {"requests": asks, "limits": asks}}],
            },
        }
