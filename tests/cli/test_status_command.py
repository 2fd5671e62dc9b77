"""`tenancy status`: what it refuses before it asks a cluster, and what it says where there is none."""

from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from boards import NOW, seen, waits
from samples import LAB, plan
from typer.testing import CliRunner

from tenancy.cli import app
from tenancy.cli.status import FAIL_ON
from tenancy.cluster.usage import NotThere
from tenancy.status import Attention, Observed
from tenancy.status.reading import watch


@pytest.fixture
def agreement(tmp_path: Path) -> str:
    (tmp_path / "tenancy.toml").write_text(LAB)
    return str(tmp_path / "tenancy.toml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--team", "reserch"], "--team: 'reserch' is not a team of this agreement; did you mean 'research'?"),
        (["--flavor", "cpu"], "--flavor: 'cpu' is not a flavor of this agreement; did you mean 'gpu'?"),
        (["--json", "--prometheus"], "--json and --prometheus: choose one"),
        (
            ["--team", "research", "--prometheus"],
            "--prometheus prints every team and flavor: leave out --team and --flavor",
        ),
        (["--watch", "--prometheus"], "--watch shows what there is until Ctrl-C: leave out --prometheus and --fail-on"),
        (["--fail-on", "sort"], "--fail-on sort: choose violated, short, below, evicted, waiting"),
        (["--scheduler", "slurm"], "--scheduler slurm: choose kueue or kai"),
        (["--kubeconfig", "/nowhere"], "/nowhere"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(agreement: str, arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["status", agreement, *arguments], catch_exceptions=False)
    assert done.exit_code == 2 and not done.stdout
    assert len(done.stderr.splitlines()) == 1 and said[:60] in done.stderr


def test_states_to_fail_on_are_the_boards_own_in_its_order() -> None:
    assert tuple(Attention)[: len(FAIL_ON)] == FAIL_ON


def looks(monkeypatch: pytest.MonkeyPatch, *some: Observed | NotThere) -> None:
    left = list(some)

    def look(*_: Any) -> Observed:
        not_there = left.pop(0)
        if isinstance(not_there, NotThere):
            raise not_there
        return not_there

    monkeypatch.setattr(watch, "look", look)
    monkeypatch.setattr(watch.time, "sleep", lambda _: None)


WAITS = (waits("research", 4, 60, name="research/a"),)
RECLAIM = timedelta(minutes=2)


def test_what_waits_at_two_looks_is_late_and_what_started_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for second, short in ((seen(waiting=WAITS), True), (seen({"research": 4}), False)):
        looks(monkeypatch, seen(waiting=WAITS), second)
        board = watch.now(None, plan(LAB), "kueue", RECLAIM)  # type: ignore[arg-type]
        assert bool(board.all_violations) is short
    looks(monkeypatch, seen())  # where nothing is owed one look is enough
    assert not watch.now(None, plan(LAB), "kueue", RECLAIM).all_violations  # type: ignore[arg-type]


def test_a_watch_goes_on_where_the_cluster_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, seen(waiting=WAITS), NotThere("no"), seen(waiting=WAITS))
    found = watch.boards(None, plan(LAB), "kueue", RECLAIM, lambda: None)  # type: ignore[arg-type]
    first, error, second = itertools.islice(found, 3)
    assert error == "no" and not isinstance(first, str) and not first.all_violations
    assert not isinstance(second, str) and second.all_violations and second.seen.at == NOW
