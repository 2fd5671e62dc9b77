"""An agreement as Pulumi components: the whole of it, or one part at a time.

    import pulumi
    from components import TenancyAgreement, TenancyAgreementArgs
    from tenancy.agreement import load

    gpus = TenancyAgreement("gpus", TenancyAgreementArgs(agreement=load("tenancy.toml").agreement))
    pulumi.export("queues", gpus.queues)

The objects are those of `tenancy render`, from the same functions; a component only gives them a place in Pulumi's tree,
an order, and a name that later code can wait for.
"""

from .agreement import TenancyAgreement, TenancyAgreementArgs
from .cluster import cluster_provider, recorded_objects
from .hardware import GpuFlavor, GpuFlavorArgs, TopologyTree, TopologyTreeArgs
from .objects import KubernetesObject
from .settings import Settings
from .team import TeamQuota, TeamQuotaArgs

__all__ = [
    "GpuFlavor",
    "GpuFlavorArgs",
    "KubernetesObject",
    "Settings",
    "TeamQuota",
    "TeamQuotaArgs",
    "TenancyAgreement",
    "TenancyAgreementArgs",
    "TopologyTree",
    "TopologyTreeArgs",
    "cluster_provider",
    "recorded_objects",
]
