"""`why` without a cluster: what is wrong is one line on stderr and exit 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import LAB
from typer.testing import CliRunner

from tenancy.cli import app

NOBODY = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: here, user: {}}]
contexts: [{name: here, context: {cluster: here, user: here}}]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tenancy.toml").write_text(LAB)
    (tmp_path / "kubeconfig").write_text(NOBODY)
    return tmp_path


def why(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["why", *arguments, "--kubeconfig", "kubeconfig"], catch_exceptions=False)
    assert not done.stdout
    return done.exit_code, done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("a//b",), "'a//b' names no job: NAME, NAMESPACE/NAME or KIND/NAME, as in research/train or job/train"),
        (("train", "--scheduler", "slurm"), "--scheduler slurm: choose kueue or kai"),
        (("train", "--file", "absent.toml"), "absent.toml"),
        (("train",), "no cluster answers at https://127.0.0.1:1"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: tuple[str, ...], says: str) -> None:
    code, said = why(*arguments)
    assert (code, len(said.splitlines())) == (2, 1)
    assert says in said
