"""Fields that a cluster lets nobody change once they are there: who asks for another value must say what is to happen.

From the CRDs of Kueue 0.19 and KAI 0.12 ("field is immutable", "nodeLabels are immutable when topologyName is set") and from
Kubernetes ("value: may not be changed in an update", of which the provider of Pulumi knows nothing).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .identity import kind_of

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fixed:
    """`fields` are dotted. `once`: they are fixed only where this one is set. `replaced`: a new object in place of the old is
    what a change of them means; else the cluster refuses it, and a new name is what is meant."""

    fields: tuple[str, ...]
    once: str = ""
    replaced: bool = False


FIXED: Mapping[str, Fixed] = {
    "Topology": Fixed(("spec.levels",)),
    "ResourceFlavor": Fixed(("spec.nodeLabels", "spec.tolerations", "spec.topologyName"), once="spec.topologyName"),
    "Topology.kai.scheduler": Fixed(("spec.levels",)),
    "LocalQueue": Fixed(("spec.clusterQueue",), replaced=True),
    "PriorityClass": Fixed(("value",), replaced=True),  # Kubernetes' own, for KAI: pods keep the value that they have
}
"""By kind as `identity.kind_of` calls it."""


def changed(there: Object, wanted: Object) -> list[str]:
    """The fixed fields of what is there that are to be something else."""
    it = FIXED.get(kind_of(wanted))
    if it is None or (it.once and _at(there, it.once) is None):
        return []
    return [field for field in it.fields if _at(there, field) != _at(wanted, field)]


def is_replaced(body: Object) -> bool:
    it = FIXED.get(kind_of(body))
    return bool(it and it.replaced)


def _at(body: Object, field: str) -> Any:
    value: Any = body
    for step in field.split("."):
        value = (value or {}).get(step)
    return value
