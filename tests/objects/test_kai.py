"""What a promise becomes in KAI: a place in the tree that is shared, a root of its own for what is never lent, a queue for
prod; and all of it once for each flavor, over a node pool."""

from __future__ import annotations

import re
from typing import Any

import pytest
from samples import LAB, ONE_FLAVOR, PRODUCTION, kai_queues, plan

from tenancy.agreement.mig import GEOMETRY
from tenancy.objects import kai

TWO = ONE_FLAVOR + "[flavors.fast]\nnodes = 2\ngpus_per_node = 8\n"


def gpu(spec: dict[str, Any]) -> tuple[int, int]:
    return spec["resources"]["gpu"]["quota"], spec["resources"]["gpu"]["limit"]


def parents(queues: dict[str, Any]) -> dict[str, str | None]:
    return {name: spec.get("parentQueue") for name, spec in queues.items()}


# The numbers of the issue.
LAB_QUEUES = {
    "shared": (16, 16),
    "training": (8, -1),
    "training-never-lent": (8, 8),
    "training-reserved": (8, 8),
    "research": (8, -1),
    "inference": (0, -1),
    "inference-never-lent": (8, 8),
    "inference-reserved": (8, 8),
}


@pytest.mark.parametrize("queue", LAB_QUEUES)
def test_the_lab_has_this_quota_and_limit(queue: str) -> None:
    assert gpu(kai_queues(LAB)[queue]) == LAB_QUEUES[queue]


def test_the_lab_has_no_other_object() -> None:
    assert set(kai_queues(LAB)) == set(LAB_QUEUES) == {one["metadata"]["name"] for one in kai.objects(plan(LAB))}


def test_the_roots_of_the_lab_have_its_32_gpus_together() -> None:
    assert sum(gpu(spec)[1] for spec in kai_queues(LAB).values() if "parentQueue" not in spec) == 32


def test_what_is_never_lent_is_outside_the_shared_tree_in_a_queue_that_has_a_parent() -> None:
    found = parents(kai_queues(LAB))
    assert found["inference-never-lent"] is None
    assert (found["inference-reserved"], found["inference"]) == ("inference-never-lent", "shared")


def test_borrowable_limits_the_queue_in_the_shared_tree() -> None:
    text = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 8\nborrowable = 4\n"
    assert gpu(kai_queues(text)["a"]) == (8, 12)


def test_a_team_that_neither_lends_nor_borrows_runs_only_what_is_reserved() -> None:
    queues = kai_queues(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nlendable = 0\nborrowable = 0\n")
    assert (gpu(queues["a"]), gpu(queues["a-reserved"])) == ((0, 0), (8, 8))  # at limit 0 nothing runs


def test_the_pool_is_part_of_the_shared_tree() -> None:
    assert gpu(kai_queues(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nlendable = 4\n")["shared"]) == (4 + 24, 4 + 24)


def test_a_department_owns_what_its_teams_lend() -> None:
    text = ONE_FLAVOR + "[departments.d]\n[teams.a]\nguaranteed = 8\nlendable = 6\ndepartment = 'd'\n"
    queues = kai_queues(text + "[teams.b]\nguaranteed = 8\ndepartment = 'd'\n")
    assert (queues["d"]["parentQueue"], queues["a"]["parentQueue"]) == ("shared", "d")
    assert gpu(queues["d"]) == (14, -1)


def test_a_department_without_teams_runs_nothing() -> None:
    assert gpu(kai_queues(ONE_FLAVOR + "[departments.d]\n[teams.a]\n")["d"]) == (0, 0)


def test_without_teams_nothing_runs_in_the_shared_queue() -> None:
    assert gpu(kai_queues(ONE_FLAVOR)["shared"]) == (0, 0)


def test_cpu_and_memory_are_unlimited_everywhere() -> None:
    for spec in kai_queues(LAB).values():
        for resource in ("cpu", "memory"):
            assert spec["resources"][resource] == {"quota": -1, "limit": -1, "overQuotaWeight": 1}


# --- prod -----------------------------------------------------------------------------------------------------------

PROD = {  # guaranteed, lendable, prod → the queues of the team
    "all is lent": ((16, 16, 8), {"a-shared": (16, -1), "a": (8, -1), "a-prod": (8, 8)}),
    "it fits what is never lent": (
        (16, 8, 6),
        {"a": (8, -1), "a-never-lent": (8, 8), "a-reserved": (2, 8), "a-prod": (6, 6)},
    ),
    "it fits only what is lent": (
        (16, 12, 8),
        {"a-shared": (12, -1), "a": (4, -1), "a-prod": (8, 8), "a-never-lent": (4, 4), "a-reserved": (4, 4)},
    ),
    "it fits neither alone": (
        (16, 8, 12),
        {
            "a-shared": (8, -1),
            "a": (4, -1),
            "a-prod-shared": (4, 4),
            "a-never-lent": (8, 8),
            "a-reserved": (0, 8),
            "a-prod": (8, 8),
        },
    ),
}


@pytest.mark.parametrize("case", PROD)
def test_a_prod_slice_is_a_queue_whose_quota_is_its_limit(case: str) -> None:
    (guaranteed, lendable, prod), wanted = PROD[case]
    text = ONE_FLAVOR + f"[teams.a]\nguaranteed = {guaranteed}\nlendable = {lendable}\nprod = {prod}\n"
    queues = kai_queues(text)
    assert {name: gpu(spec) for name, spec in queues.items() if name != "shared"} == wanted
    assert {name for name, spec in queues.items() if spec.get("priority") == 200} == set(
        kai.prod_queues(plan(text), plan(text).teams[0], plan(text).flavors[0])
    )


def test_the_regular_queue_keeps_its_name_and_gets_another_parent_with_prod() -> None:
    """A rename would be a deletion under running jobs."""
    text = ONE_FLAVOR + "[departments.d]\n[teams.a]\nguaranteed = 16\ndepartment = 'd'\n"
    assert parents(kai_queues(text))["a"] == "d"
    found = parents(kai_queues(text + "prod = 8\n"))
    assert (found["a"], found["a-prod"], found["a-shared"]) == ("a-shared", "a-shared", "d")


# --- sharing --------------------------------------------------------------------------------------------------------


def test_weights_stand_on_the_node_that_has_siblings() -> None:
    text = ONE_FLAVOR + "[departments.d]\nweight = 0.5\n[teams.a]\nguaranteed = 16\nprod = 4\nweight = 3\n[teams.b]\n"
    queues = kai_queues(text)
    weights = {name: spec["resources"]["gpu"]["overQuotaWeight"] for name, spec in queues.items()}
    assert weights == {"shared": 1, "d": 0.5, "a-shared": 3, "a": 1, "a-prod": 1, "b": 1}


def test_how_long_a_job_runs_before_it_is_stopped_stands_on_the_roots_and_prod_waits_for_nothing() -> None:
    text = ONE_FLAVOR + "[sharing]\npreempt_min_runtime = '5m'\nreclaim_min_runtime = '1m'\n"
    queues = kai_queues(text + "[teams.a]\nguaranteed = 16\nprod = 4\n[teams.b]\nguaranteed = 8\nlendable = 4\n")
    keys = ("preemptMinRuntime", "reclaimMinRuntime")
    found = {name: tuple(spec.get(key) for key in keys) for name, spec in queues.items()}
    assert {name: times for name, times in found.items() if any(times)} == {
        "shared": ("300s", "60s"),
        "a": (None, "0s"),
        "b-never-lent": ("300s", None),
    }


# --- several flavors ------------------------------------------------------------------------------------------------


def test_each_flavor_has_its_own_queues_over_its_own_node_pool() -> None:
    text = (
        TWO
        + "[departments.d]\n[teams.a]\nguaranteed = { gpu = 8, fast = 4 }\nlendable = { fast = 2 }\ndepartment = 'd'\n"
    )
    made = kai.objects(plan(text))
    pools = {
        one["metadata"]["name"]: one["metadata"]["labels"].get(kai.NODE_POOL) for one in made if one["kind"] == "Queue"
    }
    assert pools == {
        "shared-gpu": "gpu",
        "d-gpu": "gpu",
        "a-gpu": "gpu",
        "shared-fast": "fast",
        "d-fast": "fast",
        "a-fast": "fast",
        "a-never-lent-fast": "fast",
        "a-reserved-fast": "fast",
    }
    found = parents(kai_queues(text))
    assert (found["a-fast"], found["d-fast"], found["a-reserved-fast"]) == (
        "d-fast",
        "shared-fast",
        "a-never-lent-fast",
    )
    assert {name: gpu(spec) for name, spec in kai_queues(text).items() if "shared" in name} == {
        "shared-gpu": (32, 32),
        "shared-fast": (14, 14),
    }


def test_each_node_pool_has_a_shard() -> None:
    shards = [one for one in kai.objects(plan(TWO)) if one["kind"] == "SchedulingShard"]
    assert [(one["metadata"]["name"], one["spec"]) for one in shards] == [
        ("gpu", {"partitionLabelValue": "gpu"}),
        ("fast", {"partitionLabelValue": "fast"}),
    ]


def test_one_flavor_has_no_node_pool_unless_its_nodes_are_in_one() -> None:
    labels = [one["metadata"]["labels"] for one in kai.objects(plan(LAB))]
    assert labels == [{"tenancy.dev/agreement": "lab"}] * len(labels)
    text = LAB.replace("gpus_per_node = 8", f'gpus_per_node = 8\nnode_labels = {{ "{kai.NODE_POOL}" = "ours" }}')
    made = kai.objects(plan(text))
    assert {one["metadata"]["labels"].get(kai.NODE_POOL) for one in made if one["kind"] == "Queue"} == {"ours"}
    assert [one["metadata"]["name"] for one in made if one["kind"] == "SchedulingShard"] == ["ours"]
    assert set(kai_queues(text)) == set(LAB_QUEUES)


def test_slices_count_as_many_gpus_as_their_profile_says_and_cpus_as_millicores() -> None:
    queues = kai_queues(PRODUCTION.read_text())
    assert gpu(queues["embeddings-a100-80-20gb"]) == (24 * 2, -1)
    assert gpu(queues["shared-a100-80-20gb"]) == (2 * 8 * 3 * 2, 2 * 8 * 3 * 2)
    assert gpu(queues["platform-a100-80-40gb"]) == (16 * 3, -1)
    cpus = queues["ranking-standart"]["resources"]
    assert (cpus["cpu"]["quota"], cpus["cpu"]["limit"]) == (640_000, -1)
    assert (cpus["gpu"]["quota"], cpus["gpu"]["limit"], cpus["memory"]["quota"]) == (0, 0, -1)


def test_every_profile_that_a_gpu_can_be_cut_into_is_counted() -> None:
    """KAI knows a slice by `^nvidia.com/mig-(\\d+)g\\.(\\d+)gb$`, and counts another as nothing."""
    for gpu_name, profiles in GEOMETRY.items():
        for profile in profiles:
            cut = (
                f'[flavors.cut]\nnodes = 1\ngpus_per_node = 1\nmig = {{ gpu = "{gpu_name}", profile = "{profile}" }}\n'
            )
            (flavor,) = plan('[cluster]\nname = "c"\n' + cut).flavors
            assert re.fullmatch(r"nvidia\.com/mig-(\d+)g\.(\d+)gb", flavor.resource)
            assert kai.per_unit(flavor) == int(profile[0])


ONE_POOL = (
    TWO.replace("gpus_per_node = 8", f'gpus_per_node = 8\nnode_labels = {{ "{kai.NODE_POOL}" = "one", "a" = "b" }}', 1)
    + f'node_labels = {{ "{kai.NODE_POOL}" = "one", "a" = "c" }}\n'
)


def test_an_agreement_that_kai_would_mix_up_gets_nothing_and_a_reason() -> None:
    made = plan(ONE_POOL)
    assert "flavors gpu, fast are one node pool 'one'" in str(kai.refusal(made))
    assert kai.objects(made) == [] and list(kai.files(made)) == [] and list(kai.origins(made)) == []


# --- what is no team's ----------------------------------------------------------------------------------------------


def test_topologies_and_priorities_are_kais_own_kinds() -> None:
    made = {(one["kind"], one["metadata"]["name"]): one for one in kai.objects(plan(PRODUCTION.read_text()))}
    tree = made["Topology", "infiniband"]
    assert tree["apiVersion"] == "kai.scheduler/v1alpha1"
    assert [level["nodeLabel"] for level in tree["spec"]["levels"]] == [
        "network.example.com/scalable-unit",
        "network.example.com/leaf",
        "kubernetes.io/hostname",
    ]
    prod = made["PriorityClass", "prod-workload"]
    assert (prod["apiVersion"], prod["value"], prod["preemptionPolicy"]) == ("scheduling.k8s.io/v1", 1000, "Never")


def test_past_usage_is_asked_of_prometheus_by_each_shard() -> None:
    text = TWO + "[sharing.usage]\nhalf_life = '2d'\n"
    shards = [one["spec"] for one in kai.objects(plan(text)) if one["kind"] == "SchedulingShard"]
    parameters = {"halfLifePeriod": "172800s", "fetchInterval": "300s"}
    assert [shard["usageDBConfig"] for shard in shards] == [{"clientType": "prometheus", "usageParams": parameters}] * 2
