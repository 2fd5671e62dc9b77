"""What one would write by hand for teams with a prod slice: a loop, plain objects, no components, no checks."""

import os

import pulumi
import pulumi_kubernetes as kubernetes

QUEUE = {
    "queueingStrategy": "BestEffortFIFO",
    "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
}
provider = kubernetes.Provider(
    "cluster",
    kubeconfig=os.environ["KUBECONFIG_OF_BENCH"],
    kube_client_settings=kubernetes.KubeClientSettingsArgs(qps=500, burst=1000),
)


def make(kind: str, name: str, spec: object) -> None:
    kubernetes.apiextensions.CustomResource(
        f"{kind}-{name}",
        api_version="kueue.x-k8s.io/v1beta2",
        kind=kind,
        metadata={"name": name, "labels": {"tenancy.dev/agreement": "bench"}},
        spec=spec,
        opts=pulumi.ResourceOptions(provider=provider),
    )


def quotas(gpus: int, **limits: int) -> list[object]:
    def row(name: str, text: str, of_limits: dict[str, str]) -> object:
        return {"name": name, "nominalQuota": text, **of_limits}

    def memory(units: int) -> str:
        gibibytes = 64 * units
        return f"{gibibytes // 1024}Ti" if gibibytes and gibibytes % 1024 == 0 else f"{gibibytes}Gi" if units else "0"

    rows = [
        row("cpu", str(8 * gpus), {key: str(8 * limit) for key, limit in limits.items()}),
        row("memory", memory(gpus), {key: memory(limit) for key, limit in limits.items()}),
        row("nvidia.com/gpu", str(gpus), {key: str(limit) for key, limit in limits.items()}),
    ]
    return [{"coveredResources": ["cpu", "memory", "nvidia.com/gpu"], "flavors": [{"name": "gpu", "resources": rows}]}]


make("ResourceFlavor", "gpu", {"nodeLabels": {"tenancy.dev/flavor": "gpu"}})
make("Cohort", "bench", {"resourceGroups": quotas(0)})
for number in range(int(os.environ["TEAMS_OF_BENCH"])):
    team = f"team-{number:04}"
    mine = {"cohortName": team, "namespaceSelector": {"matchLabels": {"tenancy.dev/team": team}}, **QUEUE}
    never = {**QUEUE["preemption"], "borrowWithinCohort": {"policy": "Never"}}
    make("Cohort", team, {"parentName": "bench", "resourceGroups": quotas(6, lendingLimit=4)})
    make("ClusterQueue", team, {**mine, "resourceGroups": quotas(0)})
    make("ClusterQueue", f"{team}-prod", {**mine, "preemption": never, "resourceGroups": quotas(2, borrowingLimit=0)})
