"""An agreement as Pulumi components: the whole of it, or one part at a time.

    import pulumi
    from components import TenancyAgreement, TenancyAgreementArgs, agreement_from_file

    agreement = agreement_from_file("tenancy.toml")
    gpus = TenancyAgreement("gpus", TenancyAgreementArgs(agreement=agreement))
    pulumi.export("queues", gpus.queues)

The objects are those of `tenancy render`, from the same functions; a component only gives them a place in Pulumi's tree,
an order, and a name that later code can wait for.
"""

from .agreement import TenancyAgreement, TenancyAgreementArgs
from .cluster import cluster_provider, recorded_objects
from .hardware import GpuFlavor, GpuFlavorArgs, TopologyTree, TopologyTreeArgs
from .namespace import TeamNamespace, TeamNamespaceArgs
from .objects import KubernetesObject
from .settings import Settings
from .source import agreement_from_file, agreement_from_text, agreement_from_values, plan_of
from .team import TeamQuota, TeamQuotaArgs

__all__ = [
    "GpuFlavor",
    "GpuFlavorArgs",
    "KubernetesObject",
    "Settings",
    "TeamNamespace",
    "TeamNamespaceArgs",
    "TeamQuota",
    "TeamQuotaArgs",
    "TenancyAgreement",
    "TenancyAgreementArgs",
    "TopologyTree",
    "TopologyTreeArgs",
    "agreement_from_file",
    "agreement_from_text",
    "agreement_from_values",
    "cluster_provider",
    "plan_of",
    "recorded_objects",
]
