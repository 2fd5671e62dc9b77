"""Every kind of object that this project makes or reads, one row each: what its API calls it, and how it behaves there.

Nobody else writes down an API version, a plural or which fields are immutable: the builders, the reading of a cluster and the
preflight take them from here. `tests/objects/test_kinds.py` fails where a builder makes a kind that has no row.

Immutable fields are from the CRDs of Kueue 0.19 and KAI 0.12 ("field is immutable", "nodeLabels are immutable when topologyName is
set") and from Kubernetes ("value: may not be changed in an update", of which the provider of Pulumi knows nothing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from .schedulers import Scheduler


class Part(StrEnum):
    """The part of an agreement's objects that a kind is of."""

    QUOTAS = "quotas"
    """What a scheduler keeps the promises by."""
    ACCESS = "access"
    """What namespaces get, and who may do what."""


@dataclass(frozen=True, slots=True)
class Immutable:
    """`fields` are dotted. `once`: they are immutable only where this one is set. `replaced`: a new object in place of the old is
    what a change of them means; else the cluster refuses it, and a new name is what is meant."""

    fields: tuple[str, ...]
    once: str = ""
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """`part` None: the agreement makes none. `shared`: it may be anybody's, and we own some fields of it only. `retained`: it stays
    when the agreement no longer names it. `optional`: the rest does without it."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool = False
    scheduler: Scheduler | None = None
    part: Part | None = None
    shared: bool = False
    retained: bool = False
    optional: bool = False
    immutable: Immutable | None = None

    @property
    def group(self) -> str:
        """Empty for Kubernetes' core."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def path(self, namespace: str = "", name: str = "") -> str:
        """Of the collection in the API, or of one object. Without a namespace: of all namespaces."""
        within = f"/namespaces/{namespace}" if namespace else ""
        root = "/apis" if self.group else "/api"
        return f"{root}/{self.api_version}{within}/{self.plural}" + (f"/{name}" if name else "")


CORE, BATCH, ADMISSION, RBAC = "v1", "batch/v1", "admissionregistration.k8s.io/v1", "rbac.authorization.k8s.io/v1"
KUEUE = "kueue.x-k8s.io/v1beta2"
KUBEVIRT = "kubevirt.io/v1"
_ROWS = (
    # Kueue
    Kind("Topology", KUEUE, "topologies", False, Scheduler.KUEUE, Part.QUOTAS, immutable=Immutable(("spec.levels",))),
    Kind("ResourceFlavor", KUEUE, "resourceflavors", False, Scheduler.KUEUE, Part.QUOTAS,
         immutable=Immutable(("spec.nodeLabels", "spec.tolerations", "spec.topologyName"), once="spec.topologyName")),
    Kind("WorkloadPriorityClass", KUEUE, "workloadpriorityclasses", False, Scheduler.KUEUE, Part.QUOTAS),
    Kind("Cohort", KUEUE, "cohorts", False, Scheduler.KUEUE, Part.QUOTAS),
    Kind("ClusterQueue", KUEUE, "clusterqueues", False, Scheduler.KUEUE, Part.QUOTAS),
    Kind("Workload", KUEUE, "workloads", True, Scheduler.KUEUE),
    # KAI. It has a Topology too; kubectl knows it among others by its group.
    Kind("Topology", "kai.scheduler/v1alpha1", "topologies", False, Scheduler.KAI, Part.QUOTAS,
         immutable=Immutable(("spec.levels",))),
    # Kubernetes' own, for KAI: pods keep the value that they have.
    Kind("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", False, Scheduler.KAI, Part.QUOTAS,
         immutable=Immutable(("value",), replaced=True)),
    Kind("SchedulingShard", "kai.scheduler/v1", "schedulingshards", False, Scheduler.KAI, Part.QUOTAS),
    Kind("Queue", "scheduling.run.ai/v2", "queues", False, Scheduler.KAI, Part.QUOTAS),
    Kind("PodGroup", "scheduling.run.ai/v2alpha2", "podgroups", True, Scheduler.KAI),
    # Access
    Kind("Namespace", CORE, "namespaces", part=Part.ACCESS, shared=True),
    Kind("Profile", "kubeflow.org/v1", "profiles", part=Part.ACCESS, retained=True),
    Kind("LocalQueue", KUEUE, "localqueues", True, Scheduler.KUEUE, Part.ACCESS,
         immutable=Immutable(("spec.clusterQueue",), replaced=True)),
    Kind("NamespaceConfig", "redhatcop.redhat.io/v1alpha1", "namespaceconfigs", part=Part.ACCESS),
    Kind("LimitRange", CORE, "limitranges", True, part=Part.ACCESS),
    Kind("ResourceQuota", CORE, "resourcequotas", True, part=Part.ACCESS),
    Kind("ClusterRole", RBAC, "clusterroles", part=Part.ACCESS),
    Kind("ClusterRoleBinding", RBAC, "clusterrolebindings", part=Part.ACCESS),
    Kind("RoleBinding", RBAC, "rolebindings", True, part=Part.ACCESS),
    Kind("ValidatingAdmissionPolicy", ADMISSION, "validatingadmissionpolicies", part=Part.ACCESS),
    Kind("ValidatingAdmissionPolicyBinding", ADMISSION, "validatingadmissionpolicybindings", part=Part.ACCESS),
    Kind("MutatingAdmissionPolicy", ADMISSION, "mutatingadmissionpolicies", part=Part.ACCESS, optional=True),
    Kind("MutatingAdmissionPolicyBinding", ADMISSION, "mutatingadmissionpolicybindings", part=Part.ACCESS, optional=True),
    # Read only: what jobs are made of, and where they run
    Kind("Node", CORE, "nodes"),
    Kind("Pod", CORE, "pods", True),
    Kind("Event", CORE, "events", True),
    Kind("ConfigMap", CORE, "configmaps", True),
    Kind("Job", BATCH, "jobs", True),
    Kind("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets", True),
    Kind("TrainJob", "trainer.kubeflow.org/v1alpha1", "trainjobs", True),
    Kind("KubeVirt", KUBEVIRT, "kubevirts", True),
    Kind("VirtualMachine", KUBEVIRT, "virtualmachines", True),
    Kind("VirtualMachineInstance", KUBEVIRT, "virtualmachineinstances", True),
)  # fmt: skip
_FIRST = {row.kind: row for row in reversed(_ROWS)}


def name_of(row: Kind) -> str:
    return row.kind if _FIRST[row.kind] is row else f"{row.kind}.{row.group}"


KINDS: Mapping[str, Kind] = {name_of(row): row for row in _ROWS}
"""By name, one for one API: `ClusterQueue`, `Topology` (Kueue's), `Topology.kai.scheduler`."""


def versions(part: Part, scheduler: Scheduler | None = None) -> dict[str, str]:
    """The kinds of a part of the agreement's objects, those of one scheduler where one is given, with their API versions."""
    rows: Iterator[tuple[str, Kind]] = ((name, row) for name, row in KINDS.items() if row.part is part)
    return {name: row.api_version for name, row in rows if scheduler in (None, row.scheduler)}
