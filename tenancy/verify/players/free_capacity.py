"""Whether real nodes have room for a check, beside the pods that run there now."""

from __future__ import annotations

from math import floor

from lightkube import Client
from lightkube.resources.core_v1 import Pod

from ...agreement.hardware import Hardware
from ...text.quantity import amount
from .live_objects import Originals
from .sandbox import NotRunnable


def require(client: Client, there: Originals, flavor: Hardware, units: int) -> None:
    """Raises NotRunnable, which says what is missing."""
    nodes = there.nodes_of(flavor.name)
    names = {it["metadata"]["name"] for it in nodes if not (it.get("spec") or {}).get("unschedulable")}
    has = sum(
        amount(it["status"].get("allocatable", {}).get(flavor.resource))
        for it in nodes
        if it["metadata"]["name"] in names
    )
    taken = sum(
        amount(((container.resources and container.resources.requests) or {}).get(flavor.resource))
        for pod in client.list(Pod, namespace="*", chunk_size=500)
        if pod.spec and pod.spec.nodeName in names and pod.status and pod.status.phase in ("Pending", "Running")
        for container in pod.spec.containers
    )
    if (free := floor(has - taken)) < units:
        raise NotRunnable(
            f"it needs {flavor.count(units)} of {flavor.name}, and {free} are free: it can be run while fewer jobs do"
        )
