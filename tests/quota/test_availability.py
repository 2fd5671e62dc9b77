"""What a job can get now, of any agreement and on any cluster that is as full as Kueue lets it be."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from running import busy
from samples import LAB, plan

from tenancy.agreement.plan import Plan
from tenancy.quota.availability import Availability, Bound
from tenancy.quota.jobs import Job
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.reach import reach


def asking(the_plan: Plan, team: str, asked: int, jobs: list[Job] = [], prod: bool = False) -> Availability:  # noqa: B006
    return Availability(the_plan, the_plan.flavors[0], the_plan.team[team], prod, asked, 0, jobs)


def test_the_narrowest_limit_is_named() -> None:
    """Of 32 GPUs research owns 8 and may have 3 of others; nothing runs."""
    limited = plan(LAB.replace("[teams.research]", "[teams.research]\nborrowable = 3"))
    assert asking(limited, "research", 12).bound is Bound.MAXIMUM
    assert asking(limited, "research", 11).bound is Bound.NOTHING


@settings(max_examples=80, deadline=None)
@given(busy(), st.data())
def test_what_is_free_is_missing_and_bound_agree(value: tuple[Plan, list[Job]], data: st.DataObject) -> None:
    the_plan, jobs = value
    flavor, team = the_plan.flavors[0], data.draw(st.sampled_from(the_plan.teams))
    prod = team.has_prod and data.draw(st.booleans())
    job = asking(the_plan, team.name, data.draw(st.integers(1, 40)), jobs, prod)
    model = KueueModel(the_plan, flavor.name)
    for one in jobs:
        model.queue(one.team, one.prod).usage += one.units[flavor.name]
    share = team.shares[flavor.name]
    assert job.free == model.run(team.name, prod=prod)
    assert job.most == (share.prod if prod else reach(the_plan, team, flavor.name))
    assert (job.bound is Bound.MAXIMUM) == (job.asked > job.most)
    assert (job.bound is Bound.NOTHING) == (job.asked <= job.free)
    assert (job.missing == 0) == (job.asked <= job.free)
    assert 0 <= job.inside <= min(job.asked, job.own)


@settings(max_examples=80, deadline=None)
@given(busy(), st.data())
def test_what_it_takes_back_is_of_teams_above_their_own_and_is_enough(
    value: tuple[Plan, list[Job]], data: st.DataObject
) -> None:
    the_plan, jobs = value
    team = data.draw(st.sampled_from(the_plan.teams))
    job = asking(the_plan, team.name, data.draw(st.integers(1, 20)), jobs)
    for lender, units in job.lenders().items():
        assert lender != team.name or team.has_prod
        assert 0 < units <= job.used(lender)
    if job.preempted:
        assert job.bound is Bound.IDLE
        assert job.gain(job.preempted) >= job.missing
        assert all(one.team in job.lenders() for one in job.preempted)


@settings(max_examples=80, deadline=None)
@given(busy(), st.data())
def test_when_all_have_ended_it_gets_what_it_would_get_alone(
    value: tuple[Plan, list[Job]], data: st.DataObject
) -> None:
    the_plan, jobs = value
    team = data.draw(st.sampled_from(the_plan.teams))
    job = asking(the_plan, team.name, 1, jobs)
    assert job.queue.available + job.gain(jobs) == job.most
    assert job.queue.available == job.free, "asked, not done"
