"""The scene: the agreement with real jobs, on Kueue and on KAI, and what it says when a cluster does otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lightkube import Client
from lightkube.types import PatchType

from tenancy.agreement.plan import Plan
from tenancy.cluster import usage
from tenancy.cluster.clients import ClusterQueue
from tenancy.lab import scene, stage
from tenancy.lab.folder import Folder, LabError

from .conftest import AGREEMENT


@pytest.mark.parametrize("scheduler", ["kueue", "kai"])
def test_research_borrows_and_training_comes_back(shared: Folder, plan: Plan, client: Client, scheduler: str) -> None:
    said: list[str] = []
    assert scene.play(plan, "shared", scheduler, said.append)
    told = "\n".join(said)
    assert "research runs on 16 GPUs: 8 of its own, 8 that others lend" in told
    assert (
        "8 borrowed jobs of research are stopped, and all of training runs, on 16 GPUs. research keeps 8 GPUs" in told
    )
    assert not [row for row in usage.who_has_what(client, plan, scheduler) if row.used]


def test_the_scene_fails_where_the_cluster_does_otherwise(
    shared: Folder, plan: Plan, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without what training lends, research reaches 8 and not 16."""
    monkeypatch.setattr(stage, "PATIENCE", 4.0)
    monkeypatch.setattr(stage, "PER_JOB", 0.5)
    path = "/spec/resourceGroups/0/flavors/0/resources/2/lendingLimit"
    client.patch(ClusterQueue, "training", [{"op": "replace", "path": path, "value": "0"}], patch_type=PatchType.JSON)
    said: list[str] = []
    try:
        assert not scene.play(plan, "shared", "kueue", said.append)
    finally:
        client.patch(
            ClusterQueue, "training", [{"op": "replace", "path": path, "value": "8"}], patch_type=PatchType.JSON
        )
    assert "This is not what the agreement says: research should run on 16 by now" in said[-1]
    assert "research runs 8" in said[-1]


def test_the_scene_needs_a_lab(labs: Path, plan: Plan) -> None:
    with pytest.raises(LabError, match="there is no lab nowhere: tenancy lab up --name nowhere"):
        scene.play(plan, "nowhere")


def test_status_reads_the_lab(shared: Folder, tmp_path: Path) -> None:
    agreement = tmp_path / "tenancy.toml"
    agreement.write_text(AGREEMENT)
    command = [sys.executable, "-m", "tenancy", "status", str(agreement), "--lab", "shared"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["scheduler"] == "kueue"
    assert [(row["team"], row["guaranteed"], row["lendable"], row["used"]) for row in answer["teams"]] == [
        ("training", 16, 8, 0),
        ("research", 8, 8, 0),
        ("inference", 8, 0, 0),
    ]
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    assert plain.stdout.startswith("Kueue, ") and "no promise short, no job waits" in plain.stdout
    assert ["training", "16", "0", "–", "–", "–", "–"] in [line.split() for line in plain.stdout.splitlines()]


def test_status_says_what_a_cluster_without_the_agreement_lacks(shared: Folder, tmp_path: Path) -> None:
    agreement = tmp_path / "tenancy.toml"
    text = AGREEMENT
    for team in ("training", "research", "inference"):
        text = text.replace(f"[teams.{team}]", f"[teams.other-{team}]")
    agreement.write_text(text)
    command = [sys.executable, "-m", "tenancy", "status", str(agreement), "--lab", "shared"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        "the cluster has no ClusterQueue of this agreement (other-training, other-research, " in done.stderr
        and "Traceback" not in done.stderr
    )
