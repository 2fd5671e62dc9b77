"""A client for a cluster, and the kinds that are written and watched through it, made from the table of kinds.

What is read comes as plain data, by `listing`.
"""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ConfigError
from lightkube.generic_resource import (
    GenericGlobalResource,
    GenericNamespacedResource,
    create_api_info,
    create_global_resource,
    create_namespaced_resource,
)

from ..objects.kinds import KINDS
from .connection import REMEDY, Unreachable, minified, require_reachable

__all__ = ["ANSWER_TIMEOUT", "Client", "connect"]


def _resource(name: str) -> Any:
    """A kind that its controller brings, as a class of lightkube's registry: `from_dict` finds it there."""
    row = KINDS[name]
    create = create_namespaced_resource if row.namespaced else create_global_resource
    return create(row.group, row.version, row.kind, row.plural)


def _data(name: str) -> Any:
    """One of Kubernetes' own kinds as plain data, where what is copied must keep every field that it has. Not registered:
    lightkube's registry holds one class for a kind, and it is lightkube's own, typed one as soon as anybody has used it."""
    row = KINDS[name]
    base = GenericNamespacedResource if row.namespaced else GenericGlobalResource
    return type(row.kind, (base,), {"_api_info": create_api_info(row.group, row.version, row.kind, row.plural)})


Cohort = _resource("Cohort")
ClusterQueue = _resource("ClusterQueue")
LocalQueue = _resource("LocalQueue")
Workload = _resource("Workload")
ResourceFlavor = _resource("ResourceFlavor")
WorkloadPriorityClass = _resource("WorkloadPriorityClass")
JobSet = _resource("JobSet")
TrainJob = _resource("TrainJob")
KaiQueue = _resource("Queue")
PodGroup = _resource("PodGroup")
KubeVirt = _resource("KubeVirt")
VirtualMachine = _resource("VirtualMachine")
VirtualMachineInstance = _resource("VirtualMachineInstance")
NodeData = _data("Node")
PodData = _data("Pod")
EventData = _data("Event")
QuotaData = _data("ResourceQuota")
RangeData = _data("LimitRange")

ANSWER_TIMEOUT = 60.0  # seconds; removing some hundred jobs at once takes a busy server more than ten


def connect(kubeconfig: str | None, context: str | None = None) -> Client:
    """A client for a cluster that answers. Raises Unreachable, also where the kubeconfig is of no use."""
    require_reachable(kubeconfig, context)
    try:
        config = KubeConfig.from_dict(dict(minified(kubeconfig, context)))
        return Client(config.get(), timeout=httpx2.Timeout(ANSWER_TIMEOUT))
    except (ConfigError, KeyError, AssertionError, msgspec.ValidationError) as error:
        raise Unreachable(f"the kubeconfig cannot be used: {error}. {REMEDY}") from None
