"""A flavor with every default resolved: what it is counted in, how much there is, what CPU and memory go with a unit.

A unit is what a team's amounts count: a GPU, a MIG slice, or a CPU on a flavor without GPUs. Quota of CPU and memory
follows the units by a fixed ratio and is never zero where units are not: Kueue reclaims a job only if *all* it asks for
lies within what is nominally its team's (kueue#4028, kueue#7393).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..text.counts import counted
from .findings import Path
from .mig import GPU, resource_name, slices_per_gpu
from .model import Agreement, Flavor, Taint
from .scalars import Amount, Amounts

Unit = Literal["gpu", "slice", "cpu"]

FLAVOR_LABEL = "tenancy.dev/flavor"  # ties a flavor to its nodes where the agreement names no labels
HOSTNAME = "kubernetes.io/hostname"
CPU_PER_GPU = 8_000  # milli-CPU; taken where neither cpu_per_gpu nor cpu_per_node is given
MEMORY_PER_GPU = 64 * 2**30
MEBIBYTE = 2**20
UNIT_WORDS: Mapping[Unit, tuple[str, str]] = {
    "gpu": ("GPU", "GPUs"),
    "slice": ("slice", "slices"),
    "cpu": ("CPU", "CPUs"),
}


@dataclass(frozen=True, slots=True)
class Hardware:
    """One flavor, resolved. `cpu` is in milli-CPUs and `memory` in bytes, both per unit."""

    name: str
    nodes: int
    unit: Unit
    resource: str
    units_per_node: int
    gpus_per_node: int
    cpu: int
    memory: int
    node_labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    topology: str | None
    profile: str | None

    @property
    def capacity(self) -> int:
        """Units on all nodes together."""
        return self.nodes * self.units_per_node

    def count(self, amount: int) -> str:
        """An amount in words: `1 GPU`, `16 slices`."""
        return counted(amount, UNIT_WORDS[self.unit][0])


def resolve(name: str, flavor: Flavor) -> Hardware:
    """The hardware of a flavor; `units_per_node` is 0 where the flavor has nothing to count (`checks` says so)."""
    unit, units, resource = _units(flavor)
    cpu, memory = _ratio(flavor, unit, units)
    return Hardware(
        name=name,
        nodes=flavor.nodes,
        unit=unit,
        resource=resource,
        units_per_node=units,
        gpus_per_node=flavor.gpus_per_node,
        cpu=cpu,
        memory=memory,
        node_labels=flavor.node_labels or {FLAVOR_LABEL: name},
        taints=flavor.taints,
        topology=flavor.topology,
        profile=flavor.mig.profile if flavor.mig else None,
    )


def by_flavor(amounts: Amounts, agreement: Agreement) -> Mapping[str, Amount]:
    """Amounts as a table; a bare number is of the agreement's only flavor (with several, `checks` refuses it)."""
    if isinstance(amounts, Amount):
        return dict.fromkeys(agreement.flavors, amounts) if len(agreement.flavors) == 1 else {}
    return amounts


def prod_priority(agreement: Agreement) -> str | None:
    """The priority of a prod job that names none: the one the agreement names, else the highest."""
    if agreement.cluster.prod_priority is not None or not agreement.priorities:
        return agreement.cluster.prod_priority
    return max(agreement.priorities, key=lambda name: agreement.priorities[name])


def amount_path(team: str, promise: str, amounts: Amounts, flavor: str) -> Path:
    """Where the amount of a flavor stands: under its name, or on the promise itself where that is a bare number."""
    return ("teams", team, promise) if isinstance(amounts, Amount) else ("teams", team, promise, flavor)


def _units(flavor: Flavor) -> tuple[Unit, int, str]:
    if flavor.mig:
        per_gpu = flavor.mig.slices or slices_per_gpu(flavor.mig.gpu, flavor.mig.profile) or 0
        return "slice", flavor.gpus_per_node * per_gpu, resource_name(flavor.mig.profile, flavor.mig.strategy)
    if flavor.gpus_per_node:
        return "gpu", flavor.gpus_per_node, GPU
    return "cpu", (flavor.cpu_per_node or 0) // 1000, "cpu"


def _ratio(flavor: Flavor, unit: Unit, units: int) -> tuple[int, int]:
    """Milli-CPUs and bytes per unit: as given, else the node's shared out, else our default per GPU shared out."""
    per_node_cpu = flavor.cpu_per_node or CPU_PER_GPU * flavor.gpus_per_node
    per_node_memory = flavor.memory_per_node or MEMORY_PER_GPU * flavor.gpus_per_node
    shared_cpu = max(per_node_cpu // max(units, 1), 1)
    shared_memory = max(per_node_memory // max(units, 1) // MEBIBYTE, 1) * MEBIBYTE
    match unit:
        case "gpu":
            return flavor.cpu_per_gpu or shared_cpu, flavor.memory_per_gpu or shared_memory
        case "slice":
            return flavor.cpu_per_slice or shared_cpu, flavor.memory_per_slice or shared_memory
        case "cpu":
            return 1000, shared_memory
