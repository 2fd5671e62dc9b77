"""Limits that Kueue's API enforces on the objects an agreement becomes, as a table, checked before the API server does.

Source: Kueue's v1beta2 CRDs (`config/components/crd`) and webhooks (`pkg/webhooks`), 0.17 to 0.19. An agreement becomes one
resource group, so the limits of 16 groups, 256 flavors and 256 resources in all of a queue are never the first to bind. The
limits of a name are in `naming`, of a topology in `topologies`, of a priority in `model` (an int32).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...text.quantity import MAX_QUANTITY
from ..findings import Finding, Path
from ..hardware import amount_path, by_flavor, resolve
from ..model import Agreement


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` of `what` in one object of `kind`."""

    kind: str
    what: str
    most: int


NODE_LABELS = Limit("ResourceFlavor", "node_labels", 8)
TOLERATIONS = Limit("ResourceFlavor", "taints", 8)
FLAVORS = Limit("resource group", "flavors", 64)
RESOURCES = Limit("resource group", "resources", 64)
PAIRS = Limit("resource group", "flavor × resource pairs", 512)


def objects(agreement: Agreement) -> Iterator[Finding]:
    """Counts: everything of an agreement stands in one resource group of each queue."""
    for name, flavor in agreement.flavors.items():
        yield from _over(NODE_LABELS, len(flavor.node_labels), ("flavors", name, "node_labels"))
        yield from _over(TOLERATIONS, len(flavor.taints), ("flavors", name, "taints"))
    resources = {"cpu", "memory"} | {resolve(name, flavor).resource for name, flavor in agreement.flavors.items()}
    count = len(agreement.flavors)
    yield from _over(FLAVORS, count, ("flavors",))
    yield from _over(RESOURCES, len(resources), ("flavors",))
    yield from _over(PAIRS, count * len(resources), ("flavors",))


def quantities(agreement: Agreement) -> Iterator[Finding]:
    """A quota beyond what a quantity can hold, once CPU and memory follow; Kueue takes the largest for "no limit"."""
    sizes: dict[str, tuple[int, int]] = {}
    for name, flavor in agreement.flavors.items():
        hardware = resolve(name, flavor)
        capacity, most = hardware.capacity, max(hardware.cpu, hardware.memory, 1)
        if capacity * most < MAX_QUANTITY:
            sizes[name] = capacity, most
        else:
            message = "its capacity is larger than a quantity can hold (2^63 - 1 bytes)"
            yield Finding(("flavors", name), message, "lower nodes, or memory per GPU", on_key=True)
    for name, team in agreement.teams.items():
        for of, amount in by_flavor(team.borrowable, agreement).items():
            capacity, most = sizes.get(of, (0, 0))
            if (capacity + amount.count) * most >= MAX_QUANTITY:
                message = f"{amount.count} units and their memory are more than a quantity can hold (2^63 - 1 bytes)"
                yield Finding(
                    amount_path(name, "borrowable", team.borrowable, of), message, "leave it out for no limit"
                )


def _over(limit: Limit, count: int, path: Path) -> Iterator[Finding]:
    if count > limit.most:
        yield Finding(
            path, f"{count} {limit.what} are too many for one {limit.kind}", f"Kueue allows at most {limit.most}"
        )
