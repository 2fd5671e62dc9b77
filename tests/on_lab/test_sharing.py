"""`[sharing]` on a real Kueue: what is lent is divided by weight, a guarantee under fair sharing, and usage within a queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace
from lightkube.types import CascadeType

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import LocalQueue, connect
from tenancy.cluster.listing import objects
from tenancy.cluster.queues import by_name
from tenancy.cluster.usage import kueue_uses
from tenancy.lab import lab, processes
from tenancy.lab.cluster import apply, kubectl
from tenancy.lab.folder import Folder
from tenancy.objects import kueue
from tenancy.text.quantity import bytes_text, milli_text

from .conftest import plan_of
from .stacks import KINDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATIENCE = 180.0
STEADY = 6  # looks in a row
EVERY = 0.25

CLUSTER = """
[cluster]
name = "sharing"
guarantee_on = "cohort"
[flavors.x]
nodes = 4
gpus_per_node = 8
[flavors.y]
nodes = 2
gpus_per_node = 8
"""
WEIGHTS = """
[departments.wide]
weight = 2
[departments.narrow]
[teams.a]
department = "wide"
guaranteed = { x = 4 }
borrowable = { y = 0 }
[teams.b]
department = "narrow"
guaranteed = { x = 2 }
borrowable = { y = 0 }
[teams.c]
department = "narrow"
guaranteed = { x = 2 }
borrowable = { y = 0 }
weight = 3
"""
FAIR = '[sharing]\npolicy = "fair"\n'
# p borrows of y, q of x, and then p wants what it is guaranteed of x.
GUARANTEES = """
[teams.p]
guaranteed = { x = 16, y = 8 }
prod = { x = 2 }
[teams.q]
guaranteed = { x = 16, y = 8 }
"""
USAGE = """
[sharing.usage]
half_life = "10m"
sampling_interval = "1s"
[teams.t]
guaranteed = { x = 8 }
borrowable = { x = 0, y = 0 }
"""


class Sharing:
    """The cluster, with one agreement after another on it."""

    def __init__(self, folder: Folder, client: Client) -> None:
        self.folder, self.client, self.kubeconfig = folder, client, folder.kubeconfig
        self.plan: Plan = plan_of(CLUSTER + WEIGHTS)

    def agree(self, text: str) -> None:
        """The agreement's objects, Kueue set for it, and no job of another; a namespace with a queue for each team."""
        self.plan = plan_of(text)
        lab.up(self.plan, self.folder.name)
        apply(self.kubeconfig, kueue.objects(self.plan))
        apply(self.kubeconfig, [one for team in self.plan.team for one in namespace(self.plan, team, team)])

    def submit(self, name: str, gpus: Mapping[str, int], size: int = 2, flavor: str = "x") -> None:
        for place, total in gpus.items():
            for number in range(total // size):
                self.client.create(from_dict(job(self.plan, place, f"{name}-{number}", size, flavor)))

    def used(self) -> dict[tuple[str, str], int]:
        uses = kueue_uses(self.plan, by_name(objects(self.client, "ClusterQueue")))
        return {key: use.total for key, use in uses.items() if use.total}

    def until(self, expected: Mapping[tuple[str, str], int]) -> float:
        """Seconds until the teams have exactly this, and keep it for a few looks."""
        return wait(lambda: self.used() == dict(expected), lambda: f"{self.used()} instead of {expected}", STEADY)

    def wipe(self) -> None:
        for space in self.client.list(Namespace, labels={self.plan.team_label: None}):  # those with the label
            name = space.metadata.name if space.metadata else ""
            self.client.deletecollection(Job, namespace=name or "", cascade=CascadeType.BACKGROUND)
            self.client.deletecollection(LocalQueue, namespace=name or "")
        for kind in reversed(KINDS):
            kubectl(self.kubeconfig, "delete", kind, "--all")


def wait(so: Callable[[], bool], otherwise: Callable[[], str], steady: int = 1) -> float:
    started = came = time.monotonic()
    right = 0
    while right < steady:
        came = time.monotonic() if not right else came
        right = right + 1 if so() else 0
        assert time.monotonic() - started < PATIENCE, otherwise()
        time.sleep(EVERY)
    return came - started


def namespace(plan: Plan, name: str, team: str) -> list[dict[str, Any]]:
    metadata = {"name": name, "labels": {plan.team_label: team}}
    queue = {"apiVersion": kueue.API_VERSION, "kind": "LocalQueue", "metadata": {"name": "default", "namespace": name}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
        {**queue, "spec": {"clusterQueue": team}},
    ]


def job(plan: Plan, place: str, name: str, size: int, flavor: str) -> dict[str, Any]:
    result = plan.flavor[flavor]
    asks = {
        result.resource: str(size),
        "cpu": milli_text(result.cpu * size),
        "memory": bytes_text(result.memory * size),
    }
    container = {"name": "work", "image": "none.invalid/none", "resources": {"requests": asks, "limits": asks}}
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": dict(result.node_labels),
        "containers": [container],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": place, "labels": {"kueue.x-k8s.io/queue-name": "default"}},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }


@pytest.fixture(scope="module")
def cluster(labs: Path) -> Iterator[Sharing]:
    folder = lab.up(plan_of(CLUSTER + WEIGHTS), "sharing")
    yield Sharing(folder, connect(str(folder.kubeconfig)))
    lab.down("sharing")


@pytest.fixture
def sharing(cluster: Sharing) -> Iterator[Sharing]:
    yield cluster
    cluster.wipe()


def fair_shares(plan: Plan, flavor: str) -> dict[tuple[str, str], int]:
    """Guarantee and the part of the pool by weight: the departments' first, then in each the teams'."""
    pool = plan.pool[flavor]
    whole = sum(department.weight for department in plan.departments)
    found = {}
    for department in plan.departments:
        teams = [team for team in plan.teams if team.department == department.name]
        for team in teams:
            part = pool * department.weight * team.weight // (whole * sum(team.weight for team in teams))
            found[team.name, flavor] = team.shares[flavor].guaranteed + part
    return found


def test_the_pool_is_divided_by_weight_and_the_later_team_gets_its_part(sharing: Sharing) -> None:
    """b has all there is when a and c come. What each is left with is a whole number of jobs."""
    sharing.agree(CLUSTER + FAIR + WEIGHTS)
    everything = sharing.plan.flavor["x"].capacity
    sharing.submit("early", {"b": everything})
    sharing.until({("b", "x"): everything})
    sharing.submit("late", {"a": everything, "c": everything})
    sharing.until(fair_shares(sharing.plan, "x"))


def test_who_came_first_keeps_what_it_borrowed_where_nothing_else_is_agreed(sharing: Sharing) -> None:
    """The same teams and weights without `policy = "fair"`: Kueue is started anew, and takes back guarantees only."""
    sharing.agree(CLUSTER + WEIGHTS)
    everything = sharing.plan.flavor["x"].capacity
    sharing.submit("early", {"b": everything})
    sharing.until({("b", "x"): everything})
    sharing.submit("late", {"a": everything, "c": everything})
    own = {(team.name, "x"): team.shares["x"].guaranteed for team in sharing.plan.teams if team.name != "b"}
    sharing.until({("b", "x"): everything - sum(own.values()), **own})


@pytest.mark.parametrize("guarantee_on", ["cohort", "queue"])
def test_a_guarantee_under_fair_sharing(sharing: Sharing, guarantee_on: str) -> None:
    """On the team's Cohort it counts by shares, over all flavors: who borrows of another flavor gets it only until the other
    borrows no more than that. On the queue it is taken back whatever the shares. `check` and the report of fidelity say so."""
    sharing.agree((CLUSTER + FAIR + GUARANTEES).replace('"cohort"', f'"{guarantee_on}"'))
    plan = sharing.plan
    x, y = plan.flavor["x"].capacity, plan.flavor["y"].capacity
    own = plan.team["p"].shares["x"].regular
    sharing.submit("of-y", {"p": y}, flavor="y")
    sharing.submit("of-x", {"q": x})
    sharing.until({("p", "y"): y, ("q", "x"): x})
    sharing.submit("mine", {"p": own})
    if guarantee_on == "queue":
        sharing.until({("p", "y"): y, ("p", "x"): own, ("q", "x"): x - own})
    else:
        borrows = y - plan.team["p"].shares["y"].guaranteed
        got = x - plan.team["q"].shares["x"].guaranteed - borrows  # then both borrow the same
        assert got < own
        sharing.until({("p", "y"): y, ("p", "x"): got, ("q", "x"): x - got})
        wait(lambda: len(pending(sharing, "p")) == (own - got) // 2, lambda: str(pending(sharing, "p")))


def pending(sharing: Sharing, place: str) -> list[str]:
    """Workloads that Kueue has considered and not admitted."""
    path = '{range .items[?(@.status.conditions)]}{.metadata.name}{" "}{.status.conditions[*].reason}{"\\n"}{end}'
    lines = kubectl(sharing.kubeconfig, "get", "workloads", "-n", place, "-o", f"jsonpath={path}").splitlines()
    return [line for line in lines if "Admitted" not in line]


def test_in_a_queue_the_namespace_that_has_used_less_goes_first(sharing: Sharing) -> None:
    sharing.agree(CLUSTER + USAGE)
    apply(sharing.kubeconfig, [entry for name in ("often", "seldom") for entry in namespace(sharing.plan, name, "t")])
    size = sharing.plan.team["t"].shares["x"].guaranteed
    sharing.submit("running", {"often": size}, size)
    sharing.until({("t", "x"): size})
    wait(lambda: consumed(sharing, "often") > 0, lambda: "no usage was sampled")
    sharing.submit("early", {"often": size}, size)
    wait(lambda: len(pending(sharing, "often")) == 1, lambda: str(pending(sharing, "often")))
    sharing.submit("late", {"seldom": size}, size)
    wait(lambda: len(pending(sharing, "seldom")) == 1, lambda: str(pending(sharing, "seldom")))
    sharing.client.delete(Job, "running-0", namespace="often", cascade=CascadeType.BACKGROUND)
    wait(lambda: running(sharing, "late-0", "seldom"), lambda: "the job of the namespace that used less did not start")
    assert not running(sharing, "early-0", "often")


def consumed(sharing: Sharing, place: str) -> float:
    status = sharing.client.get(LocalQueue, "default", namespace=place).get("status") or {}
    sampled = ((status.get("fairSharing") or {}).get("admissionFairSharingStatus") or {}).get("consumedResources") or {}
    return len([entry for entry in sampled.values() if entry not in ("0", 0)])


def running(sharing: Sharing, name: str, place: str) -> bool:
    result = sharing.client.get(Job, name, namespace=place)
    return bool(result.spec and result.spec.suspend is False)


def test_kueue_is_started_anew_only_for_another_sharing(sharing: Sharing) -> None:
    sharing.agree(CLUSTER + FAIR + WEIGHTS)
    before = processes.running(sharing.folder)["kueue"].pid
    sharing.agree(CLUSTER + FAIR + WEIGHTS)
    assert processes.running(sharing.folder)["kueue"].pid == before
    sharing.agree(CLUSTER + WEIGHTS)
    assert processes.running(sharing.folder)["kueue"].pid != before
