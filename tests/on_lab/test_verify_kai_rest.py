"""The kinds of promises on KAI that the lab's agreement has none of: they hold, and a fault breaks those that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lightkube import Client

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.objects import kai
from tenancy.verify import safety
from tenancy.verify.checks.kinds import KINDS
from tenancy.verify.checks.model import Scheduler
from tenancy.verify.evidence.model import Verdict
from tenancy.verify.run import verify

from .conftest import plan_of
from .mutations_kai import OF_THE_REST, ON_THE_LAB, REST, REST_HOLDS, Mutation
from .test_verify_kai import chosen, faults_are_seen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def rest() -> Plan:
    return plan_of(REST)


@pytest.fixture(scope="module")
def cluster(labs: Path, rest: Plan) -> Iterator[Client]:
    folder = lab.up(rest, "verify-rest", ("kai",))
    apply(folder.kubeconfig, kai.objects(rest))
    yield connect(str(folder.kubeconfig))
    lab.down("verify-rest")


def test_they_hold(cluster: Client, rest: Plan) -> None:
    run = verify(cluster, rest, chosen(rest, *REST_HOLDS), name=safety.new_name())
    assert not {outcome.check.name: outcome.why for outcome in run.outcomes if outcome.verdict is not Verdict.HELD}


@pytest.mark.parametrize("mutations", OF_THE_REST, ids=[entry[0].name.replace(" ", "-") for entry in OF_THE_REST])
def test_a_fault_breaks_what_it_is_about_and_nothing_else(
    cluster: Client, rest: Plan, mutations: tuple[Mutation, ...]
) -> None:
    faults_are_seen(cluster, rest, mutations)


def test_every_kind_has_a_fault_that_breaks_it() -> None:
    every = (*ON_THE_LAB, *(mutation for batch in OF_THE_REST for mutation in batch))
    broken = {name.partition("/")[0] for mutation in every for name in mutation.breaks} | {
        "gang"
    }  # half a gang has a test of its own
    assert broken == set(KINDS[Scheduler.KAI])
