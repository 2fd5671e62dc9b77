"""`tenancy status` on a real Kueue and a real KAI: who borrows of whom, who waits, who was stopped, what is short."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Node
from lightkube.types import CascadeType, PatchType
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from tenancy.agreement.plan import Plan
from tenancy.cli import app
from tenancy.cluster.clients import ClusterQueue, LocalQueue
from tenancy.lab.folder import Folder

from .conftest import AGREEMENT
from .kai_jobs import Jobs
from .teams import Ask, Teams

Team = dict[str, Any]
QUOTA = "/spec/resourceGroups/0/flavors/0/resources/2/nominalQuota"
PATIENCE = 60.0
# A shell's background jobs ignore Ctrl-C, and so does what pytest starts when it is one.
HEEDS = "import signal, tenancy.cli; signal.signal(signal.SIGINT, signal.default_int_handler); tenancy.cli.main()"


class Status:
    """The command, on the shared lab."""

    def __init__(self, shared: Folder, folder: Path, scheduler: str) -> None:
        (folder / "tenancy.toml").write_text(AGREEMENT)
        self.arguments = ["status", str(folder / "tenancy.toml"), "--kubeconfig", str(shared.kubeconfig)]
        self.arguments += ["--scheduler", scheduler]

    def __call__(self, *more: str) -> tuple[int, str]:
        done = CliRunner(env={"COLUMNS": "160"}).invoke(app, [*self.arguments, *more], catch_exceptions=False)
        return done.exit_code, done.stdout

    def teams(self, *more: str) -> dict[str, Team]:
        """In the order in which they are shown."""
        return {team["team"]: team for team in json.loads(self("--json", *more)[1])["teams"]}

    def until(self, so: Callable[[dict[str, Team]], bool]) -> dict[str, Team]:
        deadline = time.monotonic() + PATIENCE
        while not so(found := self.teams()):
            assert time.monotonic() < deadline, found
        return found


@contextmanager
def nothing_left(client: Client, plan: Plan) -> Iterator[None]:
    try:
        yield
    finally:
        for name in plan.team:
            client.deletecollection(Job, namespace=name, cascade=CascadeType.BACKGROUND)
            client.deletecollection(LocalQueue, namespace=name)
        Teams(client, plan).clear()
        for name in plan.team:
            client.delete(Namespace, name)
        Teams(client, plan).until(
            lambda: not {namespace.metadata.name for namespace in client.list(Namespace)} & plan.team.keys(),
            lambda: "namespaces stay",
        )


@contextmanager
def patched(client: Client, queue: str, path: str, value: str, back: str) -> Iterator[None]:
    def patch(to: str) -> None:
        client.patch(ClusterQueue, queue, [{"op": "add", "path": path, "value": to}], patch_type=PatchType.JSON)

    patch(value)
    try:
        yield
    finally:
        patch(back)


def loans(parts: list[dict[str, Any]]) -> list[tuple[str, int, bool]]:
    return [(part["team"], part["units"], part["about"]) for part in parts]


def waiting(found: dict[str, Team]) -> int:
    return int(found["research"]["waiting"]["jobs"])


def evicted(found: dict[str, Team]) -> int:
    return sum(eviction["times"] for eviction in found["research"]["evictions"])


def short(team: Team) -> list[str]:
    return [entry["kind"] for entry in team["short"]]


@pytest.mark.slow
def test_what_happens_on_kueue_is_what_is_shown(shared: Folder, client: Client, plan: Plan, tmp_path: Path) -> None:
    status, teams, gpu = Status(shared, tmp_path, "kueue"), Teams(client, plan), plan.flavors[0]
    with nothing_left(client, plan):
        teams.settle()
        # research takes its 8 and the 8 that training lends; one job more waits.
        for number in range(5):
            teams.submit("research", f"job-{number}", Ask(gpu, 4))
        found = status.until(
            lambda entry: entry["research"]["used"] == 16 and entry["research"]["waiting"]["jobs"] == 1
        )
        research, training = found["research"], found["training"]
        assert loans(research["borrowed_from"]) == [("training", 8, False)]
        assert loans(training["lent_to"]) == [("research", 8, False)] and training["attention"] == "quiet"
        assert (research["attention"], research["waiting"]["units"], research["short"]) == ("waiting", 4, [])
        assert status("--fail-on", "short")[0] == 0 and status("--fail-on", "waiting")[0] == 1
        assert (
            "waits " in (out := status("--team", "research")[1])
            and "insufficient unused quota for nvidia.com/gpu" in out
        )

        # training comes back for all of its 16.
        for number in range(4):
            teams.submit("training", f"job-{number}", Ask(gpu, 4))
        found = status.until(
            lambda entry: (entry["training"]["used"], entry["research"]["used"]) == (16, 8) and waiting(entry) == 3
        )
        research = found["research"]
        assert (research["used"], research["lent"], research["borrowed"], research["attention"]) == (8, 0, 0, "evicted")
        assert evicted(found) == 2 and not found["training"]["evictions"]
        assert {eviction["why"] for eviction in research["evictions"]} == {"taken back by its owner"}
        for name in {eviction["job"].removeprefix("research/") for eviction in research["evictions"]}:
            client.delete(Job, name, namespace="research", cascade=CascadeType.BACKGROUND)
        # Of jobs that are gone events tell.
        status.until(lambda entry: (waiting(entry), evicted(entry)) == (1, 2))

        # A queue that somebody stopped, and then one that somebody changed: a job within the guarantee waits.
        with patched(client, "inference", "/spec/stopPolicy", "Hold", "None"):
            teams.submit("inference", "job", Ask(gpu, 8))
            found = status.until(lambda entry: entry["inference"]["waiting"]["jobs"] == 1)
            assert next(iter(found)) == "inference" and short(found["inference"]) == ["stopped"]
            code, out = status("--fail-on", "short")
            assert (
                code == 1
                and "VIOLATED inference: ClusterQueue/inference is stopped (Hold): its jobs do not start" in out
            )
            teams.submit("inference", "other", Ask(gpu, 1))
            client.delete(Job, "job", namespace="inference", cascade=CascadeType.BACKGROUND)
        teams.until(lambda: "inference/other" in teams.flavors(), lambda: teams.said("inference/other"))
        with patched(client, "inference", QUOTA, "1", "8"):
            teams.submit("inference", "job", Ask(gpu, 4))
            found = status.until(
                lambda entry: entry["inference"]["used"] == entry["inference"]["waiting"]["within_guarantee"] == 1
            )
            assert short(found["inference"]) == ["changed"]
            code, out = status("--reclaim", "0", "--fail-on", "short")
            assert code == 1 and "not as agreed: gpu nvidia.com/gpu nominalQuota 1 instead of 8" in out
            assert "1 job within the guarantee waits (1 of 8 in use), inference/job for " in out

        # A node that takes no jobs.
        client.patch(Node, "gpu-0", {"spec": {"unschedulable": True}})
        try:
            out = status("--prometheus")[1]
        finally:
            client.patch(Node, "gpu-0", {"spec": {"unschedulable": None}})
        families = {family.name: family for family in text_string_to_metric_families(out)}
        (nodes,) = families["tenancy_promise_short"].samples
        assert (nodes.labels["kind"], nodes.labels["flavor"], nodes.labels["team"]) == ("nodes", "gpu", "")
        used = {sample.labels["team"]: sample.value for sample in families["tenancy_used"].samples}
        assert used["training"] == 16 and families["tenancy_usable"].samples[0].value == 24


@pytest.mark.slow
def test_what_happens_on_kai_is_what_is_shown(shared: Folder, client: Client, plan: Plan, tmp_path: Path) -> None:
    """The queue of what training never lends stays empty: it has 6 of its 16, and lends 2 of the 8 that it would."""
    status, jobs = Status(shared, tmp_path, "kai"), Jobs(client, plan)
    with nothing_left(client, plan):
        jobs.begin()
        jobs.submit("borrows", "research", "gpu", 18, 1)
        found = status.until(
            lambda entry: entry["research"]["used"] == 16 and entry["research"]["waiting"]["jobs"] == 2
        )
        assert loans(found["research"]["borrowed_from"]) == [("training", 8, False)]
        assert "Limit is 16 GPUs" in status("--team", "research")[1]
        jobs.submit("owner", "training", "gpu", 6, 1)
        found = status.until(
            lambda entry: (entry["training"]["used"], entry["research"]["used"], evicted(entry)) == (6, 10, 6)
        )
        assert {eviction["why"] for eviction in found["research"]["evictions"]} == {"taken back by its owner"}
        assert loans(found["training"]["lent_to"]) == [("research", 2, False)]
        assert found["research"]["attention"] == "evicted"


def test_watch_tells_each_change_until_it_is_stopped(
    shared: Folder, client: Client, plan: Plan, tmp_path: Path
) -> None:
    status = Status(shared, tmp_path, "kueue")
    command = [sys.executable, "-c", HEEDS, *status.arguments, "--watch", "--every", "0.5"]
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watch.stdout and watch.stderr
    try:
        assert "no promise violated" in watch.stdout.readline()
        with patched(client, "research", "/spec/stopPolicy", "Hold", "None"):
            while "VIOLATED research: ClusterQueue/research is stopped (Hold)" not in (line := watch.stdout.readline()):
                assert line
        while "no longer violated (stopped): research" not in (line := watch.stdout.readline()):
            assert line
    finally:
        watch.send_signal(signal.SIGINT)
        try:
            watch.wait(PATIENCE)
        finally:
            watch.kill()
    assert watch.returncode == 0 and "Traceback" not in watch.stderr.read()
