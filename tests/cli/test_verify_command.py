"""`tenancy verify` without a cluster: what would be checked, and every input that is wrong is a sentence and exit 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run
from samples import LAB

from tenancy.cluster.connection import where

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts:
- {name: here, context: {cluster: nearby, user: me}}
- {name: there, context: {cluster: far-away, user: me}}
clusters:
- {name: nearby, cluster: {server: "https://127.0.0.1:1"}}
- {name: far-away, cluster: {server: "https://127.0.0.1:2"}}
users:
- {name: me, user: {token: x}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the lab's agreement, and a kubeconfig of clusters that do not answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tenancy.toml").write_text(LAB)
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    return tmp_path


def test_list_says_what_would_be_checked_and_needs_no_cluster() -> None:
    code, out, err = run("verify", "--list")
    assert (code, err) == (0, "")
    *lines, last = out.splitlines()
    assert last == f"{len(lines)} checks" and len(lines) >= 22
    assert any(line.startswith("kueue/reclaim/research/gpu  ") and "takes back 8 GPUs" in line for line in lines)


def test_list_as_json_names_each_check_once() -> None:
    _, out, _ = run("verify", "--list", "--json")
    names = [load["name"] for load in json.loads(out)]
    assert len(set(names)) == len(names) >= 22


def test_a_choice_is_what_is_listed() -> None:
    choice = ("--scheduler", "kueue", "--only", "reach", "--only", "kueue/gang/*", "--team", "research")
    _, out, _ = run("verify", "--list", *choice)
    assert [line.split()[0] for line in out.splitlines()[:-1]] == [
        "kueue/reach/research/gpu",
        "kueue/gang/research/gpu",
    ]
    _, out, _ = run("verify", "--list", "--sample", "5")
    assert out.splitlines()[-1] == "5 checks"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--team", "reserch"], "--team: 'reserch' is not a team of this agreement; did you mean 'research'?"),
        (["--flavor", "cpu"], "--flavor: 'cpu' is not a flavor of this agreement"),
        (["--scheduler", "slurm"], "--scheduler slurm: choose kueue, kai, kubevirt"),
        (["--only", "recalim"], "no promise of this agreement is chosen: tenancy verify --list says which there are"),
        (["--sample", "0"], "--sample"),
        (["--html", "no/such/folder/page.html"], "--html: no/such/folder/page.html: cannot be written"),
        (["--junit", "."], "--junit: .: cannot be written"),
        (["nowhere.toml"], "nowhere.toml"),
    ],
)
def test_a_wrong_input_is_a_sentence_and_exit_2(arguments: list[str], says: str) -> None:
    code, out, err = run("verify", "--list", *arguments)
    assert code == 2 and out == "" and says in err and "Traceback" not in err


@pytest.mark.parametrize("more", [[], ["--clean"]])
def test_a_cluster_that_does_not_answer_is_a_sentence(more: list[str]) -> None:
    code, _, err = run("verify", "--context", "there", *more)
    assert code == 2 and "no cluster answers at https://127.0.0.1:2" in err
    code, _, err = run("verify", "--context", "elsewhere", *more)
    assert code == 2 and "has no context 'elsewhere'; it has here, there" in err


def test_a_context_says_which_cluster_is_meant(here: Path) -> None:
    path = str(here / "kubeconfig")
    assert (where(path, None).cluster, where(path, None).context) == ("nearby", "here")
    assert where(path, "there").cluster == "far-away"
    assert str(where(path, "there")) == "there (https://127.0.0.1:2)"


def test_every_scheduler_is_proved_in_one_process() -> None:
    """lightkube keeps one class for a kind: what one scheduler's replica has read must not stand in another's way."""
    program = """
from lightkube.codecs import from_dict
for kind in ("Node", "Pod", "ResourceQuota", "LimitRange"):
    from_dict({"apiVersion": "v1", "kind": kind, "metadata": {"name": "it"}})
import tenancy.verify.players.kai, tenancy.verify.players.kubevirt, tenancy.verify.players.kueue
"""
    subprocess.run([sys.executable, "-c", program], check=True)
