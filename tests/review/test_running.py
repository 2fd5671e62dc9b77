"""The jobs that run now, as a comparison sees them, from lists of a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from samples import LAB, plan

from tenancy.cluster import listing
from tenancy.cluster.jobs import KAI_QUEUE, POD_GROUP
from tenancy.objects import kai, kueue
from tenancy.objects.schedulers import Scheduler
from tenancy.review.diff.running import Now, read

GPU = "nvidia.com/gpu"
SINCE = "2026-01-01T11:00:00Z"


def now(monkeypatch: pytest.MonkeyPatch, scheduler: Scheduler, **lists: list[dict[str, Any]]) -> Now:
    monkeypatch.setattr(listing, "objects", lambda _client, kind, **_: lists.get(kind, []))
    return read(None, plan(LAB), plan(LAB), scheduler)  # type: ignore[arg-type]


def pod(name: str, group: str, owner: str = "", **annotations: str) -> dict[str, Any]:
    owners = [{"kind": "Job", "name": owner, "uid": owner}] if owner else []
    metadata = {
        "name": name, "namespace": "ns", "uid": name, "labels": {KAI_QUEUE: "research"},
        "annotations": {POD_GROUP: group, **annotations}, "ownerReferences": owners, "creationTimestamp": SINCE,
    }  # fmt: skip
    resources = {} if annotations else {"requests": {"cpu": "1"}, "limits": {GPU: "8"}}
    spec = {"priority": 50, "containers": [{"resources": resources}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running", "startTime": SINCE}}


def test_on_kai_a_gang_goes_by_its_podgroup_and_a_pod_alone_by_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = [pod("w-0", "pg-gang", "gang"), pod("w-1", "pg-gang", "gang"), pod("x-0", "pg-x", "train"), pod("y", "pg-y")]
    queues = [body for body in kai.objects(plan(LAB)) if body["kind"] == "Queue"]
    found = now(monkeypatch, Scheduler.KAI, Pod=pods, Queue=queues)
    assert [(job.kind, job.name, job.units) for job in found.jobs] == [
        ("PodGroup", "pg-gang", {"gpu": 16}),
        ("Job", "train", {"gpu": 8}),
        ("PodGroup", "pg-y", {"gpu": 8}),
    ]
    assert {(job.team, job.prod, job.priority) for job in found.jobs} == {("research", False, 50)}
    assert not found.unlike and not found.already


def test_half_a_gpu_that_runs_is_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = now(monkeypatch, Scheduler.KAI, Pod=[pod("half", "pg", **{"gpu-fraction": "0.5"})])
    assert [job.units for job in found.jobs] == [{"gpu": 1}]


def test_on_kueue_those_with_quota_count_and_only_in_queues_of_the_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    def workload(name: str, queue: str, *conditions: str) -> dict[str, Any]:
        admission = {"clusterQueue": queue, "podSetAssignments": [
            {"name": "main", "flavors": {GPU: "gpu", "cpu": "gpu"}, "resourceUsage": {GPU: "4", "cpu": "32"}}
        ]}  # fmt: skip
        told = [{"type": condition, "status": "True", "lastTransitionTime": SINCE} for condition in conditions]
        status = {"conditions": told, "admission": admission}
        return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {"priority": 3}, "status": status}

    jobs = [
        workload("runs", "research", "QuotaReserved", "Admitted"),
        workload("leaves", "training", "QuotaReserved", "Evicted"),
        workload("ended", "research", "QuotaReserved", "Finished"),
        workload("theirs", "theirs", "QuotaReserved"),
    ]
    queues = [body for body in kueue.objects(plan(LAB)) if body["kind"] == "ClusterQueue"]
    found = now(monkeypatch, Scheduler.KUEUE, Workload=jobs, ClusterQueue=queues[1:])
    assert [(job.name, job.kind, job.team, job.units, job.evicted) for job in found.jobs] == [
        ("runs", "Workload", "research", {"gpu": 4}, False),
        ("leaves", "Workload", "training", {"gpu": 4}, True),
    ]
    assert found.jobs[0].since == datetime(2026, 1, 1, 11, tzinfo=UTC)
    assert found.unlike == (f"ClusterQueue/{queues[0]['metadata']['name']}",)
