"""Queues and jobs as a scheduler has them: whose they are, what they hold, and since when."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from samples import LAB, ONE_FLAVOR, plan

from tenancy.cluster.jobs import KAI_QUEUE, POD_GROUP, JobState, in_quota, of_pods, of_workload
from tenancy.cluster.queues import live, local_queues, of_teams
from tenancy.objects import kai, kueue
from tenancy.objects.schedulers import Place, Scheduler

GPU = "nvidia.com/gpu"
PROD = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 8\nprod = 12\n[teams.b]\nguaranteed = 8\n"
TWO_FLAVORS = """
[cluster]
name = "lab"
[flavors.large]
nodes = 1
gpus_per_node = 8
[flavors.plain]
nodes = 1
cpu_per_node = 64
memory_per_node = "64Gi"
[teams.a]
guaranteed = { large = 8, plain = "8 cpu" }
"""
MADE, RESERVED, EVICTED = (f"2026-01-01T1{hour}:00:00Z" for hour in range(3))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def condition(kind: str, when: str, so: str = "True") -> dict[str, str]:
    return {"type": kind, "status": so, "lastTransitionTime": when, "reason": kind, "message": ""}


def workload(*conditions: dict[str, str], admission: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"resources": {"requests": {GPU: "4", "cpu": "8"}}}
    template = {"spec": {"containers": [container], "nodeSelector": {"zone": "z"}}}
    sets = [{"name": "main", "count": 2, "template": template, "topologyRequest": {"required": "rack"}}]
    return {
        "metadata": {
            "name": "job-train-1", "namespace": "ns", "uid": "u", "creationTimestamp": MADE,
            "ownerReferences": [{"kind": "PyTorchJob", "name": "train", "uid": "o"}],
        },
        "spec": {"queueName": "default", "priority": 7, "podSets": sets, **spec},
        "status": {"conditions": list(conditions), **({"admission": admission} if admission else {})},
    }  # fmt: skip


ADMISSION = {
    "clusterQueue": "a-prod",
    "podSetAssignments": [
        {"name": "main", "count": 2, "flavors": {GPU: "gpu", "cpu": "gpu"}, "resourceUsage": {GPU: "8", "cpu": "16"}}
    ],
}


# --- queues


def test_each_queue_of_the_agreement_has_its_team_and_place() -> None:
    found = of_teams(plan(PROD), Scheduler.KUEUE)
    assert {name: (queue.team, queue.place) for name, queue in found.items()} == {
        "a": ("a", Place.REGULAR),
        "a-prod": ("a", Place.PROD),
        "b": ("b", Place.REGULAR),
    }
    on_kai = of_teams(plan(PROD), Scheduler.KAI)
    assert {queue.flavor for queue in on_kai.values()} == {"gpu"}
    assert on_kai["a-reserved"].place is Place.RESERVED and on_kai["a-prod"].place is Place.PROD


def test_every_queue_that_jobs_are_in_is_made_by_the_builders() -> None:
    for scheduler, objects in ((Scheduler.KUEUE, kueue.objects), (Scheduler.KAI, kai.objects)):
        for text in (LAB, PROD, TWO_FLAVORS):
            made = {(body["kind"], body["metadata"]["name"]) for body in objects(plan(text))}
            assert {(queue.kind, queue.name) for queue in of_teams(plan(text), scheduler).values()} <= made


def test_somebody_elses_queue_is_a_queue_of_no_team() -> None:
    theirs = {"kind": "ClusterQueue", "metadata": {"name": "theirs"}, "spec": {"cohortName": "lab"}}
    local = {"kind": "LocalQueue", "metadata": {"name": "prod", "namespace": "ns"}, "spec": {"clusterQueue": "a-prod"}}
    bodies = [*kueue.objects(plan(PROD)), theirs, local]
    found = {(queue.kind, queue.name): queue for queue in live(bodies, plan(PROD), Scheduler.KUEUE)}
    stranger, own = found["ClusterQueue", "theirs"], found["LocalQueue", "prod"]
    assert (stranger.team, stranger.parent) == (None, "lab")
    assert (own.team, own.place, own.namespace, own.parent) == ("a", Place.PROD, "ns", "a-prod")
    assert found["Cohort", "a"].team == "a" and found["ClusterQueue", "b"].team == "b"
    assert local_queues([local]) == {("ns", "prod"): "a-prod"}


# --- Kueue


def test_a_job_that_waits_is_in_the_queue_of_its_local_queue() -> None:
    teams = of_teams(plan(PROD), Scheduler.KUEUE)
    job = of_workload(workload(), teams, {("ns", "default"): "a"})
    assert (job.state, job.since, job.queue) == (JobState.PENDING, at(MADE), teams["a"])
    assert (job.kind, str(job), job.priority, job.holds) == ("PyTorchJob", "ns/train", 7, {})
    assert job.wants() == {GPU: 8, "cpu": 16}
    (pods,) = job.pod_sets
    assert (pods.level, pods.required, pods.selector, pods.admitted) == ("rack", True, {"zone": "z"}, 0)


def test_a_job_of_a_queue_that_is_nobodys_has_no_queue() -> None:
    job = of_workload(workload(), of_teams(plan(PROD), Scheduler.KUEUE), {("ns", "default"): "theirs"})
    assert (job.queue, job.queue_name) == (None, "theirs")


def test_a_job_holds_what_its_admission_says_since_it_got_its_quota() -> None:
    body = workload(condition("QuotaReserved", RESERVED), condition("Admitted", RESERVED), admission=ADMISSION)
    job = of_workload(body, of_teams(plan(PROD), Scheduler.KUEUE))
    assert (job.state, job.since, job.queue_name) == (JobState.ADMITTED, at(RESERVED), "a-prod")
    assert job.holds == {"gpu": {GPU: 8, "cpu": 16}} and job.pod_sets[0].admitted == 2
    counted = in_quota(job, {"gpu": GPU})
    assert (counted.team, counted.prod, counted.units, counted.evicted) == ("a", True, {"gpu": 8}, False)


def test_pod_sets_of_one_job_may_have_flavors_of_their_own() -> None:
    assignments = [
        {"name": "driver", "count": 1, "flavors": {"cpu": "plain"}, "resourceUsage": {"cpu": "2"}},
        {"name": "worker", "count": 2, "flavors": {GPU: "large"}, "resourceUsage": {GPU: "8"}},
    ]
    admission = {"clusterQueue": "a", "podSetAssignments": assignments}
    body = workload(condition("QuotaReserved", RESERVED), admission=admission, podSets=[])
    job = of_workload(body, of_teams(plan(TWO_FLAVORS), Scheduler.KUEUE))
    assert in_quota(job, {"large": GPU, "plain": "cpu"}).units == {"plain": 2, "large": 8}


def test_the_state_of_a_job() -> None:
    reserved, evicted = condition("QuotaReserved", RESERVED), condition("Evicted", EVICTED)
    lost = condition("QuotaReserved", EVICTED, "False")
    states = {
        JobState.PENDING: workload(lost, evicted),
        JobState.EVICTED: workload(reserved, evicted),
        JobState.RUNNING: workload(reserved, condition("PodsReady", RESERVED)),
        JobState.FINISHED: workload(reserved, condition("Finished", EVICTED)),
        JobState.INACTIVE: workload(active=False),
    }
    jobs = {state: of_workload(body, {}) for state, body in states.items()}
    assert {state: job.state for state, job in jobs.items()} == {state: state for state in states}
    assert jobs[JobState.PENDING].since == at(EVICTED)


# --- KAI


def pod(name: str, phase: str, gpus: str, group: str = "pg", queue: str = "a") -> dict[str, Any]:
    metadata = {
        "name": name, "namespace": "ns", "uid": name, "creationTimestamp": MADE,
        "labels": {KAI_QUEUE: queue}, "annotations": {POD_GROUP: group},
        "ownerReferences": [{"kind": "RayCluster", "name": "ray", "uid": "o"}],
    }  # fmt: skip
    status = {"phase": phase, **({"startTime": RESERVED} if phase == "Running" else {})}
    spec = {"priority": 50, "containers": [{"resources": {"requests": {GPU: gpus}}}]}
    return {"metadata": metadata, "spec": spec, "status": status}


def test_pods_of_a_podgroup_are_one_job_and_those_that_run_hold_what_they_request() -> None:
    teams = of_teams(plan(PROD), Scheduler.KAI)
    pods = [pod("head", "Running", "1"), pod("w-0", "Running", "4"), pod("w-1", "Pending", "4")]
    (job,) = of_pods(pods, teams)
    assert (job.kind, str(job), job.group, job.queue) == ("RayCluster", "ns/ray", "pg", teams["a"])
    assert [(pod_set.count, pod_set.requests[GPU], pod_set.admitted) for pod_set in job.pod_sets] == [
        (1, 1, 1),
        (2, 4, 1),
    ]
    assert (job.state, job.priority, job.wants()) == (JobState.PENDING, 50, {GPU: 9})
    assert job.holds == {"gpu": {GPU: Fraction(5)}} and in_quota(job, {"gpu": GPU}).units == {"gpu": 5}


def test_a_job_whose_pods_all_run_runs_since_the_first_started() -> None:
    (job,) = of_pods([pod("w-0", "Running", "4"), pod("w-1", "Running", "4")], of_teams(plan(PROD), Scheduler.KAI))
    assert (job.state, job.since) == (JobState.RUNNING, at(RESERVED))
