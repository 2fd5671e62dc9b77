"""How far teams get on an empty cluster: numbers by hand, and of any agreement what one formula says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from samples import LAB, ONE_FLAVOR, PRODUCTION, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, TeamPlan, make_plan
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.reach import reach, reach_together, reaches

MANY = settings(max_examples=60, deadline=None)


# The lab of the issue: 32 GPUs, of which training lends 8 of 16, research all 8, inference none of 8.
@pytest.mark.parametrize(("team", "most"), [("training", 16 + 8), ("research", 8 + 8), ("inference", 8 + 16)])
def test_a_team_reaches_its_guarantee_and_what_others_lend(team: str, most: int) -> None:
    lab = plan(LAB)
    assert reach(lab, lab.team[team], "gpu") == most


def test_a_team_does_not_reach_beyond_what_it_may_borrow() -> None:
    lab = plan(LAB.replace("[teams.research]", "[teams.research]\nborrowable = 3"))
    assert reach(lab, lab.team["research"], "gpu") == 8 + 3


def test_a_team_reaches_the_pool() -> None:
    one = plan(ONE_FLAVOR + "[teams.a]\nguaranteed = 8")
    assert reach(one, one.team["a"], "gpu") == 32


def test_two_teams_do_not_borrow_the_same_unit_twice() -> None:
    """Each alone reaches 16 of its own and the 8 of the pool; both together 32 of their own and the 8."""
    two = plan(
        ONE_FLAVOR.replace("nodes = 4", "nodes = 5") + "[teams.a]\nguaranteed = 16\n[teams.b]\nguaranteed = 16\n"
    )
    assert two.pool["gpu"] == 8
    assert reach_together(KueueModel(two, "gpu"), two.teams) == 40


def test_reaches_of_the_production_agreement() -> None:
    production = plan(PRODUCTION.read_text())
    assert reach(production, production.team["tts"], "hgx-h100") == 32
    assert reach(production, production.team["platform"], "standart") == 40 * 64


def by_formula(plan: Plan, teams: Sequence[TeamPlan], flavor: str) -> int:
    """Their guarantees, and of the pool and what all others lend as much as they may borrow together."""
    shares = [team.shares[flavor] for team in teams]
    outside = plan.pool[flavor] + plan.lent[flavor] - sum(share.lendable for share in shares)
    limits = [share.borrowable for share in shares]
    most = outside if None in limits else min(outside, sum(limit for limit in limits if limit is not None))
    return sum(share.guaranteed for share in shares) + most


@MANY
@given(values=agreements())
def test_a_team_reaches_what_the_formula_says_and_the_model_admits(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for flavor in the_plan.flavor:
        of_all = reaches(the_plan, flavor)
        for team in the_plan.teams:
            most = reach(the_plan, team, flavor)
            assert most == of_all[team.name] == by_formula(the_plan, [team], flavor)
            assert most == KueueModel(the_plan, flavor).run(team.name, 10**6)


@MANY
@given(values=agreements())
def test_teams_together_reach_what_the_formula_says(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    groups = [
        [team for team in the_plan.teams if team.department == department.name] for department in the_plan.departments
    ]
    for flavor in the_plan.flavor:
        model = KueueModel(the_plan, flavor)
        for teams in (*filter(None, groups), the_plan.teams):
            assert reach_together(model, teams) == by_formula(the_plan, teams, flavor)
            assert not model.root.used, "asked, not done"
