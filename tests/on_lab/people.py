"""What people submit, as themselves: jobs of every kind the policies know, and kubectl under somebody's name."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenancy.lab import tools

QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
KAI_QUEUE = "kai.scheduler/queue"
IMAGE = "registry.invalid/nothing-runs-on-simulated-nodes"

Object = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What kubectl printed, or why the server refused."""

    said: str
    refused: str

    @property
    def allowed(self) -> bool:
        return not self.refused

    @property
    def object(self) -> Object:
        assert self.allowed, self.refused
        found: Object = json.loads(self.said)
        return found


@dataclass(frozen=True)
class Person:
    """Somebody with kubectl; without a name, the cluster's administrator."""

    kubeconfig: Path
    user: str = ""
    groups: tuple[str, ...] = ()

    def kubectl(self, *arguments: str, given: Object | None = None) -> Answer:
        program = str(tools.require(["kubectl"])["kubectl"])
        me = [f"--as={self.user}", *(f"--as-group={group}" for group in self.groups)] if self.user else []
        command = [program, "--kubeconfig", str(self.kubeconfig), *me, *arguments]
        done = subprocess.run(
            command, input=json.dumps(given) if given else None, capture_output=True, text=True, check=False
        )
        return Answer(done.stdout, done.stderr if done.returncode else "")

    def tries(self, body: Object) -> Answer:
        """Creates it, but for keeping it."""
        return self.kubectl("create", "--dry-run=server", "--output=json", "--filename=-", given=body)

    def creates(self, body: Object) -> Object:
        return self.kubectl("create", "--output=json", "--filename=-", given=body).object

    def deletes(self, body: Object) -> None:
        where = ["--namespace", body["metadata"]["namespace"]] if "namespace" in body["metadata"] else []
        self.kubectl("delete", body["kind"], body["metadata"]["name"], *where, "--ignore-not-found", "--wait=false")


def pod_template(gpus: str = "1", resource: str = "nvidia.com/gpu", **spec: Any) -> Object:
    devices = {resource: gpus} if gpus else {}
    container = {"name": "work", "image": IMAGE, "resources": {"limits": devices, "requests": {"cpu": "1", **devices}}}
    return {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def job(kind: str, namespace: str, labels: Mapping[str, str] | None = None, template: Object | None = None) -> Object:
    """A job of that kind with one pod template, in the last place that the kind has for one."""
    template = template or pod_template()
    api, spec = _KINDS[kind](template)
    body = {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": f"{kind.lower()}-it", "namespace": namespace, "labels": dict(labels or {})},
        "spec": spec,
    }
    if kind == "Pod":
        body["metadata"]["annotations"] = template["metadata"].get("annotations", {})
    return body


def _jobset(template: Object) -> tuple[str, Object]:
    parts = [("first", pod_template(gpus="")), ("last", template)]
    jobs = [{"name": name, "replicas": 1, "template": {"spec": {"template": part}}} for name, part in parts]
    return "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": jobs}


def _trainjob(template: Object) -> tuple[str, Object]:
    resources = template["spec"]["containers"][0]["resources"]
    trainer = {"numNodes": 2, "image": IMAGE, "resourcesPerNode": resources}
    return "trainer.kubeflow.org/v1alpha1", {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}


def _replicas(field: str) -> Callable[[Object], tuple[str, Object]]:
    def made(template: Object) -> tuple[str, Object]:
        parts = {"Master": pod_template(gpus=""), "Worker": template}
        return "kubeflow.org/v1", {field: {name: {"replicas": 1, "template": part} for name, part in parts.items()}}

    return made


def _raycluster(template: Object) -> tuple[str, Object]:
    workers = [{"groupName": "last", "replicas": 1, "template": template}]
    return "ray.io/v1", {"headGroupSpec": {"template": pod_template(gpus="")}, "workerGroupSpecs": workers}


def _apps(template: Object) -> tuple[str, Object]:
    labelled = {"metadata": {**template["metadata"], "labels": {**template["metadata"].get("labels", {}), "app": "it"}}}
    spec = {key: value for key, value in template["spec"].items() if key != "restartPolicy"}
    return "apps/v1", {"selector": {"matchLabels": {"app": "it"}}, "template": {**labelled, "spec": spec}}


_KINDS: Mapping[str, Any] = {
    "Pod": lambda entry: ("v1", entry["spec"]),
    "Job": lambda entry: ("batch/v1", {"template": entry}),
    "Deployment": _apps,
    "StatefulSet": _apps,
    "ReplicaSet": _apps,
    "JobSet": _jobset,
    "TrainJob": _trainjob,
    "PyTorchJob": _replicas("pytorchReplicaSpecs"),
    "MPIJob": _replicas("mpiReplicaSpecs"),
    "RayJob": lambda entry: ("ray.io/v1", {"rayClusterSpec": _raycluster(entry)[1], "shutdownAfterJobFinishes": True}),
    "RayCluster": _raycluster,
    "Notebook": lambda entry: ("kubeflow.org/v1", {"template": {"spec": entry["spec"]}}),
}


def crds() -> Iterator[Object]:
    """Kinds whose controllers the lab has not, just enough of them for the server to take any object."""
    for group, version, plural, kind in (
        ("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
        ("kubeflow.org", "v1", "mpijobs", "MPIJob"),
        ("kubeflow.org", "v1", "notebooks", "Notebook"),
        ("ray.io", "v1", "rayjobs", "RayJob"),
        ("ray.io", "v1", "rayclusters", "RayCluster"),
        ("kubevirt.io", "v1", "virtualmachines", "VirtualMachine"),
        ("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance"),
    ):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": f"{plural}.{group}",
                "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
            },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
                "versions": [served],
            },
        }
