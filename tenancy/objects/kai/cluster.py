"""What KAI gets that is no team's: a shard for each node pool, topologies that jobs are packed by, and priorities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TopologyPlan
from ..identity import AGREEMENT_LABEL
from ..kinds import KINDS
from . import names

SHARD_VERSION = KINDS["SchedulingShard"].api_version
TOPOLOGY_VERSION = KINDS["Topology.kai.scheduler"].api_version
PRIORITY_VERSION = KINDS["PriorityClass"].api_version
HIGHEST_PRIORITY = 1_000_000_000

Object = dict[str, Any]


def topology(plan: Plan, value: TopologyPlan) -> Object:
    """KAI's own kind of Topology, the same in all but its API. A job names it and a level of it in annotations."""
    return _object(
        plan, TOPOLOGY_VERSION, "Topology", value.name, {"levels": [{"nodeLabel": key} for key in value.levels]}
    )


def shards(plan: Plan) -> Iterator[Object]:
    """KAI's operator runs a scheduler for each; without pools there is none, and the chart's default shard does."""
    for flavor in plan.flavors:
        if made := shard(plan, flavor):
            yield made


def shard(plan: Plan, flavor: Hardware) -> Object | None:
    """With `[sharing.usage]` it divides what is over quota by past usage too, which it asks KAI's Prometheus for."""
    pool = names.pool(plan, flavor)
    if not pool:
        return None
    spec: Object = {"partitionLabelValue": pool}
    if usage := plan.sharing.usage:
        parameters = {"halfLifePeriod": f"{usage.half_life}s", "fetchInterval": f"{usage.sampling_interval}s"}
        spec["usageDBConfig"] = {"clientType": "prometheus", "usageParams": parameters}
    return _object(plan, SHARD_VERSION, "SchedulingShard", pool, spec)


def priority_classes(plan: Plan) -> Iterator[Object]:
    """KAI reads a job's PriorityClass: 100 and more is never stopped for another. They stop nothing on kube-scheduler."""
    for name, value in plan.priorities.items():
        if priority_refusal(name, value) is None:
            made = _object(plan, PRIORITY_VERSION, "PriorityClass", name, {})
            del made["spec"]
            yield {**made, "value": value, "preemptionPolicy": "Never"}


def priority_refusal(name: str, value: int) -> str | None:
    """Why a priority cannot be a PriorityClass (Kubernetes keeps the highest values and a prefix for itself)."""
    if value > HIGHEST_PRIORITY:
        return f"{value} is above {HIGHEST_PRIORITY:,}, the highest that a PriorityClass may have"
    return "its name begins with 'system-', which Kubernetes keeps for itself" if name.startswith("system-") else None


def _object(plan: Plan, version: str, kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "labels": {AGREEMENT_LABEL: plan.cluster}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
