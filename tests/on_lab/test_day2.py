"""Day two: what happens to a stack after it is there, on a real control plane, a real Kueue and by the real engine.

docs/day-2.md is the operator's side: what happened, what one sees, what to do. Each of its lines names the test that holds it. One
stack goes through all of it, so a test begins by asking for the agreement that it starts from (`Scene.begin`).
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from lightkube import ApiError, Client
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod
from typer.testing import CliRunner

from tenancy.cli import app
from tenancy.cluster.clients import ClusterQueue, Workload, connect
from tenancy.lab import lab, processes
from tenancy.lab.folder import Folder, LabError
from tenancy.objects import kueue

from .conftest import plan_of
from .stacks import Project, lacking
from .teams import Ask, Teams

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAME = "day2"
BASE = """
[cluster]
name = "day2"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
[departments.science]
[departments.product]
[teams.training]
guaranteed = 12
lendable = 4
[teams.research]
department = "science"
guaranteed = 8
borrowable = 8
[teams.inference]
department = "product"
guaranteed = 4
"""
RESEARCH = '[teams.research]\ndepartment = "science"\nguaranteed = 8\nborrowable = 8\n'
MORE = BASE + "".join(f"[teams.t{number}]\nguaranteed = 1\nprod = 1\n" for number in range(8))
GPUS = "/spec/resourceGroups/0/flavors/0/resources/2"
RECORDED = Path(__file__).parent / "recorded"


@dataclass
class Scene:
    """The stack, and what people and accidents do to it."""

    folder: Folder
    project: Project
    client: Client
    now: str = ""
    """The agreement that was written last, whole; empty where a test may have left another."""

    def begin(self, text: str = BASE) -> Teams:
        """The cluster holds this agreement, and nothing runs."""
        teams = Teams(self.client, plan_of(text))
        teams.settle()
        teams.clear()
        if self.now != text:
            self.project.agree(text)
            self.project.up().ok()
        self.now = ""
        return teams

    def holds(self, text: str) -> None:
        """The cluster has what the agreement makes, all of it and nothing else, and the record knows."""
        wanted = {f"{entry['kind']}/{entry['metadata']['name']}": entry for entry in kueue.objects(plan_of(text))}
        there = self.project.on_cluster()
        assert sorted(there) == sorted(wanted) == self.project.recorded()
        assert [difference for name, value in wanted.items() for difference in lacking(value, there[name], name)] == []
        self.now = text

    def patch(self, queue: str, **values: str) -> None:
        """Numbers of a queue's GPUs, by hand."""
        change = [{"op": "add", "path": f"{GPUS}/{key}", "value": value} for key, value in values.items()]
        self.project.kubectl("patch", "clusterqueue", queue, "--type=json", f"--patch={json.dumps(change)}")

    def stop(self, queue: str, policy: str) -> None:
        """docs/day-2.md: hold it, drain it, let it go on."""
        change = json.dumps({"spec": {"stopPolicy": policy}})
        self.project.kubectl("patch", "clusterqueue", queue, "--type=merge", f"--patch={change}")

    def end(self, process: str) -> None:
        processes.stop([processes.running(self.folder)[process]])

    def mend(self) -> None:
        """What a kubelet or systemd does. An API server that says it is ready may still refuse to list a kind (429)."""
        self.until(self._is_mended, "the lab does not come back")

    def _is_mended(self) -> bool:
        try:
            lab.up(plan_of(BASE), NAME)
            self.project.on_cluster()
            for kind in (Workload, Job, Pod):
                list(self.client.list(kind, namespace="*"))
            return True
        except (ApiError, httpx2.HTTPError, LabError, AssertionError):
            return False

    def until(self, true: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + 120
        while not true():
            assert time.monotonic() < deadline, complaint
            time.sleep(0.1)

    def specs(self) -> dict[str, Any]:
        return {name: value.get("spec") for name, value in self.project.on_cluster().items()}

    def uids(self) -> dict[str, str]:
        return {name: value["metadata"]["uid"] for name, value in self.project.on_cluster().items()}


@pytest.fixture(scope="module")
def scene(labs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = lab.up(plan_of(BASE), NAME)
    project = Project(tmp_path_factory.mktemp("day2"), folder.kubeconfig)
    yield Scene(folder, project, connect(str(folder.kubeconfig)))
    lab.down(NAME)


def one_line(said: str) -> str:
    return re.sub(r"\s+", " ", said)


def ask(teams: Teams, gpus: int = 4, pods: int = 1) -> Ask:
    return Ask(teams.plan.flavors[0], gpus, pods)


# --- by hand ------------------------------------------------------------------------------------------------------------


def test_a_queue_edited_by_hand_is_found_told_in_the_agreements_words_and_put_back(scene: Scene) -> None:
    scene.begin()
    scene.patch("training", nominalQuota="20", lendingLimit="6")
    scene.patch("inference", borrowingLimit="3")
    found = scene.project.preview("--refresh", "--expect-no-changes")
    assert found.code != 0, found.said
    for words in (
        "training: guaranteed 12 → 20 GPUs (ClusterQueue/training, by kubectl-patch, ",
        "training: lendable 4 → 6 GPUs (ClusterQueue/training, by kubectl-patch, ",
        "inference: borrowable no limit → 3 GPUs (ClusterQueue/inference, by kubectl-patch, ",
    ):
        assert words in found.said
    told = scene.project.up().ok().said
    assert "training: guaranteed 12 → 20 GPUs" in told
    scene.holds(BASE)
    assert "by hand" not in scene.project.preview("--refresh", "--expect-no-changes").ok().said


def test_fields_that_another_manager_took_are_told_with_its_name_and_taken_back(scene: Scene) -> None:
    scene.begin()
    (theirs,) = [entry for entry in kueue.objects(plan_of(BASE)) if entry["metadata"]["name"] == "training"]
    theirs["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]["nominalQuota"] = "2"
    theirs["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]["lendingLimit"] = "2"
    theirs["metadata"]["labels"]["their"] = "mark"
    apply = ("apply", "--server-side", "--field-manager=their-tool", "--filename=-")
    with pytest.raises(AssertionError, match='conflict with "tenancy"'):
        scene.project.kubectl(*apply, given=json.dumps(theirs))
    scene.project.kubectl(*apply, "--force-conflicts", given=json.dumps(theirs))
    told = scene.project.up().ok().said
    assert "training: guaranteed 12 → 2 GPUs (ClusterQueue/training, by their-tool, " in told
    scene.holds(BASE)
    assert owners(scene, "ClusterQueue/training", "resourceGroups") == {"tenancy"}
    assert scene.project.on_cluster()["ClusterQueue/training"]["metadata"]["labels"]["their"] == "mark"


def owners(scene: Scene, name: str, field: str) -> set[str]:
    """Who owns a field of a spec."""
    kind, _, of = name.partition("/")
    text = scene.project.kubectl("get", kind, of, "--output=json", "--show-managed-fields")
    entries = json.loads(text)["metadata"]["managedFields"]
    return {entry["manager"] for entry in entries if f"f:{field}" in entry["fieldsV1"].get("f:spec", {})}


# --- what fails during an update ----------------------------------------------------------------------------------------


def test_an_api_server_that_restarts_during_an_update(scene: Scene) -> None:
    """Whatever the update had written, the next one makes it whole."""
    scene.begin()
    scene.project.agree(MORE)
    with scene.project.start_up() as update:
        scene.until(lambda: len(list(scene.client.list(ClusterQueue))) > 4, "no queue was made")
        with frozen(update):  # so that it has writes left when the server is gone
            scene.end("kube-apiserver")
        code = update.wait()
    scene.mend()
    said = scene.project.log.read_text()
    assert code != 0 and re.search("connection refused|connection reset|EOF|initializing", said), said
    scene.project.up().ok()
    scene.holds(MORE)


@contextmanager
def frozen(update: subprocess.Popen[bytes]) -> Iterator[None]:
    """An update that does nothing for a moment, and neither do its language host and its provider."""
    process = psutil.Process(update.pid)
    family = [process, *process.children(recursive=True)]
    for one in family:
        one.suspend()
    try:
        yield
    finally:
        for one in family:
            one.resume()


def test_two_updates_at_once(scene: Scene) -> None:
    """The second is refused by the stack's lock, which says whose it is, and the first ends as if alone."""
    scene.begin(MORE)
    scene.project.agree(BASE)
    with scene.project.start_up() as first:
        locks = scene.project.folder / "state" / ".pulumi" / "locks"
        scene.until(lambda: bool(list(locks.rglob("*.json"))), "there is no lock")
        process = psutil.Process(first.pid)
        process.suspend()  # so that it is still there when the second one comes
        try:
            second = scene.project.up()
        finally:
            process.resume()
        code = first.wait()
    assert second.code != 0 and "the stack is currently locked by 1 lock(s)" in second.said, second.said
    assert code == 0, scene.project.log.read_text()
    scene.holds(BASE)


def test_kueue_that_is_down_during_an_update(scene: Scene) -> None:
    """Its webhooks refuse every write, in a sentence that names them; nothing is lost, and the next update makes it whole."""
    scene.begin()
    changed = BASE.replace("guaranteed = 12", "guaranteed = 10") + "[teams.new]\nguaranteed = 2\n"
    scene.project.agree(changed)
    scene.end("kueue")
    before = scene.specs()
    for command in (scene.project.preview, scene.project.up):
        refused = command()
        assert refused.code != 0
        assert 'failed calling webhook "vclusterqueue.kb.io"' in refused.said and "connection refused" in refused.said
    assert scene.specs() == before
    scene.mend()
    scene.project.up().ok()
    scene.holds(changed)


# --- changes of the agreement while jobs run ------------------------------------------------------------------------------


def test_a_quota_below_what_is_used_and_another_department_stop_nobody(scene: Scene, tmp_path: Path) -> None:
    teams = scene.begin()
    for name in ("one", "two"):
        teams.submit("research", name, ask(teams))
        teams.runs(f"research/{name}")
    before = scene.uids()
    becomes = BASE.replace(RESEARCH, '[teams.research]\ndepartment = "product"\nguaranteed = 4\nborrowable = 0\n')
    (tmp_path / "old.toml").write_text(BASE)
    (tmp_path / "new.toml").write_text(becomes)
    asked = ["diff", str(tmp_path / "old.toml"), str(tmp_path / "new.toml"), "--fail-on", "above"]
    prediction = CliRunner().invoke(app, [*asked, "--kubeconfig", str(scene.folder.kubeconfig)])
    assert prediction.exit_code == 1
    assert "research uses 8 GPUs, 4 above its new guarantee of 4" in one_line(prediction.stdout)
    scene.project.agree(becomes)
    scene.project.up().ok()
    scene.holds(becomes)
    assert scene.uids() == before, "no queue was made anew"
    teams.submit("research", "three", ask(teams, 1))
    teams.waits("research/three", "insufficient")
    assert teams.preempted() == {}
    assert sorted(teams.pods()) == ["research/one", "research/two"]


def test_a_team_that_goes_with_its_jobs_running(scene: Scene) -> None:
    """Said before; an update waits so long and no longer; held, drained, gone."""
    scene.project.set(timeout="10s")
    scene.now = ""  # the record of each object has the timeout of its last update
    teams = scene.begin()
    for name in ("one", "two"):
        teams.submit("research", name, ask(teams))
        teams.runs(f"research/{name}")
    without = BASE.replace(RESEARCH, "")
    scene.project.agree(without)
    scene.until(lambda: reserving(scene, "research") == 2, "Kueue does not count them")
    told = one_line(scene.project.preview().ok().said)
    assert "research leaves the agreement, and 2 of its jobs run, on 8 GPUs: they keep running" in told
    assert "`pulumi up` waits 10s for that" in told
    failed = scene.project.up()
    assert failed.code != 0
    assert "research leaves the agreement, and 2 of its jobs run" in one_line(failed.said)
    assert "timed out" in failed.said
    assert sorted(teams.pods()) == ["research/one", "research/two"]
    teams.submit("research", "three", ask(teams, 1))
    teams.waits("research/three", "ClusterQueue research is inactive")

    scene.stop("research", "HoldAndDrain")
    teams.until(lambda: not teams.pods(), lambda: f"they run on: {teams.pods()}")
    scene.project.set(timeout="2m")
    scene.project.up().ok()
    scene.holds(without)


def test_a_team_that_is_held_and_drained_goes_at_once(scene: Scene) -> None:
    """The order that docs/day-2.md advises: no update waits for anybody."""
    teams = scene.begin()
    teams.submit("research", "one", ask(teams))
    teams.runs("research/one")
    scene.stop("research", "Hold")
    teams.submit("research", "two", ask(teams))
    teams.waits("research/two", "ClusterQueue research is inactive")
    assert "ClusterQueue/research: somebody has stopped this queue (stopPolicy Hold)" in scene.project.up().ok().said
    assert list(teams.pods()) == ["research/one"]
    scene.stop("research", "HoldAndDrain")
    scene.until(lambda: reserving(scene, "research") == 0, "Kueue does not drain it")
    without = BASE.replace(RESEARCH, "")
    scene.project.agree(without)
    told = scene.project.up().ok().said
    assert "leaves the agreement" not in told
    scene.holds(without)


def reserving(scene: Scene, queue: str) -> int:
    return int(scene.project.on_cluster()[f"ClusterQueue/{queue}"]["status"].get("reservingWorkloads", 0))


def test_a_flavor_with_another_name_forgets_the_jobs_that_run_on_it(scene: Scene) -> None:
    """No queue is made anew and nothing is stopped, but what runs is counted nowhere: that is said before."""
    teams = scene.begin()
    teams.submit("training", "one", ask(teams))
    teams.runs("training/one")
    scene.until(lambda: reserving(scene, "training") == 1, "Kueue does not count it")
    before = scene.uids()
    renamed = BASE.replace("[flavors.gpu]", '[flavors.h100]\nnode_labels = { "tenancy.dev/flavor" = "gpu" }')
    scene.project.agree(renamed)
    told = one_line(scene.project.up().ok().said)
    assert (
        "flavor gpu leaves the agreement, and jobs use 4 nvidia.com/gpu of it: they keep running and no queue counts"
        in told
    )
    scene.holds(renamed)
    assert {name for name, uid in scene.uids().items() if before.get(name) != uid} == {"ResourceFlavor/h100"}
    after = Teams(scene.client, plan_of(renamed))
    after.submit("training", "two", ask(after, 4, 3))  # all that is guaranteed, beside what runs
    after.until(lambda: "training/two" in after.flavors(), lambda: after.said("training/two"))
    assert after.flavors() == {"training/one": "gpu", "training/two": "h100"}
    assert after.preempted() == {}


# --- a release ------------------------------------------------------------------------------------------------------------


def test_the_record_of_the_release_before_is_taken_over_without_a_replacement(scene: Scene, tmp_path: Path) -> None:
    """`recorded/` has what an earlier commit of this program left: the state, and in it all that it wrote."""
    state = json.loads((RECORDED / "308756b.json").read_text().replace("KUBECONFIG", str(scene.folder.kubeconfig)))
    objects = [
        resource["outputs"]["__inputs"]
        for resource in state["deployment"]["resources"]
        if "__inputs" in resource.get("outputs", {})
    ]
    Teams(scene.client, plan_of(BASE)).clear()
    scene.project.wipe()
    scene.now = ""
    apply(scene, [entry for entry in objects if entry["kind"] == "Namespace"])
    apply(scene, [entry for entry in objects if entry["kind"] != "Namespace"])
    project = Project(tmp_path, scene.folder.kubeconfig)
    project.agree((RECORDED / "308756b.toml").read_text())
    (tmp_path / "state.json").write_text(json.dumps(state))
    project.pulumi("stack", "import", "--file", "state.json").ok()
    preview = json.loads(project.pulumi("preview", "--json").ok().said)
    done = preview["changeSummary"]
    assert set(done) <= {"same", "update"}
    assert sum(done.values()) == len(state["deployment"]["resources"]) - 1  # all but the engine's own provider
    project.up().ok()
    project.preview("--refresh", "--expect-no-changes").ok()


def apply(scene: Scene, objects: list[Any]) -> None:
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    scene.project.kubectl("apply", "--server-side", "--field-manager=tenancy", "--filename=-", given=manifest)
