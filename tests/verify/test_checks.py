"""The generated checks on Kueue: which there are, and that what each expects is what the agreement's arithmetic allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from samples import LAB, PRODUCTION, ROOT, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.schedulers import Place
from tenancy.quota.kueue_model import KueueModel
from tenancy.verify.checks.kinds import KINDS
from tenancy.verify.checks.kueue import kueue_checks
from tenancy.verify.checks.model import Check, JobGroup, Scheduler, Step

VENUS = (ROOT / "examples" / "venus.toml").read_text()
DEPARTMENTS = (ROOT / "examples" / "departments.toml").read_text()
MOST_JOBS = 80  # of a check in a real cluster's agreement, at once


def kinds(checks: tuple[Check, ...]) -> Counter[str]:
    return Counter(check.kind for check in checks)


# --- which there are ----------------------------------------------------------------------------------------------------


def test_the_three_team_lab_has_at_least_22_different_promises() -> None:
    checks = kueue_checks(plan(LAB))
    assert len({check.promise for check in checks}) == len(checks) >= 22
    assert not [check.name for check in checks if check.not_run]
    per_team = {"guarantee", "reach", "kept", "ratio", "priority", "gang", "own-namespaces"}
    assert {kind: number for kind, number in kinds(checks).items() if number == 3}.keys() == per_team
    assert {check.team for check in checks if check.kind == "reclaim"} == {
        "training",
        "research",
    }  # inference lends none
    assert {check.team for check in checks if check.kind == "never-lent"} == {
        "training",
        "inference",
    }  # research lends all


def test_they_scale_with_teams_and_flavors() -> None:
    result = plan(PRODUCTION.read_text())
    checks = kueue_checks(result)
    found = kinds(checks)
    guaranteed = [1 for team in result.teams for share in team.shares.values() if share.guaranteed]
    slices = [1 for team in result.teams for share in team.shares.values() if share.prod]
    assert found["guarantee"] == found["kept"] == found["gang"] == len(guaranteed)
    assert found["prod-slice"] == found["prod-back"] == found["prod-kept"] == len(slices)
    assert found["whole"] == found["topology"] == len(result.flavors)
    assert found["slices"] == len([1 for flavor in result.flavors if flavor.profile])
    assert found["department"] and found["pool"] and found["borrowable"] == 1


def test_every_kind_is_made_of_some_agreement() -> None:
    fair = DEPARTMENTS.replace(
        "[departments.search]", '[sharing]\npolicy = "fair"\n[departments.search]\nweight = 2', 1
    )
    made = [kueue_checks(plan(text)) for text in (LAB, DEPARTMENTS, fair, PRODUCTION.read_text())]
    assert {check.kind for checks in made for check in checks if not check.not_run} == set(KINDS[Scheduler.KUEUE])


@pytest.mark.parametrize(
    "text", [LAB, VENUS, DEPARTMENTS, PRODUCTION.read_text()], ids=["lab", "venus", "departments", "production"]
)
def test_jobs_are_few_and_large(text: str) -> None:
    for check in kueue_checks(plan(text)):
        for there in states(check):
            assert sum(jobs.count for jobs in there.values()) <= MOST_JOBS, check.name


# --- what they expect ---------------------------------------------------------------------------------------------------


def states(check: Check) -> Iterator[dict[str, JobGroup]]:
    """The groups that are there after each step."""
    there: dict[str, JobGroup] = {}
    for step in check.steps:
        there = {name: jobs for name, jobs in there.items() if name not in step.remove} | {
            jobs.name: jobs for jobs in step.submit
        }
        yield dict(there)


def well_formed(plan: Plan, check: Check) -> None:
    assert check.steps or check.not_run
    names = [jobs.name for step in check.steps for jobs in step.submit]
    assert len(set(names)) == len(names)
    assert check.kind in KINDS[Scheduler.KUEUE] and check.promise and "/" in check.look_at
    for step, there in zip(check.steps, states(check), strict=True):
        assert step.submit or step.remove
        assert step.says
        assert set(step.running) == set(there)
        for name, jobs in there.items():
            assert 0 <= step.running[name] <= jobs.count
            assert 0 < jobs.units <= plan.flavor[jobs.flavor].units_per_node and jobs.count > 0 and jobs.pods > 0
        assert set(step.stopped) | set(step.most_stopped) | set(step.because) <= set(there)
        assert not set(step.stopped) & set(step.most_stopped)


def arithmetic(plan: Plan, check: Check) -> None:
    """What runs is what the tree allows and no more than there is; what waits does not fit, unless something else holds it."""
    for step, there in zip(check.steps, states(check), strict=True):
        for flavor, only in {(jobs.flavor, jobs.only) for jobs in there.values()}:
            model = KueueModel(plan, flavor)
            mine = {name: jobs for name, jobs in there.items() if (jobs.flavor, jobs.only) == (flavor, only)}
            for name, jobs in mine.items():
                model.queue(jobs.team, jobs.place is Place.PROD).usage += step.running[name] * jobs.each
            assert model.root.used <= plan.flavor[flavor].capacity
            for node in model.root.down():
                assert node.available >= 0, f"{check.name}: {step.says}: {node.name} uses more than it may"
            waiting(check, step, model, mine)


def waiting(check: Check, step: Step, model: KueueModel, mine: dict[str, JobGroup]) -> None:
    for name, jobs in mine.items():
        if step.running[name] == jobs.count or jobs.namespace_of or jobs.level or check.kind == "weights":
            continue
        node = model.queue(jobs.team, jobs.place is Place.PROD)
        assert node.available < jobs.each, f"{check.name}: {step.says}: {name} fits"
        assert node.must_preempt(jobs.each) is None, f"{check.name}: {step.says}: {name} has it back"


def stops(plan: Plan, check: Check) -> None:
    """Who asks with one job stops as many as the tree says must be stopped, and there is room for nobody else then."""
    before: dict[str, int] = {}
    there: dict[str, JobGroup] = {}
    for step in check.steps:
        there |= {jobs.name: jobs for jobs in step.submit}
        if len(step.submit) == 1 and len(step.stopped) == 1 and check.kind != "priority":
            (asks,), ((victim, count),) = step.submit, step.stopped.items()
            model = KueueModel(plan, asks.flavor)
            for name, running in before.items():
                jobs = there[name]
                model.queue(jobs.team, jobs.place is Place.PROD).usage += running * jobs.each
            node = model.queue(asks.team, asks.place is Place.PROD)
            assert node.must_preempt(asks.each, each=there[victim].each) == count, f"{check.name}: {step.says}"
            assert node.available + count * there[victim].each == asks.each, f"{check.name}: {step.says}"
        before = dict(step.running)


@given(values=agreements())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_checks_of_any_agreement_are_consistent(values: dict[str, object]) -> None:
    plan = make_plan(as_agreement(values))
    checks = kueue_checks(plan)
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        well_formed(plan, check)
        arithmetic(plan, check)
        stops(plan, check)
