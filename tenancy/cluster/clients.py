"""A client for a cluster, and the kinds that are read through it."""

from __future__ import annotations

import httpx2
import msgspec
from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ConfigError
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from .connection import REMEDY, Unreachable, minified, require_reachable

Cohort = create_global_resource("kueue.x-k8s.io", "v1beta2", "Cohort", "cohorts")
ClusterQueue = create_global_resource("kueue.x-k8s.io", "v1beta2", "ClusterQueue", "clusterqueues")
LocalQueue = create_namespaced_resource("kueue.x-k8s.io", "v1beta2", "LocalQueue", "localqueues")
Workload = create_namespaced_resource("kueue.x-k8s.io", "v1beta2", "Workload", "workloads")
ResourceFlavor = create_global_resource("kueue.x-k8s.io", "v1beta2", "ResourceFlavor", "resourceflavors")
WorkloadPriorityClass = create_global_resource(
    "kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses"
)
JobSet = create_namespaced_resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
TrainJob = create_namespaced_resource("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs")
KaiQueue = create_global_resource("scheduling.run.ai", "v2", "Queue", "queues")
KubeVirt = create_namespaced_resource("kubevirt.io", "v1", "KubeVirt", "kubevirts")
VirtualMachine = create_namespaced_resource("kubevirt.io", "v1", "VirtualMachine", "virtualmachines")
VirtualMachineInstance = create_namespaced_resource(
    "kubevirt.io", "v1", "VirtualMachineInstance", "virtualmachineinstances"
)

ANSWER_TIMEOUT = 60.0  # seconds; removing some hundred jobs at once takes a busy server more than ten


def connect(kubeconfig: str | None, context: str | None = None) -> Client:
    """A client for a cluster that answers. Raises Unreachable, also where the kubeconfig is of no use."""
    require_reachable(kubeconfig, context)
    try:
        config = KubeConfig.from_dict(dict(minified(kubeconfig, context)))
        return Client(config.get(), timeout=httpx2.Timeout(ANSWER_TIMEOUT))
    except (ConfigError, KeyError, AssertionError, msgspec.ValidationError) as error:
        raise Unreachable(f"the kubeconfig cannot be used: {error}. {REMEDY}") from None
