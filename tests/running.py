"""A hypothesis strategy: an agreement, and jobs that Kueue lets run under it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, make_plan
from tenancy.quota.jobs import Job
from tenancy.quota.kueue_model import KueueModel

START = datetime(2026, 1, 1, tzinfo=UTC)


@st.composite
def busy(draw: st.DrawFn) -> tuple[Plan, list[Job]]:
    """A cluster that is as full as Kueue lets teams make it, in an order that is drawn."""
    plan = make_plan(as_agreement(draw(agreements(most_flavors=1))))
    flavor = plan.flavors[0].name
    model, jobs = KueueModel(plan, flavor), []
    for number in range(draw(st.integers(0, 12))):
        team = draw(st.sampled_from(plan.teams)).name
        prod = (team, True) in model.queues and draw(st.booleans())
        if size := model.run(team, draw(st.integers(1, 6)), prod=prod):
            since = START + timedelta(minutes=number)
            jobs.append(Job(team, str(number), "Job", team, prod, {flavor: size}, draw(st.integers(0, 2)), since))
    return plan, jobs
