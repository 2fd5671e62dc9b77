"""What an update says before it does it: what people changed by hand, in the agreement's words; jobs whose queue goes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from samples import ONE_FLAVOR, kueue_objects, plan

from tenancy.cluster.preflight import Found
from tenancy.objects import kai
from tenancy.objects.identity import reference
from tenancy.objects.loading import loads
from tenancy.review.diff.drift import drift
from tenancy.review.diff.removed_queues import removed_queues
from tenancy.review.update_warnings import warnings

TEXT = (
    ONE_FLAVOR
    + """
[sharing]
policy = "fair"
[priorities]
low = 1
[departments.science]
[departments.product]
[teams.training]
guaranteed = 16
lendable = 8
weight = 2
[teams.research]
department = "science"
guaranteed = 8
borrowable = 4
prod = 2
"""
)
Change = Callable[[dict[str, Any]], object]


def quota(number: str, value: str | None, resource: int = 2) -> Change:
    def change(body: dict[str, Any]) -> None:
        quotas = body["spec"]["resourceGroups"][0]["flavors"][0]["resources"][resource]
        quotas.pop(number, None) if value is None else quotas.update({number: value})

    return change


def spec(**values: Any) -> Change:
    return lambda body: body["spec"].update(values)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("ClusterQueue/training", quota("nominalQuota", "99"), "training: guaranteed 16 → 99 GPUs"),
        ("ClusterQueue/training", quota("nominalQuota", "1k"), "training: guaranteed 16 → 1000 GPUs"),
        ("ClusterQueue/training", quota("lendingLimit", "0"), "training: lendable 8 → 0 GPUs"),
        ("ClusterQueue/training", quota("lendingLimit", None), "training: lendable 8 → all GPUs"),
        ("ClusterQueue/training", quota("borrowingLimit", "3"), "training: borrowable no limit → 3 GPUs"),
        ("Cohort/research", quota("borrowingLimit", None), "research: borrowable 4 → no limit GPUs"),
        ("Cohort/research", quota("nominalQuota", "7"), "research: guaranteed 8 → 9 GPUs"),  # beside the slice of 2
        ("ClusterQueue/research", quota("nominalQuota", "1"), "research: guaranteed 8 → 9 GPUs"),
        ("ClusterQueue/research-prod", quota("nominalQuota", "5"), "research: prod 2 → 5 GPUs"),
        (
            "ClusterQueue/research-prod",
            quota("borrowingLimit", "9"),
            "research: nvidia.com/gpu of gpu, borrowingLimit 0 → 9",
        ),
        ("Cohort/lab", quota("nominalQuota", "10"), "the free pool 8 → 10 GPUs"),
        ("ClusterQueue/training", quota("nominalQuota", "9", 0), "training: cpu of gpu, nominalQuota 128 → 9"),
        ("ClusterQueue/training", quota("nominalQuota", "2Ti", 1), "training: memory of gpu, nominalQuota 1Ti → 2Ti"),
        ("ClusterQueue/training", quota("nominalQuota", "1e2"), "training: guaranteed 16 → 100 GPUs"),
        ("ClusterQueue/training", quota("nominalQuota", "all"), "training: nvidia.com/gpu of gpu, nominalQuota 16 → all"),
        ("ClusterQueue/training", spec(cohortName="science"), "training: department none → science"),
        ("Cohort/research", spec(parentName="lab"), "research: department science → none"),
        ("Cohort/research", spec(parentName="x"), "research: department science → none, but Cohort x"),
        ("ClusterQueue/training", spec(fairSharing={"weight": "3"}), "training: weight 2 → 3"),
        ("ClusterQueue/training", spec(namespaceSelector={}), "training: namespaceSelector.matchLabels training → none"),
        ("ResourceFlavor/gpu", spec(nodeLabels={"tenancy.dev/flavor": "x"}), "gpu: nodeLabels.tenancy.dev/flavor gpu → x"),
        ("WorkloadPriorityClass/low", lambda body: body.update(value=7), "low: value 1 → 7"),
    ],
)  # fmt: skip
def test_a_change_by_hand_in_the_agreements_words(name: str, change: Change, said: str) -> None:
    wanted = kueue_objects(TEXT)[name]
    live = {**copy.deepcopy(wanted), "status": {"x": 1}}
    live["spec"] = {**live.get("spec", {}), "stopPolicy": "None"}
    change(live)
    assert drift(plan(TEXT), wanted, live) == [f"{said} ({name})"]


def test_of_several_flavors_it_is_said_which() -> None:
    text = ONE_FLAVOR + "[flavors.big]\nnodes = 1\ngpus_per_node = 4\n[teams.a]\nguaranteed = { big = 4 }\n"
    wanted = kueue_objects(text)["ClusterQueue/a"]
    live = copy.deepcopy(wanted)
    live["spec"]["resourceGroups"][0]["flavors"][1]["resources"][2]["nominalQuota"] = "3"
    assert drift(plan(text), wanted, live) == ["a: guaranteed 4 → 3 GPUs of big (ClusterQueue/a)"]


def test_a_queue_of_kai_is_told_by_its_fields() -> None:
    wanted = next(entry for entry in kai.objects(plan(TEXT)) if entry["metadata"]["name"] == "training")
    live = copy.deepcopy(wanted)
    live["spec"]["resources"]["gpu"]["limit"] = 5
    (said,) = drift(plan(TEXT), wanted, live)
    assert said.startswith("training: ") and said.endswith("→ 5 (Queue/training)")


def test_who_wrote_last_is_said() -> None:
    wanted = kueue_objects(TEXT)["ClusterQueue/training"]
    live = copy.deepcopy(wanted)
    quota("nominalQuota", "4")(live)
    live["metadata"]["managedFields"] = [
        {"manager": "kubectl-edit", "time": "2026-11-30T01:02:03Z", "fieldsV1": {}},
        {"manager": "first", "time": "2026-11-29T01:02:03Z", "fieldsV1": {}},
        {"manager": "kueue", "time": "2026-11-30T09:00:00Z", "subresource": "status", "fieldsV1": {}},
        {"manager": "tenancy", "time": "2026-11-30T08:00:00Z", "fieldsV1": {}},
    ]
    (said,) = drift(plan(TEXT), wanted, live)
    assert said == "training: guaranteed 16 → 4 GPUs (ClusterQueue/training, by kubectl-edit, 2026-11-30 01:02 UTC)"


# --- queues that go


def queue(name: str, jobs: int, flavor: str = "gpu", **totals: str) -> dict[str, Any]:
    resources = [{"name": key.replace("_", "/"), "total": total} for key, total in totals.items()]
    status = {"reservingWorkloads": jobs, "flavorsReservation": [{"name": flavor, "resources": resources}]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name, "labels": {"tenancy.dev/agreement": "lab"}},
        "status": status,
    }


def told(*bodies: dict[str, Any], retained: bool = False) -> list[str]:
    going = {reference(body): body for body in bodies}
    return list(removed_queues(plan(TEXT), going, going, retained=retained, timeout="10m"))


def test_jobs_of_a_team_that_goes_are_counted_with_what_they_hold() -> None:
    (said,) = told(queue("old", 2, **{"cpu": "64", "memory": "1Ti", "nvidia.com/gpu": "8"}))
    assert said.startswith(
        "old leaves the agreement, and 2 of its jobs run, on 8 GPUs: they keep running, ClusterQueue/old admits"
    )
    assert "waits 10m" in said
    assert """kubectl patch clusterqueue old --type=merge --patch '{"spec":{"stopPolicy":"HoldAndDrain"}}'""" in said


def test_of_a_flavor_that_goes_too_the_resource_is_said() -> None:
    (said,) = told(queue("old", 1, "a100", **{"cpu": "64", "nvidia.com/gpu": "8"}))
    assert "on 8 nvidia.com/gpu of a100:" in said


def test_a_prod_slice_goes_and_the_team_stays() -> None:
    (said,) = told(queue("training-prod", 1))
    assert said.startswith("the prod slice of training leaves the agreement, and 1 of its jobs run:")


def test_a_queue_without_jobs_is_nothing_to_tell() -> None:
    assert told(queue("old", 0), {**queue("x", 1), "kind": "Cohort"}) == []


def test_where_the_stack_retains_the_queue_stays() -> None:
    (said,) = told(queue("old", 2), retained=True)
    assert "stays on the cluster with its quota (tenancy:retain) and still admits new jobs" in said
    assert "waits" not in said


def test_a_flavor_goes_under_jobs_of_queues_that_stay() -> None:
    def gone(*queues: dict[str, Any]) -> list[str]:
        flavor = {**queue("a100", 0), "kind": "ResourceFlavor"}
        there = {reference(queue): queue for queue in (flavor, *queues)}
        return list(removed_queues(plan(TEXT), {"ResourceFlavor/a100": flavor}, there, retained=False, timeout="1m"))

    (said,) = gone(
        queue("a", 1, "a100", **{"cpu": "64", "memory": "1Ti", "nvidia.com/gpu": "8"}),
        queue("b", 1, "a100", **{"cpu": "64", "nvidia.com/gpu": "1k"}),
        queue("c", 1, "other", **{"nvidia.com/gpu": "8"}),
    )
    assert said.startswith(
        "flavor a100 leaves the agreement, and jobs use 1008 nvidia.com/gpu of it: they keep running"
    )
    (said,) = gone(queue("a", 1, "a100", cpu="1500m", memory="1Ti"))
    assert "jobs use 1500m cpu of it" in said
    assert gone(queue("a", 1, "other", cpu="1")) == gone(queue("a", 0, "a100", cpu="0")) == []


# --- all of it


def test_each_warning_is_said_once_and_only_where_there_is_something() -> None:
    agreement = loads(TEXT).agreement
    assert agreement
    wanted = kueue_objects(TEXT)["ClusterQueue/training"]
    live, old = copy.deepcopy(wanted), queue("old", 1)
    quota("nominalQuota", "4")(live)
    none: dict[str, Any] = dict.fromkeys(
        ["unserved", "absent", "foreign", "leaving", "fixed", "moved", "unmade", "held"], ()
    )
    name = "ClusterQueue/training"
    found = Found(**{**none, "unmade": ["Cohort/left"], "held": ["ClusterQueue/a: somebody has stopped this queue (stopPolicy Hold)"]},
                  different={name: wanted}, there={name: live, "ClusterQueue/old": old})  # fmt: skip
    record = {name: wanted, "ClusterQueue/old": old}
    by_hand, held, going, left = warnings(found, record, agreement, timeout="3m")
    assert by_hand.splitlines()[1:] == [f"  training: guaranteed 16 → 4 GPUs ({name})"]
    assert (
        held
        == "ClusterQueue/a: somebody has stopped this queue (stopPolicy Hold), so none of its jobs starts; `pulumi up` keeps the hold"
    )
    assert going.startswith("old leaves the agreement") and "waits 3m" in going
    assert left.endswith("Cohort/left")
    assert list(warnings(Found(**none, different={}, there={}), record, agreement)) == []
    written_anew = {**wanted, "spec": {}}
    assert (
        list(warnings(Found(**none, different={name: wanted}, there={name: live}), {name: written_anew}, agreement))
        == []
    )
