"""Who has what, from a scheduler's usage: queues' own status as units by team, flavor and place."""

from __future__ import annotations

from typing import Any

from samples import LAB, ONE_FLAVOR, plan

from tenancy.cluster import usage
from tenancy.quota.lending import Use

PROD = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 8\nprod = 12\n[teams.b]\nguaranteed = 8\n"


def clusterqueue(gpus: str, flavor: str = "gpu") -> dict[str, Any]:
    resources = [{"name": "cpu", "total": "999"}, {"name": "nvidia.com/gpu", "total": gpus, "borrowed": gpus}]
    return {"status": {"flavorsUsage": [{"name": flavor, "resources": resources}]}}


def queue(gpus: str) -> dict[str, Any]:
    return {"status": {"allocated": {"nvidia.com/gpu": gpus, "cpu": "999"}}}


def test_kueues_usage_is_of_the_flavors_own_resource_by_place() -> None:
    queues = {"a": clusterqueue("6"), "a-prod": clusterqueue("10"), "b": clusterqueue("3", "other")}
    assert usage.kueue_uses(plan(PROD), queues) == {("a", "gpu"): Use(regular=6, prod=10)}


def test_on_kai_what_is_never_lent_is_told_apart() -> None:
    """The prod slice of 12 is larger than either of a's places, so it has a queue in each: 8 and 4."""
    queues = {
        "a": queue("2"),
        "a-reserved": queue("0"),
        "a-prod": queue("8"),
        "a-prod-shared": queue("3"),
        "b": queue("1500m"),
    }
    uses = usage.kai_uses(plan(PROD), queues)
    assert uses["a", "gpu"] == Use(regular=2, prod=11, reserved=0, kept=8)
    assert uses["b", "gpu"] == Use(regular=2, kept=0)  # a part of a GPU counts as a whole one


def test_on_kai_a_team_borrows_while_what_it_never_lends_is_idle() -> None:
    """12 in the queue that is shared, of which 8 are its own there: 4 can be taken back from it, whatever else it has."""
    share = plan(LAB).team["training"].shares["gpu"]
    assert Use(regular=12, kept=0).borrowed(share) == 4
    assert Use(regular=12).borrowed(share) == 0  # on Kueue it has 16


def test_a_queue_that_is_not_there_uses_nothing() -> None:
    assert usage.kueue_uses(plan(LAB), {}) == {}
    assert usage.kai_uses(plan(LAB), {})["training", "gpu"].total == 0
