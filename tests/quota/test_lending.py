"""Who lends to whom: loans by hand, and of any agreement that they add up as the tree says."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import LAB, ONE_FLAVOR, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, Share, make_plan
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.lending import POOL, Use, lending, shared_out

MANY = settings(max_examples=80, deadline=None)
# 40 GPUs, 36 guaranteed; a and b are a department's.
DEPARTMENTS = """
[cluster]
name = "lab"
[flavors.gpu]
nodes = 5
gpus_per_node = 8
[departments.d]
[teams.a]
department = "d"
guaranteed = 8
[teams.b]
department = "d"
guaranteed = 8
[teams.c]
guaranteed = 12
[teams.e]
guaranteed = 8
"""


def loans(text: str, **used: int) -> dict[tuple[str, str], int]:
    result = plan(text)
    found = lending(result, result.flavors[0], {name: Use(units) for name, units in used.items()})
    return {(one.lender, one.borrower): one.units for one in found}


def test_what_is_borrowed_is_a_colleagues_first_then_the_pools_then_others() -> None:
    """a uses 20 of 8: b of its department has 8 idle, the pool 4; none is left to take of c or e."""
    assert loans(DEPARTMENTS, a=20) == {("b", "a"): 8, (POOL, "a"): 4}
    assert loans(DEPARTMENTS, a=25) == {("b", "a"): 8, (POOL, "a"): 4, ("c", "a"): 3, ("e", "a"): 2}


def test_what_a_colleague_uses_itself_it_does_not_lend() -> None:
    assert loans(DEPARTMENTS, a=10, b=7) == {("b", "a"): 1, (POOL, "a"): 1}


def test_what_is_never_lent_is_never_shown_as_lent() -> None:
    """32 GPUs, all guaranteed; inference lends none, and training keeps 8 to itself and uses these first."""
    assert loans(LAB, research=16) == {("training", "research"): 8}
    assert loans(LAB, research=12, training=12) == {("training", "research"): 4}


def test_two_borrowers_do_not_have_the_same_unit() -> None:
    four = ONE_FLAVOR.replace("nodes = 4\ngpus_per_node = 8", "nodes = 1\ngpus_per_node = 4")
    text = four + "".join(f"[teams.{name}]\nguaranteed = 1\n" for name in "abce")
    assert loans(text, a=2, b=2) == {("c", "a"): 1, ("e", "b"): 1}


@given(st.integers(0, 500), st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_shares_are_whole_add_up_and_exceed_nothing(total: int, weights: list[int]) -> None:
    named = {f"team-{place}": weight for place, weight in enumerate(weights)}
    parts = shared_out(total, named)
    assert sum(parts.values()) == min(total, sum(weights))
    assert all(0 <= parts[name] <= weight for name, weight in named.items())
    assert all(
        abs(parts[name] * sum(weights) - weight * min(total, sum(weights))) < sum(weights)
        for name, weight in named.items()
        if sum(weights)
    )


def test_ties_go_to_the_first_in_the_agreement() -> None:
    assert shared_out(1, {"a": 1, "b": 1}) == {"a": 1, "b": 0}


@st.composite
def used(draw: st.DrawFn) -> tuple[Plan, dict[str, Use]]:
    """As Kueue lets teams use it, or not: guarantees may have been lowered since."""
    plan = make_plan(as_agreement(draw(agreements(most_flavors=1))))
    flavor = plan.flavors[0].name
    if draw(st.booleans()):
        return plan, {team.name: Use(draw(st.integers(0, 20)), draw(st.integers(0, 4))) for team in plan.teams}
    model = KueueModel(plan, flavor)
    for team in draw(st.permutations(plan.teams)):
        model.run(team.name, draw(st.integers(0, 40)))
        if team.has_prod:
            model.run(team.name, draw(st.integers(0, 8)), prod=True)
    uses = {}
    for team in plan.teams:
        prod = model.queue(team.name, True).usage if team.has_prod else 0
        uses[team.name] = Use(model.queue(team.name).usage, prod)
    return plan, uses


@MANY
@given(used())
def test_loans_add_up_and_nobody_lends_what_it_uses_or_keeps(value: tuple[Plan, dict[str, Use]]) -> None:
    made, uses = value
    flavor = made.flavors[0]
    lent, borrowed = defaultdict(int), defaultdict(int)
    for loan in lending(made, flavor, uses):
        assert loan.units > 0 and loan.lender != loan.borrower
        lent[loan.lender] += loan.units
        borrowed[loan.borrower] += loan.units
    assert lent.pop(POOL, 0) <= made.pool[flavor.name]
    idle = made.pool[flavor.name]
    for team in made.teams:
        share, use = team.shares[flavor.name], uses[team.name]
        idle += min(share.lendable, max(0, share.guaranteed - use.total))
        assert lent[team.name] <= min(share.lendable, max(0, share.guaranteed - use.total))
        assert borrowed[team.name] <= max(0, use.total - share.guaranteed)
        assert not (lent[team.name] and borrowed[team.name])
    needed = sum(use.borrowed(made.team[name].shares[flavor.name]) for name, use in uses.items())
    assert sum(borrowed.values()) == min(needed, idle), (
        "all that is borrowed comes from somebody, as far as there is any"
    )


@MANY
@given(used())
def test_a_department_borrows_from_without_only_what_the_tree_says(value: tuple[Plan, dict[str, Use]]) -> None:
    """The model's Cohort of a department is over its own by what its teams need beyond each other's."""
    made, uses = value
    flavor = made.flavors[0]
    model = KueueModel(made, flavor.name)
    for team in made.teams:
        model.queue(team.name).usage = uses[team.name].regular
        if team.has_prod:
            model.queue(team.name, True).usage = uses[team.name].prod
        elif uses[team.name].prod:
            return
    everything = lending(made, flavor, uses)
    for name, cohort in model.departments.items():
        mine = {team.name for team in made.teams if team.department == name}
        inwards = sum(one.units for one in everything if one.borrower in mine and one.lender not in mine)
        outwards = sum(one.units for one in everything if one.lender in mine and one.borrower not in mine)
        assert inwards <= cohort.over and not (inwards and outwards)
        if sum(one.units for one in everything) == sum(
            use.borrowed(made.team[team].shares[flavor.name]) for team, use in uses.items()
        ):
            assert inwards == cohort.over


@given(
    st.builds(Use, st.integers(0, 30), st.integers(0, 8), st.integers(0, 8), st.none() | st.integers(0, 8)),
    st.integers(0, 16),
    st.integers(0, 16),
)
def test_a_team_borrows_what_it_uses_beyond_its_own(use: Use, lendable: int, reserved: int) -> None:
    """On KAI only what it uses of the shared tree counts against what it lends; on Kueue it uses first what it never lends."""
    share = Share(lendable + reserved, lendable, None, 0)
    own = min(use.total, reserved if use.kept is None else use.kept)
    assert use.borrowed(share) == max(0, use.total - own - lendable)


@MANY
@given(used(), st.data())
def test_what_a_team_has_idle_counts_kais_reserved_queue_apart(
    value: tuple[Plan, dict[str, Use]], data: st.DataObject
) -> None:
    """Of the reserved queue nobody borrows, however little of it is used."""
    made, uses = value
    flavor = made.flavors[0]
    apart = {name: Use(use.regular, use.prod, reserved=kept, kept=kept)
             for name, use in uses.items()
             for kept in [data.draw(st.integers(0, made.team[name].shares[flavor.name].reserved))]}  # fmt: skip
    lent: dict[str, int] = defaultdict(int)
    for loan in lending(made, flavor, apart):
        lent[loan.lender] += loan.units
    for team in made.teams:
        use, share = apart[team.name], team.shares[flavor.name]
        assert lent[team.name] <= max(0, share.lendable - use.regular - use.prod)
