"""The plan resolves every default."""

from __future__ import annotations

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
