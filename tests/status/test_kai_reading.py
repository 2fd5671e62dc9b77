"""What KAI's pods and Queues say, read without a cluster: above all of jobs that ask for a part of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from boards import late
from samples import LAB, plan

from tenancy.cluster.jobs import KAI_QUEUE, POD_GROUP
from tenancy.objects import kai
from tenancy.status import Attention, Observed
from tenancy.status.reading import kai as of_kai
from tenancy.status.reading.ask import Asked, Read

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
GPU = "nvidia.com/gpu"


class Cluster(Asked):
    """Answers from a table of objects by kind."""

    def __init__(self, objects: Mapping[str, list[Any]]) -> None:
        super().__init__(client=None, at=NOW)  # type: ignore[arg-type]
        self.objects = objects

    def must(self, kind: str, **_: Any) -> list[Any]:
        return self.objects.get(kind, [])


def pod(name: str, queue: str, minutes: float = 60, *, group: str = "", owner: str = "", **more: Any) -> dict[str, Any]:
    """Pending, of one container; `fraction`, `gpus` and `limit` are what it asks for."""
    asked = {
        key: {GPU: str(more[value])} for key, value in (("requests", "gpus"), ("limits", "limit")) if value in more
    }
    annotations = {POD_GROUP: group} if group else {}
    if "fraction" in more:
        annotations["gpu-fraction"] = more["fraction"]
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": name,
            "creationTimestamp": (NOW - timedelta(minutes=minutes)).isoformat(),
            "labels": {KAI_QUEUE: queue},
            "annotations": annotations,
            "ownerReferences": [{"kind": "Job", "name": owner, "uid": owner}] if owner else [],
        },
        "spec": {"containers": [{"name": "work", "resources": {"requests": {"cpu": "1"}, **asked}}]},
        "status": {"phase": "Pending"},
    }


def read(*pods: dict[str, Any]) -> Read:
    queues = [deepcopy(body) for body in kai.objects(plan(LAB)) if body["kind"] == "Queue"]
    return of_kai.read(Cluster({"Queue": queues, "Pod": list(pods)}), plan(LAB))


def waiting(*pods: dict[str, Any]) -> list[tuple[str, int]]:
    return [(job.name, job.units) for job in read(*pods).waiting]


def test_half_a_gpu_that_waits_an_hour_within_its_guarantee_is_late() -> None:
    """Of a part of a GPU the containers say nothing: summed from them alone it was 0 units, and never late."""
    made = plan(LAB)
    found = read(pod("half", "research", fraction="0.5"))
    seen = Observed(scheduler="kai", at=NOW, uses={}, waiting=found.waiting)
    (standing,) = [standing for standing in late(made, seen).statuses if standing.team.name == "research"]
    assert [job.name for job in standing.owed] == ["ns/half"]
    assert standing.attention is Attention.SHORT and standing.violations


def test_parts_of_one_job_are_counted_together() -> None:
    halves = [pod(f"half-{number}", "research", group="pg-half", owner="half", fraction="0.5") for number in range(3)]
    assert waiting(*halves) == [("ns/half", 2)]


def test_a_gpu_that_is_only_a_limit_beside_a_request_for_cpu_counts() -> None:
    assert waiting(pod("limited", "research", limit=8)) == [("ns/limited", 8)]


def test_a_gang_goes_by_its_owner_else_by_its_podgroup_and_a_pod_alone_by_its_name() -> None:
    owned = [pod(f"worker-{number}", "research", group="pg-a", owner="a", gpus=4) for number in range(2)]
    free = [pod(f"free-{number}", "research", group="pg-b", gpus=2) for number in range(2)]
    found = waiting(*owned, *free, pod("single", "research", group="pg-c", gpus=1))
    assert found == [("ns/a", 8), ("ns/pg-b", 4), ("ns/single", 1)]


def test_a_job_waits_since_its_first_pod_was_made() -> None:
    (job,) = read(*(pod(f"p-{entry}", "research", entry, group="pg", gpus=1) for entry in (5, 30, 10))).waiting
    assert job.since == NOW - timedelta(minutes=30)


def test_a_queue_that_is_not_the_agreements_and_a_pod_on_a_node_do_not_wait_here() -> None:
    placed = pod("placed", "research", gpus=1)
    placed["spec"]["nodeName"] = "n"
    assert not waiting(placed, pod("stranger", "theirs", gpus=1))
