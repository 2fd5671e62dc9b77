"""What is not as agreed about a cluster's nodes, in sentences that name the nodes and the place in the agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from ...agreement.findings import Finding, Path, Severity
from ...agreement.hardware import FLAVOR_LABEL, Hardware
from ...agreement.mig import PRODUCT_LABEL
from ...cluster.nodes import Node, Placed, has, is_gpu, strange_taints, units
from ...text.counts import listed, some
from ...text.quantity import milli_text

T = TypeVar("T")
NAMES_SHOWN = 4
GIBIBYTE = 2**30


class Kind(StrEnum):
    """In the order in which they ask for attention; the last four take nothing from a promise."""

    FEWER = "fewer nodes"
    NOT_READY = "not ready"
    CORDONED = "cordoned"
    LABELS = "missing labels"
    TAINTED = "unexpected taint"
    BELOW = "allocatable below the agreement"
    DEVICES = "other devices"
    DOUBLE = "in two flavors"
    STRAY = "GPUs in no flavor"
    UNTAINTED = "missing taint"
    MORE = "more nodes"


_ADVICE = (Kind.DOUBLE, Kind.STRAY, Kind.UNTAINTED, Kind.MORE)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as agreed. `flavor` is empty where it is about none; `nodes` has every node of it."""

    kind: Kind
    flavor: str
    nodes: tuple[str, ...]
    finding: Finding = field(compare=False)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind.value, "flavor": self.flavor, "nodes": list(self.nodes), **self.finding.as_json()}


def of_flavor(placed: Placed, flavor: Hardware, levels: Sequence[str], alike: Sequence[Node]) -> Iterator[Problem]:
    """Everything about the nodes of a flavor; `alike` are those that look like some and are not."""
    nodes = placed.by_flavor[flavor.name]
    yield from _count(flavor, nodes, alike)
    yield from _state(flavor, nodes)
    yield from _labels(flavor, levels, nodes, alike)
    yield from _taints(flavor, nodes)
    yield from _below(flavor, nodes)
    yield from _devices(flavor, [node for node in nodes if node.name not in placed.doubles])
    yield from _doubles(flavor, nodes, placed.doubles)


def strays(nodes: Iterable[Node]) -> Iterator[Problem]:
    """Nodes with GPUs that no flavor's labels are on, by what they have."""
    for (product, devices), its in _grouped(
        nodes, lambda node: (node.labels.get(PRODUCT_LABEL, ""), _said(node.devices))
    ):
        what = f"{devices or 'GPUs by its label, none for pods'}{f' ({product})' if product else ''}"
        each = " each" if len(its) > 1 else ""
        message = f"{_names(its)}: {what}{each}, in no flavor: no quota counts {'these nodes' if each else 'this node'}"
        remedy = "put the labels of a flavor on the node, or add a flavor for it"
        yield _problem(Kind.STRAY, "", its, ("flavors",), message, remedy)


def _count(flavor: Hardware, nodes: Sequence[Node], alike: Sequence[Node]) -> Iterator[Problem]:
    path = _path(flavor, "nodes")
    there = len(nodes)
    if there < flavor.nodes:
        labels = " and ".join(f"{key}={value}" for key, value in flavor.node_labels.items())
        which = f"carr{'y' if there > 1 else 'ies'} {labels}"
        more = f" ({len(alike)} more would, with the labels below)" if alike else ""
        message = f"{_nodes(flavor.nodes)} agreed, {there or 'none'} {which}{more}"
        yield _problem(
            Kind.FEWER,
            flavor.name,
            (),
            path,
            message,
            "bring the missing nodes back, or write the number that is there",
        )
    elif there > flavor.nodes:
        message = f"{_nodes(flavor.nodes)} agreed, {there} found: the extra nodes are promised to nobody"
        remedy = f"write nodes = {there}, or remove the labels from the extra nodes"
        yield _problem(Kind.MORE, flavor.name, (), path, message, remedy)


def _state(flavor: Hardware, nodes: Sequence[Node]) -> Iterator[Problem]:
    if its := [node for node in nodes if not node.ready]:
        remedy = f"kubectl describe node {its[0].name} says why"
        yield _problem(
            Kind.NOT_READY, flavor.name, its, _path(flavor, "nodes"), f"{_worth(flavor, its)} not Ready", remedy
        )
    if its := [node for node in nodes if node.cordoned]:
        remedy = f"kubectl uncordon {its[0].name}, when it can run jobs again"
        yield _problem(
            Kind.CORDONED, flavor.name, its, _path(flavor, "nodes"), f"{_worth(flavor, its)} cordoned", remedy
        )


def _labels(flavor: Hardware, levels: Sequence[str], nodes: Sequence[Node], alike: Sequence[Node]) -> Iterator[Problem]:
    path = _path(flavor, *(["node_labels"] if dict(flavor.node_labels) != {FLAVOR_LABEL: flavor.name} else []))
    for lacks, its in _grouped(alike, lambda node: tuple(sorted(flavor.node_labels.items() - node.labels.items()))):
        wanted = [f"{key}={value}" for key, value in lacks]
        others = [f"{key}={its[0].labels[key]}" for key, _ in lacks if key in its[0].labels]
        instead = f" (it has {' and '.join(others)})" if others else ""
        message = f"{_names(its)}: like the flavor's nodes, but without {' and '.join(wanted)}{instead}"
        remedy = f"kubectl label node {its[0].name} {' '.join(wanted)}{' --overwrite' if others else ''}, if it is one"
        yield _problem(Kind.LABELS, flavor.name, its, path, message, remedy)
    for missing, its in _grouped(nodes, lambda node: tuple(level for level in levels if level not in node.labels)):
        if missing:
            message = (
                f"{_worth(flavor, its)} of flavor {flavor.name}, but without {' and '.join(missing)}: no job goes there"
            )
            remedy = "label it with the domain it is in"
            tree = ("topologies", flavor.topology, "levels") if flavor.topology else _path(flavor)
            yield _problem(Kind.LABELS, flavor.name, its, tree, message, remedy)


def _taints(flavor: Hardware, nodes: Sequence[Node]) -> Iterator[Problem]:
    path = _path(flavor, "taints")
    for taint, its in _each(nodes, lambda node: strange_taints(flavor, node)):
        message = f"{_worth(flavor, its)} tainted {taint}, and no job of the flavor gets a toleration for it"
        own = taint.key.startswith("node.kubernetes.io/")
        text = f'{{ key = "{taint.key}", value = "{taint.value}", effect = "{taint.effect}" }}'
        remedy = f"kubectl describe node {its[0].name} says why" if own else f"remove the taint, or name it: {text}"
        yield _problem(Kind.TAINTED, flavor.name, its, path, message, remedy)
    named = {(taint.key, taint.value, taint.effect) for taint in flavor.taints}
    for (key, value, effect), its in _each(
        nodes,
        lambda node: [one for one in sorted(named - set(node.taints)) if one[0] not in {t.key for t in node.taints}],
    ):
        message = f"{_names(its)}: without the taint {key}{'=' if value else ''}{value}:{effect}: any pod may take it"
        remedy = f"kubectl taint node {its[0].name} {key}={value}:{effect}"
        yield _problem(Kind.UNTAINTED, flavor.name, its, path, message, remedy)


def _below(flavor: Hardware, nodes: Sequence[Node]) -> Iterator[Problem]:
    """Devices, CPUs and memory that kubelet offers, against those of the node's units."""
    wanted = flavor.units_per_node
    for devices, its in _grouped(nodes, lambda node: has(flavor, node)[0]):
        if devices < wanted:
            what = "whole CPUs" if flavor.unit == "cpu" else flavor.resource
            key = "cpu_per_node" if flavor.unit == "cpu" else "gpus_per_node"
            message = f"{_names(its)}: {devices} {what} for jobs, {wanted} agreed"
            remedy = (
                f"write {devices}, if that is all a node has"
                if flavor.unit == "cpu"
                else "nvidia-smi and its device plugin say why"
            )
            yield _problem(Kind.BELOW, flavor.name, its, _path(flavor, key), message, remedy)
    for place, resource, ratio, text in ((1, "cpu", flavor.cpu, _cpus), (2, "memory", flavor.memory, _gibibytes)):
        its = [node for node in nodes if has(flavor, node)[place] < min(wanted, has(flavor, node)[0])]
        if not its or (resource == "cpu" and flavor.unit == "cpu"):
            continue
        least = min(its, key=lambda node: node.allocatable.get(resource, 0))
        offered = least.allocatable.get(resource, 0)
        key = f"{resource}_per_{'node' if flavor.unit == 'cpu' else flavor.unit}"
        message = (
            f"{_names(its)}: {text(offered)} {resource} for jobs{' or a little more' if len(its) > 1 else ''}, and "
            f"{text(ratio * wanted)} go with the {flavor.count(wanted)} of a node: enough for {has(flavor, least)[place]}"
        )
        fits = offered if flavor.unit == "cpu" else offered // wanted
        remedy = f"write {key} = {_toml(resource, fits)} or less"
        yield _problem(Kind.BELOW, flavor.name, its, _path(flavor, key), message, remedy)


def _devices(flavor: Hardware, nodes: Sequence[Node]) -> Iterator[Problem]:
    """GPUs or slices of another kind than the flavor's: cut in another way, cut or whole against the agreement."""
    path = _path(flavor, *(["mig", "profile"] if flavor.profile else ["gpus_per_node"] if flavor.gpus_per_node else []))
    for others, its in _grouped(nodes, lambda node: _said(_others(flavor, node))):
        if others:
            counted = "CPUs only" if flavor.unit == "cpu" else flavor.resource
            message = f"{_names(its)}: {others}, and the flavor counts {counted}"
            yield _problem(
                Kind.DEVICES, flavor.name, its, path, message, "cut its GPUs as agreed, or label it for another"
            )
    for product, its in _grouped(nodes, lambda node: node.labels.get(PRODUCT_LABEL, "")):
        cut = product.partition("-MIG-")[2]
        if cut and flavor.unit != "cpu" and cut != flavor.profile:
            message = f"{_names(its)}: cut into {cut}, and the flavor counts {flavor.profile or 'whole GPUs'}"
            yield _problem(
                Kind.DEVICES, flavor.name, its, path, message, "cut its GPUs as agreed, or label it for another"
            )


def _others(flavor: Hardware, node: Node) -> Mapping[str, int]:
    return {device: count for device, count in node.devices.items() if device != flavor.resource and is_gpu(device)}


def _doubles(flavor: Hardware, nodes: Sequence[Node], doubles: Mapping[str, Sequence[Hardware]]) -> Iterator[Problem]:
    for others, its in _each(nodes, lambda node: [tuple(other.name for other in doubles.get(node.name, ()))]):
        if others:
            names = " and ".join(others)
            message = f"{_names(its)}: also in {names}, whose quota counts on it too; here it counts for {flavor.name}"
            if not any(units(other, node) for node in its for other in doubles[node.name]):
                message = f"{_names(its)}: also carries the labels of {names}, and has nothing of what that counts"
            remedy = "give the two flavors one label with different values"
            yield _problem(Kind.DOUBLE, flavor.name, its, _path(flavor, "node_labels"), message, remedy)


def _problem(kind: Kind, flavor: str, nodes: Iterable[Node], path: Path, message: str, remedy: str) -> Problem:
    severity = Severity.ADVICE if kind in _ADVICE else Severity.ERROR
    return Problem(kind, flavor, tuple(node.name for node in nodes), Finding(path, message, remedy, severity))


def _path(flavor: Hardware, *keys: str) -> Path:
    return ("flavors", flavor.name, *keys)


def _grouped(nodes: Iterable[Node], key: Callable[[Node], T]) -> Iterable[tuple[T, list[Node]]]:
    return _each(nodes, lambda node: [key(node)])


def _each(nodes: Iterable[Node], keys: Callable[[Node], Iterable[T]]) -> Iterable[tuple[T, list[Node]]]:
    """Nodes under each of their keys, in the order in which these first come."""
    found: dict[T, list[Node]] = defaultdict(list)
    for node in nodes:
        for key in keys(node):
            found[key].append(node)
    return found.items()


def folded(names: Sequence[str]) -> str:
    """`gpu-3, gpu-7 and 4 more`."""
    if len(names) <= NAMES_SHOWN:
        return listed(names)
    return some(names, NAMES_SHOWN - 1)


def _names(nodes: Iterable[Node]) -> str:
    return folded([node.name for node in nodes])


def _worth(flavor: Hardware, nodes: Sequence[Node]) -> str:
    """The nodes, and what they come to for the flavor."""
    return f"{_names(nodes)} ({flavor.count(sum(units(flavor, node) for node in nodes))}):"


def _nodes(count: int) -> str:
    return f"{count} node{' is' if count == 1 else 's are'}"


def _said(devices: Mapping[str, int]) -> str:
    return " and ".join(f"{count} {name}" for name, count in sorted(devices.items()))


def _cpus(milli: int) -> str:
    return f"{milli / 1000:g}"


def _gibibytes(amount: int) -> str:
    """Rounded down, so that less never looks like enough."""
    return f"{amount * 100 // GIBIBYTE / 100:g}Gi"


def _toml(resource: str, amount: int) -> str:
    """An amount as the agreement would have it, rounded down to what a person would write."""
    if resource == "memory":
        return f'"{amount // GIBIBYTE}Gi"' if amount >= GIBIBYTE else f'"{amount // 2**20}Mi"'
    return str(amount // 1000) if amount % 1000 == 0 else f'"{milli_text(amount)}"'
