"""What an agreement can be read from, as a cluster has it: queues, flavors, topologies, priorities, and the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.core.resource import GlobalResource, NamespacedResource
from lightkube.generic_resource import create_global_resource
from lightkube.resources.core_v1 import ConfigMap, Namespace
from lightkube.resources.scheduling_v1 import PriorityClass

from ...cluster import read_nodes as nodes
from ...cluster.clients import ClusterQueue, KaiQueue, LocalQueue, ResourceFlavor, connect
from ...cluster.nodes import Node
from ...objects import kai, kueue
from ...objects.identity import AGREEMENT_LABEL, RUN_LABEL
from . import NotObjects, Object, parse

PAGE = 500


def _api(version: str) -> tuple[str, str]:
    group, _, number = version.partition("/")
    return group, number


Kind = type[GlobalResource] | type[NamespacedResource]
KINDS: tuple[type[GlobalResource], ...] = (
    create_global_resource(*_api(kueue.API_VERSION), "Topology", "topologies"),
    ResourceFlavor,
    create_global_resource(*_api(kueue.API_VERSION), "WorkloadPriorityClass", "workloadpriorityclasses"),
    create_global_resource(*_api(kueue.API_VERSION), "Cohort", "cohorts"),
    ClusterQueue,
    create_global_resource(*_api(kai.TOPOLOGY_VERSION), "Topology", "topologies"),
    create_global_resource(*_api(kai.SHARD_VERSION), "SchedulingShard", "schedulingshards"),
    KaiQueue,
    PriorityClass,
    Namespace,
)
CONFIGURATION = ("kueue-manager-config", "kueue-system")


def read(kubeconfig: str | None, context: str | None) -> tuple[list[Object], list[Node], str]:
    """The objects, the nodes, and the cluster as a person names it. Raises Unreachable, and NotObjects where the cluster
    does not say what it has."""
    client = connect(kubeconfig, context)
    try:
        objects = [one for kind in KINDS for one in _objects(kind, client.list(kind, chunk_size=PAGE))]
        objects += _objects(LocalQueue, client.list(LocalQueue, chunk_size=PAGE, namespace="*"))
        objects += _configuration(client)
        return objects, nodes.read(client), f"the cluster of {context or kubeconfig or 'the current context'}"
    except nodes.Unreadable as error:
        raise NotObjects(str(error)) from None
    except ApiError as error:
        raise NotObjects(f"the cluster does not let us read: {error.status.message}") from None
    except httpx2.HTTPError as error:
        raise NotObjects(f"the cluster does not say what it has: {str(error).partition(chr(10))[0]}") from None


def _objects(kind: Kind, listed: Iterable[Any]) -> Iterator[Object]:
    """Every object of a kind, as its API has it; none where the cluster does not know it."""
    info = kind._api_info.resource
    version = f"{info.group}/{info.version}" if info.group else info.version
    try:
        for it in listed:
            body = {**it.to_dict(), "apiVersion": version, "kind": info.kind}
            labels = body["metadata"].get("labels") or {}
            of_kubernetes = kind is PriorityClass and AGREEMENT_LABEL not in labels
            if RUN_LABEL not in labels and not of_kubernetes:  # a run of verify takes its copies away again
                yield body
    except (
        httpx2.HTTPStatusError
    ) as error:  # ApiError is one; of a group that it does not know the server answers in plain text
        if error.response.status_code != httpx2.codes.NOT_FOUND:
            raise


def _configuration(client: Client) -> list[Object]:
    """Kueue's Configuration, where its chart put it and we may read it: it says how Kueue shares."""
    name, namespace = CONFIGURATION
    try:
        found = client.get(ConfigMap, name, namespace=namespace)
        return parse((found.data or {}).get("controller_manager_config.yaml", ""), "Kueue's Configuration")
    except (ApiError, NotObjects):
        return []
