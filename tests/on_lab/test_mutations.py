"""Can a check fail? Each change of applied objects in the table turns red the checks of what it breaks, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.lab.folder import Folder
from tenancy.objects import kueue
from tenancy.verify.checks.kinds import KINDS
from tenancy.verify.checks.kueue import kueue_checks
from tenancy.verify.checks.model import Scheduler
from tenancy.verify.evidence.model import Outcome, Verdict
from tenancy.verify.play import Timeouts
from tenancy.verify.run import verify

from .conftest import plan_of
from .mutations import BATCHES, Mutation, mutated, objects

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE = Timeouts(step=120.0)  # what comes to rest elsewhere is seen long before; a slow machine breaks no promise


def test_there_is_a_mutation_for_every_kind() -> None:
    broken = {kind for _, mutations in BATCHES.values() for mutation in mutations for kind in mutation.kinds}
    assert broken == set(KINDS[Scheduler.KUEUE])


def test_what_they_name_there_is() -> None:
    for text, mutations in BATCHES.values():
        plan = plan_of(text)
        checks = {check.name for check in kueue_checks(plan) if not check.not_run}
        assert {name for mutation in mutations for name in (*mutation.breaks, *mutation.keeps)} <= checks
        assert {name for mutation in mutations for name in mutation.changes} <= set(objects(plan))


@pytest.fixture(scope="module")
def mutants(labs: Path) -> Iterator[str]:
    yield "mutants"
    lab.down("mutants")


@pytest.mark.parametrize("batch", BATCHES)
def test_a_check_turns_red_on_what_breaks_its_promise_and_on_nothing_else(mutants: str, batch: str) -> None:
    text, mutations = BATCHES[batch]
    plan = plan_of(text)
    folder = lab.up(plan, mutants)
    apply(folder.kubeconfig, kueue.objects(plan))
    changed = mutated(plan, mutations)
    apply(folder.kubeconfig, changed)
    try:
        outcomes = played(folder, plan, mutations)
    finally:
        there = objects(plan)
        apply(folder.kubeconfig, [there[f"{entry['kind']}/{entry['metadata']['name']}"] for entry in changed])
    wrong = [entry for mutation in mutations for entry in judged(mutation, outcomes)]
    assert not wrong, "\n".join(wrong)


def played(folder: Folder, plan: Plan, mutations: tuple[Mutation, ...]) -> dict[str, Outcome]:
    wanted = {name for mutation in mutations for name in (*mutation.breaks, *mutation.keeps)}
    checks = [check for check in kueue_checks(plan) if check.name in wanted]
    run = verify(connect(str(folder.kubeconfig)), plan, checks, name="mutants", timeouts=PATIENCE)
    return {outcome.check.name: outcome for outcome in run.outcomes}


def judged(mutation: Mutation, outcomes: dict[str, Outcome]) -> Iterator[str]:
    """What came otherwise than the table says."""
    for name in mutation.breaks:
        outcome = outcomes[name]
        if outcome.verdict is not Verdict.BROKEN:
            yield f"{mutation.says}: {name} is {outcome.verdict} {outcome.why}"
        elif not any(text in outcome.why for text in mutation.seen.split("|")):
            yield f"{mutation.says}: {name} is broken, and says nothing of {mutation.seen}: {outcome.why}"
    for name in mutation.keeps:
        if outcomes[name].verdict is not Verdict.HELD:
            yield f"{mutation.says}: {name} is {outcomes[name].verdict}: {outcomes[name].why}"
