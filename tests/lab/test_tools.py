"""Finding and building the lab's programs, with a `go` that only pretends: what it would build appears in a blink."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from tenancy.lab import gobuild, tools
from tenancy.lab.tools import MODULES, TOOLS, ToolsError

FAKE_GO = """#!{python}
import json, os, pathlib, sys, time
arguments = sys.argv[1:]
with open(os.environ["FAKE_GO_LOG"], "a") as log:
    log.write(" ".join(arguments) + "\\n")
if arguments[:2] == ["mod", "download"]:
    source = pathlib.Path(os.environ["FAKE_GO_LOG"]).parent / "module"
    for path in ("config/crd/queue.yaml", "charts/kueue/Chart.yaml", "kustomize/stage/pod.yaml", "python/cmd/exec", "cmd/pulumi-resource-kubernetes/schema.json",
             "go/kubernetes/utilities/a.go", "go/kubernetes/helm/v4/a.go", "go/kubernetes/init.go", "go/kubernetes/provider.go",
             "go/kubernetes/pulumiTypes.go", "go/kubernetes/customPulumiTypes.go", "go/kubernetes/doc.go", "deployments/kai-scheduler/crds/queue.yaml",
             "manifests/base/crds/trainjob.yaml"):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(path)
    print(json.dumps({{"Dir": str(source)}}))
elif arguments[0] == "list":
    print("go: downloading example.com/dependency v1.0.0", file=sys.stderr)
    for name in ("std/one", "std/two"):
        print(json.dumps({{"ImportPath": name, "Stale": True}}))
elif arguments[0] == "build":
    if os.environ.get("FAKE_GO_FAILS"):
        print("kueue.go:7:2: undefined: borrow", file=sys.stderr)
        sys.exit(1)
    time.sleep(float(os.environ.get("FAKE_GO_TAKES", 0)))
    out = pathlib.Path(arguments[arguments.index("-o") + 1])
    for package in arguments[arguments.index("-o") + 2:]:
        print(package, file=sys.stderr)
        name = [part for part in package.split("/") if part != "v3"][-1]
        (out / name).write_text("#!/bin/sh\\n")
        (out / name).chmod(0o755)
"""


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and nothing on PATH but `go`."""
    program(tmp_path / "path", "go", FAKE_GO.format(python=sys.executable))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_GO_LOG", str(tmp_path / "go.log"))
    for name in [name for name in os.environ if name.startswith("TENANCY_TOOL_")]:
        monkeypatch.delenv(name)
    return tmp_path


def builds(machine: Path) -> list[str]:
    log = machine / "go.log"
    return [line for line in log.read_text().splitlines() if line.startswith("build")] if log.exists() else []


def quiet() -> Console:
    return Console(file=io.StringIO(), width=200)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_program_is_built_once_and_then_found(machine: Path) -> None:
    first = tools.require(["etcd"], console=quiet())
    second = tools.require(["etcd"], console=quiet())
    assert first == second == {"etcd": gobuild.folder(MODULES["cluster"]) / "bin" / "etcd"}
    assert len(builds(machine)) == 1


def test_only_what_is_asked_for_is_built_each_module_in_one_go(machine: Path) -> None:
    tools.require(["etcd", "kueue", "kai-binder"], console=quiet())
    cluster, kai = builds(machine)
    assert cluster.endswith("go.etcd.io/etcd/server/v3 sigs.k8s.io/kueue/cmd/kueue")
    assert kai.endswith("KAI-scheduler/cmd/binder")


def test_a_second_clone_with_the_same_pins_builds_nothing(machine: Path) -> None:
    tools.require(["kueue"], console=quiet())
    before = len(builds(machine))
    code = "from tenancy.lab import tools; print(tools.require(['kueue'])['kueue'])"
    where = Path(__file__).parents[2]
    other = subprocess.run([sys.executable, "-c", code], cwd=where, capture_output=True, text=True, check=True)
    assert Path(other.stdout.strip()).exists()
    assert len(builds(machine)) == before


def test_a_changed_pin_is_another_folder(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = gobuild.folder(MODULES["kai"])
    changed = gobuild.Module("kai", {"version": "2"}, MODULES["kai"].files)
    assert gobuild.folder(changed) != before


def test_a_program_on_path_is_used_when_it_says_the_pinned_version(machine: Path) -> None:
    path = program(machine / "path", "etcd", "#!/bin/sh\necho etcd Version: 3.6.16\n")
    assert tools.require(["etcd"], console=quiet()) == {"etcd": path}
    assert builds(machine) == []


@pytest.mark.parametrize("answer", ["echo etcd Version: 3.5.9", "echo etcd Version: 3.6.160", "exit 1"])
def test_a_program_on_path_of_another_version_is_passed_over(machine: Path, answer: str) -> None:
    path = program(machine / "path", "etcd", f"#!/bin/sh\n{answer}\n")
    assert tools.require(["etcd"], console=quiet())["etcd"] != path


def test_kueue_on_path_is_a_plugin_of_kubectl_and_never_taken(machine: Path) -> None:
    path = program(machine / "path", "kueue", "#!/bin/sh\necho v0.19.2\n")
    assert tools.require(["kueue"], console=quiet())["kueue"] != path


def test_a_variable_names_a_program_and_wins(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = program(machine / "mine", "manager", "#!/bin/sh\n")
    monkeypatch.setenv("TENANCY_TOOL_KUEUE", str(mine))
    assert tools.require(["kueue"], console=quiet()) == {"kueue": mine}


def test_a_variable_that_names_nothing_is_an_error_that_says_so(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANCY_TOOL_KUEUE", "/nowhere/kueue")
    with pytest.raises(ToolsError, match="TENANCY_TOOL_KUEUE=/nowhere/kueue"):
        tools.require(["kueue"], console=quiet())


def test_who_has_pulumi_uses_theirs_and_nothing_is_built(machine: Path) -> None:
    path = program(machine / "path", "pulumi", "#!/bin/sh\necho v3.300.1\n")
    assert tools.require(["pulumi"], console=quiet()) == {"pulumi": path}
    assert builds(machine) == []


def test_a_failed_build_shows_its_command_and_the_end_of_its_output(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "1")
    with pytest.raises(ToolsError) as caught:
        tools.require(["kueue"], console=quiet())
    assert "go build -v -trimpath" in str(caught.value)
    assert "kueue.go:7:2: undefined: borrow" in str(caught.value)
    assert not list((gobuild.folder(MODULES["cluster"]) / "bin").iterdir())


def test_the_command_prints_a_failure_and_exits_1(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "1")
    assert tools.main(["kueue"]) == 1
    shown = capsys.readouterr()
    assert "undefined: borrow" in shown.err
    assert "Traceback" not in shown.err + shown.out


def test_without_go_the_message_names_what_is_missing_and_what_still_works(machine: Path) -> None:
    (machine / "path" / "go").unlink()
    with pytest.raises(ToolsError, match=r"(?s)Go is not installed.*etcd, kwok.*tenancy check.*TENANCY_TOOL_ETCD"):
        tools.require(["etcd", "kwok"], console=quiet())


def test_two_at_once_build_once_and_the_second_says_that_it_waits(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_TAKES", "1.0")
    consoles = [quiet(), quiet()]
    found: list[dict[str, Path]] = []

    def ask(console: Console) -> None:
        found.append(tools.require(["kueue"], console=console))

    threads = [threading.Thread(target=ask, args=(console,)) for console in consoles]
    for thread in threads:
        thread.start()
        time.sleep(0.3)
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    assert len(builds(machine)) == 1
    assert "waiting" in said(consoles[1])


def test_a_log_says_what_is_built_and_how_long_it_took(machine: Path) -> None:
    console = quiet()
    tools.require(["etcd", "kueue"], console=console)
    assert "building cluster: etcd, kueue; 2 packages to compile" in said(console)
    assert re.search(r"built cluster in \d+\.\d ?s: etcd, kueue", said(console))


def test_a_long_build_says_how_far_it_is(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GO_TAKES", "1.0")
    monkeypatch.setattr("tenancy.lab.progress.EVERY", 0.2)
    console = quiet()
    tools.require(["etcd"], console=console)
    assert said(console).count("building cluster: 0/2 packages") >= 2


def test_parts_of_a_module_are_kept_at_their_paths_and_can_be_removed(machine: Path) -> None:
    kueue = tools.module_dir("kueue")
    assert (kueue / "config/crd/queue.yaml").read_text() == "config/crd/queue.yaml"
    assert not (kueue / "kustomize").exists()
    assert all(os.access(folder, os.W_OK) for folder, _, _ in os.walk(kueue))


def test_parts_come_with_the_build_so_that_a_warm_start_needs_no_go(machine: Path) -> None:
    tools.require(["kueue"], console=quiet())
    (machine / "path" / "go").unlink()
    assert (tools.module_dir("kueue") / "charts/kueue/Chart.yaml").exists()


def test_what_a_killed_build_left_is_removed_by_the_next(machine: Path) -> None:
    left = gobuild.folder(MODULES["cluster"]) / "building-killed"
    left.mkdir(parents=True)
    tools.require(["etcd"], console=quiet())
    assert not left.exists()


def test_pulumi_built_here_finds_its_host_and_its_provider_where_the_engine_looks(machine: Path) -> None:
    env = tools.environment("pulumi", base={"PATH": os.environ["PATH"]})
    home = Path(env["PULUMI_HOME"])
    assert env["PATH"].startswith(f"{home / 'bin'}:")
    assert {path.name for path in (home / "bin").iterdir()} == {
        "pulumi",
        "pulumi-analyzer-policy-python",
        "pulumi-language-python",
    }
    assert (home / "plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes").exists()


def test_hosts_of_other_languages_are_there_where_they_were_asked_for(machine: Path) -> None:
    env = tools.environment("pulumi", "languages", base={"PATH": os.environ["PATH"]})
    there = {path.name for path in (Path(env["PULUMI_HOME"]) / "bin").iterdir()}
    assert {"pulumi-language-python", "pulumi-language-yaml", "pulumi-language-nodejs"} <= there


def test_a_home_of_the_users_own_is_kept_and_the_provider_put_on_path(machine: Path) -> None:
    env = tools.environment("pulumi", base={"PATH": os.environ["PATH"], "PULUMI_HOME": "/home/me/.pulumi"})
    assert env["PULUMI_HOME"] == "/home/me/.pulumi"
    assert str(gobuild.folder(MODULES["pulumi"]) / "bin") in env["PATH"].split(":")


def test_pulumi_of_the_user_gets_nothing_of_ours(machine: Path) -> None:
    program(machine / "path", "pulumi", "#!/bin/sh\necho v3.300.1\n")
    assert "PULUMI_HOME" not in tools.environment("pulumi", base={"PATH": os.environ["PATH"]})


def test_pulumi_of_the_user_brings_its_own_language_hosts(machine: Path) -> None:
    program(machine / "path", "pulumi", "#!/bin/sh\necho v3.300.1\n")
    assert tools.require(["languages"], console=quiet()) == {}
    assert builds(machine) == []


def test_every_program_of_the_table_is_pinned_in_its_module() -> None:
    for tool in TOOLS.values():
        if tool.module and not tool.package.startswith("./"):
            assert f"\t{tool.package}\n" in gobuild.pins().joinpath(tool.module, "go.mod").read_text() or (
                f"tool {tool.package}\n" in gobuild.pins().joinpath(tool.module, "go.mod").read_text()
            )
            assert f"v{tool.version}" in gobuild.pins().joinpath(tool.module, "go.mod").read_text()
