"""Whether real nodes have room for a check, beside the pods that run there now."""

from __future__ import annotations

from math import floor

from ...agreement.hardware import Hardware
from ...cluster import listing, requests
from ...cluster.clients import Client
from ...cluster.fields import spec_of, status_of
from ...cluster.requests import ZERO
from ...text.quantity import amount
from .live_objects import LiveObjects
from .sandbox import NotRunnable


def require(client: Client, there: LiveObjects, flavor: Hardware, units: int) -> None:
    """Raises NotRunnable, which says what is missing."""
    nodes = there.nodes_of(flavor.name)
    names = {node["metadata"]["name"] for node in nodes if not (node.get("spec") or {}).get("unschedulable")}
    has = sum(
        amount(node["status"].get("allocatable", {}).get(flavor.resource))
        for node in nodes
        if node["metadata"]["name"] in names
    )
    taken = sum(
        requests.of(pod).get(flavor.resource, ZERO)
        for pod in listing.objects(client, "Pod")
        if spec_of(pod).get("nodeName") in names and status_of(pod).get("phase") in ("Pending", "Running")
    )
    if (free := floor(has - taken)) < units:
        raise NotRunnable(
            f"it needs {flavor.count(units)} of {flavor.name}, and {free} are free: it can be run while fewer jobs do"
        )
