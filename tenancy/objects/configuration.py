"""What Kueue's own Configuration must say for an agreement: the objects alone do not switch sharing on.

`[sharing] policy = "fair"` needs `fairSharing`, `[sharing.usage]` needs `admissionFairSharing`. Both are Kueue's
Configuration (config.kueue.x-k8s.io/v1beta2), which its Helm chart takes as one text: `managerConfig.controllerManagerConfigYaml`.
A value of a chart replaces that text whole, so `chart_values` carries the chart's own defaults (0.19) with ours in them.
"""

from __future__ import annotations

from typing import Any

from ..agreement.model import UsageSharing
from ..agreement.plan import Plan
from .manifest import dump_all

Object = dict[str, Any]

STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
# charts/kueue/values.yaml of 0.19.2, managerConfig.controllerManagerConfigYaml; a test compares.
CHART_DEFAULTS: Object = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": ":8443"},
    "webhook": {"port": 9443},
    "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    "controller": {
        "groupKindConcurrency": {
            "Job.batch": 5,
            "Pod": 5,
            "Workload.kueue.x-k8s.io": 10,
            "LocalQueue.kueue.x-k8s.io": 5,
            "ClusterQueue.kueue.x-k8s.io": 5,
            "ResourceFlavor.kueue.x-k8s.io": 1,
        }
    },
    "clientConnection": {"qps": 300, "burst": 500},
    "integrations": {
        "frameworks": [
            "batch/job",
            "kubeflow.org/mpijob",
            "ray.io/rayjob",
            "ray.io/rayservice",
            "ray.io/raycluster",
            "jobset.x-k8s.io/jobset",
            "workload.codeflare.dev/appwrapper",
            "trainer.kubeflow.org/trainjob",
            "pod",
            "deployment",
            "statefulset",
            "leaderworkerset.x-k8s.io/leaderworkerset",
        ]
    },
}


def needed(plan: Plan) -> Object:
    """The parts of Kueue's Configuration that the agreement asks for; none where it asks for nothing."""
    made: Object = {}
    if plan.sharing.policy == "fair":
        made["fairSharing"] = {"preemptionStrategies": list(plan.sharing.preemption_strategies or STRATEGIES)}
    if plan.sharing.usage:
        made["admissionFairSharing"] = _usage(plan.sharing.usage)
    return made


def chart_values(plan: Plan) -> str | None:
    """Values for Kueue's Helm chart, as YAML; None where the chart's defaults do."""
    if not (ours := needed(plan)):
        return None
    text = dump_all([{**CHART_DEFAULTS, **ours}])
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    return f"managerConfig:\n  controllerManagerConfigYaml: |-\n{indented}"


def _usage(usage: UsageSharing) -> Object:
    """Weights are numbers in the Configuration, ours are thousandths."""
    made: Object = {
        "usageHalfLifeTime": f"{usage.half_life}s",
        "usageSamplingInterval": f"{usage.sampling_interval}s",
    }
    if usage.resource_weights:
        made["resourceWeights"] = {name: weight / 1000 for name, weight in usage.resource_weights.items()}
    return made
