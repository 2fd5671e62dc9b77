"""The copies that `verify` works on: everything as it is on the cluster, faults included, and nothing that another finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samples import ONE_FLAVOR, PRODUCTION, plan

from tenancy.agreement.plan import Plan
from tenancy.lab import nodes
from tenancy.objects import kueue
from tenancy.verify.checks.model import JobGroup
from tenancy.verify.evidence.model import Condition
from tenancy.verify.players.live_objects import LiveObjects, root
from tenancy.verify.players.messages import Words
from tenancy.verify.players.sandbox import CHECK_LABEL, RUN_LABEL
from tenancy.verify.players.sandbox_objects import SandboxObjects

Object = dict[str, Any]


def live_objects(plan: Plan) -> LiveObjects:
    """A cluster that holds exactly the agreement."""
    made: dict[str, dict[str, Object]] = {}
    for one in kueue.objects(plan):
        made.setdefault(one["kind"], {})[one["metadata"]["name"]] = one
    return LiveObjects(
        cohorts=made["Cohort"],
        queues=made["ClusterQueue"],
        flavors=made["ResourceFlavor"],
        priorities=dict(plan.priorities),
        nodes=tuple(nodes.nodes(plan)),
    )


def sandbox_objects(plan: Plan, *flavors: str, run: str = "run", number: int = 7) -> SandboxObjects:
    levels = frozenset(level for tree in plan.topologies for level in tree.levels)
    return SandboxObjects(live_objects(plan), levels, flavors, run, number)


def by_name(made: SandboxObjects) -> dict[str, Object]:
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in made.objects()}


PROD = plan(PRODUCTION.read_text())


def test_all_references_go_to_the_copies_and_all_numbers_stay() -> None:
    """The copied tree with its names put back is the tree."""
    made = sandbox_objects(PROD, "hgx-h100")
    there = by_name(made)
    for one in kueue.objects(PROD):
        if one["kind"] not in ("Cohort", "ClusterQueue"):
            continue
        copy = there[f"{one['kind']}/verify-run-7-{one['metadata']['name']}"]
        assert put_back(copy["spec"], made.prefix) == one.get("spec", {})
        above = copy["spec"].get("cohortName") or copy["spec"].get("parentName") or f"{made.prefix}production"
        assert f"Cohort/{above}" in there


def put_back(value: Any, prefix: str) -> Any:
    if isinstance(value, Mapping):
        return {key: put_back(one, prefix) for key, one in value.items()}
    if isinstance(value, list):
        return [put_back(one, prefix) for one in value]
    return value.removeprefix(prefix) if isinstance(value, str) else value


def test_only_flavors_that_are_asked_for_have_copies_and_the_others_are_listed_as_they_are() -> None:
    there = by_name(sandbox_objects(PROD, "hgx-h100"))
    assert [entry for entry in there if entry.startswith("ResourceFlavor/")] == ["ResourceFlavor/verify-run-7-hgx-h100"]
    for name, one in there.items():
        if name.startswith("ClusterQueue/"):
            (group,) = one["spec"]["resourceGroups"]
            listed = {flavor["name"] for flavor in group["flavors"]}
            assert listed == {flavor.name for flavor in PROD.flavors} - {"hgx-h100"} | {"verify-run-7-hgx-h100"}


def test_a_copied_flavor_finds_its_copied_nodes_and_no_other_flavor_does() -> None:
    made = sandbox_objects(PROD, "hgx-h100", "a100-80g")
    there = by_name(made)
    copied = {name: one for name, one in there.items() if one["kind"] == "Node"}
    for flavor in ("hgx-h100", "a100-80g"):
        labels = there[f"ResourceFlavor/verify-run-7-{flavor}"]["spec"]["nodeLabels"]
        found = [one for one in copied.values() if labels.items() <= one["metadata"]["labels"].items()]
        assert len(found) == PROD.flavor[flavor].nodes
    for flavor in made.live_objects.flavors.values():
        labels = flavor["spec"]["nodeLabels"]
        assert not [one for one in copied.values() if labels.items() <= one["metadata"]["labels"].items()]


def test_only_the_copied_flavors_pods_may_go_to_copied_nodes() -> None:
    there = by_name(sandbox_objects(PROD, "a100-80g"))
    (flavor,) = (one for one in there.values() if one["kind"] == "ResourceFlavor")
    keys = {toleration["key"] for toleration in flavor["spec"]["tolerations"]}
    for one in there.values():
        if one["kind"] == "Node":
            assert {taint["key"] for taint in one["spec"]["taints"]} == keys == {RUN_LABEL, "nvidia.com/gpu"}


def test_domains_are_as_large_as_the_originals_and_shared_with_nobody() -> None:
    level = "network.example.com/scalable-unit"
    made = sandbox_objects(PROD, "hgx-h100")
    was = [entry["metadata"]["labels"][level] for entry in made.live_objects.nodes_of("hgx-h100")]
    now = [one["metadata"]["labels"][level] for one in made.nodes()]
    other = [one["metadata"]["labels"][level] for one in sandbox_objects(PROD, "hgx-h100", number=8).nodes()]
    assert len(set(now)) == len(set(was))
    assert len(set(zip(was, now, strict=True))) == len(set(was))
    assert not set(now) & (set(was) | set(other))


def test_every_copy_is_of_its_run_and_of_no_agreement() -> None:
    for one in sandbox_objects(PROD, "h100").objects():
        assert one["metadata"]["name"].startswith("verify-run-7-")
        labels = one["metadata"]["labels"]
        assert (labels[RUN_LABEL], labels[CHECK_LABEL]) == ("run", "7")
        assert "tenancy.dev/agreement" not in labels
        assert not set(one["metadata"].get("annotations", {})) - {"kwok.x-k8s.io/node"}


def test_a_fault_is_copied() -> None:
    original = live_objects(plan(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\n"))
    quotas = original.queues["a"]["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    quotas[2]["lendingLimit"] = "3"
    made = SandboxObjects(original, frozenset(), ("gpu",), "run", 0)
    (queue,) = (one for one in made.objects() if one["kind"] == "ClusterQueue")
    assert queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]["lendingLimit"] == "3"


def test_a_name_that_is_too_long_for_a_label_is_cut_and_stays_its_own() -> None:
    made = sandbox_objects(PROD, "h100")
    long = ["team-" + "x" * 60 + end for end in "ab"]
    short = [made.short(name) for name in long]
    assert len(set(short)) == 2 and all(len(entry) <= 63 for entry in short)


def test_the_root_of_a_tree() -> None:
    parents = {"team": "department", "department": "cluster", "cluster": "", "a": "b", "b": "a", "lost": "nowhere"}
    assert root("team", parents) == root("cluster", parents) == "cluster"
    assert root("lost", parents) == "nowhere"
    assert root("a", parents) in ("a", "b")


UID = "6d1f5a0e-9a3b-4c53-a7c2-2f3d6f3b8f10"
JOBS = JobGroup("owner", "training", "gpu", count=1)


def workload(*conditions: tuple[str, str, str, str]) -> Object:
    keys = ("type", "status", "reason", "message")
    status = {"conditions": [dict(zip(keys, condition, strict=True)) for condition in conditions]}
    return {"metadata": {"uid": UID, "labels": {}}, "status": status}


def test_words_have_names_in_place_of_uids_and_of_copies() -> None:
    words = Words("verify-run-7-")
    words.know({("ns", "owner-0"): workload()}, {("ns", "owner-0"): (JOBS, 0)})
    message = (
        f"Preempted to accommodate a workload (UID: {UID}); preemptor path: /verify-run-7-lab/verify-run-7-training"
    )
    result = workload(("QuotaReserved", "False", "Pending", message))
    (said,) = words.told(JOBS, 0, result)
    assert said == Condition(
        "training/owner-0",
        "QuotaReserved",
        "False",
        "Pending",
        "Preempted to accommodate a workload (UID: training/owner-0); preemptor path: /lab/training",
    )


def test_while_kueue_makes_room_or_has_not_looked_it_has_said_nothing() -> None:
    words = Words("")
    for message in (
        "couldn't assign flavors … . Pending the preemption of 2 workload(s)",
        "LocalQueue default is inactive",
        "ClusterQueue training doesn't exist",
        "",
    ):
        assert not list(words.told(JOBS, 0, workload(("QuotaReserved", "False", "Pending", message))))
    assert not list(words.told(JOBS, 0, workload(("QuotaReserved", "True", "QuotaReserved", "Quota reserved"))))
