"""Flavors: each with capacity, cut as its GPU can be, tied to nodes that are in no other flavor."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from ..findings import Finding, Path, Severity
from ..hardware import resolve
from ..mig import GEOMETRY
from ..model import Agreement, Flavor
from ..names import LABEL_VALUE, label_key_problem, name_problem


def nearest(name: str, known: Mapping[str, object], none: str) -> str:
    """A remedy for a name that is not known: the nearest one, or all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known are {', '.join(list(known)[:20])}" if known else none


def shape(agreement: Agreement) -> Iterator[Finding]:
    """Nothing to count, pieces that cannot be cut, a topology that is not there."""
    if not agreement.flavors:
        yield Finding(("flavors",), "holds no flavor", "add a table such as [flavors.gpu] with nodes and gpus_per_node")
    for name, flavor in agreement.flavors.items():
        path: Path = ("flavors", name)
        if flavor.mig:
            yield from _mig(path, flavor)
        yield from _capacity(path, flavor)
        if flavor.topology is not None and flavor.topology not in agreement.topologies:
            remedy = nearest(flavor.topology, agreement.topologies, f"add [topologies.{flavor.topology}]")
            yield Finding((*path, "topology"), f"{flavor.topology!r} is no topology of this agreement", remedy)


def _capacity(path: Path, flavor: Flavor) -> Iterator[Finding]:
    if flavor.nodes == 0:
        yield Finding((*path, "nodes"), "has no capacity: 0 nodes", "give it nodes, or remove the flavor")
    if flavor.mig and not flavor.gpus_per_node:
        yield Finding(path, "has no capacity: mig without gpus_per_node", "say how many GPUs of a node are cut")
    elif not flavor.gpus_per_node and not flavor.cpu_per_node:
        yield Finding(path, "has no capacity: neither gpus_per_node nor cpu_per_node", "give it one of them")
    elif not flavor.gpus_per_node and (flavor.cpu_per_node or 0) < 1000:
        yield Finding(
            (*path, "cpu_per_node"), "has no capacity: less than one CPU per node", "CPU flavors count whole CPUs"
        )
    if not flavor.gpus_per_node and flavor.cpu_per_node and not flavor.memory_per_node:
        yield Finding(path, "has CPUs but no memory", 'add memory_per_node, such as "256Gi"')


def _mig(path: Path, flavor: Flavor) -> Iterator[Finding]:
    mig = flavor.mig
    assert mig is not None
    profiles = GEOMETRY.get(mig.gpu)
    if profiles is None:
        yield Finding((*path, "mig", "gpu"), f"{mig.gpu!r} is not in the MIG table", nearest(mig.gpu, GEOMETRY, ""))
    elif mig.profile not in profiles:
        remedy = f"it can be cut into {', '.join(profiles)}"
        yield Finding((*path, "mig", "profile"), f"an {mig.gpu} cannot be cut into {mig.profile!r}", remedy)
    elif mig.slices is not None and mig.slices > profiles[mig.profile]:
        most = profiles[mig.profile]
        yield Finding(
            (*path, "mig", "slices"),
            f"{mig.slices} slices of {mig.profile} do not fit an {mig.gpu}",
            f"at most {most} do",
        )


def labels(agreement: Agreement) -> Iterator[Finding]:
    """Labels and taints that no node could carry."""
    for name, flavor in agreement.flavors.items():
        for key, value in flavor.node_labels.items():
            path: Path = ("flavors", name, "node_labels", key)
            if problem := label_key_problem(key) or name_problem(value, LABEL_VALUE):
                yield Finding(path, *problem)
        for index, taint in enumerate(flavor.taints):
            path = ("flavors", name, "taints", index)
            if problem := label_key_problem(taint.key):
                yield Finding((*path, "key"), *problem)
            if problem := name_problem(taint.value, LABEL_VALUE):
                yield Finding((*path, "value"), *problem)


def overlap(agreement: Agreement) -> Iterator[Finding]:
    """One node in two flavors would be counted twice: every label of one flavor is also asked for by the other."""
    seen: list[tuple[str, frozenset[tuple[str, str]]]] = []
    for name, flavor in agreement.flavors.items():
        labels = frozenset(resolve(name, flavor).node_labels.items())
        for other, others in seen:
            if labels <= others or others <= labels:
                same = "the same nodes as" if labels == others else "nodes that are also in"
                yield Finding(
                    ("flavors", name, "node_labels") if flavor.node_labels else ("flavors", name),
                    f"selects {same} flavor {other!r}, so a node would count in both",
                    "give each flavor a label value of its own",
                )
        seen.append((name, labels))


_RATIO_KEYS = {"gpu": ("cpu_per_gpu", "memory_per_gpu"), "slice": ("cpu_per_slice", "memory_per_slice"), "cpu": ()}


def ratios(agreement: Agreement) -> Iterator[Finding]:
    """Ratios of another unit than the flavor is counted in, and ratios that the node cannot hold (advice)."""
    for name, flavor in agreement.flavors.items():
        hardware = resolve(name, flavor)
        wanted = _RATIO_KEYS[hardware.unit]
        for key in (key for keys in _RATIO_KEYS.values() for key in keys):
            if getattr(flavor, key) is not None and key not in wanted:
                right = next((right for right in wanted if right.partition("_")[0] == key.partition("_")[0]), None)
                remedy = f"write {right}" if right else "remove it: memory follows the CPUs of a node"
                yield Finding(
                    ("flavors", name, key), f"does not fit: the flavor is counted in {hardware.unit}s", remedy
                )
        for key, ratio, node in (
            ("cpu", hardware.cpu, flavor.cpu_per_node),
            ("memory", hardware.memory, flavor.memory_per_node),
        ):
            if node is not None and ratio * hardware.units_per_node > node and hardware.unit != "cpu":
                yield Finding(
                    ("flavors", name, f"{key}_per_{hardware.unit}"),
                    f"{hardware.units_per_node} {hardware.unit}s of a node ask for more {key} than {key}_per_node",
                    f"at this ratio no node serves all its {hardware.unit}s: lower the ratio",
                    Severity.ADVICE,
                )
