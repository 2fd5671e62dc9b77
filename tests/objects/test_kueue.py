"""What a promise becomes in Kueue: three numbers on the node that stands for the team."""

from __future__ import annotations

import pytest
from samples import LAB, ONE_FLAVOR, PRODUCTION, kueue_objects, number, plan, quotas

from tenancy.objects import kueue

PROD = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 12\nborrowable = 4\nprod = 8\n[teams.b]\nguaranteed = 16\n"
ON_QUEUE = PROD.replace('name = "lab"', 'name = "lab"\nguarantee_on = "queue"')


# --- the lab: training lends half, research all, inference nothing --------------------------------------------------


@pytest.mark.parametrize(("team", "nominal", "lending"), [("training", "16", "8"), ("research", "8", "8")])
def test_a_team_owns_its_guarantee_and_lends_its_lendable(team: str, nominal: str, lending: str) -> None:
    assert quotas(kueue_objects(LAB)[f"ClusterQueue/{team}"]) == {"nominalQuota": nominal, "lendingLimit": lending}


def test_inference_is_never_lent() -> None:
    assert quotas(kueue_objects(LAB)["ClusterQueue/inference"]) == {"nominalQuota": "8", "lendingLimit": "0"}


def test_cpu_and_memory_follow_the_gpus() -> None:
    training = kueue_objects(LAB)["ClusterQueue/training"]
    assert quotas(training, "cpu") == {"nominalQuota": "128", "lendingLimit": "64"}
    assert quotas(training, "memory") == {"nominalQuota": "1Ti", "lendingLimit": "512Gi"}


def test_the_lab_is_a_flat_cohort() -> None:
    objects = kueue_objects(LAB)
    assert list(objects) == [
        "ResourceFlavor/gpu",
        "Cohort/lab",
        "ClusterQueue/training",
        "ClusterQueue/research",
        "ClusterQueue/inference",
    ]
    assert "parentName" not in objects["Cohort/lab"]["spec"]
    assert objects["ClusterQueue/training"]["spec"]["cohortName"] == "lab"


def test_a_queue_takes_back_what_is_its_own_and_prefers_the_higher_priority() -> None:
    assert kueue_objects(LAB)["ClusterQueue/training"]["spec"]["preemption"] == {
        "reclaimWithinCohort": "Any",
        "withinClusterQueue": "LowerPriority",
    }


def test_a_queue_takes_jobs_only_from_its_teams_namespaces() -> None:
    text = LAB.replace('name = "lab"', 'name = "lab"\nteam_label = "example.com/team"')
    spec = kueue_objects(text)["ClusterQueue/training"]["spec"]
    assert spec["namespaceSelector"] == {"matchLabels": {"example.com/team": "training"}}


def test_every_object_says_which_agreement_made_it() -> None:
    assert all(one["metadata"]["labels"] == {"tenancy.dev/agreement": "lab"} for one in kueue_objects(LAB).values())


# --- borrowable, the pool -------------------------------------------------------------------------------------------


def test_borrowable_is_the_borrowing_limit() -> None:
    objects = kueue_objects(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nborrowable = 3")
    assert quotas(objects["ClusterQueue/a"]) == {"nominalQuota": "8", "borrowingLimit": "3", "lendingLimit": "8"}


def test_nothing_borrowable_is_a_limit_of_zero() -> None:
    objects = kueue_objects(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nborrowable = 0")
    assert quotas(objects["ClusterQueue/a"])["borrowingLimit"] == "0"


def test_a_team_without_a_guarantee_may_borrow() -> None:
    objects = kueue_objects(ONE_FLAVOR + "[teams.a]\n")
    assert quotas(objects["ClusterQueue/a"]) == {"nominalQuota": "0", "lendingLimit": "0"}


def test_what_no_team_is_guaranteed_belongs_to_the_root() -> None:
    objects = kueue_objects(ONE_FLAVOR + "[teams.a]\nguaranteed = 8")
    assert quotas(objects["Cohort/lab"]) == {"nominalQuota": "24"}
    assert quotas(objects["Cohort/lab"], "cpu") == {"nominalQuota": "192"}


def test_without_teams_all_belongs_to_the_root() -> None:
    objects = kueue_objects(ONE_FLAVOR)
    assert list(objects) == ["ResourceFlavor/gpu", "Cohort/lab"]
    assert quotas(objects["Cohort/lab"]) == {"nominalQuota": "32"}


# --- prod -----------------------------------------------------------------------------------------------------------


def test_a_team_with_prod_is_a_cohort_that_owns_the_rest_and_carries_the_limits() -> None:
    cohort = kueue_objects(PROD)["Cohort/a"]
    assert cohort["spec"]["parentName"] == "lab"
    assert quotas(cohort) == {"nominalQuota": "8", "borrowingLimit": "4", "lendingLimit": "12"}


def test_the_regular_queue_keeps_the_teams_name_and_owns_nothing() -> None:
    queue = kueue_objects(PROD)["ClusterQueue/a"]
    assert queue["spec"]["cohortName"] == "a"
    assert quotas(queue) == {"nominalQuota": "0"}


def test_the_prod_queue_owns_the_slice_and_never_borrows() -> None:
    queue = kueue_objects(PROD)["ClusterQueue/a-prod"]
    assert queue["spec"]["cohortName"] == "a"
    assert queue["spec"]["preemption"]["borrowWithinCohort"] == {"policy": "Never"}
    assert quotas(queue) == {"nominalQuota": "8", "borrowingLimit": "0"}


def test_a_guarantee_on_the_queue_stands_there_and_not_on_the_cohort() -> None:
    objects = kueue_objects(ON_QUEUE)
    assert quotas(objects["Cohort/a"]) == {"nominalQuota": "0", "borrowingLimit": "4", "lendingLimit": "12"}
    assert quotas(objects["ClusterQueue/a"]) == {"nominalQuota": "8"}
    assert quotas(objects["ClusterQueue/a-prod"]) == {"nominalQuota": "8", "borrowingLimit": "0"}


def test_where_the_guarantee_stands_does_not_change_a_team_without_prod() -> None:
    assert kueue_objects(PROD)["ClusterQueue/b"] == kueue_objects(ON_QUEUE)["ClusterQueue/b"]


def test_all_of_a_guarantee_may_be_prod() -> None:
    objects = kueue_objects(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nprod = 8")
    assert quotas(objects["Cohort/a"]) == {"nominalQuota": "0", "lendingLimit": "8"}
    assert quotas(objects["ClusterQueue/a-prod"]) == {"nominalQuota": "8", "borrowingLimit": "0"}


def test_a_prod_slice_of_zero_is_no_prod_slice() -> None:
    assert "Cohort/a" not in kueue_objects(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nprod = 0")


def test_giving_a_team_a_prod_slice_renames_nothing() -> None:
    before = set(kueue_objects(PROD.replace("prod = 8", "")))
    assert before < set(kueue_objects(PROD))


# --- departments ----------------------------------------------------------------------------------------------------


def test_a_department_is_a_cohort_between_the_root_and_its_teams() -> None:
    text = ONE_FLAVOR + "[departments.speech]\n[teams.asr]\nguaranteed = 8\nprod = 4\ndepartment = 'speech'\n"
    objects = kueue_objects(text + "[teams.tts]\ndepartment = 'speech'\n[teams.free]\n")
    assert objects["Cohort/speech"]["spec"] == {"parentName": "lab"}
    assert objects["Cohort/asr"]["spec"]["parentName"] == "speech"
    assert objects["ClusterQueue/tts"]["spec"]["cohortName"] == "speech"
    assert objects["ClusterQueue/free"]["spec"]["cohortName"] == "lab"


# --- flavors --------------------------------------------------------------------------------------------------------


def test_a_flavors_taints_become_tolerations_of_its_jobs() -> None:
    taints = 'taints = [{ key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" }]\n'
    spec = kueue_objects(ONE_FLAVOR + taints)["ResourceFlavor/gpu"]["spec"]
    assert spec["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    ]
    assert "nodeTaints" not in spec


def test_a_flavor_is_tied_to_its_nodes_and_its_topology() -> None:
    text = ONE_FLAVOR + 'topology = "t"\n[topologies.t]\nlevels = ["a", "kubernetes.io/hostname"]\n'
    objects = kueue_objects(text)
    assert objects["ResourceFlavor/gpu"]["spec"] == {
        "nodeLabels": {"tenancy.dev/flavor": "gpu"},
        "topologyName": "t",
    }
    assert objects["Topology/t"]["spec"] == {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "kubernetes.io/hostname"}]}


SOME_TREES = """
[cluster]
name = "c"
[topologies.fabric]
levels = ["example.com/rack"]
[flavors.one]
nodes = 1
gpus_per_node = 8
topology = "fabric"
[flavors.two]
nodes = 1
gpus_per_node = 8
"""


def test_where_one_flavor_has_a_topology_all_have() -> None:
    """kueue#7491: otherwise a job without an annotation is given no flavor that has one."""
    objects = kueue_objects(SOME_TREES)
    assert objects["Topology/c-hosts"]["spec"] == {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}
    assert objects["ResourceFlavor/one"]["spec"]["topologyName"] == "fabric"
    assert objects["ResourceFlavor/two"]["spec"]["topologyName"] == "c-hosts"


@pytest.mark.parametrize(
    "text", [SOME_TREES.replace('topology = "fabric"\n', ""), SOME_TREES + 'topology = "fabric"\n']
)
def test_where_all_flavors_are_alike_there_is_no_topology_of_hosts(text: str) -> None:
    objects = kueue_objects(text)
    assert "Topology/c-hosts" not in objects
    names = {objects[f"ResourceFlavor/{flavor}"]["spec"].get("topologyName") for flavor in ("one", "two")}
    assert names == ({"fabric"} if text.count('"fabric"') == 2 else {None})


CUT = 'nodes = 1\ngpus_per_node = 2\ncpu_per_slice = 2\nmemory_per_slice = "15Gi"\n'


def test_a_slice_of_mixed_strategy_is_a_resource_of_its_own() -> None:
    text = f'[cluster]\nname = "c"\n[flavors.gpu]\n{CUT}mig = {{ gpu = "A100-80GB", profile = "1g.10gb" }}\n'
    queue = kueue_objects(text + "[teams.a]\nguaranteed = 7")["ClusterQueue/a"]
    assert quotas(queue, "nvidia.com/mig-1g.10gb") == {"nominalQuota": "7", "lendingLimit": "7"}
    assert quotas(queue, "cpu")["nominalQuota"] == "14"
    assert quotas(queue, "memory")["nominalQuota"] == "105Gi"


def test_a_slice_of_single_strategy_is_asked_for_as_a_gpu() -> None:
    mig = 'mig = { gpu = "A100-80GB", profile = "1g.10gb", strategy = "single" }\n'
    queue = kueue_objects(f'[cluster]\nname = "c"\n[flavors.gpu]\n{CUT}{mig}[teams.a]\nguaranteed = 7')[
        "ClusterQueue/a"
    ]
    assert quotas(queue, "nvidia.com/gpu") == {"nominalQuota": "7", "lendingLimit": "7"}


def test_a_cpu_flavor_has_cpu_and_memory_only() -> None:
    text = '[cluster]\nname = "c"\n[flavors.cpu]\nnodes = 2\ncpu_per_node = 64\nmemory_per_node = "256Gi"\n'
    queue = kueue_objects(text + "[teams.a]\nguaranteed = '64 cpu'\nlendable = '32 cpu'")["ClusterQueue/a"]
    (group,) = queue["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory"]
    assert quotas(queue, "cpu", "cpu") == {"nominalQuota": "64", "lendingLimit": "32"}
    assert quotas(queue, "memory", "cpu") == {"nominalQuota": "256Gi", "lendingLimit": "128Gi"}


def test_a_team_with_prod_on_slices_has_both_queues_on_slices() -> None:
    text = f'[cluster]\nname = "c"\n[flavors.gpu]\n{CUT}mig = {{ gpu = "A100-80GB", profile = "1g.10gb" }}\n'
    objects = kueue_objects(text + "[teams.a]\nguaranteed = 7\nprod = 2")
    assert quotas(objects["Cohort/a"], "nvidia.com/mig-1g.10gb")["nominalQuota"] == "5"
    assert quotas(objects["ClusterQueue/a-prod"], "nvidia.com/mig-1g.10gb")["nominalQuota"] == "2"


# --- what the API asks of the shape ---------------------------------------------------------------------------------


def groups(text: str) -> list[dict[str, object]]:
    specs = [one["spec"] for one in kueue_objects(text).values() if "spec" in one]
    return [group for spec in specs for group in spec.get("resourceGroups", [])]


@pytest.mark.parametrize("text", [LAB, PROD, PRODUCTION.read_text()], ids=["lab", "prod", "production"])
def test_every_flavor_of_a_queue_lists_the_same_resources_in_the_same_order(text: str) -> None:
    for group in groups(text):
        assert isinstance(group["flavors"], list)
        for flavor in group["flavors"]:
            assert [quota["name"] for quota in flavor["resources"]] == group["coveredResources"]


def test_a_resource_that_a_flavor_does_not_have_stands_at_zero() -> None:
    ranking = kueue_objects(PRODUCTION.read_text())["ClusterQueue/ranking"]
    assert quotas(ranking, "nvidia.com/mig-1g.10gb", "hgx-h100") == {"nominalQuota": "0"}


@pytest.mark.parametrize(
    "text", [LAB, PROD, ON_QUEUE, PRODUCTION.read_text()], ids=["lab", "prod", "queue", "production"]
)
def test_only_a_node_with_a_parent_has_limits_and_a_queue_lends_no_more_than_it_owns(text: str) -> None:
    for one in kueue_objects(text).values():
        if one["kind"] not in ("Cohort", "ClusterQueue"):
            continue
        spec = one["spec"]
        rows = [quota for group in spec.get("resourceGroups", []) for f in group["flavors"] for quota in f["resources"]]
        if "parentName" not in spec and "cohortName" not in spec:
            assert not any("borrowingLimit" in quota or "lendingLimit" in quota for quota in rows)
        if one["kind"] == "ClusterQueue":
            assert all(number(quota.get("lendingLimit", "0")) <= number(quota["nominalQuota"]) for quota in rows)


# --- text and order -------------------------------------------------------------------------------------------------


def test_priorities_are_classes_without_a_spec() -> None:
    one = kueue_objects(ONE_FLAVOR + "[priorities]\nprod-workload = 1000")["WorkloadPriorityClass/prod-workload"]
    assert (one["value"], "spec" in one) == (1000, False)


def test_a_name_to_show_is_an_annotation_on_each_object_of_the_team() -> None:
    text = ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nprod = 4\ndisplay_name = 'The A Team'"
    objects = kueue_objects(text)
    for name in ("Cohort/a", "ClusterQueue/a", "ClusterQueue/a-prod"):
        assert objects[name]["metadata"]["annotations"] == {"tenancy.dev/display-name": "The A Team"}


def test_objects_come_in_the_order_a_cluster_needs_them_in() -> None:
    kinds = list(dict.fromkeys(one["kind"] for one in kueue.objects(plan(PRODUCTION.read_text()))))
    assert kinds == ["Topology", "ResourceFlavor", "WorkloadPriorityClass", "Cohort", "ClusterQueue"]


def test_production_becomes_so_many_objects() -> None:
    kinds = [one["kind"] for one in kueue.objects(plan(PRODUCTION.read_text()))]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    # 1 root + 2 departments + 4 teams with prod; 5 teams, of which 4 have a second queue
    assert counts == {
        "Topology": 3,  # two of the agreement, one of hosts for the slices
        "ResourceFlavor": 11,
        "WorkloadPriorityClass": 1,
        "Cohort": 7,
        "ClusterQueue": 9,
    }
