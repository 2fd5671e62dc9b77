"""A check's job on Kueue, as a batch/v1 Job. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...agreement.hardware import Hardware
from ...text.quantity import bytes_text, count_text, milli_text
from ..checks.model import JobGroup

SIMULATED = "registry.invalid/nothing-runs-on-simulated-nodes"
REAL = "registry.k8s.io/pause:3.10"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"


def name(jobs: JobGroup, number: int) -> str:
    return f"{jobs.name}-{number}"


def body(
    jobs: JobGroup,
    number: int,
    flavor: Hardware,
    namespace: str,
    queue: str,
    priority: str,
    node_labels: Mapping[str, str],
    image: str,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """It names its flavor by the labels of the flavor's nodes, and asks for CPU and memory in the flavor's ratio, or for one of them
    alone. Its pods end only when they are told to, and at once."""
    asks = {"cpu": milli_text(flavor.cpu * jobs.units), "memory": bytes_text(flavor.memory * jobs.units)}
    device = {} if flavor.unit == "cpu" else {flavor.resource: count_text(jobs.units)}
    requests = {jobs.only: asks[jobs.only]} if jobs.only else {**asks, **device}
    resources = {"requests": requests, "limits": {} if jobs.only else device}
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": dict(node_labels),
        "containers": [{"name": "work", "image": image, "resources": resources}],
    }
    annotations = {REQUIRED: jobs.level} if jobs.level else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name(jobs, number),
            "namespace": namespace,
            "labels": {**labels, QUEUE: queue, **({PRIORITY: priority} if priority else {})},
        },
        "spec": {
            "suspend": True,
            "parallelism": jobs.pods,
            "completions": jobs.pods,
            "backoffLimit": 1000,
            "template": {"metadata": {"labels": dict(labels), "annotations": annotations}, "spec": pod},
        },
    }
