"""Which jobs Kueue would preempt for an owner: enough, none too many, and of nobody within its own."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from running import busy

from tenancy.agreement.plan import Plan
from tenancy.quota.jobs import Job
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.reclaim import preempted_for


@settings(deadline=None)
@given(busy(), st.data())
def test_whom_it_names_is_enough_needed_and_above_what_is_theirs(
    value: tuple[Plan, list[Job]], data: st.DataObject
) -> None:
    made, jobs = value
    flavor = made.flavors[0].name
    team = data.draw(st.sampled_from(made.teams))
    used = sum(job.units[flavor] for job in jobs if job.team == team.name)
    amount = team.shares[flavor].guaranteed - used
    if amount <= 0 or team.has_prod:
        return
    stopped = preempted_for(made, flavor, jobs, team.name, amount, prod=False)
    assert stopped is not None, "a guarantee is there whenever it is asked for"
    left = [job for job in jobs if job not in stopped]
    assert _available(made, flavor, left, team.name) >= amount
    for job in stopped:
        assert job.team != team.name and not job.prod
        assert _available(made, flavor, [*left, job], team.name) < amount, "one more was stopped than needed"
        theirs = sum(one.units[flavor] for one in jobs if one.team == job.team)
        assert theirs > made.team[job.team].shares[flavor].guaranteed


def _available(made: Plan, flavor: str, jobs: list[Job], team: str) -> int:
    model = KueueModel(made, flavor)
    for job in jobs:
        model.queue(job.team, job.prod).usage += job.units[flavor]
    return model.queue(team).available
