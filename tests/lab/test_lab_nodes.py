"""The lab's nodes are the agreement's hardware: what it promises fits on them, to the last CPU."""

from __future__ import annotations

from collections import Counter
from typing import Any

from samples import LAB, plan

from tenancy.lab.manifests import fake_gpu_topology
from tenancy.lab.nodes import domains, nodes
from tenancy.objects import kai
from tenancy.text.quantity import parse

MIXED = """
[cluster]
name = "mixed"
[topologies.fabric]
levels = ["topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"]
[flavors.h100]
nodes = 40
gpus_per_node = 8
cpu_per_gpu = 14
memory_per_gpu = "120Gi"
topology = "fabric"
node_labels = { "nvidia.com/gpu.product" = "NVIDIA-H100-80GB-HBM3" }
taints = [{ key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" }]
[flavors.slices]
nodes = 2
gpus_per_node = 4
mig = { gpu = "A100-80GB", profile = "1g.10gb" }
node_labels = { "example.com/kind" = "sliced" }
[flavors.cpu]
nodes = 3
cpu_per_node = 64
memory_per_node = "256Gi"
node_labels = { "example.com/kind" = "plain" }
[teams.one]
guaranteed = { h100 = 8 }
"""


def _by_name(text: str) -> dict[str, Any]:
    return {node["metadata"]["name"]: node for node in nodes(plan(text))}


def test_names_and_numbers_are_the_agreements() -> None:
    made = _by_name(MIXED)
    assert len(made) == 45
    assert Counter(name.rpartition("-")[0] for name in made) == {"h100": 40, "slices": 2, "cpu": 3}


def test_a_gpu_node_has_what_its_gpus_quota_comes_to() -> None:
    capacity = _by_name(MIXED)["h100-7"]["status"]["capacity"]
    assert (capacity["nvidia.com/gpu"], capacity["cpu"], capacity["memory"]) == ("8", "112", "960Gi")
    assert int(capacity["pods"]) >= 110


def test_a_mig_node_has_slices_and_no_whole_gpus() -> None:
    node = _by_name(MIXED)["slices-0"]
    assert node["status"]["allocatable"]["nvidia.com/mig-1g.10gb"] == "28"
    assert "nvidia.com/gpu" not in node["status"]["allocatable"]
    assert node["metadata"]["labels"]["nvidia.com/mig.strategy"] == "mixed"


def test_a_slice_of_strategy_single_goes_by_a_gpus_name() -> None:
    """As the device plugin and GPU feature discovery have it: the resource of a GPU, a product that says what it is."""
    text = MIXED.replace('profile = "1g.10gb" }', 'profile = "1g.10gb", strategy = "single" }')
    node = _by_name(text)["slices-0"]
    labels = node["metadata"]["labels"]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == labels["nvidia.com/gpu.count"] == "28"
    assert labels["nvidia.com/gpu.product"] == "slices-MIG-1g.10gb"
    assert labels["nvidia.com/mig.strategy"] == "single"


def test_a_cpu_node_has_no_gpu_and_no_gpu_labels() -> None:
    node = _by_name(MIXED)["cpu-2"]
    assert (parse(node["status"]["capacity"]["cpu"]) * 1000, parse(node["status"]["capacity"]["memory"])) == (
        64_000,
        256 * 2**30,
    )
    assert not [label for label in node["metadata"]["labels"] if label.startswith("nvidia.com/")]


def test_labels_and_taints_are_the_flavors() -> None:
    node = _by_name(MIXED)["h100-0"]
    labels = node["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/gpu.count"] == "8" and int(labels["nvidia.com/gpu.memory"]) > 0
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert _by_name(LAB)["gpu-0"]["metadata"]["labels"]["tenancy.dev/flavor"] == "gpu"


def test_every_level_of_a_topology_is_a_label_and_domains_nest() -> None:
    made = [node["metadata"]["labels"] for name, node in _by_name(MIXED).items() if name.startswith("h100")]
    racks = Counter(labels["example.com/rack"] for labels in made)
    assert set(racks.values()) == {8}
    zones_of = {
        rack: {entry["topology.kubernetes.io/zone"] for entry in made if entry["example.com/rack"] == rack}
        for rack in racks
    }
    assert all(len(zones) == 1 for zones in zones_of.values())
    assert Counter(next(iter(zones)) for zones in zones_of.values()) == {"h100-zone-0": 4, "h100-zone-1": 1}
    assert [labels["kubernetes.io/hostname"] for labels in made[:2]] == ["h100-0", "h100-1"]


def test_domains_of_two_flavors_are_apart() -> None:
    assert set(domains("a", ("example.com/rack",), 0).values()).isdisjoint(
        domains("b", ("example.com/rack",), 0).values()
    )


def test_a_changed_node_is_another_node() -> None:
    def made_from(text: str) -> str:
        annotation: str = _by_name(text)["gpu-0"]["metadata"]["annotations"]["tenancy.dev/made-from"]
        return annotation

    assert made_from(LAB) == made_from(LAB.replace("nodes = 4", "nodes = 5"))
    assert made_from(LAB) != made_from(LAB.replace("gpus_per_node = 8", "gpus_per_node = 16"))


def test_fake_gpu_operator_counts_slices_as_other_devices() -> None:
    pools = fake_gpu_topology(plan(MIXED))["nodePools"]
    assert list(pools) == ["h100", "slices"]
    assert (pools["h100"]["gpuCount"], pools["h100"]["gpuProduct"]) == (8, "NVIDIA-H100-80GB-HBM3")
    assert pools["slices"]["gpuCount"] == 0
    assert pools["slices"]["otherDevices"] == [{"name": "nvidia.com/mig-1g.10gb", "count": 28}]


def test_a_node_carries_its_pool_where_there_are_several_flavors() -> None:
    """Beside one flavor the label would hide every node from KAI's default shard."""
    assert not [node for node in nodes(plan(LAB)) if kai.NODE_POOL in node["metadata"]["labels"]]
    pools = Counter(node["metadata"]["labels"].get(kai.NODE_POOL) for node in nodes(plan(MIXED)))
    assert pools == {"h100": 40, "slices": 2, "cpu": 3}
