"""What nodes a flavor has: as the cluster shows them. Quotas say how many units there are, and not on how many nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ...agreement.hardware import FLAVOR_LABEL
from ...cluster.nodes import Node
from .draft import Draft, Shape


def of_nodes(draft: Draft, nodes: Iterable[Node]) -> dict[str, Shape]:
    """By flavor the nodes that carry its labels and have what it is counted in, and the size that most of them are of. What
    goes with a unit, where no quota says it, is then a node's, shared out."""
    nodes = list(nodes)
    found: dict[str, Shape] = {}
    for name, flavor in draft.flavors.items():
        labels = flavor.node_labels or {FLAVOR_LABEL: name}
        scale = 1000 if flavor.resource == "cpu" else 1
        units = {
            node.name: node.allocatable.get(flavor.resource, 0) // scale
            for node in nodes
            if labels.items() <= node.labels.items()
        }
        sizes = Counter(size for size in units.values() if size)
        if not sizes:
            continue
        ((size, _),) = sizes.most_common(1)
        found[name] = Shape(sizes.total(), size)
        one = next(node for node in nodes if units.get(node.name) == size).allocatable
        draft.flavors[name] = replace(
            flavor,
            cpu=flavor.cpu or one.get("cpu", 0) // size or None,
            memory=flavor.memory or one.get("memory", 0) // size // 2**20 * 2**20 or None,
        )
    return found
