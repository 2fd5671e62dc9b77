"""What can be kept with less than was agreed, against a model in which teams come one after the other, in every order."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tenancy.agreement.plan import Share
from tenancy.quota.shortfall import shortfall

SHARES = st.dictionaries(
    st.sampled_from("abcd"),
    st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda entry: _share(max(entry), min(entry))),
    max_size=4,
)
CAPACITY = 48  # no less than four teams are guaranteed
USABLE = st.integers(0, 60)


def _share(guaranteed: int, prod: int = 0) -> Share:
    return Share(guaranteed=guaranteed, lendable=guaranteed, borrowable=None, prod=prod)


def lacks_when_all_come(usable: int, wants: dict[str, int]) -> list[dict[str, int]]:
    """What each lacks when every team takes what it wants of what is left, for every order of coming."""
    outcomes = []
    for order in permutations(wants):
        rest, lacks = usable, {}
        for team in order:
            got = min(wants[team], rest)
            rest -= got
            lacks[team] = wants[team] - got
        outcomes.append(lacks)
    return outcomes


@given(USABLE, SHARES)
def test_the_sum_that_lacks_is_the_same_in_every_order(usable: int, shares: dict[str, Share]) -> None:
    said = shortfall(CAPACITY, usable, shares)
    wants = {team: share.guaranteed for team, share in shares.items()}
    assert {sum(lacks.values()) for lacks in lacks_when_all_come(usable, wants)} == {said.short}
    assert said.pool == max(0, usable - said.guaranteed) and not (said.pool and said.short)


@given(USABLE, SHARES)
def test_a_team_lacks_at_most_what_the_last_to_come_lacks(usable: int, shares: dict[str, Share]) -> None:
    wants = {team: share.guaranteed for team, share in shares.items()}
    outcomes = lacks_when_all_come(usable, wants)
    said = {team_short.team: team_short for team_short in shortfall(CAPACITY, usable, shares).teams}
    for team, share in shares.items():
        worst = max(lacks[team] for lacks in outcomes)
        assert (said[team].at_most if team in said else 0) == worst
        if team in said:
            assert said[team].left == wants[team] - worst
            # a prod slice gets what is left first
            assert said[team].prod_at_most == max(0, share.prod - said[team].left)


@given(USABLE, SHARES)
def test_a_team_lacks_at_least_what_it_lacks_alone(usable: int, shares: dict[str, Share]) -> None:
    for team_short in shortfall(CAPACITY, usable, shares).teams:
        (alone,) = lacks_when_all_come(usable, {team_short.team: team_short.guaranteed})
        assert team_short.at_least == alone[team_short.team] <= team_short.at_most


@given(USABLE, SHARES)
def test_prod_slices_lack_what_they_lack_when_nothing_else_runs(usable: int, shares: dict[str, Share]) -> None:
    slices = {team: share.prod for team, share in shares.items()}
    assert {sum(lacks.values()) for lacks in lacks_when_all_come(usable, slices)} == {
        shortfall(CAPACITY, usable, shares).prod_short
    }


@given(USABLE, SHARES)
def test_what_quota_goes_on_lending_is_lacking_on_top(usable: int, shares: dict[str, Share]) -> None:
    """Borrowers of the whole free pool come too, and may come first."""
    said = shortfall(CAPACITY, usable, shares)
    wants = {team: share.guaranteed for team, share in shares.items()}
    outcomes = lacks_when_all_come(usable, {**wants, "borrowers": CAPACITY - said.guaranteed})
    assert {sum(lacks.values()) for lacks in outcomes} == {said.short + said.overlent}
    for team, guaranteed in wants.items():
        assert max(lacks[team] for lacks in outcomes) == min(guaranteed, said.short + said.overlent)


def test_a_broken_node_takes_from_the_free_pool_first() -> None:
    shares = {"a": _share(16), "b": _share(8)}
    assert (shortfall(32, 32, shares).pool, shortfall(32, 24, shares).pool) == (8, 0)
    assert shortfall(32, 24, shares).teams == ()


def test_with_the_pool_gone_any_team_can_be_the_one_that_lacks() -> None:
    """16 + 8 are guaranteed, 20 are there: 4 lack, and either team may lack them."""
    said = shortfall(32, 20, {"a": _share(16, prod=14), "b": _share(8)})
    assert said.short == 4
    assert [
        (team_short.team, team_short.at_least, team_short.at_most, team_short.left) for team_short in said.teams
    ] == [("a", 0, 4, 12), ("b", 0, 4, 4)]
    assert [team_short.prod_at_most for team_short in said.teams] == [2, 0]


def test_a_team_that_is_guaranteed_more_than_there_is_lacks_some_for_certain() -> None:
    said = shortfall(32, 10, {"a": _share(16), "b": _share(8), "c": _share(0)})
    assert [(team_short.team, team_short.at_least, team_short.at_most) for team_short in said.teams] == [
        ("a", 6, 14),
        ("b", 0, 8),
    ]
