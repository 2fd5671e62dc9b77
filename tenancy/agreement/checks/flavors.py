"""Flavors: each with capacity, cut as its GPU can be, tied to nodes that are in no other flavor."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...text.spelling import did_you_mean
from ..findings import Finding, Path, Severity
from ..hardware import HOSTNAME, resolve
from ..mig import GEOMETRY, GPU, PRODUCT_LABEL
from ..model import Agreement, Flavor
from ..names import LABEL_VALUE, label_key_problem, name_problem
from .limits import FLAVORS


def shape(agreement: Agreement) -> Iterator[Finding]:
    """Nothing to count, pieces that cannot be cut, a topology that is not there."""
    if not agreement.flavors:
        yield Finding(("flavors",), "has no flavors", "add a table such as [flavors.gpu] with nodes and gpus_per_node")
    for name, flavor in agreement.flavors.items():
        path: Path = ("flavors", name)
        if flavor.mig:
            yield from _mig(path, flavor)
        yield from _capacity(path, flavor)
        if flavor.topology is not None and flavor.topology not in agreement.topologies:
            remedy = did_you_mean(flavor.topology, agreement.topologies, f"add [topologies.{flavor.topology}]")
            yield Finding((*path, "topology"), f"{flavor.topology!r} is not a topology of this agreement", remedy)


def _capacity(path: Path, flavor: Flavor) -> Iterator[Finding]:
    if flavor.nodes == 0:
        yield Finding((*path, "nodes"), "has no capacity: 0 nodes", "give it nodes, or remove the flavor")
    if flavor.mig and not flavor.gpus_per_node:
        yield Finding(
            path, "has no capacity: mig without gpus_per_node", "set gpus_per_node to the number of GPUs that are cut"
        )
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
        yield Finding(
            (*path, "mig", "gpu"), f"{mig.gpu!r} is not in the MIG table", did_you_mean(mig.gpu, GEOMETRY, "")
        )
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
            if problem := label_key_problem(key):
                yield Finding(path, *problem, on_key=True)
            if problem := name_problem(value, LABEL_VALUE):
                yield Finding(path, *problem)
            if key == HOSTNAME and flavor.nodes > 1:
                message = f"names one host, and the flavor has {flavor.nodes} nodes"
                yield Finding(path, message, "take a label that all of them carry")
        seen: set[tuple[str, str]] = set()
        for index, taint in enumerate(flavor.taints):
            path = ("flavors", name, "taints", index)
            if (taint.key, taint.effect) in seen:
                message = f"{taint.key!r} with effect {taint.effect} is listed twice"
                yield Finding(path, message, "name each key and effect once")
            seen.add((taint.key, taint.effect))
            if problem := label_key_problem(taint.key):
                yield Finding((*path, "key"), *problem)
            if problem := name_problem(taint.value, LABEL_VALUE):
                yield Finding((*path, "value"), *problem)


def overlap(agreement: Agreement) -> Iterator[Finding]:
    """One node in two flavors would be counted twice: certain where the labels of one are part of the other's."""
    seen: list[tuple[str, str, dict[str, str]]] = []
    for name, flavor in islice(agreement.flavors.items(), 4 * FLAVORS.most):  # `limits` refuses more than that
        hardware = resolve(name, flavor)
        labels = dict(hardware.node_labels)
        path: Path = ("flavors", name, "node_labels") if flavor.node_labels else ("flavors", name)
        for other, resource, others in seen:
            if labels.items() <= others.items() or others.items() <= labels.items():
                same = "the same nodes as" if labels == others else "nodes that are also in"
                message = f"selects {same} flavor {other!r}, so a node would count in both"
                yield Finding(path, message, "give each flavor a label value of its own")
            elif labels.items() & others.items() and all(
                others.get(key, value) == value for key, value in labels.items()
            ):
                message = f"a node can match these labels and those of flavor {other!r}, and would then count in both"
                yield Finding(path, message, "give the two one label with different values", Severity.ADVICE)
            elif hardware.resource == resource and not labels.keys() & others.keys():
                message = (
                    f"shares no label key with flavor {other!r}, so a job cannot choose one of the two: Kueue compares "
                )
                message += f"only a flavor's own label keys with a job's, and both flavors have {resource}"
                yield Finding(path, message, "give the two one label with different values", Severity.ADVICE)
        seen.append((name, hardware.resource, labels))


def slices_as_gpus(agreement: Agreement) -> Iterator[Finding]:
    """Advice: with MIG strategy `single` a slice is asked for as `nvidia.com/gpu`, as a whole GPU is."""
    whole = [name for name, flavor in agreement.flavors.items() if flavor.gpus_per_node and not flavor.mig]
    for name, flavor in agreement.flavors.items():
        if flavor.mig is None or flavor.mig.strategy != "single":
            continue
        ending = f"-MIG-{flavor.mig.profile}"
        product = flavor.node_labels.get(PRODUCT_LABEL, ending)
        if not product.endswith(ending):
            message = f'{product!r} is not a product name of GPUs cut with strategy "single"'
            yield Finding(("flavors", name, "node_labels", PRODUCT_LABEL), message, f"its name must end in {ending}")
        if whole:
            message = f"jobs request these slices as {GPU}, the same name as whole GPUs of {', '.join(whole[:3])}"
            remedy = 'a job that needs one of the two must select its nodes; strategy = "mixed" gives slices a name of their own'
            yield Finding(("flavors", name, "mig", "strategy"), message, remedy, Severity.ADVICE)


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
                    ("flavors", name, key), f"does not apply: the flavor is counted in {hardware.unit}s", remedy
                )
        for key, ratio, node in (
            ("cpu", hardware.cpu, flavor.cpu_per_node),
            ("memory", hardware.memory, flavor.memory_per_node),
        ):
            if node is not None and ratio * hardware.units_per_node > node and hardware.unit != "cpu":
                yield Finding(
                    ("flavors", name, f"{key}_per_{hardware.unit}"),
                    f"{hardware.units_per_node} {hardware.unit}s of a node need more {key} than {key}_per_node",
                    f"at this ratio no node can use all its {hardware.unit}s: lower the ratio",
                    Severity.ADVICE,
                )
