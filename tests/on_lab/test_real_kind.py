"""The real kind reads our configuration, finds it valid, and goes on to start the containers that we count on.

There is no Docker here: in its place stands a script that starts nothing and says it
did, so kind gets as far as looking for its nodes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tenancy.agreement.plan import Plan
from tenancy.lab import kind

KIND = "sigs.k8s.io/kind@v0.33.0"
DOCKER = """#!/bin/sh
echo "$*" >>"$ASKED"
case "$1" in
  info) echo '{"CgroupVersion":"2","MemoryLimit":true,"PidsLimit":true,"CPUShares":true,"SecurityOptions":[]}' ;;
  logs) echo 'Reached target Multi-User System.' ;;
esac
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kind, built from its module (half a minute the first time, then from Go's cache)."""
    if not shutil.which("go"):
        pytest.skip("kind is built with Go")
    folder = tmp_path_factory.mktemp("kind")
    subprocess.run(
        ["go", "install", KIND], env={**os.environ, "GOBIN": str(folder), "GOFLAGS": "", "GOWORK": "off"}, check=True
    )
    return folder / "kind"


def _create(program: Path, folder: Path, config: dict[str, Any]) -> tuple[str, list[str]]:
    """What kind says, and what it asks of Docker."""
    (folder / "docker").write_text(DOCKER)
    (folder / "docker").chmod(0o755)
    (folder / "kind.json").write_text(json.dumps(config))
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), "ASKED": str(folder / "asked")}
    command = [
        str(program),
        "create",
        "cluster",
        "--config",
        str(folder / "kind.json"),
        "--kubeconfig",
        str(folder / "kubeconfig"),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    asked = folder / "asked"
    return done.stderr, asked.read_text().splitlines() if asked.exists() else []


@pytest.mark.slow
def test_kind_accepts_the_configuration_and_starts_these_containers(program: Path, tmp_path: Path, plan: Plan) -> None:
    said, asked = _create(program, tmp_path, kind.configuration(plan, "lab"))
    assert "✓ Preparing nodes" in said
    started = {line.split()[2] for line in asked if line.startswith("run ")}
    assert started == {"tenancy-lab-control-plane", *(patch["metadata"]["name"] for patch in kind.patches(plan, "lab"))}
    assert any("--publish=127.0.0.1:" in line for line in asked)


@pytest.mark.slow
def test_kind_refuses_what_is_no_configuration(program: Path, tmp_path: Path, plan: Plan) -> None:
    """The test above can fail."""
    config = kind.configuration(plan, "lab")
    config["nodes"][1]["role"] = "wroker"
    said, asked = _create(program, tmp_path, config)
    assert "is not a valid node role" in said
    assert not [line for line in asked if line.startswith("run ")]
