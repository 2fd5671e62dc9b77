"""The nodes of a cluster, as `capacity` describes them: one list, in pages.

*allocatable* is a node's capacity less what kubelet keeps for the system and for itself. What pods ask for that belong
to no team (daemonsets, agents) comes out of allocatable as well and is not seen here: leave room for it in the
agreement's ratios.
"""

from __future__ import annotations

from collections.abc import Mapping

import httpx2
from lightkube import ApiError, Client, operators
from lightkube.resources.core_v1 import Node as NodeObject

from ..objects.identity import RUN_LABEL
from ..text import quantity as quantities
from .nodes import VENDOR, Node, NodeTaint

PAGE = 500  # nodes in one answer; one of a real cluster has some 20 kB


class Unreadable(RuntimeError):
    """The cluster does not say what nodes it has. The text says why."""


def read(client: Client) -> list[Node]:
    """Every node of the cluster, but for the copies that a run of `verify` works on. Raises Unreadable."""
    try:
        return [
            described(it) for it in client.list(NodeObject, labels={RUN_LABEL: operators.not_exists()}, chunk_size=PAGE)
        ]
    except ApiError as error:
        raise Unreadable(f"the cluster does not let us list its nodes: {error.status.message}") from None
    except (httpx2.HTTPError, ValueError) as error:  # ValueError: a quantity that is none
        raise Unreadable(f"the cluster does not say what nodes it has: {error}") from None


def described(node: NodeObject) -> Node:
    """A Node object of the API, as plain data."""
    metadata, spec, status = node.metadata, node.spec, node.status
    assert metadata is not None and metadata.name is not None
    conditions = (status and status.conditions) or ()
    taints = (spec and spec.taints) or ()
    return Node(
        name=metadata.name,
        labels=metadata.labels or {},
        allocatable=_amounts((status and status.allocatable) or {}),
        taints=tuple(NodeTaint(it.key, it.value or "", it.effect) for it in taints),
        ready=any(it.type == "Ready" and it.status == "True" for it in conditions),
        cordoned=bool(spec and spec.unschedulable),
    )


def _amounts(allocatable: Mapping[str, str]) -> dict[str, int]:
    """CPU in milli-CPUs, memory in bytes, NVIDIA's devices; what else a node has, no agreement counts."""
    amounts = {}
    for name, quantity in allocatable.items():
        if name in ("cpu", "memory") or name.startswith(VENDOR):
            amounts[name] = int(quantities.amount(quantity) * (1000 if name == "cpu" else 1))
    return amounts
