"""The nodes of a cluster, as `nodes` describes them: one list, in pages.

*allocatable* is a node's capacity less what kubelet keeps for the system and for itself. What pods ask for that belong
to no team (daemonsets, agents) comes out of allocatable as well and is not seen here: leave room for it in the
agreement's ratios.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..objects.identity import RUN_LABEL
from ..text import quantity as quantities
from .clients import Client
from .fields import Object, is_true, labels_of, name_of, spec_of, status_of
from .listing import Unreadable, objects
from .nodes import VENDOR, Node, NodeTaint

__all__ = ["Unreadable", "described", "read"]


def read(client: Client) -> list[Node]:
    """Every node of the cluster, but for the copies that a run of `verify` works on. Raises Unreadable."""
    try:
        return [described(node) for node in objects(client, "Node", labels=f"!{RUN_LABEL}")]
    except Unreadable as error:
        does = "let us list its nodes" if error.refused else "say what nodes it has"
        raise Unreadable(f"the cluster does not {does}: {error.reason}", error.reason) from None


def described(node: Object) -> Node:
    """A Node of the API, as far as an agreement is concerned."""
    spec = spec_of(node)
    return Node(
        name=name_of(node),
        labels=labels_of(node),
        allocatable=_amounts(status_of(node).get("allocatable") or {}),
        taints=tuple(
            NodeTaint(taint["key"], taint.get("value") or "", taint["effect"]) for taint in spec.get("taints") or ()
        ),
        ready=is_true(node, "Ready"),
        cordoned=bool(spec.get("unschedulable")),
    )


def _amounts(allocatable: Mapping[str, str]) -> dict[str, int]:
    """CPU in milli-CPUs, memory in bytes, NVIDIA's devices; what else a node has, no agreement counts."""
    amounts = {}
    for name, quantity in allocatable.items():
        if name in ("cpu", "memory") or name.startswith(VENDOR):
            amounts[name] = int(quantities.amount(quantity) * (1000 if name == "cpu" else 1))
    return amounts
