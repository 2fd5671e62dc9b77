"""Limits that Kueue's API enforces on the objects an agreement becomes, as a table, checked before the API server does.

Source: Kueue's v1beta2 CRDs (`config/components/crd`), 0.17 to 0.19.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..findings import Finding, Path
from ..hardware import by_flavor, resolve
from ..model import Agreement
from ..quantity import MAX_QUANTITY


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
    """A quota beyond what a quantity can hold, once CPU and memory follow."""
    for name, flavor in agreement.flavors.items():
        hardware = resolve(name, flavor)
        most = max(hardware.cpu, hardware.memory, 1)
        if hardware.capacity * most > MAX_QUANTITY:
            yield Finding(
                ("flavors", name), "is larger than a quantity can hold (2^63 - 1 bytes)", "lower nodes or memory"
            )
            continue
        for team_name, team in agreement.teams.items():
            amount = by_flavor(team.borrowable, agreement).get(name)
            if amount is not None and amount.count * most > MAX_QUANTITY:
                message = f"{amount.count} with their memory are more than a quantity can hold (2^63 - 1 bytes)"
                yield Finding(("teams", team_name, "borrowable"), message, "leave it out for no limit")


def _over(limit: Limit, count: int, path: Path) -> Iterator[Finding]:
    if count > limit.most:
        yield Finding(
            path, f"{count} {limit.what} are too many for one {limit.kind}", f"Kueue takes at most {limit.most}"
        )
