"""What a sandbox on KAI is made of, as plain data: copies of Queues and nodes under names of their own, and the jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...agreement.hardware import HOSTNAME, Hardware
from ...agreement.plan import Plan, TeamPlan
from ...objects import kai
from ...objects.access.rules import KAI_PRIORITIES
from ...objects.identity import RUN_PREFIX
from ...objects.kinds import KINDS
from ...objects.schedulers import Place
from ..checks.kai_field import priority
from ..checks.model import JobGroup
from .sandbox import CHECK_LABEL, RUN_LABEL

GROUP_LABEL = "tenancy.dev/verify-jobs"  # on pods: the `Jobs.name` they are of
NUMBER_LABEL = "tenancy.dev/verify-job"  # on pods of a gang: its number; otherwise the pod's index is
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"  # annotation: how many pods of the index were before this one
QUEUE_LABEL = "kai.scheduler/queue"
FRACTION = "gpu-fraction"  # annotation; its value is text
GPU_GROUP = "runai-gpu-group"  # label: pods with the same value share a GPU
GANG = "pod-group-name"  # annotation: the PodGroup that a pod is of
SCHEDULER = "kai-scheduler"
IMAGE = "registry.k8s.io/pause:3.10"
FAKE = "kwok.x-k8s.io/node"  # annotation of a simulated node
RETRIES = 100_000
DEFAULT_CLASS = {"priorityClassName": "train"}
LONGEST = 63  # of a label's value; a job names its queue in one

Object = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """Whose a copy is: the run, and the sandbox's number in it."""

    run: str
    number: int

    @property
    def labels(self) -> dict[str, str]:
        return {RUN_LABEL: self.run, CHECK_LABEL: str(self.number)}

    def name(self, of: str, longest: int = LONGEST) -> str:
        """The copy's name; one that would be too long ends in a digest."""
        whole = f"{RUN_PREFIX}{self.run}-{self.number}-{of}"
        if len(whole) <= longest:
            return whole
        return f"{whole[: longest - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"

    @property
    def taint(self) -> Object:
        return {"key": RUN_LABEL, "value": f"{self.run}-{self.number}", "effect": "NoSchedule"}

    @property
    def toleration(self) -> Object:
        return {**self.taint, "operator": "Equal"}


def queue(mark: Mark, live: Mapping[str, Any], parents: Mapping[str, str]) -> Object:
    """A live Queue as it is, in the sandbox's tree. A parent that is not in the cluster is none in the sandbox either."""
    spec = dict(live["spec"])
    if parent := spec.get("parentQueue"):
        spec["parentQueue"] = parents.get(parent, mark.name(parent))
    labels = {key: value for key, value in _labels(live).items() if key == kai.NODE_POOL}
    metadata = {"name": parents[live["metadata"]["name"]], "labels": {**labels, **mark.labels}}
    return {"apiVersion": kai.API_VERSION, "kind": "Queue", "metadata": metadata, "spec": spec}


def node(mark: Mark, live: Mapping[str, Any], levels: Sequence[str]) -> Object:
    """A simulated node as it is, for the sandbox's pods only. Its domains are the sandbox's too."""
    name = mark.name(live["metadata"]["name"])
    labels = {**_labels(live), **mark.labels}
    for level in levels:
        if level in labels:
            labels[level] = f"{labels[level][:40]}-{mark.run}-{mark.number}"
    taints = [taint for taint in live["spec"].get("taints", ()) if not taint["key"].startswith("node.kubernetes.io/")]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, HOSTNAME: name}, "annotations": {FAKE: "fake"}},
        "spec": {"taints": [*taints, mark.taint]},
        "status": {key: dict(live["status"][key]) for key in ("capacity", "allocatable")},
    }


def namespace(plan: Plan, mark: Mark, team: str) -> Object:
    labels = {**mark.labels, plan.team_label: team}
    metadata = {"name": mark.name(team.replace(".", "-")), "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def queue_of(plan: Plan, team: TeamPlan, flavor: Hardware, place: Place) -> str:
    """The queue of the agreement that jobs of this place name."""
    match place:
        case Place.PROD:
            return next(iter(kai.prod_queues(plan, team, flavor)))
        case Place.RESERVED:
            return kai.reserved(plan, team, flavor) or ""
        case Place.REGULAR:
            return kai.regular(plan, team, flavor)


@dataclass(frozen=True)
class Template:
    """Where and how a group's jobs run: the queue's name in the sandbox, the namespace, and (`ours`) whether the nodes are
    copies. `use` makes names different from those of the checks before."""

    plan: Plan
    mark: Mark
    flavor: Hardware
    queue: str
    namespace: str
    ours: bool
    use: int

    def objects(self, jobs: JobGroup) -> list[Object]:
        """A Job for all jobs of one pod; a PodGroup and its pods for each job of several."""
        if jobs.pods == 1:
            return [self._job(jobs)]
        return [one for number in range(jobs.count) for one in self._gang(jobs, number)]

    def _job(self, jobs: JobGroup) -> Object:
        annotations = {FRACTION: jobs.fraction} if jobs.fraction else {}
        labels = {**self._labels, GROUP_LABEL: jobs.name}
        spec = {
            "completionMode": "Indexed",
            "parallelism": jobs.count,
            "completions": jobs.count,
            "backoffLimitPerIndex": RETRIES,  # a pod that KAI stops counts as failed
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": self._pod(jobs)},
        }
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": self._metadata(f"{jobs.name}-{self.use}"),
            "spec": spec,
        }

    def _gang(self, jobs: JobGroup, number: int) -> Iterator[Object]:
        """Its pods are nobody's: of a pod that has an owner KAI makes a PodGroup itself, whatever the pod says."""
        name = f"{jobs.name}-{self.use}-{number}"
        spec: Object = {
            "minMember": jobs.pods,
            "queue": self.queue,
            **(priority_class(self.plan, jobs) or DEFAULT_CLASS),
        }
        if jobs.level:
            spec["topologyConstraint"] = {"topology": self.flavor.topology, "requiredTopologyLevel": jobs.level}
        yield {
            "apiVersion": KINDS["PodGroup"].api_version,
            "kind": "PodGroup",
            "metadata": self._metadata(name),
            "spec": spec,
        }
        for pod in range(jobs.pods):
            metadata = self._metadata(f"{name}-{pod}")
            metadata["labels"] |= {GROUP_LABEL: jobs.name, NUMBER_LABEL: str(number), INDEX_LABEL: str(pod)}
            metadata["annotations"] = {GANG: name}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self._pod(jobs)}

    @property
    def _labels(self) -> dict[str, str]:
        pool = kai.pool(self.plan, self.flavor)
        return {**self.mark.labels, QUEUE_LABEL: self.queue, **({kai.NODE_POOL: pool} if pool else {})}

    def _metadata(self, name: str) -> Object:
        return {"name": name, "namespace": self.namespace, "labels": self._labels}

    def _pod(self, jobs: JobGroup) -> Object:
        asks = {} if jobs.fraction else {self.flavor.resource: str(jobs.units)}
        taints = [
            {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
            for taint in self.flavor.taints
        ]
        return {
            "schedulerName": SCHEDULER,
            **priority_class(self.plan, jobs),
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {**self.flavor.node_labels, **(self.mark.labels if self.ours else {})},
            "tolerations": [*taints, *([self.mark.toleration] if self.ours else [])],
            "containers": [{"name": "work", "image": IMAGE, "resources": {"requests": asks, "limits": dict(asks)}}],
        }


def priority_class(plan: Plan, jobs: JobGroup) -> dict[str, str]:
    """The class that has their value by the agreement, or by KAI's chart, as a part of a pod's spec. Without one KAI gives them
    `train`: it is not named where policies would refuse a class so high."""
    value, highest = priority(plan, jobs), plan.team[jobs.team].highest_priority
    if plan.access and highest is not None and highest < value:
        return {}
    named = {value: name for name, value in {**plan.priorities, **KAI_PRIORITIES}.items()}
    return {"priorityClassName": named[value]}


def _labels(live: Mapping[str, Any]) -> Mapping[str, str]:
    return live["metadata"].get("labels") or {}
