"""A thousand namespaces of teams with prod: two thousand LocalQueues, by either way, and how long each takes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tenancy.agreement.plan import Plan
from tenancy.lab import cluster, lab
from tenancy.objects import access, kueue
from tenancy.objects.access import Namespaces

from . import namespace_operator
from .conftest import plan_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

THOUSAND, TEAMS = 1000, 4
PATIENCE = 600.0  # seconds; a sixth of it on a quiet machine


def agreement() -> str:
    each = THOUSAND // TEAMS
    teams = [
        f"[teams.t{team}]\nguaranteed = 8\nprod = 2\nnamespaces = {json.dumps([f't{team}-{number:03}' for number in range(each)])}\n"
        for team in range(TEAMS)
    ]
    return f'[cluster]\nname = "big"\n[flavors.gpu]\nnodes = {TEAMS}\ngpus_per_node = 8\n' + "".join(teams)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(agreement())


@pytest.fixture(scope="module")
def kubeconfig(labs: Path, plan: Plan) -> Iterator[Path]:
    """Of a lab that is taken down as it is: a thousand namespaces take longer to go than to come."""
    controllers = (namespace_operator.NAME,) if namespace_operator.is_given() else ()
    path = lab.up(plan, "thousand", controllers).kubeconfig
    cluster.apply(path, kueue.objects(plan))
    yield path
    lab.down("thousand")


def queues(kubeconfig: Path) -> Counter[str]:
    """LocalQueues by the ClusterQueue they stand on."""
    path = "--output=jsonpath={.items[*].spec.clusterQueue}"
    return Counter(cluster.kubectl(kubeconfig, "get", "localqueues", "--all-namespaces", path).split())


def expected(plan: Plan) -> Counter[str]:
    each = THOUSAND // TEAMS
    return Counter({queue: each for team in plan.teams for queue in (team.name, f"{team.name}-prod")})


def test_a_thousand_listed_namespaces_by_kubectl(kubeconfig: Path, plan: Plan) -> None:
    objects = access.objects(plan, Namespaces.LISTED)
    started = time.monotonic()
    cluster.apply(kubeconfig, objects)
    print(f"\nlisted: {len(objects)} objects by kubectl apply in {time.monotonic() - started:.0f} s")
    assert queues(kubeconfig) == expected(plan)


def test_a_thousand_labelled_namespaces_by_the_operator(kubeconfig: Path, plan: Plan) -> None:
    """Those that are there by now, without their LocalQueues."""
    if not queues(kubeconfig):
        cluster.apply(
            kubeconfig, [entry for entry in access.objects(plan, Namespaces.LISTED) if entry["kind"] == "Namespace"]
        )
    cluster.kubectl(kubeconfig, "delete", "localqueues", "--all", "--all-namespaces", "--wait=false")
    assert queues(kubeconfig) == Counter()
    stand_in = (
        None if namespace_operator.is_given() else namespace_operator.StandIn(partial(cluster.kubectl, kubeconfig))
    )
    started = time.monotonic()
    cluster.apply(kubeconfig, access.cluster_objects(plan, Namespaces.OPERATOR))
    if stand_in:
        stand_in.reconcile()
    while (found := queues(kubeconfig)) != expected(plan):
        assert time.monotonic() - started < PATIENCE, found
        time.sleep(1)
    by = "expanded by the test" if stand_in else "the real operator"
    print(f"\noperator: {found.total()} LocalQueues in {time.monotonic() - started:.0f} s ({by})")
