"""The parts of the lab that need no cluster: where a lab lives, webhooks by URL, the commands' words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from samples import LAB, ONE_FLAVOR, PRODUCTION, plan

from tenancy.lab import cluster, controllers, controlplane, webhooks
from tenancy.lab.folder import FOLDER_VARIABLE, Folder, LabError, State, folder, known, root, tail


def test_a_lab_lives_in_its_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "deep" / "er").mkdir(parents=True)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path / "project" / "deep" / "er")
    assert root() == tmp_path / "project" / ".lab"
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "elsewhere"))
    assert folder("one").path == tmp_path / "elsewhere" / "one"


@pytest.mark.parametrize("name", ["", "../up", "Lab", "a" * 41, "-a", "a/b"])
def test_a_name_that_no_lab_can_have(name: str) -> None:
    with pytest.raises(LabError, match="cannot be a lab's name"):
        folder(name)


def test_removing_leaves_other_folders_alone(tmp_path: Path) -> None:
    mine, foreign = Folder("mine", tmp_path / "labs" / "mine"), Folder("foreign", tmp_path / "labs" / "foreign")
    foreign.path.mkdir(parents=True)
    (foreign.path / "thesis.txt").write_text("mine")
    mine.make(State("lab"))
    assert mine.state() == State("lab")
    mine.remove()
    foreign.remove()
    assert not mine.path.exists() and (foreign.path / "thesis.txt").exists()
    foreign.path.rename(tmp_path / "rescued")
    mine.make(State("lab"))
    mine.remove()
    assert not (tmp_path / "labs").exists()


def test_a_damaged_state_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    result = folder("one")
    result.make(State("lab"))
    (result.path / "lab.json").write_text("{")
    assert [one.name for one in known()] == ["one"]
    with pytest.raises(LabError, match=r"lab\.json cannot be read"):
        result.state()


def test_the_end_of_a_log_is_short_whatever_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\xff" * 5000 + b"\nlast\n" * 100)
    shown = tail(tmp_path / "log")
    assert shown.endswith("  last") and len(shown) < 8000
    assert "there is no" in tail(tmp_path / "missing")


def test_webhooks_are_called_by_url_and_trusted_by_themselves() -> None:
    pair = webhooks.certificate("a.b.svc")
    service = {"service": {"name": "webhook", "namespace": "x", "path": "/convert"}}
    given: list[dict[str, Any]] = [
        {"kind": "Deployment"},
        {"kind": "ValidatingWebhookConfiguration", "webhooks": [{"clientConfig": {"service": {"path": "/validate"}}}]},
        {"kind": "CustomResourceDefinition", "spec": {"conversion": {"webhook": {"clientConfig": service}}}},
        {"kind": "CustomResourceDefinition", "spec": {}},
    ]
    configuration, converted, plain = webhooks.beside_the_cluster(given, 21000, pair, frozenset({"Deployment"}))
    called = configuration["webhooks"][0]["clientConfig"]
    assert called == {"url": "https://127.0.0.1:21000/validate", "caBundle": pair.bundle}
    assert converted["spec"]["conversion"]["webhook"]["clientConfig"]["url"] == "https://127.0.0.1:21000/convert"
    assert plain["spec"] == {}
    assert b"BEGIN RSA PRIVATE KEY" in pair.key


def test_the_control_plane_is_told_to_stay_on_loopback() -> None:
    ports = dict.fromkeys(controlplane.PORTS.values(), 1)
    programs = dict.fromkeys(controlplane.PROGRAMS.values(), Path("/bin/true"))
    assert controlplane.configuration(ports, programs)["options"]["bindAddress"] == "127.0.0.1"


def test_a_rows_texts_name_only_ports_that_it_has() -> None:
    for row in (
        controller.on(plan(text))
        for controller in controllers.CONTROLLERS.values()
        for text in (LAB, PRODUCTION.read_text())
    ):
        values = {"folder": "", "kubeconfig": "", **dict.fromkeys(row.ports, 1)}
        used = "".join(
            text.format_map(values)
            for process in row.processes
            for text in (*process.arguments, *process.environment.values(), process.ready)
        )
        assert "{" not in used


def test_kai_has_a_scheduler_for_each_node_pool_and_one_for_all_where_there_are_none() -> None:
    row = controllers.CONTROLLERS["kai"]
    (only,) = (process for process in row.on(plan(LAB)).processes if process not in row.processes)
    assert only.name == only.runs == "kai-scheduler" and not [
        argument for argument in only.arguments if "pool" in argument
    ]
    dotted = plan(ONE_FLAVOR + '[flavors."hgx.h100"]\nnodes = 1\ngpus_per_node = 8\n')
    made = {process.name: process for process in row.on(dotted).processes if process not in row.processes}
    assert len(made) == len(dotted.flavors) and {process.runs for process in made.values()} == {"kai-scheduler"}
    of_one = made["kai-scheduler-hgx_h100"].arguments  # a `.` in a port's name would be a field of it
    assert of_one[-2:] == ("--nodepool-label-key=kai.scheduler/node-pool", "--partition-label-value=hgx.h100")


def test_a_definition_without_conditions_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl wait` says so at once where the API server has written no condition yet."""
    said = ["error: .status.conditions accessor error: <nil> is of the type <nil>, expected []interface{}", ""]
    asked = []

    def kubectl(kubeconfig: Path, verb: str, *arguments: str, given: str | None = None) -> str:
        asked.append(verb)
        if verb == "wait" and (error := said.pop(0)):
            raise LabError(f"kubectl wait failed: {error}")
        return ""

    monkeypatch.setattr(cluster, "kubectl", kubectl)
    cluster.apply(Path("kubeconfig"), [{"kind": "CustomResourceDefinition", "metadata": {"name": "jobsets.x"}}])
    assert asked == ["apply", "wait", "wait"]


def test_a_row_comes_after_those_that_it_needs() -> None:
    assert [row.name for row in controllers.chosen(["trainer", "kai"])] == ["kueue", "jobset", "trainer", "kai"]


def test_an_only_program_that_the_user_brings_goes_by_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANCY_CONTROLLERS", str(tmp_path))
    row = controllers.CONTROLLERS["namespace-configuration-operator"]
    with pytest.raises(LabError, match="has no program namespace-configuration-operator/bin/namespace-conf"):
        controllers.given_folder(row)
    manager = tmp_path / row.name / "bin" / "manager"
    manager.parent.mkdir(parents=True)
    manager.write_text("#!/bin/sh\n")
    manager.chmod(0o755)
    folder = controllers.given_folder(row)
    assert folder and controllers.given_program(folder, row, row.processes[0]) == manager


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["lab", "status", "--name", "nowhere"], 1, "there is no lab nowhere"),
        (["lab", "down", "--name", "nowhere"], 0, "there is no lab nowhere"),
        (["lab", "down", "--name", "../x"], 1, "cannot be a lab's name"),
        (["lab", "up", "missing.toml"], 2, "missing.toml"),
        (["status", "AGREEMENT", "--lab", "nowhere"], 2, "there is no lab nowhere"),
        (["status", "AGREEMENT", "--kubeconfig", "/nowhere"], 2, "there is no kubeconfig at /nowhere"),
        (["status", "AGREEMENT", "--scheduler", "slurm"], 2, "choose kueue or kai"),
        (["lab", "up", "AGREEMENT", "--on", "moon"], 2, "there are kwok and kind"),
    ],
)
def test_what_a_person_can_do_wrong_is_a_sentence(tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    (tmp_path / "AGREEMENT").write_text(LAB)
    done = subprocess.run(
        [sys.executable, "-m", "tenancy", *arguments],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert says in done.stdout + done.stderr


def test_commands_without_a_cluster_import_no_cluster_client() -> None:
    heavy = "[m for m in ('lightkube', 'httpx2', 'psutil', 'trustme', 'yaml') if m in sys.modules]"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, tenancy.cli; print({heavy})"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
