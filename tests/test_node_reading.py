"""A Node object of the API as plain data."""

from __future__ import annotations

from typing import Any

from lightkube.resources.core_v1 import Node as NodeObject

from tenancy.capacity import Node, NodeTaint
from tenancy.live.nodes import described

REAL: dict[str, Any] = {
    "metadata": {"name": "a", "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}},
    "spec": {
        "unschedulable": True,
        "taints": [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
            {
                "key": "node.kubernetes.io/unschedulable",
                "effect": "NoSchedule",
                "timeAdded": "2026-01-01T00:00:00Z",
            },
        ],
    },
    "status": {
        "allocatable": {
            "cpu": "127610m",
            "memory": "1056270220Ki",
            "nvidia.com/gpu": "8",
            "nvidia.com/mig-1g.10gb": "0",
            "ephemeral-storage": "1700489474318",
            "hugepages-1Gi": "0",
            "pods": "110",
        },
        "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
    },
}


def read(node: dict[str, Any]) -> Node:
    return described(NodeObject.from_dict(node, lazy=False))


def test_a_node_of_a_real_cluster() -> None:
    assert read(REAL) == Node(
        name="a",
        labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
        allocatable={
            "cpu": 127_610,
            "memory": 1_056_270_220 * 1024,
            "nvidia.com/gpu": 8,
            "nvidia.com/mig-1g.10gb": 0,
        },
        taints=(
            NodeTaint("nvidia.com/gpu", "present", "NoSchedule"),
            NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule"),
        ),
        ready=True,
        cordoned=True,
    )


def test_a_node_that_has_not_reported_yet_is_not_ready() -> None:
    assert read({"metadata": {"name": "new"}, "spec": {}}) == Node("new", {}, {}, ready=False)


def test_unknown_is_not_ready() -> None:
    lost = {**REAL, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    assert not read(lost).ready
