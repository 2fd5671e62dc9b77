"""Our Python language host against Pulumi's real engine: programs, a policy pack, a component provider.

It needs Pulumi, its engine only: no provider and no cluster. Where no Pulumi is installed or built yet these are left out.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tenancy.lab import gobuild, tools

pytestmark = [pytest.mark.slow]

PROGRAM = """
import os, pathlib, pulumi

config = pulumi.Config()

class Team(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("test:index:Team", name, {}, opts)
        self.register_outputs({"name": name})

Team(config.require("team"))
pulumi.export("team", config.require("team"))
pulumi.export("secret", config.require_secret("secret"))
pulumi.export("stack", pulumi.get_stack())
pulumi.export("preview", pulumi.runtime.is_dry_run())
print("said on standard output")
"""

POLICY = """
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def no_interns(args, report):
    if args.name == "interns":
        report("interns get no queue")

PolicyPack("teams", policies=[ResourceValidationPolicy("no-interns", "no interns", no_interns, EnforcementLevel.MANDATORY)])
"""

PROVIDER = """
from typing import TypedDict
import pulumi
from pulumi.provider.experimental import component_provider_host

class TeamArgs(TypedDict):
    guaranteed: pulumi.Input[int]

class Team(pulumi.ComponentResource):
    guaranteed: pulumi.Output[int]

    def __init__(self, name: str, args: TeamArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("teams:index:Team", name, {}, opts)
        self.register_outputs({})

if __name__ == "__main__":
    component_provider_host([Team], "teams")
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def engine() -> dict[str, str]:
    """An environment with the Pulumi built here and our host, and with no other host."""
    built = gobuild.folder(tools.MODULES["pulumi"]) / "bin" / "pulumi"
    if not built.exists():
        pytest.skip("Pulumi is not built yet (make tools builds it)")
    home = tools.pulumi_home({"pulumi": built})
    return {"PATH": f"{home / 'bin'}:/usr/bin:/bin", "HOME": os.environ["HOME"]}


@pytest.fixture
def pulumi(engine: dict[str, str], tmp_path: Path) -> Run:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "state").mkdir()
    (project / "Pulumi.yaml").write_text("name: teams\nruntime: python\n")
    (project / "__main__.py").write_text(PROGRAM)
    env = engine | {
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }

    def run(*arguments: str, fails: bool = False, cwd: Path = project) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["pulumi", "--non-interactive", *arguments],
            cwd=cwd, env=env, text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip
        assert bool(done.returncode) == fails, done.stdout + done.stderr
        return done

    run.env, run.project = env, project  # type: ignore[attr-defined]
    run("stack", "init", "dev")
    run("config", "set", "team", "training", "--stack", "dev")
    run("config", "set", "--secret", "secret", "hush", "--stack", "dev")
    return run


def outputs(pulumi: Run) -> dict[str, object]:
    shown: dict[str, object] = json.loads(pulumi("stack", "output", "--json", "--stack", "dev").stdout)
    return shown


def test_a_program_runs_with_its_configuration_secrets_and_stack(pulumi: Run) -> None:
    assert "said on standard output" in pulumi("up", "--yes", "--stack", "dev").stdout
    assert outputs(pulumi) == {"team": "training", "secret": "[secret]", "stack": "dev", "preview": False}


def test_a_preview_is_a_dry_run_and_a_second_up_changes_nothing(pulumi: Run) -> None:
    assert "test:index:Team training create" in " ".join(pulumi("preview", "--stack", "dev").stdout.split())
    pulumi("up", "--yes", "--stack", "dev")
    pulumi("preview", "--expect-no-changes", "--stack", "dev")


def test_an_exception_in_a_program_is_shown_once_with_its_place(pulumi: Run) -> None:
    (pulumi.project / "__main__.py").write_text("1 / 0\n")  # type: ignore[attr-defined]
    done = pulumi("preview", "--stack", "dev", fails=True)
    assert done.stdout.count("ZeroDivisionError") == 1
    assert "__main__.py" in done.stdout


def test_a_program_that_exits_with_a_code_fails_with_that_code(pulumi: Run) -> None:
    (pulumi.project / "__main__.py").write_text("import os; os._exit(3)\n")  # type: ignore[attr-defined]
    assert "exit code 3" in pulumi("preview", "--stack", "dev", fails=True).stdout


def test_a_policy_pack_runs_and_its_refusal_stops_the_update(pulumi: Run, tmp_path: Path) -> None:
    pytest.importorskip("pulumi_policy", reason="pulumi_policy is not installed")
    pack = tmp_path / "policy"
    pack.mkdir()
    (pack / "PulumiPolicy.yaml").write_text("runtime: python\n")
    (pack / "__main__.py").write_text(POLICY)
    pulumi("preview", "--stack", "dev", "--policy-pack", str(pack))
    pulumi("config", "set", "team", "interns", "--stack", "dev")
    done = pulumi("preview", "--stack", "dev", "--policy-pack", str(pack), fails=True)
    assert "interns get no queue" in done.stdout


def test_a_provider_written_in_python_runs_as_a_plugin_and_says_its_schema(pulumi: Run, tmp_path: Path) -> None:
    provider = tmp_path / "provider"
    provider.mkdir()
    (provider / "PulumiPlugin.yaml").write_text("runtime: python\n")
    (provider / "__main__.py").write_text(PROVIDER)
    schema = json.loads(pulumi("package", "get-schema", str(provider)).stdout)
    assert schema["resources"]["teams:index:Team"]["inputProperties"]["guaranteed"]["type"] == "integer"


def test_an_engine_that_is_killed_leaves_no_child(pulumi: Run) -> None:
    (pulumi.project / "__main__.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(600)\n")  # type: ignore[attr-defined]
    engine = subprocess.Popen(
        ["pulumi", "--non-interactive", "preview", "--stack", "dev"],
        cwd=pulumi.project, env=pulumi.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,  # type: ignore[attr-defined]
    )  # fmt: skip
    children: list[psutil.Process] = []
    wait(lambda: any("pulumi-language-python-exec" in " ".join(p.cmdline()) for p in grown(engine.pid, children)))
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    wait(lambda: not any(child.is_running() and child.status() != "zombie" for child in children))


def grown(pid: int, children: list[psutil.Process]) -> list[psutil.Process]:
    children[:] = psutil.Process(pid).children(recursive=True)
    return children


def wait(done: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if done():
            return
        time.sleep(0.1)
    raise AssertionError(f"not so after {seconds:.0f} seconds")


@pytest.mark.parametrize("host", ["language_host", "node_host"])
def test_a_host_says_how_it_is_called(host: str) -> None:
    file = gobuild.sources() / "hosts" / f"{host}.py"
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage" in done.stderr
