"""The agreement's hardware as Node objects that kwok keeps alive.

A node of the lab has what a real one of its flavor has: the flavor's labels and taints, its devices, the CPUs and memory
that go with them, a label for each level of its topology, the labels by which GPU software knows a product, and where there
are several flavors the name of its node pool for KAI.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.resources.core_v1 import Node

from ..agreement.hardware import FLAVOR_LABEL, Hardware
from ..agreement.mig import GPU, PRODUCT_LABEL
from ..agreement.plan import Plan
from ..objects.kai import NODE_POOL, pool
from ..text.quantity import bytes_text, count_text, milli_text

HOSTNAME = "kubernetes.io/hostname"
MADE_FROM = "tenancy.dev/made-from"  # annotation: a digest of the node's description, to see what has changed
FAKE = {"kwok.x-k8s.io/node": "fake"}  # kwok's own annotation
FAKE_GPU_POOL = "run.ai/simulated-gpu-node-pool"  # what fake-gpu-operator goes by

# Nodes of a flavor in one domain of the narrowest level above the node, and domains of a level in one of the next wider:
# a rack or NVLink unit of 8 nodes, 4 of these to a block, and so on.
NODES_PER_DOMAIN, DOMAINS_PER_DOMAIN = 8, 4
GPU_MEMORY = 81920  # MiB, where the agreement's labels do not say; KAI shares GPUs by this number
PODS = 110  # kubelet's default
AT_ONCE = 8  # requests under way


def nodes(plan: Plan) -> Iterator[dict[str, Any]]:
    """Every node of the plan, named `<flavor>-<number>`."""
    for flavor in plan.flavors:
        levels = next((topology.levels for topology in plan.topologies if topology.name == flavor.topology), ())
        for number in range(flavor.nodes):
            yield _node(flavor, levels, number, pool(plan, flavor))


def domains(flavor: str, levels: tuple[str, ...], number: int) -> dict[str, str]:
    """The topology's labels of a node. A domain holds nodes of one flavor only."""
    labels = {}
    size = NODES_PER_DOMAIN
    for level in reversed(levels):
        if level == HOSTNAME:
            continue
        labels[level] = f"{flavor}-{level.rpartition('/')[2]}-{number // size}"
        size *= DOMAINS_PER_DOMAIN
    return labels


def _node(flavor: Hardware, levels: tuple[str, ...], number: int, pool: str | None) -> dict[str, Any]:
    name = f"{flavor.name}-{number}"
    resources = _resources(flavor)
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in flavor.taints]
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                HOSTNAME: name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "type": "kwok",
                FLAVOR_LABEL: flavor.name,
                **_gpu_labels(flavor),
                **({NODE_POOL: pool} if pool else {}),
                **domains(flavor.name, levels, number),
                **flavor.node_labels,
            },
            "annotations": dict(FAKE),
        },
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": resources, "allocatable": dict(resources)},
    }
    node["metadata"]["annotations"][MADE_FROM] = hashlib.sha256(json.dumps(node).encode()).hexdigest()[:12]
    return node


def _gpu_labels(flavor: Hardware) -> dict[str, str]:
    """What NVIDIA's GPU feature discovery tells of a node. With MIG strategy `single` a slice goes by a GPU's name: product
    and count are those of the slices. The agreement's own labels come after these."""
    if not flavor.gpus_per_node:
        return {}
    single = flavor.profile and flavor.resource == GPU
    return {
        "nvidia.com/gpu.present": "true",
        PRODUCT_LABEL: f"{flavor.name}-MIG-{flavor.profile}" if single else flavor.name,
        "nvidia.com/gpu.count": str(flavor.units_per_node if single else flavor.gpus_per_node),
        "nvidia.com/gpu.memory": str(GPU_MEMORY),
        FAKE_GPU_POOL: flavor.name,
        **({"nvidia.com/mig.strategy": "single" if single else "mixed"} if flavor.profile else {}),
    }


def _resources(flavor: Hardware) -> dict[str, str]:
    """Exactly what the quota of the node's units comes to, so that what the agreement promises also fits."""
    units = flavor.units_per_node
    resources = {
        "cpu": milli_text(flavor.cpu * units),
        "memory": bytes_text(flavor.memory * units),
        "pods": count_text(max(PODS, 2 * units)),
    }
    return resources if flavor.unit == "cpu" else {flavor.resource: count_text(units), **resources}


def converge(client: Client, plan: Plan) -> int:
    """Makes the lab's nodes those of the plan; returns how many were made, replaced or removed.

    A node whose description differs is another node: it is removed with its pods and made again. Nodes that somebody
    else made are left alone.
    """
    wanted = {node["metadata"]["name"]: node for node in nodes(plan)}
    present = {name: made for name, made, _ in _present(client)}
    gone = [name for name, made in present.items() if name not in wanted or made != _made(wanted[name])]
    new = [node for name, node in wanted.items() if name not in present or name in gone]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda name: client.delete(Node, name), gone))
        list(pool.map(lambda node: client.create(from_dict(node)), new))
    return len(set(gone) | {node["metadata"]["name"] for node in new})


def ready(client: Client, plan: Plan) -> bool:
    """Whether every node of the plan is there as described, and Ready."""
    fine = {name: made for name, made, is_ready in _present(client) if is_ready}
    return all(fine.get(node["metadata"]["name"]) == _made(node) for node in nodes(plan))


def count(client: Client) -> int:
    """How many nodes the cluster has, whoever made them."""
    return sum(1 for _ in client.list(Node))


def _present(client: Client) -> Iterator[tuple[str, str, bool]]:
    """The lab's nodes in the cluster: name, digest of the description they were made from, whether they are Ready."""
    for node in client.list(Node):
        metadata, conditions = node.metadata, (node.status and node.status.conditions) or []
        if metadata and metadata.name and (made := (metadata.annotations or {}).get(MADE_FROM)):
            yield (
                metadata.name,
                made,
                any(condition.type == "Ready" and condition.status == "True" for condition in conditions),
            )


def _made(node: Mapping[str, Any]) -> str:
    made: str = node["metadata"]["annotations"][MADE_FROM]
    return made
