"""What a cluster's objects say of jobs and queues, read without a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from samples import LAB, ONE_FLAVOR, plan

from tenancy.agreement.plan import Plan
from tenancy.cluster.listing import NotThere
from tenancy.cluster.queues import of_teams
from tenancy.objects import kai, kueue
from tenancy.objects.identity import RUN_LABEL
from tenancy.objects.schedulers import Place, Scheduler
from tenancy.quota.lending import Use
from tenancy.status import Kind
from tenancy.status.reading import kueue as of_kueue
from tenancy.status.reading.ask import Asked, Read
from tenancy.status.reading.objects import changed, changes

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
# Two kinds of GPUs and CPUs; jobs name a GPU flavor by its label.
FLAVORS = """
[cluster]
name = "lab"
[flavors.small]
nodes = 2
gpus_per_node = 8
node_labels = { product = "small" }
[flavors.large]
nodes = 2
gpus_per_node = 8
node_labels = { product = "large" }
[flavors.plain]
nodes = 1
cpu_per_node = 64
memory_per_node = "64Gi"
[teams.a]
guaranteed = { large = 8, plain = "8 cpu" }
[teams.b]
guaranteed = { small = 8 }
prod = { small = 4 }
"""


class Cluster(Asked):
    """Answers from a table of objects by kind; a kind whose entry is a sentence may not be read."""

    def __init__(self, objects: dict[str, Any]) -> None:
        super().__init__(client=None, at=NOW)  # type: ignore[arg-type]
        self.objects = objects

    def must(self, kind: str, **_: Any) -> list[Any]:
        found = self.objects.get(kind, [])
        if isinstance(found, str):
            raise NotThere(found)
        return list(found)


def cluster(plan: Plan) -> dict[str, Any]:
    """The agreement as it should be, with a LocalQueue `default` (and `prod`) in a namespace for each team."""
    made: dict[str, Any] = {}
    for body in kueue.objects(plan):
        made.setdefault(body["kind"], []).append(deepcopy(body))
    made["LocalQueue"] = [
        {
            "metadata": {"name": "prod" if queue.prod else "default", "namespace": name.removesuffix("-prod")},
            "spec": {"clusterQueue": name},
        }
        for name, queue in of_teams(plan, Scheduler.KUEUE).items()
    ]
    made["Namespace"] = [
        {"metadata": {"name": f"ns-{team.name}", "labels": {"tenancy.dev/team": team.name}}} for team in plan.teams
    ]
    return made


def ago(minutes: float) -> str:
    return (NOW - timedelta(minutes=minutes)).isoformat()


def workload(
    team: str,
    name: str = "job",
    *,
    minutes: float = 10,
    asks: dict[str, str] | None = None,
    pods: int = 1,
    selector: dict[str, str] | None = None,
    queue: str = "default",
    conditions: Iterable[tuple[str, str, str, float]] = (),
    active: bool = True,
    **status: Any,
) -> Any:
    container = {"name": "work", "resources": {"requests": asks or {"nvidia.com/gpu": "4", "cpu": "32"}}}
    template = {"spec": {"containers": [container], "nodeSelector": selector or {}}}
    told = [
        {"type": kind, "status": so, "reason": reason, "message": f"{reason} it says", "lastTransitionTime": ago(when)}
        for kind, so, reason, when in conditions
    ]
    return {
        "metadata": {
            "name": f"job-{name}-1a2b", "namespace": team, "uid": f"{team}-{name}", "creationTimestamp": ago(minutes),
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": "u"}],
        },
        "spec": {"queueName": queue, "active": active, "podSets": [{"name": "main", "count": pods, "template": template}]},
        "status": {"conditions": told, **status},
    }  # fmt: skip


def event(
    uid: str,
    minutes: float,
    *,
    reason: str = "EvictedDueToPreempted",
    count: int = 0,
    space: str = "a",
    message: str = "",
) -> dict[str, Any]:
    when = ago(minutes)
    return {
        "involvedObject": {"kind": "Workload", "uid": uid, "name": "job-gone-1a2b", "namespace": space},
        "metadata": {"name": f"{uid}-{minutes}", "namespace": space},
        "reason": reason,
        "message": message,
        "eventTime": when,
        "series": {"count": count, "lastObservedTime": when} if count else None,
    }


def read(plan: Plan, **more: list[Any]) -> tuple[Read, list[str]]:
    there = cluster(plan)
    there |= {
        {"workloads": "Workload", "events": "Event", "local": "LocalQueue"}[key]: some for key, some in more.items()
    }
    asked = Cluster(there)
    return of_kueue.read(asked, plan), asked.unread


# --- jobs that wait


def test_a_job_that_waits_has_its_units_its_time_and_kueues_reason() -> None:
    waiting = workload("research", pods=3, minutes=7, conditions=[("QuotaReserved", "False", "WaitingForQuota", 6)])
    (found,) = read(plan(LAB), workloads=[waiting])[0].waiting
    assert (found.team, found.flavor, found.place, found.units) == ("research", "gpu", Place.REGULAR, 12)
    assert found.since == NOW - timedelta(minutes=7) and found.name == "research/job"
    assert found.why == "WaitingForQuota it says" and not found.own_fault


@pytest.mark.parametrize(
    ("conditions", "active", "waits"),
    [
        ([], True, True),
        ([("QuotaReserved", "True", "QuotaReserved", 5)], True, False),
        ([("Finished", "True", "Succeeded", 5)], True, False),
        ([("QuotaReserved", "False", "Pending", 5)], False, False),
    ],
)
def test_only_what_could_get_quota_waits(conditions: Any, active: bool, waits: bool) -> None:
    job = workload("research", conditions=conditions, active=active)
    assert bool(read(plan(LAB), workloads=[job])[0].waiting) is waits


def test_a_job_that_was_stopped_waits_since_then() -> None:
    stopped = [("QuotaReserved", "False", "Pending", 4), ("Evicted", "True", "Preempted", 5)]
    (found,) = read(plan(LAB), workloads=[workload("research", minutes=90, conditions=stopped)])[0].waiting
    assert found.since == NOW - timedelta(minutes=5)


def test_a_job_that_no_cluster_would_start_is_told_apart() -> None:
    job = workload("research", conditions=[("QuotaReserved", "False", "ExceedsMaxQuota", 4)])
    assert read(plan(LAB), workloads=[job])[0].waiting[0].own_fault


@pytest.mark.parametrize(
    ("team", "asks", "selector", "flavor", "units"),
    [
        ("a", {"nvidia.com/gpu": "4"}, {}, "large", 4),  # its own guarantee, though small comes first
        ("b", {"nvidia.com/gpu": "4"}, {}, "small", 4),
        ("b", {"nvidia.com/gpu": "4"}, {"product": "large"}, "large", 4),
        ("a", {"nvidia.com/gpu": "4"}, {"product": "other"}, "", 0),
        ("a", {"cpu": "2500m"}, {}, "plain", 3),
        ("a", {"nvidia.com/gpu": "2", "cpu": "4"}, {"zone": "z"}, "large", 2),  # a key that no flavor has says nothing
        ("a", {"example.com/other": "1"}, {}, "", 0),
    ],
)
def test_a_job_that_waits_is_counted_for_a_flavor_it_may_have(
    team: str, asks: dict[str, str], selector: dict[str, str], flavor: str, units: int
) -> None:
    (found,) = read(plan(FLAVORS), workloads=[workload(team, asks=asks, selector=selector)])[0].waiting
    assert (found.flavor, found.units) == (flavor, units)


def test_a_prod_job_is_known_by_its_queue_and_a_strangers_is_only_counted() -> None:
    jobs = [workload("b", queue="prod"), workload("b", "x", queue="nowhere"), workload("elsewhere", "y")]
    found, unread = read(plan(FLAVORS), workloads=jobs)
    assert [waiting.place for waiting in found.waiting] == [Place.PROD]
    assert unread == ["2 of the pending jobs name a queue that does not belong to the agreement"]


def test_jobs_of_a_run_of_verify_are_no_strangers() -> None:
    queue = {
        "metadata": {"name": "default", "namespace": "verify-x", "labels": {RUN_LABEL: "x"}},
        "spec": {"clusterQueue": "verify-x-a"},
    }
    result = plan(FLAVORS)
    local = [*cluster(result)["LocalQueue"], queue]
    found, unread = read(result, workloads=[workload("verify-x"), workload("elsewhere")], local=local)
    assert not found.waiting and unread == ["1 of the pending jobs name a queue that does not belong to the agreement"]


def test_jobs_with_quota_whose_pods_do_not_run_are_held_up() -> None:
    admission = {"clusterQueue": "research", "podSetAssignments": [
        {"name": "main", "flavors": {"cpu": "gpu", "nvidia.com/gpu": "gpu"}, "resourceUsage": {"nvidia.com/gpu": "4", "cpu": "32"}}
    ]}  # fmt: skip
    told = [("QuotaReserved", "True", "", 9), ("Admitted", "True", "", 9), ("PodsReady", "False", "WaitForStart", 10)]
    found, _ = read(plan(LAB), workloads=[workload("research", conditions=told, admission=admission)])
    assert [(waiting.name, waiting.units, waiting.since) for waiting in found.held_up] == [
        ("research/job", 4, NOW - timedelta(minutes=9))
    ]
    assert not found.waiting


# --- evictions


def stopped(count: int, when: float = 5, **more: Any) -> Any:
    told = [
        ("QuotaReserved", "False", "Pending", when),
        ("Evicted", "True", "Preempted", when),
        ("Preempted", "True", "InCohortReclamation", when),
    ]
    return workload(
        "research",
        conditions=told,
        schedulingStats={"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": count}]},
        **more,
    )


def evicted(*workloads: Any, events: list[Any] | None = None) -> list[tuple[str, str, int, str]]:
    found, _ = read(plan(LAB), workloads=list(workloads), events=events or [])
    return [(eviction.team, eviction.flavor, eviction.times, eviction.why) for eviction in found.evictions]


def test_kueues_own_count_goes_for_a_job_made_within_the_hour() -> None:
    events = [event("research-job", 5, count=2)]
    assert evicted(stopped(3, minutes=50), events=events) == [("research", "gpu", 3, "taken back by its owner")]


def test_of_an_older_job_events_tell_and_never_more_than_kueue_counts() -> None:
    assert (
        evicted(stopped(7, minutes=90), events=[event("research-job", 5), event("research-job", 30, count=2)])[0][2]
        == 3
    )
    assert evicted(stopped(2, minutes=90), events=[event("research-job", 5, count=9)])[0][2] == 2
    assert evicted(stopped(7, minutes=90))[0][2] == 1  # its condition
    assert not evicted(stopped(7, when=61, minutes=90))
    assert not evicted(stopped(7, when=61, minutes=90), events=[event("research-job", 61)])
    assert not evicted(stopped(7, when=61, minutes=90), events=[event("research-job", 5, reason="Admitted")])


def test_a_job_that_is_gone_is_its_namespaces_teams() -> None:
    why = "Preempted to accommodate a workload (UID: x) due to prioritization in the ClusterQueue; preemptor path: /lab/research"
    events = [event("gone", 5, space="ns-research", message=why), event("stranger", 5, space="other")]
    assert evicted(events=events) == [("research", "", 1, "higher priority in its queue")]


# --- queues


def test_a_cluster_that_is_as_agreed_has_nothing_short() -> None:
    for text in (LAB, FLAVORS):
        found, unread = read(plan(text))
        assert not found.violations and not unread


def alter(there: dict[str, Any], kind: str, name: str, change: Any) -> dict[str, Any]:
    for one in there[kind]:
        if one["metadata"]["name"] == name:
            change(one)
    return there


def violations(plan: Plan, there: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(one.kind.value, one.team, one.flavor, one.why) for one in of_kueue.read(Cluster(there), plan).violations]


def test_a_stopped_queue_is_short_with_the_way_back() -> None:
    result = plan(FLAVORS)
    there = alter(cluster(result), "ClusterQueue", "b-prod", lambda one: one["spec"].update(stopPolicy="HoldAndDrain"))
    (short,) = of_kueue.read(Cluster(there), result).violations
    assert (short.kind, short.team, short.flavor) == (Kind.STOPPED, "b", "")
    assert (
        short.why
        == "ClusterQueue/b-prod is stopped (HoldAndDrain): its jobs do not start, and those that ran were evicted"
    )
    assert short.remedy == """kubectl patch clusterqueue b-prod --type merge -p '{"spec":{"stopPolicy":"None"}}'"""


def test_a_missing_queue_is_the_teams_and_a_missing_cohort_everybodys() -> None:
    result = plan(FLAVORS)
    there = cluster(result)
    there["ClusterQueue"] = [one for one in there["ClusterQueue"] if one["metadata"]["name"] != "a"]
    there["Cohort"] = [one for one in there["Cohort"] if one["metadata"]["name"] != "lab"]
    assert violations(result, there) == [
        ("missing", "", "", "Cohort/lab is not on the cluster"),
        ("missing", "a", "", "ClusterQueue/a is not on the cluster"),
    ]


def test_a_number_that_somebody_changed_is_named_with_the_one_agreed() -> None:
    result = plan(FLAVORS)

    def less(one: Any) -> None:
        (row,) = [row for row in one["spec"]["resourceGroups"][0]["flavors"] if row["name"] == "large"]
        row["resources"][2]["nominalQuota"] = "2"

    def limited(one: Any) -> None:
        one["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]["borrowingLimit"] = "0"

    changed_queue = alter(cluster(result), "ClusterQueue", "a", less)
    assert violations(result, changed_queue) == [
        ("changed", "a", "large", "ClusterQueue/a is not as agreed: large nvidia.com/gpu nominalQuota 2 instead of 8")
    ]
    changed_cohort = alter(cluster(result), "Cohort", "b", limited)
    assert violations(result, changed_cohort) == [
        ("changed", "b", "small", "Cohort/b is not as agreed: small nvidia.com/gpu borrowingLimit 0 instead of none")
    ]
    selector = alter(
        cluster(result), "ResourceFlavor", "small", lambda one: one["spec"]["nodeLabels"].update(product="x")
    )
    assert violations(result, selector) == [
        ("changed", "", "small", "ResourceFlavor/small is not as agreed: nodeLabels product x instead of small")
    ]


def test_what_the_cluster_adds_is_no_change() -> None:
    wanted = {"a": 1, "rows": [{"name": "x", "value": "1"}]}
    assert not list(changes({"a": 1, "b": 2, "rows": [{"name": "x", "value": "1", "more": "y"}]}, wanted))
    assert list(changes({"a": 1, "rows": [{"name": "y", "value": "1"}]}, wanted)) == [
        (("rows",), [{"name": "y", "value": "1"}], [{"name": "x", "value": "1"}])
    ]


def test_kais_queues_are_compared_too() -> None:
    result = plan(LAB)
    bodies = {body["metadata"]["name"]: body for body in kai.objects(result) if body["kind"] == "Queue"}
    live = deepcopy(bodies["research"])
    assert changed(live, bodies["research"], "research", "gpu", result.flavor) is None
    live["spec"]["resources"]["gpu"]["quota"] = 4
    short = changed(live, bodies["research"], "research", "gpu", result.flavor)
    assert short and short.why == "Queue/research is not as agreed: gpu quota 4 instead of 8"


def test_without_a_queue_of_the_agreement_there_is_no_status() -> None:
    with pytest.raises(NotThere, match=r"no ClusterQueue of this agreement \(training, research, inference…\)"):
        of_kueue.read(Cluster({}), plan(LAB))


def test_what_may_not_be_read_is_said_and_the_rest_is_shown() -> None:
    result = plan(LAB)
    there = cluster(result) | {"Workload": "no: workloads", "Cohort": "no: cohorts", "Event": "no: events"}
    there["ClusterQueue"][1]["status"] = {
        "flavorsUsage": [{"name": "gpu", "resources": [{"name": "nvidia.com/gpu", "total": "8"}]}]
    }
    asked = Cluster(there)
    found = of_kueue.read(asked, result)
    assert found.uses["research", "gpu"] == Use(8) and not found.violations
    assert len(asked.unread) == 3 and "jobs that wait and evictions are not known: no: workloads" in asked.unread


def test_a_plan_without_flavors_of_its_name_is_no_error() -> None:
    made = plan(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\n")
    there = cluster(made)
    there["ClusterQueue"][0]["status"] = {
        "flavorsUsage": [{"name": "old", "resources": [{"name": "cpu", "total": "1"}]}]
    }
    assert of_kueue.read(Cluster(there), made).uses == {}
