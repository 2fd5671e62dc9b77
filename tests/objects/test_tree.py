"""The rendered Kueue objects are the tree that the model counts in: every node, every number, cpu and memory in ratio.

What the tree keeps is told by the properties of the model (test_kueue_model.py) and by a real Kueue (tests/lab).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from samples import PRODUCTION, number, plan
from strategies import agreements, as_agreement

from tenancy.agreement.hardware import Hardware
from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import kueue
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.tree import Node

LIMITS = ("nominalQuota", "lendingLimit", "borrowingLimit")


def rendered(the_plan: Plan) -> dict[tuple[str, str], dict[str, Any]]:
    """The specs of Cohorts and ClusterQueues by kind and name."""
    bodies = [one for one in kueue.objects(the_plan) if one["kind"] in ("ClusterQueue", "Cohort")]
    return {(one["kind"], one["metadata"]["name"]): one.get("spec", {}) for one in bodies}


def limits(spec: dict[str, Any], flavor: str, resource: str) -> list[Fraction | None]:
    """nominalQuota, lendingLimit and borrowingLimit; a Cohort that lists no flavors owns nothing and limits nothing."""
    for group in spec.get("resourceGroups", ()):
        for row in group["flavors"]:
            for quota in row["resources"]:
                if (row["name"], quota["name"]) == (flavor, resource):
                    return [number(quota[key]) if key in quota else None for key in LIMITS]
    return [Fraction(0), None, None]


def units(node: Node, ratio: Fraction) -> list[Fraction | None]:
    return [None if entry is None else entry * ratio for entry in (node.nominal, node.lending, node.borrowing)]


def ratios(flavor: Hardware) -> dict[str, Fraction]:
    """What one unit of the flavor is of each resource."""
    return {"cpu": Fraction(flavor.cpu, 1000), "memory": Fraction(flavor.memory), flavor.resource: Fraction(1)}


def holds(the_plan: Plan) -> None:
    specs = rendered(the_plan)
    for flavor in the_plan.flavors:
        nodes = {
            ("ClusterQueue" if node.is_queue else "Cohort", node.name): node
            for node in KueueModel(the_plan, flavor.name).root.down()
        }
        assert nodes.keys() == specs.keys()
        for key, node in nodes.items():
            spec = specs[key]
            assert (spec.get("parentName") or spec.get("cohortName")) == (node.parent.name if node.parent else None)
            for resource, ratio in ratios(flavor).items():
                assert limits(spec, flavor.name, resource) == units(node, ratio), f"{key} {flavor.name} {resource}"


@settings(max_examples=60, deadline=None)
@given(values=agreements())
def test_the_objects_are_the_tree_of_the_model(values: dict[str, Any]) -> None:
    holds(make_plan(as_agreement(values)))


def test_those_of_the_production_agreement_too() -> None:
    holds(plan(PRODUCTION.read_text("utf-8")))


@settings(max_examples=60, deadline=None)
@given(values=agreements())
def test_every_queue_reclaims_and_only_from_lower_priorities_in_itself(values: dict[str, Any]) -> None:
    """What the model takes for granted of preemption."""
    for (kind, name), spec in rendered(make_plan(as_agreement(values))).items():
        if kind == "ClusterQueue":
            said = spec["preemption"]
            assert (said["reclaimWithinCohort"], said["withinClusterQueue"]) == ("Any", "LowerPriority"), name
            assert said.get("borrowWithinCohort", {"policy": "Never"}) == {"policy": "Never"}, name
