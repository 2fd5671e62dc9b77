"""Queues that others wrote: what of them an agreement says, and what is told of the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from imports import by_reference, listed, read
from typer.testing import CliRunner

from tenancy.cli import app
from tenancy.cluster.nodes import Node
from tenancy.objects import kueue
from tenancy.review import importing
from tenancy.review.importing import NothingThere, Outcome, Shape

GPU = "nvidia.com/gpu"


def flavor(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": kueue.API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def queue(name: str, cohort: str | None, **gpus: Any) -> dict[str, Any]:
    """A queue of flavors with GPUs, or with rows of its own, and nothing else."""
    group = {
        "coveredResources": [GPU],
        "flavors": [
            {
                "name": of,
                "resources": [{"name": GPU, **(value if isinstance(value, dict) else {"nominalQuota": value})}],
            }
            for of, value in gpus.items()
        ],
    }
    spec = {"namespaceSelector": {}, "resourceGroups": [group], **({"cohortName": cohort} if cohort else {})}
    return {"apiVersion": kueue.API_VERSION, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def cohort(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    spec |= {"parentName": parent} if parent else {}
    return {"apiVersion": kueue.API_VERSION, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def local_queue(namespace: str, name: str, leads_to: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": kueue.API_VERSION,
        "kind": "LocalQueue",
        "metadata": metadata,
        "spec": {"clusterQueue": leads_to},
    }


def kai_queue(name: str, parent: str | None, quota: float, limit: float = -1, **more: Any) -> dict[str, Any]:
    gpu = {"quota": quota, "limit": limit, "overQuotaWeight": 1}
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec = {"resources": {"gpu": gpu, "cpu": unlimited, "memory": unlimited}, "displayName": name, **more}
    spec |= {"parentQueue": parent} if parent else {}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


FLAT = [flavor("h100", nodeLabels={"gpu": "h100"}), queue("a", "all", h100=12), queue("b", "all", h100=4)]


# --- Kueue ------------------------------------------------------------------------------------------------------------


def test_queues_of_one_cohort_are_teams_that_lend_all_they_have() -> None:
    found = read(FLAT)
    assert found.plan.cluster == "all" and found.plan.pool == {"h100": 0}
    shares = {name: team.shares["h100"] for name, team in found.plan.team.items()}
    assert [(share.guaranteed, share.lendable, share.borrowable) for share in shares.values()] == [
        (12, 12, None),
        (4, 4, None),
    ]
    assert found.new == ("Cohort/all",)  # which means what a Cohort means that is only named
    assert not any("nvidia.com/gpu].nominalQuota" in difference.path for difference in found.not_expressed)


def test_cpus_that_no_quota_counted_are_told_as_new() -> None:
    found = listed(read(FLAT))
    assert found["ClusterQueue/a spec.resourceGroups.coveredResources[cpu]"] == (Outcome.ADD, "cpu")
    path = "ClusterQueue/a spec.resourceGroups.flavors[h100].resources[cpu]"
    assert found[path] == (Outcome.ADD, {"nominalQuota": "96", "lendingLimit": "96"})


def test_what_decides_who_is_stopped_is_told_where_it_changes() -> None:
    found = listed(read(FLAT))
    assert found["ClusterQueue/a spec.preemption.reclaimWithinCohort"] == (Outcome.ADD, "Any")
    team = {"matchLabels": {"tenancy.dev/team": "a"}}
    assert found["ClusterQueue/a spec.namespaceSelector"] == (Outcome.UPDATE, team)


def test_an_older_api_is_read_as_the_newest_has_it() -> None:
    old = json.loads(json.dumps(FLAT).replace("v1beta2", "v1beta1").replace("cohortName", "cohort"))
    old[1]["spec"]["flavorFungibility"] = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
    found = read(old)
    assert found.plan.cluster == "all" and len(found.plan.teams) == 2
    path = "ClusterQueue/a spec.flavorFungibility.whenCanPreempt"
    assert listed(found)[path] == (Outcome.KEEP, None)
    assert not any(
        "whenCanBorrow" in difference.path or "cohort" in difference.path for difference in found.not_expressed
    )


def test_a_queue_in_no_cohort_is_a_team_that_lends_and_borrows_nothing() -> None:
    found = read([*FLAT, queue("alone", None, h100=8)])
    share = found.plan.team["alone"].shares["h100"]
    assert (share.guaranteed, share.lendable, share.borrowable) == (8, 0, 0)
    assert listed(found)["ClusterQueue/alone spec.cohortName"] == (Outcome.ADD, "all")


def test_a_flavor_that_a_queue_does_not_list_it_may_not_borrow() -> None:
    found = read([*FLAT, flavor("a100", nodeLabels={"gpu": "a100"}), queue("c", "all", a100=8, h100="0")])
    assert found.plan.team["a"].shares["a100"].borrowable == 0
    assert found.plan.team["c"].shares["h100"].borrowable is None
    assert not any(
        "a100" in difference.path for difference in found.not_expressed if difference.reference == "ClusterQueue/a"
    )


def test_flavors_are_in_the_order_in_which_most_queues_try_them() -> None:
    there = [flavor(name, nodeLabels={"gpu": name}) for name in ("x", "y")]
    found = read([*there, queue("a", "all", x=8, y=8), queue("b", "all", y=8, x=8), queue("c", "all", y=8, x=8)])
    assert [flavor.name for flavor in found.plan.flavors] == ["y", "x"]
    orders = {name: value for name, value in listed(found).items() if name.endswith("spec.resourceGroups.flavors")}
    assert orders == {"ClusterQueue/a spec.resourceGroups.flavors": (Outcome.UPDATE, ["y", "x"])}


def test_several_resource_groups_become_one() -> None:
    both = queue("a", "all", h100=8)
    rows = [{"name": "cpu", "nominalQuota": "64"}, {"name": "memory", "nominalQuota": "256Gi"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": rows}]}
    both["spec"]["resourceGroups"].append(group)
    found = read([flavor("any"), *FLAT[:1], both])
    assert [(flavor.name, flavor.unit) for flavor in found.plan.flavors] == [("h100", "gpu"), ("any", "cpu")]
    assert listed(found)["ClusterQueue/a spec.resourceGroups"] == (Outcome.UPDATE, [["cpu", "memory", GPU]])
    assert found.plan.flavor["any"].node_labels == {"kubernetes.io/os": "linux"}


def test_what_stands_on_the_root_is_the_pool_and_what_a_department_owns_goes_there() -> None:
    root = cohort("all", resourceGroups=queue("x", None, h100=8)["spec"]["resourceGroups"])
    department = cohort("d", "all", resourceGroups=queue("x", None, h100=4)["spec"]["resourceGroups"])
    found = read([*FLAT, root, department, queue("c", "d", h100=8)])
    assert found.plan.pool == {"h100": 12} and found.plan.team["c"].department == "d"
    told = listed(found)
    path = "spec.resourceGroups.flavors[h100]"
    assert told[f"Cohort/all {path}.resources[{GPU}].nominalQuota"] == (Outcome.UPDATE, "12")
    assert told[f"Cohort/d {path}"][0] is Outcome.REMOVE


def test_a_deeper_tree_becomes_two_levels() -> None:
    found = read([*FLAT, cohort("d", "all"), cohort("e", "d"), queue("c", "e", h100=8)])
    assert found.plan.team["c"].department == "d"
    told = listed(found)
    assert told["ClusterQueue/c spec.cohortName"] == (Outcome.UPDATE, "d")
    assert told["Cohort/e"][0] is Outcome.KEEP


def test_one_tree_is_read_and_the_others_are_named() -> None:
    others = [queue("x", "other", h100=8)]
    found = read([*FLAT, *others])
    assert found.plan.cluster == "all"
    (told,) = [difference for difference in found.not_expressed if difference.reference == "ClusterQueue/x"]
    assert told.outcome is Outcome.KEEP and told.why == "it belongs to another tree; read that tree with --cohort other"
    assert read([*FLAT, *others], cohort="other").plan.team.keys() == {"x"}


def test_cohorts_in_a_circle_are_left_out() -> None:
    found = read([*FLAT, cohort("d", "e"), cohort("e", "d"), queue("c", "d", h100=8)])
    assert {difference.reference for difference in found.not_expressed if difference.outcome is Outcome.KEEP} == {
        "Cohort/d",
        "Cohort/e",
        "ClusterQueue/c",
    }


def test_namespaces_are_those_whose_queues_lead_to_one_team() -> None:
    queues = [local_queue("a-1", "default", "a"), local_queue("a-2", "user-queue", "a")]
    mixed = [local_queue("mixed", "of-a", "a"), local_queue("mixed", "of-b", "b")]
    found = read([*FLAT, *queues, *mixed])
    assert found.plan.team["a"].namespaces == ("a-1", "a-2") and found.plan.team["b"].namespaces == ()
    assert "LocalQueue/a-2/default" in found.new
    told = {
        difference.reference: difference.why
        for difference in found.not_expressed
        if difference.reference.startswith("LocalQueue/")
    }
    assert set(told) == {"LocalQueue/a-2/user-queue", "LocalQueue/mixed/of-a", "LocalQueue/mixed/of-b"}
    assert told["LocalQueue/mixed/of-a"] == "namespace mixed has queues of several teams, and an agreement allows one"


def test_the_label_that_queues_select_by_is_the_teams_label() -> None:
    mine = [queue(name, "all", h100=8) for name in ("a", "b")]
    for entry in mine:
        entry["spec"]["namespaceSelector"] = {"matchLabels": {"example.com/team": entry["metadata"]["name"]}}
    found = read([*FLAT[:1], *mine])
    assert found.plan.team_label == "example.com/team"
    assert not any("namespaceSelector" in difference.path for difference in found.not_expressed)


def test_a_name_that_no_team_can_have_is_left_with_the_reason() -> None:
    name = "x" * 70
    found = read([*FLAT, queue(name, "all", h100=8)])
    (told,) = [difference for difference in found.not_expressed if difference.reference == f"ClusterQueue/{name}"]
    assert told.outcome is Outcome.KEEP and "at most 63 are allowed" in told.why


def test_a_field_that_nobody_may_change_is_told_as_such() -> None:
    topology = {
        "apiVersion": kueue.API_VERSION,
        "kind": "Topology",
        "metadata": {"name": "racks"},
        "spec": {"levels": [{"nodeLabel": "rack"}]},
    }
    tied = flavor(
        "h100", nodeLabels={"gpu": "h100"}, topologyName="racks", tolerations=[{"key": "x", "effect": "NoExecute"}]
    )
    tied["spec"]["tolerations"].append({"operator": "Exists"})
    (told,) = [
        difference
        for difference in read([topology, tied, *FLAT[1:]]).not_expressed
        if difference.reference == "ResourceFlavor/h100"
    ]
    assert told.path == "spec.tolerations" and told.why.startswith("the cluster lets nobody change this field")


# --- nodes ------------------------------------------------------------------------------------------------------------


def nodes(count: int, gpus: int = 8) -> list[Node]:
    amounts = {"cpu": 128_000, "memory": 1024 * 2**30, GPU: gpus}
    return [Node(f"n{number}", {"gpu": "h100"}, amounts) for number in range(count)]


def test_nodes_say_how_many_gpus_one_has_and_what_goes_with_each() -> None:
    found = read(FLAT, nodes=nodes(4, gpus=4))
    flavor = found.agreement.flavors["h100"]
    assert (flavor.nodes, flavor.gpus_per_node) == (4, 4)
    assert (flavor.cpu_per_gpu, flavor.memory_per_gpu) == (32_000, 256 * 2**30)


def test_what_the_cluster_has_beyond_its_quotas_is_a_comment_and_no_pool() -> None:
    found = read(FLAT, nodes=nodes(4))
    assert found.plan.flavor["h100"].nodes == 2 and found.plan.pool == {"h100": 0}
    assert "the quotas add up to 16 GPUs; the cluster has 4 nodes of 8" in found.text


def test_a_person_who_says_what_nodes_there_are_gets_a_pool() -> None:
    found = read(FLAT, shapes={"h100": Shape(4, 8, exact=True)})
    assert found.plan.pool == {"h100": 16}
    (told,) = [difference for difference in found.not_expressed if difference.reference == "Cohort/all"]
    assert told.outcome is Outcome.ADD and "pool" in told.why


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"h100": Shape(1, 8, exact=True)}, "add up to 16 GPUs, but 1 nodes of 8 have only 8"),
        ({"h200": Shape(1, 1)}, "there is no flavor with that name"),
    ],
)
def test_nodes_that_cannot_be_are_refused(shapes: dict[str, Shape], words: str) -> None:
    with pytest.raises(NothingThere, match=words):
        read(FLAT, shapes=shapes)


# --- KAI --------------------------------------------------------------------------------------------------------------


def test_a_flat_tree_of_kai_is_teams_under_shared() -> None:
    found = read([kai_queue("org", None, 16), kai_queue("a", "org", 8), kai_queue("b", "org", 8, limit=12)])
    assert {name: team.shares["gpu"].borrowable for name, team in found.plan.team.items()} == {"a": None, "b": 4}
    told = listed(found)
    assert told["Queue/a spec.parentQueue"] == (Outcome.UPDATE, "shared")
    assert told["Queue/org"][0] is Outcome.KEEP and told["Queue/shared"][0] is Outcome.ADD
    assert len(told) == 4


def test_parents_of_kai_are_departments_and_what_kai_counts_beside_gpus_is_told() -> None:
    queues = [
        kai_queue("d", None, 8),
        kai_queue("e", None, 8),
        kai_queue("a", "d", 7.5),
        kai_queue("b", "e", 8, priority=150),
    ]
    queues[2]["spec"]["resources"]["cpu"] = {"quota": 64000, "limit": -1, "overQuotaWeight": 1}
    found = read(
        [*queues, kai_queue("default-parent-queue", None, -1), kai_queue("default-queue", "default-parent-queue", -1)]
    )
    assert {name: team.department for name, team in found.plan.team.items()} == {"a": "d", "b": "e"}
    told = listed(found)
    assert told["Queue/a spec.resources.gpu.quota"] == (Outcome.UPDATE, 7)
    assert told["Queue/a spec.resources.cpu.quota"] == (Outcome.UPDATE, -1)
    assert told["Queue/b spec.priority"] == (Outcome.KEEP, None)
    assert told["Queue/default-queue"][0] is Outcome.KEEP


# --- the command ------------------------------------------------------------------------------------------------------


def run(*arguments: str, given: str | None = None) -> Any:
    return CliRunner().invoke(app, ["import", *arguments], input=given)


def test_all_said_is_exit_0_and_something_unsaid_exit_1(tmp_path: Path) -> None:
    done = run("rendered/kueue")
    assert (
        done.exit_code == 0
        and done.stdout.startswith("# Read by")
        and "the agreement expresses everything in" in done.stderr
    )
    file = tmp_path / "flat.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": FLAT}))
    out = tmp_path / "tenancy.toml"
    done = run(str(file), "--out", str(out), "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1 and out.read_text() == told["agreement"]
    assert {"object", "path", "found", "outcome", "fate", "becomes", "why"} == set(told["unsaid"][0])
    assert CliRunner().invoke(app, ["check", str(out)]).exit_code == 0


def test_what_is_alike_is_one_line() -> None:
    done = run("-", given="\n---\n".join(json.dumps(entry) for entry in FLAT))
    assert 'ClusterQueue/a, b spec.preemption.withinClusterQueue: "Never" becomes "LowerPriority"' in done.stderr


@pytest.mark.parametrize(
    ("arguments", "given", "words"),
    [
        (["-"], "a: [", "standard input:2:1 is not YAML"),
        (["-"], "just text", "holds a str instead of a Kubernetes object"),
        (["-"], "kind: Pod", "without kind and apiVersion"),
        (["-"], "", "there is no ClusterQueue, Cohort or KAI Queue"),
        (["-", "--cohort", "x"], json.dumps(FLAT[1]), "there is no root Cohort with that name; root Cohorts: all"),
        (["-"], json.dumps(queue("a", None)), "no queue has quota for GPUs"),
        (["nowhere.yaml"], "", "nowhere.yaml cannot be read: No such file or directory"),
        (["docs/pictures"], "", "holds no .yaml, .yml, .json file"),
        (["-", "--nodes", "h100=4"], "", "such as h100=4x8"),
        (["-", "--lab", "x"], "", "give either these or files"),
    ],
)
def test_wrong_input_is_a_sentence_and_exit_2(arguments: list[str], given: str, words: str) -> None:
    done = run(*arguments, given=given)
    assert done.exit_code == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_a_rendered_agreement_is_read_whole_from_its_folder() -> None:
    found = importing.import_agreement(
        [
            entry
            for file in sorted(Path("rendered").rglob("*.yaml"))
            for entry in importing.parse(file.read_text(), str(file))
        ],
        source="rendered",
    )
    assert found.not_expressed == () and by_reference(kueue.objects(found.plan)).keys() <= found.given.keys()


# --- who wrote it -----------------------------------------------------------------------------------------------------


def managed(body: dict[str, Any], **managers: dict[str, Any]) -> dict[str, Any]:
    fields = [{"manager": name.replace("_", "-"), "fieldsV1": manager} for name, manager in managers.items()]
    return {**body, "metadata": {**body["metadata"], "managedFields": fields}}


def test_what_kubectl_wrote_goes_and_what_others_wrote_stays() -> None:
    theirs = queue("c", "all", h100=8)
    theirs["metadata"] |= {"labels": {"app.example.com/name": "x", "team": "y"}}
    theirs["spec"] |= {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}, "stopPolicy": "Hold"}
    theirs["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "dws"}]}
    whole = {
        "f:spec": {
            "f:flavorFungibility": {"f:whenCanBorrow": {}},
            "f:admissionChecksStrategy": {"f:admissionChecks": {}},
        }
    }
    whole["f:metadata"] = {"f:labels": {"f:app.example.com/name": {}, "f:team": {}}}
    stop = {"f:spec": {"f:stopPolicy": {}}, "f:metadata": {"f:labels": {"f:team": {}}}}
    told = listed(read([*FLAT, managed(theirs, kubectl_client_side_apply=whole, operator=stop)]))
    assert told["ClusterQueue/c metadata.labels[app.example.com/name]"] == (Outcome.REMOVE, None)
    assert told["ClusterQueue/c metadata.labels[team]"] == (Outcome.KEEP, None)
    assert told["ClusterQueue/c spec.flavorFungibility.whenCanBorrow"] == (Outcome.UPDATE, "MayStopSearch")
    assert told["ClusterQueue/c spec.admissionChecksStrategy.admissionChecks"] == (Outcome.REMOVE, None)
    assert told["ClusterQueue/c spec.stopPolicy"] == (Outcome.KEEP, None)


SHARDS = """
import sys
from tenancy.review.importing import import_agreement, parse
with open(sys.argv[1]) as file:
    made = import_agreement(parse(file.read(), "a test"), source="a test")
print([(difference.reference, difference.path) for difference in made.not_expressed])
"""


def test_the_list_has_one_order_whatever_the_hashes_of_names(tmp_path: Path) -> None:
    """Pools that share one tree: import adds objects that were not there, in the order in which the agreement makes them."""
    bodies = [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": f"{team}-{pool}", "labels": {"kai.scheduler/node-pool": pool}},
            "spec": {"resources": {"gpu": {"quota": 8, "limit": -1}}},
        }
        for pool in ("a100", "h100")
        for team in ("one", "two", "three", "four", "five")
    ]
    file = tmp_path / "queues.yaml"
    file.write_text(yaml.safe_dump_all(bodies))
    lists = {
        subprocess.run(
            [sys.executable, "-c", SHARDS, str(file)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(lists) == 1
    assert "'')" in next(iter(lists)), "some objects are new"
