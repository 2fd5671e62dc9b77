"""What an agreement can be read from, as a cluster has it: queues, flavors, topologies, priorities, and the nodes."""

from __future__ import annotations

from ...cluster import listing
from ...cluster import read_nodes as nodes
from ...cluster.clients import Client, connect
from ...cluster.fields import labels_of, name_of
from ...cluster.listing import Unreadable
from ...cluster.nodes import Node
from ...objects.identity import AGREEMENT_LABEL, RUN_LABEL
from . import NotObjects, Object, parse
from .objects import READ

CONFIGURATION = ("kueue-manager-config", "kueue-system")


def read(kubeconfig: str | None, context: str | None) -> tuple[list[Object], list[Node], str]:
    """The objects, the nodes, and the cluster as a person names it. Raises Unreachable, and NotObjects where the cluster
    does not say what it has."""
    client = connect(kubeconfig, context)
    try:
        objects = [body for kind in READ for body in listing.objects(client, kind) if _counts(body)]
        objects += _configuration(client)
        return objects, nodes.read(client), f"the cluster of {context or kubeconfig or 'the current context'}"
    except Unreadable as error:
        raise NotObjects(str(error)) from None


def _counts(body: Object) -> bool:
    """A run of verify takes its copies away again; Kubernetes has priorities of its own."""
    labels = labels_of(body)
    of_kubernetes = body["kind"] == "PriorityClass" and AGREEMENT_LABEL not in labels
    return RUN_LABEL not in labels and not of_kubernetes


def _configuration(client: Client) -> list[Object]:
    """Kueue's Configuration, where its chart put it and we may read it: it says how Kueue shares."""
    name, namespace = CONFIGURATION
    try:
        found = listing.objects(client, "ConfigMap", namespace=namespace, fields=f"metadata.name={name}")
        texts = [
            (entry.get("data") or {}).get("controller_manager_config.yaml", "")
            for entry in found
            if name_of(entry) == name
        ]
        return [one for text in texts for one in parse(text, "Kueue's Configuration")]
    except (Unreadable, NotObjects):
        return []
