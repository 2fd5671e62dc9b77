"""The steps of `.github/workflows/review.yaml`, run as they stand there: on a merge in a repository, with a stand-in for GitHub."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import LAB, ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "review.yaml").read_text())
STEPS = WORKFLOW["jobs"]["diff"]["steps"]
BEFORE = LAB.replace("guaranteed = 16", 'leads = ["people", "others", "unknown"]\nguaranteed = 16')
AFTER = BEFORE.replace("guaranteed = 16", "guaranteed = 12")
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]


def step(name: str) -> dict[str, Any]:
    (found,) = [entry for entry in STEPS if entry.get("name") == name]
    return dict(found)


@pytest.fixture
def merge(tmp_path: Path) -> Path:
    """What a runner has: the merge of the pull request, checked out."""
    for branch, text in (("main", BEFORE), ("change", AFTER)):
        subprocess.run([*GIT, "init", f"--initial-branch={branch}"], cwd=tmp_path, check=True, capture_output=True)
        if branch == "change":
            subprocess.run([*GIT, "switch", "--create", branch], cwd=tmp_path, check=True, capture_output=True)
        (tmp_path / "tenancy.toml").write_text(text)
        subprocess.run([*GIT, "add", "tenancy.toml"], cwd=tmp_path, check=True)
        subprocess.run([*GIT, "commit", f"--message={branch}"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([*GIT, "switch", "main"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([*GIT, "merge", "--no-ff", "--no-edit", "change"], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "tenancy").symlink_to(Path(sys.executable).with_name("tenancy"))
    return tmp_path


def run(folder: Path, name: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **WORKFLOW["env"], "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), **more}
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]]
    return subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_difference_is_of_the_branch_that_it_goes_to(merge: Path) -> None:
    assert run(merge, "What changes").returncode == 0
    said = (merge / "diff.md").read_text()
    assert "4 GPUs are no longer guaranteed to anybody and are open to all teams: all from training." in said
    assert (merge / "summary.md").read_text() == said


def test_rendered_files_that_do_not_agree_fail(merge: Path) -> None:
    name = "The agreement holds, and the rendered files are what it makes"
    subprocess.run([str(merge / ".venv/bin/tenancy"), "render"], cwd=merge, check=True, capture_output=True)
    assert run(merge, name).returncode == 0
    (merge / "tenancy.toml").write_text(BEFORE)
    assert run(merge, name).returncode == 1


def test_a_change_that_the_cluster_refuses_fails_and_says_which(merge: Path) -> None:
    name = "No object changes in a way that the cluster refuses"
    assert run(merge, name).returncode == 0
    levels = '[topologies.t]\nlevels = ["a/b", "kubernetes.io/hostname"]\n'
    (merge / "old.toml").write_text(BEFORE + levels)
    (merge / "tenancy.toml").write_text(BEFORE + levels.replace('"a/b", ', ""))
    done = run(merge, name, OLD="old.toml")
    assert done.returncode == 1 and "Topology/t: refused" in done.stdout


def test_leads_are_asked_by_their_names_on_github(merge: Path) -> None:
    (merge / ".github").mkdir()
    (merge / ".github" / "leads").write_text("people alice\nothers example/other-leads\n")
    tools = merge / "tools"
    tools.mkdir()
    (tools / "gh").write_text('#!/bin/sh\necho "$@" >> asked\n')
    (tools / "gh").chmod(0o755)
    done = run(
        merge, "Ask the leads of teams whose numbers change", WHERE="somewhere", PATH=f"{tools}:{os.environ['PATH']}"
    )
    assert done.returncode == 0, done.stderr
    asked = [line.rpartition(" ")[2] for line in (merge / "asked").read_text().splitlines()]
    assert asked == ["reviewers[]=alice", "team_reviewers[]=other-leads"]
    assert "::warning::unknown is not in .github/leads" in done.stdout


@pytest.mark.parametrize("there", [False, True])
def test_one_comment_is_made_and_then_kept_up_to_date(merge: Path, there: bool) -> None:
    if not shutil.which("node"):
        pytest.skip("there is no node to run the script")
    run(merge, "What changes")
    marker = (merge / "diff.md").read_text().partition("\n")[0]
    comments = [
        {"id": 1, "body": f"> {marker}", "user": {"type": "User"}},
        {"id": 2, "body": f"{marker}\nmine", "user": {"type": "User"}},
        *([{"id": 3, "body": f"{marker}\nold", "user": {"type": "Bot"}}] if there else []),
    ]
    script = step("One comment, kept up to date")["with"]["script"]
    (merge / "run.js").write_text(
        "const done = [];\n"
        "const call = name => async given => { done.push([name, given]); };\n"
        "const issues = { listComments: 'list', createComment: call('create'), updateComment: call('update') };\n"
        f"const github = {{ rest: {{ issues }}, paginate: async () => ({json.dumps(comments)}) }};\n"
        "const context = { repo: { owner: 'o', repo: 'r' }, issue: { number: 7 } };\n"
        f"(async () => {{\n{script}\nconsole.log(JSON.stringify(done));\n}})();\n"
    )
    done = subprocess.run(["node", "run.js"], cwd=merge, capture_output=True, text=True, check=True)
    ((name, given),) = json.loads(done.stdout)
    assert name == ("update" if there else "create") and given["body"] == (merge / "diff.md").read_text()
    assert given.get("comment_id") == (3 if there else None)


def test_nothing_of_the_pull_request_is_put_into_a_script() -> None:
    """An expression in a script is code that whoever names a branch can write."""
    scripts = [
        step.get("run", "") + step.get("with", {}).get("script", "")
        for job in WORKFLOW["jobs"].values()
        for step in job["steps"]
    ]
    assert not [script for script in scripts if "${{" in script]
