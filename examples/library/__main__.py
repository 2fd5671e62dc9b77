"""A Pulumi program of one's own: the agreement is built in Python, so its numbers can come from anywhere.

Run it where `gpu-tenancy[pulumi]` is installed, against the cluster of the current kubeconfig: `pulumi up`.
"""

import pulumi
from gpu_tenancy.agreement import Agreement, Cluster, Flavor, Team
from gpu_tenancy.components import TenancyAgreement, TenancyAgreementArgs

headcount = {"training": 12, "research": 6, "inference": 6}  # say, from HR: 4 nodes for 24 people
agreement = Agreement(
    cluster=Cluster(name="lab"),
    flavors={"gpu": Flavor(nodes=4, gpus_per_node=8)},
    teams={team: Team(guaranteed=32 * people // sum(headcount.values())) for team, people in headcount.items()},
)
pulumi.export("queues", TenancyAgreement("gpus", TenancyAgreementArgs(agreement=agreement)).queues)
