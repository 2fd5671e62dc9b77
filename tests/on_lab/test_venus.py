"""Venus, a real cluster's quotas, kept by a real Kueue on 133 simulated nodes, and changed while every GPU is busy.

The numbers are those of the two agreements; nothing is typed here. Jobs are real ones of a whole node each, so that every
GPU of the cluster is one of 133 decisions. Two things are read and must agree: what Kueue says its queues use, and
the GPUs of the pods that run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.types import CascadeType

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import ClusterQueue, LocalQueue, Workload, connect
from tenancy.cluster.listing import objects
from tenancy.cluster.queues import by_name
from tenancy.cluster.usage import kueue_uses
from tenancy.lab import lab
from tenancy.status import terminal
from tenancy.status.reading.watch import now
from tenancy.text.quantity import bytes_text, milli_text

from .conftest import plan_of
from .stacks import ROOT, Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BEFORE, AFTER = ROOT / "examples" / "venus.toml", ROOT / "examples" / "venus-2020-07-21.toml"
FLAVOR = "gpu"
PATIENCE = 240.0  # seconds; on an idle machine of two cores the slowest wait here takes about 15
EVERY = 0.25  # seconds between two looks
STEADY = 4  # looks in a row that must show the same
SLEEPERS = 3  # teams that are idle at first when all others ask for more than their guarantee
EXTRA = 1  # jobs that a team asks for above its guarantee


def guarantees(plan: Plan) -> dict[str, int]:
    return {team.name: team.shares[FLAVOR].guaranteed for team in plan.teams}


def capacity(plan: Plan) -> int:
    return plan.flavor[FLAVOR].capacity


class Venus:
    """The cluster, the stack that writes the agreement to it, and the teams that submit jobs."""

    def __init__(self, client: Client, stack: Project) -> None:
        self.client, self.stack = client, stack
        self.plan = plan_of(BEFORE.read_text())
        self.agreement: Path | None = None

    def up(self, agreement: Path) -> float:
        """`pulumi up` of an agreement, and a namespace with a LocalQueue for each of its teams; the seconds of the former."""
        self.stack.set(agreement=str(agreement))
        started = time.monotonic()
        self.stack.up().ok()
        took = time.monotonic() - started
        self.agreement, self.plan = agreement, plan_of(agreement.read_text())
        there = {one.metadata.name for one in self.client.list(Namespace) if one.metadata}
        for team in (team.name for team in self.plan.teams if team.name not in there):
            self.client.create(from_dict(namespace(team, self.plan.team_label)))
            self.client.create(LocalQueue.from_dict(local_queue(team)))
        return took

    @property
    def size(self) -> int:
        """GPUs of one job: a whole node."""
        return self.plan.flavor[FLAVOR].units_per_node

    def submit(self, gpus: Mapping[str, int], name: str) -> None:
        """Jobs of a node each, for so many GPUs per team."""
        jobs = [self._job(team, f"{name}-{number}") for team, n in gpus.items() for number in range(n // self.size)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.client.create, jobs))

    def _job(self, team: str, name: str) -> Job:
        flavor = self.plan.flavor[FLAVOR]
        asks = {
            flavor.resource: str(self.size),
            "cpu": milli_text(flavor.cpu * self.size),
            "memory": bytes_text(flavor.memory * self.size),
        }
        return from_dict(job(team, name, asks))  # type: ignore[return-value]

    def used(self) -> dict[str, int]:
        """GPUs by team as Kueue accounts for them."""
        uses = kueue_uses(self.plan, by_name(objects(self.client, "ClusterQueue")))
        return {
            team.name: sum(use.total for (name, _), use in uses.items() if name == team.name)
            for team in self.plan.teams
        }

    def running(self) -> dict[str, int]:
        """GPUs by team of the pods that run."""
        pods = self.client.list(Pod, namespace="*", fields={"status.phase": "Running"})
        living = Counter(pod.metadata.namespace for pod in pods if pod.metadata and not pod.metadata.deletionTimestamp)
        return {team.name: living[team.name] * self.size for team in self.plan.teams}

    def admitted(self) -> dict[str, str]:
        """The Workloads that hold quota: uid → team."""
        return {uid: team for uid, (team, conditions) in self._workloads().items() if "Admitted" in conditions}

    def evicted(self) -> Counter[tuple[str, str]]:
        """Workloads that ever lost their quota, by team and Kueue's reason."""
        found: Counter[tuple[str, str]] = Counter()
        for team, conditions in self._workloads().values():
            if "Preempted" in conditions:
                found[team, conditions["Preempted"]] += 1
            elif "Evicted" in conditions:
                found[team, conditions["Evicted"]] += 1
        return found

    def _workloads(self) -> dict[str, tuple[str, dict[str, str]]]:
        """uid → team and, for each condition that is true or (evictions) ever was, its reason."""
        found = {}
        for one in self.client.list(Workload, namespace="*"):
            conditions = (one.get("status") or {}).get("conditions") or ()
            kept = {
                condition["type"]: condition["reason"]
                for condition in conditions
                if condition["status"] == "True" or condition["type"] in EVICTIONS
            }
            found[one.metadata.uid] = (one.metadata.namespace, kept)
        return found

    def until(self, expected: Mapping[str, int], look: Callable[[], None] = lambda: None) -> float:
        """Seconds until each team has exactly so many GPUs, by both accounts, and keeps them for a few looks."""
        started = came = time.monotonic()
        steady = 0
        while steady < STEADY:
            now = time.monotonic()
            look()
            used, running = self.used(), self.running()
            right = used == running == expected
            came = now if not right or not steady else came
            steady = steady + 1 if right else 0
            assert now - started < PATIENCE, differences(expected, used, running)
            time.sleep(EVERY)
        return came - started

    def empty(self) -> None:
        """No job, no pod, no usage."""
        for team in self.plan.teams:
            self.client.deletecollection(Job, namespace=team.name, cascade=CascadeType.BACKGROUND)
        self.until(dict.fromkeys(self.used(), 0))
        wait(lambda: not self._workloads(), "Workloads are left of Jobs that are gone")


EVICTIONS = ("Evicted", "Preempted")


def differences(expected: Mapping[str, int], used: Mapping[str, int], running: Mapping[str, int]) -> str:
    lines = [
        f"{team}: expected {expected.get(team)}, Kueue says {used.get(team)}, pods have {running.get(team)}"
        for team in used
        if not expected.get(team) == used.get(team) == running.get(team)
    ]
    return f"after {PATIENCE:.0f} s:\n" + "\n".join(lines)


def namespace(team: str, label: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team, "labels": {label: team}}}


def local_queue(team: str) -> dict[str, object]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": team},
        "spec": {"clusterQueue": team},
    }


def job(team: str, name: str, asks: Mapping[str, str]) -> dict[str, object]:
    container = {"name": "work", "image": "registry.invalid/none", "resources": {"requests": asks, "limits": asks}}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": team, "labels": {"kueue.x-k8s.io/queue-name": "default"}},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }


@pytest.fixture(scope="module")
def cluster(labs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Venus]:
    """A lab of its own with the hardware of Venus, and a stack that has not been updated yet."""
    kubeconfig = lab.up(plan_of(BEFORE.read_text()), "venus").kubeconfig
    yield Venus(connect(str(kubeconfig)), Project(tmp_path_factory.mktemp("venus"), kubeconfig))
    lab.down("venus")


@pytest.fixture
def venus(cluster: Venus) -> Venus:
    """Venus on 2020-07-20, with no job on it."""
    if cluster.agreement:
        cluster.empty()
    if cluster.agreement != BEFORE:
        cluster.up(BEFORE)
    return cluster


def test_every_queue_is_active_with_its_guarantee(venus: Venus) -> None:
    wanted = guarantees(venus.plan)
    deadline = time.monotonic() + PATIENCE
    while inactive := [one.metadata.name for one in venus.client.list(ClusterQueue) if not active(one)]:
        assert time.monotonic() < deadline, f"not Active: {inactive}"
        time.sleep(EVERY)
    assert {one.metadata.name: nominal(one) for one in venus.client.list(ClusterQueue)} == wanted
    assert sum(wanted.values()) == capacity(venus.plan)


def test_all_teams_reach_their_guarantees_at_once(venus: Venus) -> None:
    venus.submit(guarantees(venus.plan), "guaranteed")
    venus.until(guarantees(venus.plan))
    assert sum(venus.running().values()) == capacity(venus.plan)
    assert not venus.evicted()


def test_nobody_gets_less_than_its_guarantee_when_all_ask_for_more(venus: Venus) -> None:
    """First some teams sleep and the others borrow all that they lend; then they wake, and have it back."""
    wanted = guarantees(venus.plan)
    asleep = sorted(wanted, key=wanted.__getitem__)[:SLEEPERS]
    awake = {team: gpus for team, gpus in wanted.items() if team not in asleep}
    venus.submit(awake, "guaranteed")
    venus.until(wanted | dict.fromkeys(asleep, 0))
    venus.submit(dict.fromkeys(awake, EXTRA * venus.size), "extra")
    wait(lambda: sum(venus.running().values()) == capacity(venus.plan), "the others did not borrow what sleepers lend")

    def nobody_awake_has_less() -> None:
        used = venus.used()
        assert not {team: used[team] for team, gpus in awake.items() if used[team] < gpus}

    nobody_awake_has_less()
    venus.submit({team: wanted[team] + EXTRA * venus.size for team in asleep}, "woken")
    venus.until(wanted, nobody_awake_has_less)
    assert sum(venus.running().values()) == capacity(venus.plan)
    borrowed = sum(wanted[team] for team in asleep) // venus.size
    assert sum(venus.evicted().values()) == borrowed, venus.evicted()


def test_a_new_team_gets_its_guarantee_from_those_above_theirs(
    venus: Venus, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every GPU is busy and every team has a job waiting when the agreement of the next day comes."""
    before, after = guarantees(venus.plan), guarantees(plan_of(AFTER.read_text()))
    (new,) = after.keys() - before.keys()
    above = {team: before[team] - after[team] for team in before if before[team] > after[team]}
    assert sum(above.values()) == after[new]
    venus.submit(before, "guaranteed")
    venus.until(before)
    venus.submit(dict.fromkeys(before, EXTRA * venus.size), "extra")
    admitted = venus.admitted()

    up = venus.up(AFTER)
    venus.until(before | {new: 0})
    assert venus.admitted() == admitted, "the change itself started or stopped jobs"
    assert not venus.evicted()

    venus.submit({new: after[new]}, "new")
    reclaim = venus.until(after)
    assert venus.evicted() == {(team, "InCohortReclamation"): gpus // venus.size for team, gpus in above.items()}, (
        "jobs were stopped that need not have been"
    )
    with capsys.disabled():
        taken = ", ".join(f"{gpus} from {venus.plan.team[team].display_name}" for team, gpus in above.items())
        name = venus.plan.team[new].display_name
        print(f"\npulumi up: {up:.1f} s, nothing stopped. {name} asked for {after[new]} GPUs and had them after")
        print(f"{reclaim:.1f} s: {taken}.")
        terminal.show(now(venus.client, venus.plan, "kueue", timedelta(minutes=2)))


def wait(true: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, complaint
        time.sleep(EVERY)


def active(queue: Mapping[str, dict[str, list[dict[str, str]]]]) -> bool:
    conditions = (queue.get("status") or {}).get("conditions", [])
    return any(condition["type"] == "Active" and condition["status"] == "True" for condition in conditions)


def nominal(queue: Mapping[str, dict[str, list[dict[str, list[dict[str, object]]]]]]) -> int:
    """GPUs that a ClusterQueue on the cluster owns."""
    (group,) = queue["spec"]["resourceGroups"]
    resources = [one for flavor in group["flavors"] for one in flavor["resources"]]
    return sum(int(str(one["nominalQuota"])) for one in resources if one["name"] == "nvidia.com/gpu")
