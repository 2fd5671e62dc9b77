"""The kinds that an agreement may make, as their APIs know them: what `preflight` asks about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind as its API knows it. `shared`: it may be anybody's, and we own some fields of it only. `retained`: it stays when
    the agreement no longer names it. `optional`: the rest does without it."""

    resource: str
    shared: bool = False
    retained: bool = False
    optional: bool = False


KINDS: Mapping[str, Kind] = {
    "Topology": Kind("topologies"),
    "ResourceFlavor": Kind("resourceflavors"),
    "WorkloadPriorityClass": Kind("workloadpriorityclasses"),
    "Cohort": Kind("cohorts"),
    "ClusterQueue": Kind("clusterqueues"),
    "Queue": Kind("queues"),
    "PriorityClass": Kind("priorityclasses"),
    "SchedulingShard": Kind("schedulingshards"),
    "Topology.kai.scheduler": Kind("topologies"),
    "Namespace": Kind("namespaces", shared=True),
    "Profile": Kind("profiles", retained=True),
    "LocalQueue": Kind("localqueues"),
    "NamespaceConfig": Kind("namespaceconfigs"),
    "LimitRange": Kind("limitranges"),
    "ResourceQuota": Kind("resourcequotas"),
    "ClusterRole": Kind("clusterroles"),
    "ClusterRoleBinding": Kind("clusterrolebindings"),
    "RoleBinding": Kind("rolebindings"),
    "MutatingAdmissionPolicy": Kind("mutatingadmissionpolicies", optional=True),
    "MutatingAdmissionPolicyBinding": Kind("mutatingadmissionpolicybindings", optional=True),
    "ValidatingAdmissionPolicy": Kind("validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": Kind("validatingadmissionpolicybindings"),
}
