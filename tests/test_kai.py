"""What a promise becomes in KAI: a place in the tree that is shared, and a root of its own for what is never lent."""

from __future__ import annotations

from typing import Any

import pytest
from samples import LAB, ONE_FLAVOR, PRODUCTION, kai_queues, plan

from tenancy import kai


def gpu(spec: dict[str, Any]) -> tuple[int, int]:
    return spec["resources"]["gpu"]["quota"], spec["resources"]["gpu"]["limit"]


# The numbers of the issue.
LAB_QUEUES = {
    "shared": (16, 16),
    "training": (8, -1),
    "training-reserved": (8, 8),
    "research": (8, -1),
    "inference": (0, -1),
    "inference-reserved": (8, 8),
}


@pytest.mark.parametrize("queue", LAB_QUEUES)
def test_the_lab_has_this_quota_and_limit(queue: str) -> None:
    assert gpu(kai_queues(LAB)[queue]) == LAB_QUEUES[queue]


def test_the_lab_has_no_other_queue() -> None:
    assert set(kai_queues(LAB)) == set(LAB_QUEUES)


def test_the_roots_of_the_lab_have_its_32_gpus_together() -> None:
    assert sum(gpu(spec)[1] for spec in kai_queues(LAB).values() if "parentQueue" not in spec) == 32


def test_what_is_never_lent_is_outside_the_shared_tree() -> None:
    queues = kai_queues(LAB)
    assert "parentQueue" not in queues["inference-reserved"]
    assert queues["inference"]["parentQueue"] == "shared"


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


def test_parents_come_before_their_children() -> None:
    text = ONE_FLAVOR + "[teams.a]\ndepartment = 'd'\n[departments.d]\n"
    names = list(kai_queues(text))
    assert names == ["shared", "d", "a"]


def test_cpu_and_memory_are_unlimited_everywhere() -> None:
    for spec in kai_queues(LAB).values():
        for resource in ("cpu", "memory"):
            assert spec["resources"][resource] == {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def test_several_flavors_get_no_queues_and_a_reason() -> None:
    production = plan(PRODUCTION.read_text())
    assert kai.objects(production) == []
    assert "one GPU number and the agreement 11 flavors" in str(kai.refusal(production))


def test_slices_get_no_queues_and_a_reason() -> None:
    text = '[cluster]\nname = "c"\n[flavors.cut]\nnodes = 1\ngpus_per_node = 1\nmig = { gpu = "A100-80GB", profile = "1g.10gb" }'
    assert kai.objects(plan(text)) == []
    assert kai.refusal(plan(text)) == "flavor 'cut' is counted in slices, and only whole GPUs are translated"
