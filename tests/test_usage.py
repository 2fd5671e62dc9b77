"""Who has what, from a scheduler's usage: the sums are exact, shares of what is lent are whole and fair."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenancy.agreement import loads
from tenancy.live import usage
from tenancy.plan import Plan, make_plan

LAB = """
[cluster]
name = "lab"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
[teams.training]
guaranteed = 16
lendable = 8
[teams.research]
guaranteed = 8
[teams.inference]
guaranteed = 6
lendable = 0
"""


def _plan(text: str = LAB) -> Plan:
    agreement = loads(text).agreement
    assert agreement is not None
    return make_plan(agreement)


def _rows(**used: int) -> dict[str, tuple[int, int, int]]:
    """team → (used, lent, borrowed)."""
    plan = _plan()
    every = {team.name: used.get(team.name, 0) for team in plan.teams}
    return {row.team: (row.used, row.lent, row.borrowed) for row in usage._rows(plan, plan.flavors[0], every)}


def test_borrowed_is_what_goes_beyond_the_guarantee() -> None:
    assert _rows(research=5)["research"] == (5, 0, 0)
    assert _rows(research=11)["research"] == (11, 0, 3)


def test_borrowers_take_the_free_pool_first() -> None:
    """32 GPUs, 30 guaranteed: of 3 borrowed GPUs 2 are the pool's and 1 is training's."""
    assert _rows(research=10)["training"] == (0, 0, 0)
    assert _rows(research=11)["training"] == (0, 1, 0)


def test_a_team_lends_nothing_that_it_uses_itself() -> None:
    """training keeps 8 to itself and uses these first: with 12 in use it has 4 idle to lend."""
    assert _rows(research=14, training=12)["training"] == (12, 4, 0)


def test_what_is_never_lent_is_never_shown_as_lent() -> None:
    assert _rows(research=18)["inference"] == (0, 0, 0)
    assert _rows(research=18)["training"] == (0, 8, 0)


def test_lenders_share_in_proportion_to_what_they_have_idle() -> None:
    """inference borrows 6 beyond the pool of 2; training and research have 8 idle each."""
    rows = _rows(inference=14)
    assert (rows["training"][1], rows["research"][1], rows["inference"][2]) == (3, 3, 8)


@given(st.integers(0, 500), st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_shares_are_whole_add_up_and_exceed_nothing(total: int, weights: list[int]) -> None:
    named = {f"team-{place}": weight for place, weight in enumerate(weights)}
    parts = usage.shared_out(total, named)
    assert sum(parts.values()) == min(total, sum(weights))
    assert all(0 <= parts[name] <= weight for name, weight in named.items())
    assert all(
        abs(parts[name] * sum(weights) - weight * min(total, sum(weights))) < sum(weights)
        for name, weight in named.items()
        if sum(weights)
    )


def test_ties_go_to_the_first_in_the_agreement() -> None:
    assert usage.shared_out(1, {"a": 1, "b": 1}) == {"a": 1, "b": 0}
