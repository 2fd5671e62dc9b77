"""The plan resolves every default, and says how far each team can go."""

from __future__ import annotations

import pytest
from samples import LAB, ONE_FLAVOR, PRODUCTION, plan

from tenancy.agreement.plan import Share

TWO = '[cluster]\nname = "c"\n[flavors.a]\nnodes = 2\ngpus_per_node = 8\n[flavors.b]\nnodes = 1\ngpus_per_node = 4\n'


def share(text: str, team: str = "a", flavor: str = "gpu") -> Share:
    return plan(text).team[team].shares[flavor]


def test_lendable_is_all_of_the_guarantee_unless_said() -> None:
    assert share(ONE_FLAVOR + "[teams.a]\nguaranteed = 8").lendable == 8


def test_borrowing_has_no_limit_unless_said() -> None:
    assert share(ONE_FLAVOR + "[teams.a]\nguaranteed = 8").borrowable is None


def test_nothing_borrowable_is_not_no_limit() -> None:
    assert share(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nborrowable = 0").borrowable == 0


def test_no_slice_is_set_aside_for_prod_unless_said() -> None:
    assert not plan(LAB).team["training"].has_prod


def test_what_is_not_lent_is_reserved() -> None:
    assert share(LAB, "training").reserved == 8


def test_a_team_may_hold_nothing_and_borrow() -> None:
    assert share(ONE_FLAVOR + "[teams.a]") == Share(guaranteed=0, lendable=0, borrowable=None, prod=0)


def test_amounts_may_be_text_with_their_unit() -> None:
    assert share(ONE_FLAVOR + "[teams.a]\nguaranteed = '16 gpus'").guaranteed == 16


def test_a_team_has_a_share_of_every_flavor_in_the_order_of_the_file() -> None:
    assert list(plan(TWO + "[teams.x]\nguaranteed = { b = 4 }").team["x"].shares) == ["a", "b"]


def test_what_no_team_is_guaranteed_is_a_pool() -> None:
    assert plan(TWO + "[teams.x]\nguaranteed = { a = 8, b = 4 }").pool == {"a": 8, "b": 0}


# The lab of the issue: 32 GPUs, of which training lends 8 of 16, research all 8, inference none of 8.
@pytest.mark.parametrize(("team", "reach"), [("training", 16 + 8), ("research", 8 + 8), ("inference", 8 + 16)])
def test_a_team_reaches_its_guarantee_and_what_others_lend(team: str, reach: int) -> None:
    lab = plan(LAB)
    assert lab.reach(lab.team[team], "gpu") == reach


def test_a_team_does_not_reach_beyond_what_it_may_borrow() -> None:
    lab = plan(LAB.replace("[teams.research]", "[teams.research]\nborrowable = 3"))
    assert lab.reach(lab.team["research"], "gpu") == 8 + 3


def test_a_team_reaches_the_pool() -> None:
    one = plan(ONE_FLAVOR + "[teams.a]\nguaranteed = 8")
    assert one.reach(one.team["a"], "gpu") == 32


def test_the_name_to_show_is_the_name_unless_said() -> None:
    teams = plan(ONE_FLAVOR + "[teams.a]\n[teams.b]\ndisplay_name = 'The B Team'").teams
    assert [team.display_name for team in teams] == ["a", "The B Team"]


# --- hardware -------------------------------------------------------------------------------------------------------


def ratio(flavor: str) -> tuple[int, int]:
    """Milli-CPUs and GiB that go with a unit."""
    (found,) = plan(f'[cluster]\nname = "c"\n[flavors.x]\nnodes = 2\n{flavor}\n[teams.a]').flavors
    return found.cpu, found.memory // 2**30


def test_cpu_and_memory_follow_as_the_flavor_says() -> None:
    assert ratio('gpus_per_node = 8\ncpu_per_gpu = 14\nmemory_per_gpu = "120Gi"') == (14_000, 120)


def test_else_a_gpu_has_its_share_of_the_node() -> None:
    assert ratio('gpus_per_node = 8\ncpu_per_node = 96\nmemory_per_node = "800Gi"') == (12_000, 100)


def test_else_a_gpu_has_8_cpus_and_64_gibibytes() -> None:
    assert ratio("gpus_per_node = 8") == (8_000, 64)


def test_a_slice_has_its_share_of_a_gpu() -> None:
    mig = 'mig = { gpu = "A100-80GB", profile = "3g.40gb" }'  # two of them fit a GPU
    assert ratio(f"gpus_per_node = 8\n{mig}") == (4_000, 32)


def test_cpu_and_memory_are_never_zero() -> None:
    assert ratio('gpus_per_node = 1024\ncpu_per_node = "1m"\nmemory_per_node = "1Ki"\n') == (1, 0)
    (found,) = plan('[cluster]\nname = "c"\n[flavors.x]\nnodes = 1\ngpus_per_node = 8\nmemory_per_node = "1Ki"').flavors
    assert found.memory == 2**20


def test_a_cpu_flavor_counts_whole_cpus() -> None:
    (found,) = plan(
        '[cluster]\nname = "c"\n[flavors.x]\nnodes = 3\ncpu_per_node = "63500m"\nmemory_per_node = "126Gi"\n[teams.a]'
    ).flavors
    assert (found.unit, found.capacity, found.memory // 2**30) == ("cpu", 3 * 63, 2)


def test_seven_slices_of_the_smallest_profile_fit_a_gpu() -> None:
    found = plan(PRODUCTION.read_text()).flavor["a100-80-10gb"]
    assert (found.unit, found.capacity, found.resource) == ("slice", 2 * 8 * 7, "nvidia.com/mig-1g.10gb")


def test_a_flavor_without_labels_is_tied_to_its_nodes_by_its_name() -> None:
    assert plan(LAB).flavors[0].node_labels == {"tenancy.dev/flavor": "gpu"}


# --- the production example -----------------------------------------------------------------------------------------


def test_production_has_what_its_file_says() -> None:
    production = plan(PRODUCTION.read_text())
    assert len(production.teams) == 5 and len(production.flavors) == 11
    assert production.flavor["hgx-h100"].capacity == 64 * 8
    assert production.pool["hgx-h100"] == 512 - 192 - 128 - 128
    assert production.team["asr"].shares["hgx-h100"] == Share(guaranteed=128, lendable=96, borrowable=None, prod=0)
    assert production.team["tts"].shares["hgx-h100"] == Share(guaranteed=0, lendable=0, borrowable=32, prod=0)
    assert production.reach(production.team["tts"], "hgx-h100") == 32
    assert production.reach(production.team["platform"], "standart") == 40 * 64
