"""Every agreement that loads has checks: listing them never fails, whatever its keys say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from samples import plan
from strategies import as_agreement, full_agreements

from tenancy.agreement.plan import Plan, make_plan
from tenancy.verify.checks.kai import kai_checks
from tenancy.verify.checks.kueue import kueue_checks
from tenancy.verify.checks.machines import kubevirt_checks
from tenancy.verify.checks.model import Check

NO_WEIGHT = """
[cluster]
name = "c"
[flavors.gpu]
nodes = 2
gpus_per_node = 8
node_labels = { gpu = "yes" }
cpu_per_gpu = 4
memory_per_gpu = "16Gi"
[teams.a]
weight = 0
guaranteed = 4
[teams.b]
weight = 0
guaranteed = 4
"""
ONE_UNIT = """
[cluster]
name = "c"
[flavors.gpu]
nodes = 1
gpus_per_node = 1
node_labels = { gpu = "yes" }
cpu_per_gpu = 4
memory_per_gpu = "16Gi"
[priorities]
low = 1
middle = 10
high = 1000
[teams.a]
guaranteed = 1
"""


def every_check(plan: Plan) -> list[Check]:
    return [*kueue_checks(plan), *kai_checks(plan), *kubevirt_checks(plan)]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=full_agreements())
def test_checks_are_listed_and_ask_for_what_can_be(values: dict[str, Any]) -> None:
    for check in every_check(make_plan(as_agreement(values))):
        assert_possible(check)


@pytest.mark.parametrize("text", [NO_WEIGHT, ONE_UNIT])
def test_small_numbers_have_checks_too(text: str) -> None:
    for check in every_check(plan(text)):
        assert_possible(check)


def test_two_weights_of_0_divide_nothing() -> None:
    assert "weights" not in {check.kind for check in kai_checks(plan(NO_WEIGHT))}


def test_a_team_of_one_unit_proves_its_priorities_with_one_job_at_a_time() -> None:
    check = next(check for check in kueue_checks(plan(ONE_UNIT)) if check.kind == "priority")
    assert [jobs.name for step in check.steps for jobs in step.submit] == ["first", "level-0", "last", "urgent-0"]


def assert_possible(check: Check) -> None:
    """Of each group at least one job is submitted, and never fewer than none or more than all of it run."""
    there: dict[str, int] = {}
    for step in check.steps:
        assert all(jobs.count > 0 for jobs in step.submit), check.name
        there |= {jobs.name: jobs.count for jobs in step.submit}
        assert all(0 <= count <= there[name] for name, count in step.running.items()), (check.name, step.says)
