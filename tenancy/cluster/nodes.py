"""A node as far as an agreement is concerned: the flavor it counts for, and how many of the flavor's units jobs can use.

A node is in a flavor when it carries all its node labels: these become the nodeSelector of the flavor's pods. It takes
them when it is Ready, not cordoned, and has no taint but those that the flavor names. A flavor with a topology also needs
a label for each level: Kueue leaves other nodes out (kueue `pkg/util/tas/node.go`, NodeMatchesFlavor).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..agreement.hardware import Hardware
from ..agreement.mig import GPU, PRODUCT_LABEL
from ..agreement.plan import Plan
from ..objects.kueue import topology_of

PRESENT_LABEL = (
    "nvidia.com/gpu.present"  # set by NVIDIA's GPU feature discovery, also where the device plugin is broken
)
VENDOR = "nvidia.com/"
# The control plane repeats a node's state as taints; that is said once, as the state.
STATE_TAINTS = {f"node.kubernetes.io/{entry}" for entry in ("unschedulable", "not-ready", "unreachable")}
KEEPS_OUT = ("NoSchedule", "NoExecute")  # PreferNoSchedule keeps out nobody


class NodeTaint(NamedTuple):
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As kubectl writes it: `key=value:effect`."""
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Node:
    """`allocatable` is what kubelet offers to pods: `cpu` in milli-CPUs, `memory` in bytes, devices in whole ones."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    taints: tuple[NodeTaint, ...] = ()
    ready: bool = True
    cordoned: bool = False

    @property
    def devices(self) -> Mapping[str, int]:
        """What it has of NVIDIA's: whole GPUs, MIG slices, and whatever else a device plugin of theirs offers."""
        return {name: count for name, count in self.allocatable.items() if name.startswith(VENDOR) and count}

    @property
    def has_gpus(self) -> bool:
        return bool(self.devices) or self.labels.get(PRESENT_LABEL) == "true"


def is_gpu(resource: str) -> bool:
    """Whether a resource is GPUs or slices for certain; NVIDIA's network devices are named alike (`nvidia.com/hostdev`)."""
    return resource in (GPU, f"{GPU}.shared") or resource.startswith(f"{VENDOR}mig-")


def has(flavor: Hardware, node: Node) -> tuple[int, int, int]:
    """How many units of the flavor the node's devices, its CPUs and its memory are each enough for."""
    cpu, memory = (node.allocatable.get(entry, 0) for entry in ("cpu", "memory"))
    devices = cpu // 1000 if flavor.unit == "cpu" else node.allocatable.get(flavor.resource, 0)
    return devices, cpu // flavor.cpu, memory // flavor.memory


def units(flavor: Hardware, node: Node) -> int:
    """Units with the CPU and memory that go with each, whatever state the node is in."""
    return min(has(flavor, node))


def strange_taints(flavor: Hardware, node: Node) -> list[NodeTaint]:
    """Taints that keep the flavor's jobs out: it names none such, so no job gets a toleration for it."""
    named = {(taint.key, taint.value, taint.effect) for taint in flavor.taints}
    return [
        taint
        for taint in node.taints
        if taint.effect in KEEPS_OUT and taint not in named and taint.key not in STATE_TAINTS
    ]


def levels_of(plan: Plan, flavor: Hardware) -> tuple[str, ...]:
    """Label keys that Kueue wants on each node of a flavor, besides its own; none where it counts no nodes."""
    tree = topology_of(plan, flavor)
    return tree.levels if tree else ()


def takes_jobs(flavor: Hardware, levels: Sequence[str], node: Node) -> bool:
    return (
        node.ready
        and not node.cordoned
        and not strange_taints(flavor, node)
        and all(level in node.labels for level in levels)
    )


@dataclass(frozen=True)
class Placed:
    """Every node in one place: with the flavor it counts for, or with none. `doubles`: node → the other flavors that it
    carries the labels of."""

    by_flavor: Mapping[str, Sequence[Node]]
    doubles: Mapping[str, Sequence[Hardware]] = field(default_factory=dict)
    strays: Sequence[Node] = ()


def place(plan: Plan, nodes: Iterable[Node]) -> Placed:
    """Nodes by flavor. One that carries the labels of several counts once: for a flavor whose units it has, and of these
    for the one that lacks most to keep its guarantees (first in the agreement's order where alike)."""
    by_flavor: dict[str, list[Node]] = {flavor.name: [] for flavor in plan.flavors}
    several: list[tuple[Node, list[Hardware]]] = []
    strays: list[Node] = []
    for node in sorted(nodes, key=lambda node: natural(node.name)):
        flavors = [flavor for flavor in plan.flavors if flavor.node_labels.items() <= node.labels.items()]
        if len(flavors) == 1:
            by_flavor[flavors[0].name].append(node)
        elif flavors:
            several.append((node, flavors))
        else:
            strays.append(node)
    levels = {flavor.name: levels_of(plan, flavor) for flavor in plan.flavors}
    lacking = {
        flavor.name: flavor.capacity
        - plan.pool[flavor.name]
        - sum(usable(flavor, levels[flavor.name], node) for node in by_flavor[flavor.name])
        for flavor in plan.flavors
    }
    doubles = {}
    for node, flavors in several:
        chosen = max(
            flavors, key=lambda flavor: (units(flavor, node) > 0, min(units(flavor, node), lacking[flavor.name]))
        )
        by_flavor[chosen.name].append(node)
        lacking[chosen.name] -= usable(chosen, levels[chosen.name], node)
        doubles[node.name] = [flavor for flavor in flavors if flavor is not chosen]
    return Placed(
        {name: sorted(its, key=lambda node: natural(node.name)) for name, its in by_flavor.items()}, doubles, strays
    )


def usable(flavor: Hardware, levels: Sequence[str], node: Node) -> int:
    """Units of the flavor that its jobs can have on a node of it."""
    return units(flavor, node) if takes_jobs(flavor, levels, node) else 0


def alike(plan: Plan, placed: Placed) -> Mapping[str, Hardware]:
    """Stray node → the flavor that it looks like one of: it has the flavor's devices, and carries one of its labels or has
    the product of its nodes. Where several flavors are as near, it looks like none."""
    products: dict[str, set[str | None]] = defaultdict(set)
    for flavor in plan.flavors:
        known = [flavor.node_labels.get(PRODUCT_LABEL)]
        known += [node.labels.get(PRODUCT_LABEL) for node in placed.by_flavor[flavor.name]]
        products[flavor.name] = {entry for entry in known if entry}
    found = {}
    for node in placed.strays:
        if not node.has_gpus:
            continue
        near = sorted(
            ((_nearness(flavor, node, products[flavor.name]), flavor.name) for flavor in plan.flavors), reverse=True
        )
        if near and near[0][0] > 0 and (len(near) == 1 or near[1][0] < near[0][0]):
            found[node.name] = plan.flavor[near[0][1]]
    return found


def _nearness(flavor: Hardware, node: Node, products: set[str | None]) -> int:
    """0: nothing in common. Labels of the flavor's own count more than its product, and that more than its resource alone,
    which says something only where the flavor's product is not known."""
    if flavor.unit == "cpu" or (node.devices and flavor.resource not in node.devices):
        return 0
    common = len(flavor.node_labels.items() & node.labels.items())
    product = node.labels.get(PRODUCT_LABEL)
    return 4 * common + 2 * (product in products) + (bool(node.devices) and not (products and product))


def natural(name: str) -> list[str | int]:
    """Sorts `gpu-9` before `gpu-10`. Every second part is a number, so that any two names can be compared."""
    return [int(part) if place % 2 else part for place, part in enumerate(re.split("([0-9]+)", name))]
