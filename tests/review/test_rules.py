"""The rules that any set of queues must keep: what the builders make keeps them, and what is changed by hand is told."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from samples import ONE_FLAVOR, PRODUCTION, ROOT, kueue_objects, plan, quotas

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.loading import load
from tenancy.review import rules

TEXT = """
    [cluster]
    name = "lab"
    [flavors.gpu]
    nodes = 4
    gpus_per_node = 8
    cpu_per_gpu = 8
    memory_per_gpu = "64Gi"
    [departments.search]
    [teams.ranking]
    department = "search"
    guaranteed = 16
    lendable = 12
    prod = 8
    [teams.embeddings]
    guaranteed = 8
"""
FILES = [ROOT / "tenancy.toml", ROOT / "examples/departments.toml", ROOT / "examples/venus.toml", PRODUCTION]


@pytest.fixture
def objects() -> dict[str, Any]:
    return copy.deepcopy(kueue_objects(TEXT))


def change(one: dict[str, Any], resource: str, **fields: Any) -> None:
    """Sets fields of one resource's quota."""
    (group,) = one["spec"]["resourceGroups"]
    next(row for row in group["flavors"][0]["resources"] if row["name"] == resource).update(fields)


def broken(objects: dict[str, Any], of: Plan | None = None) -> list[str]:
    """Everything that is told of these objects."""
    result = of or plan(TEXT)
    known = rules.queues_of(result)
    found = [
        *rules.lends_more_than_it_has(objects.values()),
        *rules.promises_more_than_there_is(objects.values(), result),
    ]
    found += [one for body in objects.values() if (one := rules.outside(body, result.cluster, known))]
    return [violation.message for violation in found]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_the_builders_make_keeps_every_rule(file: Any) -> None:
    agreement = load(file).agreement
    assert agreement
    plan = make_plan(agreement)
    made = {f"{body['kind']}/{body['metadata']['name']}": body for body in rules.kueue.objects(plan)}
    assert broken(made, plan) == []


def test_a_cohort_may_lend_what_its_subtree_has_and_no_more(objects: dict[str, Any]) -> None:
    """Of the team's 16 only 8 stand on its Cohort, the other 8 on its prod queue."""
    assert quotas(objects["Cohort/ranking"])["nominalQuota"] == "8"
    change(objects["Cohort/ranking"], "nvidia.com/gpu", lendingLimit="16")
    assert broken(objects) == []
    change(objects["Cohort/ranking"], "nvidia.com/gpu", lendingLimit="17")
    assert broken(objects) == [
        (
            "Cohort/ranking may lend more of flavor gpu than its subtree has: 17 of 16 nvidia.com/gpu; "
            "lower its lendingLimit to that, or raise the guarantee"
        )
    ]


def test_memory_and_processors_are_added_as_what_they_are(objects: dict[str, Any]) -> None:
    """32 GPUs with 64Gi and 8 CPUs each; the numbers that a program writes need be no text."""
    change(objects["ClusterQueue/embeddings"], "memory", nominalQuota="513Gi")
    change(objects["ClusterQueue/embeddings"], "cpu", nominalQuota=64.0)
    assert broken(objects) == [
        (
            "the guarantees of flavor gpu come to 2049Gi memory where there are 2Ti in the agreement of lab; "
            "more than it gives is owned by ClusterQueue/embeddings: lower that, or give the flavor more nodes"
        )
    ]
    change(objects["ClusterQueue/embeddings"], "memory", nominalQuota=512 * 2**30)
    assert broken(objects) == []


def test_a_flavor_that_the_agreement_does_not_have_has_nothing(objects: dict[str, Any]) -> None:
    extra = {"name": "tpu", "resources": [{"name": "google.com/tpu", "nominalQuota": "1500m"}]}
    objects["ClusterQueue/embeddings"]["spec"]["resourceGroups"].append(
        {"coveredResources": ["google.com/tpu"], "flavors": [extra]}
    )
    (said,) = broken(objects)
    assert "the guarantees of flavor tpu come to 1500m google.com/tpu where there are 0" in said


def test_a_queue_is_known_by_kind_name_and_label(objects: dict[str, Any]) -> None:
    del objects["ClusterQueue/embeddings"]["metadata"]["labels"]
    objects["x"] = {"apiVersion": "example.com/v1", "kind": "Queue", "metadata": {"name": "theirs"}, "spec": {}}
    objects["y"] = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "embedding"},
        "spec": {},
    }
    assert broken(objects) == [
        (
            "ClusterQueue/embeddings has the name of a queue of lab and carries no tenancy.dev/agreement; "
            "write it from that agreement, or rename it"
        ),
        (
            "Queue/embedding is not in the agreement of lab; did you mean Queue/embeddings? "
            "Or give the team a table in it, or write the queue from another stack"
        ),
    ]


def test_a_local_queue_may_lead_to_any_queue_of_the_agreement(objects: dict[str, Any]) -> None:
    local = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "default"}}
    objects["local"] = {**local, "spec": {"clusterQueue": "ranking-prod"}}
    assert broken(objects) == []
    objects["local"] = {**local, "spec": {"clusterQueue": "ranking-dev"}}
    (said,) = broken(objects)
    assert said.startswith(
        "LocalQueue/default leads to ClusterQueue/ranking-dev, which is not in the agreement of lab; did you"
    )


def test_cohorts_in_a_circle_are_left_to_the_api_server(objects: dict[str, Any]) -> None:
    objects["Cohort/lab"]["spec"]["parentName"] = "search"
    assert broken(objects) == []


def test_an_agreement_without_teams_is_its_pool_alone() -> None:
    assert broken(kueue_objects(ONE_FLAVOR), plan(ONE_FLAVOR)) == []
