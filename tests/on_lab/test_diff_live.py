"""`tenancy diff` beside what runs: what it foretells of a change is what a real Kueue and a real KAI then do.

For each change: what runs is read, the change is written, nothing may be stopped by it, and then the owner asks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from lightkube import Client
from lightkube.resources.batch_v1 import Job as BatchJob
from lightkube.resources.core_v1 import Namespace
from lightkube.types import CascadeType
from typer.testing import CliRunner

from tenancy.agreement.plan import Plan
from tenancy.cli import app
from tenancy.cluster.clients import KaiQueue, LocalQueue, connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply, kubectl
from tenancy.objects import kai, kueue
from tenancy.objects.schedulers import Scheduler
from tenancy.review.diff import LiveImpact, running
from tenancy.review.diff.live_impact import live_impact

from .conftest import plan_of
from .kai_jobs import Jobs
from .stacks import KINDS
from .teams import Ask, Teams

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAME = "difflive"
EACH = 4  # GPUs of a job
STEADY = 8  # looks, EVERY seconds apart, in which nothing may change
EVERY = 0.25

# 32 GPUs, all guaranteed and all lent.
BEFORE = """
[cluster]
name = "difflive"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
[priorities]
low = 1
high = 10
[departments.d]
[teams.a]
guaranteed = 4
[teams.b]
department = "d"
guaranteed = 8
[teams.c]
guaranteed = 20
"""
GIVES = BEFORE.replace("[teams.a]\nguaranteed = 4", "[teams.a]\nguaranteed = 16").replace("20", "8")
CHANGES = {
    "from one who gives and one who borrows": GIVES,
    "to a prod slice and the rest": GIVES.replace("guaranteed = 16", "guaranteed = 16\nprod = 8"),
    "with a queue that moves": GIVES.replace('department = "d"\n', ""),
    "from a team that gains prod": GIVES.replace("guaranteed = 8", "guaranteed = 8\nprod = 4"),
}


@dataclass(frozen=True)
class Scene:
    kubeconfig: Path
    client: Client

    def agree(self, text: str) -> Teams:
        plan = plan_of(text)
        apply(self.kubeconfig, kueue.objects(plan))
        teams = Teams(self.client, plan)
        teams.settle()
        for team in plan.teams:
            if team.has_prod:  # of a team that was there without it
                spec = {
                    "metadata": {"name": "prod", "namespace": team.name},
                    "spec": {"clusterQueue": f"{team.name}-prod"},
                }
                self.client.apply(LocalQueue.from_dict(spec), field_manager="test", force=True)
        return teams

    def now(self, old: Plan, new: Plan, scheduler: Scheduler = Scheduler.KUEUE) -> LiveImpact:
        read = running.read(self.client, old, new, scheduler)
        return live_impact(old, new, scheduler, read.jobs, read.unlike, read.already)

    def diff(self, *arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(
            app, ["diff", *arguments, "--kubeconfig", str(self.kubeconfig)], catch_exceptions=False
        )
        return done.exit_code, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def lab_of_ours(labs: Path) -> Iterator[Scene]:
    kubeconfig = lab.up(plan_of(BEFORE), NAME, ("kai",)).kubeconfig
    yield Scene(kubeconfig, connect(str(kubeconfig)))
    lab.down(NAME)


@pytest.fixture
def scene(lab_of_ours: Scene) -> Iterator[Scene]:
    our = lab_of_ours
    yield our
    for space in our.client.list(Namespace, labels={"tenancy.dev/team": None}):
        name = str(space.metadata.name) if space.metadata else ""
        our.client.deletecollection(BatchJob, namespace=name, cascade=CascadeType.BACKGROUND)
        our.client.deletecollection(LocalQueue, namespace=name)
    Teams(our.client, plan_of(BEFORE)).until(
        lambda: not list(our.client.list(LocalQueue, namespace="*")), lambda: "left"
    )
    for kind in (*reversed(KINDS), "queues"):
        kubectl(our.kubeconfig, "delete", kind, "--all", "--wait=true")
    for space in our.client.list(Namespace, labels={"tenancy.dev/team": None}):
        our.client.delete(Namespace, str(space.metadata.name) if space.metadata else "")
    Teams(our.client, plan_of(BEFORE)).until(
        lambda: not list(our.client.list(Namespace, labels={"tenancy.dev/team": None})), lambda: "namespaces stay"
    )


def fill(teams: Teams) -> list[str]:
    """Every GPU in use: c within its guarantee, b above its own; each job has started before the next comes."""
    wanted = [
        ("c", "low"),
        ("b", "high"),
        ("c", "high"),
        ("b", "low"),
        ("c", "high"),
        ("b", "high"),
        ("c", "low"),
        ("b", "low"),
    ]
    names = []
    for number, (team, priority) in enumerate(wanted):
        teams.submit(team, f"job-{number}", replace(ask(teams), priority=priority))
        teams.runs(f"{team}/job-{number}")
        names.append(f"{team}/job-{number}")
    return names


def ask(teams: Teams, gpus: int = EACH) -> Ask:
    """Pods of EACH, as many as it takes; all of them start, or none. Each fits where one of another job was."""
    return Ask(teams.plan.flavors[0], EACH, gpus // EACH)


def stays(teams: Teams, jobs: list[str]) -> None:
    """Nothing is stopped, look after look."""
    for _ in range(STEADY):
        assert teams.preempted() == {}
        assert sorted(teams.pods()) == sorted(jobs)
        time.sleep(EVERY)


@pytest.mark.parametrize("change", CHANGES)
def test_who_would_be_stopped_is_who_is_stopped_when_the_owner_asks(scene: Scene, tmp_path: Path, change: str) -> None:
    teams = scene.agree(BEFORE)
    jobs = fill(teams)
    old, new = teams.plan, plan_of(CHANGES[change])
    prediction = scene.now(old, new)
    assert not prediction.unlike and prediction.running == len(jobs)
    (tmp_path / "old.toml").write_text(BEFORE)
    (tmp_path / "new.toml").write_text(CHANGES[change])
    code, said = scene.diff(str(tmp_path / "old.toml"), str(tmp_path / "new.toml"), "--fail-on", "above")
    assert code == 1 and "c uses 16 GPUs, 8 above its new guarantee of 8" in said

    after = scene.agree(CHANGES[change])
    after.until(lambda: not scene.now(new, new).unlike, lambda: "the change is not written")
    assert scene.now(old, new).already
    stays(teams, jobs)

    for entry in scene.now(old, new).asks:  # one after the other: what each preempts is predicted from what runs then
        (now,) = [one for one in scene.now(old, new).asks if (one.team, one.prod) == (entry.team, entry.prod)]
        assert now.preempted and now.starts
        before = set(after.preempted())
        name, wanted = f"asks-{'prod' if entry.prod else 'regular'}", ask(after, now.amount)
        after.submit("a", name, wanted, "prod" if entry.prod else "default")
        after.runs(f"a/{name}", wanted.pods)
        assert set(after.preempted()) - before == set(map(str, now.preempted))
    first = prediction.asks[0]
    assert set(map(str, first.preempted or ())) <= set(after.preempted())


def test_a_team_that_goes_keeps_its_jobs_and_its_quota_until_they_end(scene: Scene) -> None:
    """c goes with 16 GPUs in use, and a is given them: Kueue admits a's job beside c's, beyond the nodes, and stops nobody."""
    teams = scene.agree(BEFORE)
    jobs = fill(teams)
    text = BEFORE.partition("[teams.c]")[0].replace("[teams.a]\nguaranteed = 4", "[teams.a]\nguaranteed = 24")
    found = scene.now(teams.plan, plan_of(text))
    theirs = [job for job in jobs if job.startswith("c/")]
    assert sorted(map(str, found.leaving)) == sorted(theirs)
    (asks,) = found.asks
    assert asks.preempted is None and asks.leaving == ("c",)
    kubectl(scene.kubeconfig, "delete", "clusterqueue", "c", "--wait=false")
    scene.agree(text)
    stays(teams, jobs)

    teams.submit("a", "asks", ask(teams, 16))
    teams.until(lambda: "a/asks" in teams.flavors(), lambda: teams.said("a/asks"))
    stays(teams, jobs)
    scene.client.deletecollection(BatchJob, namespace="c", cascade=CascadeType.BACKGROUND)
    teams.runs("a/asks", 4)
    assert teams.preempted() == {}
    teams.clear()


def test_what_runs_on_kai_is_read_and_not_stopped_by_the_change(scene: Scene, tmp_path: Path) -> None:
    old, new = plan_of(BEFORE), plan_of(GIVES)
    apply(scene.kubeconfig, kai.objects(old))
    jobs = Jobs(scene.client, old)
    jobs.begin()
    jobs.submit("fills", "c", "gpu", 8, EACH)
    jobs.runs(fills=8)
    found = scene.now(old, new, Scheduler.KAI)
    (above,) = [above for above in found.above if above.by_change]
    assert (above.team, above.used, above.guaranteed, len(above.jobs)) == ("c", 32, 8, 6)
    assert not found.unlike and found.asks[0].preempted is None
    (tmp_path / "old.toml").write_text(BEFORE)
    (tmp_path / "new.toml").write_text(GIVES)
    _, said = scene.diff(str(tmp_path / "old.toml"), str(tmp_path / "new.toml"), "--scheduler", "kai")
    assert "c uses 32 GPUs, 24 above its new guarantee of 8" in said and "so nothing is predicted here" in said

    pods = jobs.names("fills")
    apply(scene.kubeconfig, kai.objects(new))
    assert {queue.metadata.name for queue in scene.client.list(KaiQueue) if queue.metadata} >= {"a", "b", "c"}
    for _ in range(STEADY):
        assert jobs.names("fills") == pods
        time.sleep(EVERY)
    jobs.submit("asks", "a", "gpu", 4, EACH)
    jobs.runs(fills=4, asks=4)
