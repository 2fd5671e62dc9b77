"""The checks of machines: what they submit and expect, from the agreement's numbers alone."""

from __future__ import annotations

import re

import pytest
from samples import LAB, PRODUCTION

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.access import quotas
from tenancy.objects.loading import loads
from tenancy.verify.checks.kinds import KINDS
from tenancy.verify.checks.machines import kubevirt_checks
from tenancy.verify.checks.model import Check, Scheduler

GIBIBYTE = 2**30


def plan_of(text: str) -> Plan:
    agreement = loads(text).agreement
    assert agreement is not None
    return make_plan(agreement)


def checks(machines: str) -> dict[str, Check]:
    text = f"{LAB}\n[teams.vision]\nmachines = {{ namespace = 'vms', {machines} }}\n"
    return {check.kind: check for check in kubevirt_checks(plan_of(text))}


def test_five_of_each_team_with_machines_and_no_other() -> None:
    found = kubevirt_checks(plan_of(PRODUCTION.read_text()))
    assert {(check.team, check.kind) for check in found} == {("platform", kind) for kind in KINDS[Scheduler.KUBEVIRT]}
    assert all("4 machines of 4 vCPUs and 16Gi" in check.promise for check in found)
    assert {check.look_at for check in found} == {f"resourcequota/{quotas.QUOTA} in namespace platform-machines"}


def test_without_machines_the_first_team_is_tried_with_one_and_it_is_said() -> None:
    found = kubevirt_checks(plan_of(LAB))
    assert len({check.name for check in found}) == len(KINDS[Scheduler.KUBEVIRT])
    assert {check.team for check in found} == {"training"}
    assert all(
        "gives no machines" in check.promise and "1 machine of 1 vCPU and 1Gi" in check.promise for check in found
    )


def test_a_machine_counts_as_one_kubevirt_or_the_other_has_it() -> None:
    (step,) = checks("count = 3, vcpus = 1, memory = '1Gi'")["machine-memory"].steps
    assert sorted(step.usage["requests.memory"]) == [1_391_857_344, 1_412_828_864]  # measured: 1.8.0, and after 1.9.0


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("launcher", quotas.LAUNCHERS)
def test_a_larger_machine_is_over_the_quota_whatever_kubevirt_adds(count: int, launcher: int) -> None:
    """The quota is that of the agreement; the larger one comes in place of the last."""
    started, more, larger = checks(f"count = {count}, vcpus = 2, memory = '4Gi'")["machine-second"].steps
    assert sum(jobs.count for jobs in started.submit) == count == sum(started.running.values())
    assert more.refused == ("more",) and larger.remove == ("last",)
    assert sum(larger.running.values()) == count - 1
    (jobs,) = larger.submit
    assert jobs.machine
    others = (count - 1) * quotas.launcher_memory(4 * GIBIBYTE, 2, launcher)
    needed = others + quotas.launcher_memory(jobs.machine.memory, jobs.machine.vcpus, launcher)
    quota = count * quotas.launcher_memory(4 * GIBIBYTE, 2)
    assert quota < needed <= quota + 2 * (1 + 20 * count) * quotas.MEBIBYTE


def test_stopped_machines_fill_the_count() -> None:
    made, more = checks("count = 3, vcpus = 1, memory = '1Gi'")["machine-stopped"].steps
    assert [(jobs.count, jobs.machine and jobs.machine.runs) for jobs in made.submit] == [(3, False)]
    assert not made.running and more.refused == ("more",)


def test_a_pod_asks_for_each_kind_of_device_once() -> None:
    plan = plan_of(PRODUCTION.read_text())
    pods = {check.kind: check for check in kubevirt_checks(plan)}["machine-no-gpu"].steps[-1]
    asked = [plan.flavor[jobs.flavor].resource for jobs in pods.submit]
    assert asked == list(plan.resources[2:])
    assert pods.refused == tuple(jobs.name for jobs in pods.submit)


def test_a_team_that_is_promised_no_machine_gets_none() -> None:
    found = checks("count = 0, vcpus = 1, memory = '1Gi'")
    assert [step.refused for step in found["machine-second"].steps] == [("more",)]
    for kind in ("machine-memory", "machine-stopped", "machine-boot"):
        assert found[kind].not_run and not found[kind].steps


def test_names_can_be_names() -> None:
    for check in kubevirt_checks(plan_of(PRODUCTION.read_text())):
        assert all(re.fullmatch("[a-z0-9-]+", jobs.name) for step in check.steps for jobs in step.submit)
