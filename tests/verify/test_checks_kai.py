"""The checks on KAI, as data: there are enough of them, their numbers are the plan's, and no step asks for what cannot be."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from samples import LAB, ONE_FLAVOR, PRODUCTION, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.kai.amounts import limit_in_shared, parts
from tenancy.objects.loading import load
from tenancy.objects.schedulers import Place
from tenancy.verify.checks.kai import kai_checks
from tenancy.verify.checks.kinds import KINDS
from tenancy.verify.checks.model import Check, JobGroup, Scheduler
from tenancy.verify.players import kai_objects

DEPARTMENTS = (
    ONE_FLAVOR
    + """
[departments.d]
[teams.a]
department = "d"
guaranteed = 8
[teams.b]
department = "d"
guaranteed = 8
borrowable = 4
[teams.c]
guaranteed = 8
"""
)


def production() -> Plan:
    agreement = load(PRODUCTION).agreement
    assert agreement
    return make_plan(agreement)


def test_the_labs_three_teams_have_nineteen_and_more() -> None:
    checks = kai_checks(plan(LAB))
    assert len(checks) >= 19
    per_kind = Counter(check.kind for check in checks)
    assert per_kind["fractions"] == 1
    assert per_kind["guarantee"] == per_kind["reach"] == per_kind["kept"] == 3
    assert per_kind["never-lent"] == per_kind["reserved"] == 2


def test_every_kind_is_made_of_some_agreement_and_no_other() -> None:
    made = {check.kind for plan in (plan(LAB), plan(DEPARTMENTS), production()) for check in kai_checks(plan)}
    assert made == set(KINDS[Scheduler.KAI])


def test_a_priority_that_policies_refuse_is_not_tried() -> None:
    """Teams without a prod slice stay below the prod priority; a job that names none is `train`, and never refused."""
    text = "[access]\nplatform_groups = ['p']\n[priorities]\nlow = 10\nprod-workload = {}\n" + LAB
    for prod, kinds in ((200, set()), (100, {"non-preemptible"}), (60, {"non-preemptible", "priority"})):
        checks = kai_checks(plan(text.format(prod)))
        assert {check.kind for check in checks if check.not_run} == kinds
    assert "may name no priority above 59, and policies refuse one of" in next(
        check.not_run for check in checks if check.not_run
    )
    jobs = checks[0].steps[0].submit[0]
    named = [kai_objects.priority_class(plan(text.format(value)), jobs) for value in (60, 40)]
    assert named == [{"priorityClassName": "train"}, {}]


def test_a_kind_that_stops_jobs_is_not_run_where_they_are_left_alone_for_long() -> None:
    checks = kai_checks(plan('[sharing]\nreclaim_min_runtime = "1h"\n' + LAB))
    assert {check.kind for check in checks if check.not_run} == {"guarantee", "reclaim", "over-quota", "weights"}
    assert all(" 1h " in check.not_run for check in checks if check.not_run)


@pytest.mark.parametrize("plan", [plan(LAB), plan(DEPARTMENTS), production()], ids=["lab", "departments", "big"])
def test_numbers_are_possible(plan: Plan) -> None:
    for check in kai_checks(plan):
        possible(plan, check)


@given(agreements())
def test_numbers_are_possible_in_any_agreement(values: dict[str, object]) -> None:
    plan = make_plan(as_agreement(values))
    checks = kai_checks(plan)
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        possible(plan, check)


def possible(plan: Plan, check: Check) -> None:
    """What runs at any step is within each of KAI's limits; what is submitted has names of its own; jobs that end are known."""
    flavor = plan.flavor[check.flavor]
    there: dict[str, JobGroup] = {}
    stops = 0
    for step in check.steps:
        for name in step.remove:
            del there[name]
        assert not there.keys() & {jobs.name for jobs in step.submit}
        there |= {jobs.name: jobs for jobs in step.submit}
        assert all(jobs.count > 0 and 0 < jobs.units <= flavor.units_per_node for jobs in step.submit), check
        assert step.running.keys() <= there.keys(), (check, step)
        assert {*step.stopped, *step.because, *step.most_stopped} <= there.keys(), (check, step)
        used, halves = Counter[tuple[str, Place]](), Counter[tuple[str, Place]]()
        for name, count in step.running.items():
            jobs = there[name]
            assert 0 <= count <= jobs.count, (check, step)
            if jobs.fraction:
                halves[jobs.team, jobs.place] += count
            else:
                used[jobs.team, jobs.place] += count * jobs.each
        stops += sum(step.stopped.values())
        within(plan, check, used + Counter({place: (count + 1) // 2 for place, count in halves.items()}))
    assert check.steps
    assert bool(check.not_run) <= bool(stops)


def within(plan: Plan, check: Check, used: Counter[tuple[str, Place]]) -> None:
    shared = 0
    for team in plan.teams:
        share = team.shares[check.flavor]
        own = parts(share)
        kept_back = used[team.name, Place.RESERVED]
        prod = used[team.name, Place.PROD]
        lent = used[team.name, Place.REGULAR] + (0 if own.prod_reserved else prod)
        assert kept_back + (prod if own.prod_reserved else 0) <= own.reserved, check
        assert prod <= share.prod
        limit = limit_in_shared(share)
        assert limit < 0 or lent <= limit, check
        shared += lent
    assert shared <= plan.lent[check.flavor] + plan.pool[check.flavor], check
