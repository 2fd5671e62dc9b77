"""`tenancy status` on a lab, as a command: what it reads, and what it says of a cluster without the agreement."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tenancy.lab.folder import Folder

from .conftest import AGREEMENT


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
    assert plain.stdout.startswith("Kueue, ") and "no promise violated, no job waits" in plain.stdout
    # The last column counts evictions of the last hour: other tests on this lab have some.
    assert ["training", "16", "0", "–", "–", "–"] in [line.split()[:6] for line in plain.stdout.splitlines()]


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
