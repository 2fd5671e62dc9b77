"""The forms of a run: JSON, JUnit XML, the terminal, the timeline. The page in a browser: test_evidence_page.py."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from junitparser import Failure, JUnitXml, Skipped
from rich.console import Console
from runs import HOSTILE, VERDICTS, check, hostile, outcome, run
from samples import ROOT

from tenancy.text.durations import measured
from tenancy.text.plain import plain
from tenancy.verify.checks.model import Scheduler
from tenancy.verify.evidence import document, terminal, timeline
from tenancy.verify.evidence.junit import junit
from tenancy.verify.evidence.matrix import matrix
from tenancy.verify.evidence.model import Condition, Event, Run, UsageInterval, Verdict
from tenancy.verify.evidence.page import page
from tenancy.verify.evidence.words import said, summary


def of(run: Run, verdict: Verdict) -> list[str]:
    return [one.check.name for one in run.outcomes if one.verdict is verdict]


# --- what a run comes to


@pytest.mark.parametrize(
    ("verdicts", "stopped", "kept"),
    [
        ([Verdict.HELD, Verdict.NOT_RUN], "", True),
        ([Verdict.HELD, Verdict.BROKEN], "", False),
        ([Verdict.NOT_RUN], "", False),
        ([], "", False),
        ([Verdict.HELD], "Ctrl-C", False),
    ],
)
def test_a_run_is_kept_when_something_held_and_nothing_broke(verdicts: list[Verdict], stopped: str, kept: bool) -> None:
    outcomes = tuple(outcome(check("reach", f"team-{number}"), verdict) for number, verdict in enumerate(verdicts))
    assert replace(run(), outcomes=outcomes, stopped=stopped).kept is kept


def test_the_sum_in_a_line() -> None:
    assert summary(run()) == "24 promises: 16 held, 4 broken, 4 not run; 26.5s."
    assert summary(replace(run(), stopped="Ctrl-C")).endswith("Stopped before its end: Ctrl-C.")


def test_jobs_that_were_told_the_same_are_told_of_once() -> None:
    conditions = [Condition(f"job-{number}", "QuotaReserved", "False", "Pending", "no quota") for number in range(5)]
    conditions += [Condition("job-9", "PodsReady", "False", "", "")]
    first, second = said(conditions)
    assert (first.who, first.what) == ("job-0, job-1, job-2 and 2 more", "QuotaReserved=False, Pending: no quota")
    assert (second.who, second.what) == ("job-9", "PodsReady=False")


def test_the_matrix_counts_every_outcome_once() -> None:
    result = matrix(run().outcomes)
    assert sum(count for cell in result.cells.values() for count in cell.values()) == len(run().outcomes)
    assert {(scheduler, kind, team) for scheduler, kind, team in result.cells} == {
        (one.check.scheduler, one.check.kind, one.check.team) for one in run().outcomes
    }
    schedulers = [scheduler for scheduler, _ in result.rows]
    assert schedulers == sorted(schedulers, key=schedulers.index), "a scheduler's rows stand together"


# --- JSON


def test_json_holds_everything_that_was_seen() -> None:
    result = run()
    found = json.loads(json.dumps(document.as_json(result), allow_nan=False))
    assert found["counts"] == {"held": 16, "broken": 4, "not run": 4} and found["kept"] is False
    broken = [one for one in found["checks"] if one["verdict"] == "broken"]
    assert [one["name"] for one in broken] == of(result, Verdict.BROKEN)
    last = broken[0]["steps"][-1]
    assert last["seconds"] is None and last["waiting"] == {"others": 9} and len(last["conditions"]) == 9
    assert found["held"][0] == {
        "check": "kueue/guarantee/training/gpu",
        "team": "research",
        "queue": "research",
        "flavor": "gpu",
        "units": 16,
        "since": 0.5,
        "until": 2.0,
    }


def test_every_key_of_the_json_is_documented() -> None:
    text = (ROOT / "docs" / "verify.md").read_text()

    def keys(value: Any) -> set[str]:
        if isinstance(value, list):
            return {key for one in value for key in keys(one)}
        if not isinstance(value, dict):
            return set()
        own = set() if set(value) & {"others", "held", "research"} and "version" not in value else set(value)
        return own | {key for one in value.values() for key in keys(one)}

    assert {key for key in keys(document.as_json(run())) if f"`{key}`" not in text} == set()


# --- JUnit XML


def test_ci_reads_the_junit_xml(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(junit(run()), encoding="utf-8")
    found = JUnitXml.fromfile(str(path))
    assert [suite.name for suite in found] == ["kueue", "kai"]
    for suite in found:
        mine = [one for one in run().outcomes if one.check.scheduler == suite.name]
        verdicts = [one.verdict for one in mine]
        assert (suite.tests, suite.failures, suite.skipped, suite.errors) == (
            len(mine),
            verdicts.count(Verdict.BROKEN),
            verdicts.count(Verdict.NOT_RUN),
            0,
        )
        for one, case in zip(mine, suite, strict=True):
            assert f"{case.classname}.{case.name}".replace(".", "/") == one.check.name
            results = {type(result): result for result in case.result}
            assert (
                set(results)
                == {
                    Verdict.HELD: set(),
                    Verdict.BROKEN: {Failure},
                    Verdict.NOT_RUN: {Skipped},
                }[one.verdict]
            )
            for result in results.values():
                assert result.message == one.why
            if one.verdict is Verdict.BROKEN:
                told = results[Failure].text
                for words in (
                    one.check.promise,
                    "submitted: 16 × ",
                    "waiting: others 9",
                    "insufficient",
                    one.check.look_at,
                ):
                    assert words in told


def test_hostile_text_is_text_in_xml() -> None:
    found = JUnitXml.fromstring(junit(hostile()).encode())
    (suite,) = found
    (case,) = suite
    assert case.result[0].message == plain(HOSTILE)


# --- the terminal


def shown(run: Run, **environment: str) -> str:
    stream = io.StringIO()
    terminal.show(run, stream)
    return stream.getvalue()


def test_the_end_is_a_table_then_what_broke_then_the_sum() -> None:
    result = run()
    lines = [line.rstrip() for line in shown(result).splitlines()]
    head = next(line for line in lines if line.strip())
    assert head.split()[:4] == ["scheduler", "kind", "training", "research"]
    assert lines[-1] == summary(result)
    text = "\n".join(lines)
    for name in of(result, Verdict.BROKEN):
        assert f"BROKEN  {name}" in text
    first = text[text.index("BROKEN") :]
    for words in (
        "owner: 16 should run and 12 do",
        "submitted: 16 × ",
        "usage in status: research 8",
        "look at: clusterqueue/",
    ):
        assert words in first
    assert "the cluster has no node of flavor gpu" in text


def test_a_run_is_narrated_step_by_step_if_asked_for() -> None:
    result = run()
    stream = io.StringIO()
    terminal.show(result, stream, narrate=True)
    told = stream.getvalue()
    assert shown(result) in told
    held = next(one for one in result.outcomes if one.verdict is Verdict.HELD)
    assert told.startswith(plain(held.check.promise))
    for step in held.steps:
        assert f"{measured(step.seconds):>7}  {plain(step.says)}" in told


def test_many_teams_are_summed_where_the_terminal_is_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run(tuple(f"team-{number}" for number in range(17)))
    lines = [line.rstrip() for line in shown(result).splitlines()]
    head = next(line for line in lines if line.strip())
    assert head.split() == ["scheduler", "kind", "held", "broken", "not", "run"]
    table = lines[: lines.index("", 3)]
    assert max(map(len, table)) <= 80
    numbers = [int(word) for line in table for word in line.split()[-3:] if word.isdigit()]
    assert sum(numbers) == len(result.outcomes)


def test_hostile_text_does_not_reach_the_terminal() -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown(hostile()))
    stream = io.StringIO()
    with terminal.progress(1, stream) as tell:
        for one in hostile().outcomes:
            tell(Event(one.check, 3.0, 1, one))
    assert "\x1b" not in stream.getvalue() and plain(HOSTILE) in stream.getvalue()


def test_without_a_terminal_each_check_is_a_line_when_it_ends() -> None:
    result, stream = run(), io.StringIO()
    with terminal.progress(len(result.outcomes), stream) as tell:
        for one in result.outcomes:
            tell(Event(one.check, one.started))
            tell(Event(one.check, one.started, 1))
            tell(Event(one.check, one.started, 2, one))
    lines = stream.getvalue().splitlines()
    assert len(lines) == len(result.outcomes)
    assert lines[0].split() == ["1/24", "held", "4.0s", result.outcomes[0].check.name]
    assert lines[-1].split()[0] == "24/24"
    assert "not run" in lines[5] and "the cluster has no node of flavor gpu" in lines[5]


def test_on_a_terminal_it_shows_what_is_under_way_and_how_far() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    progress = terminal.Progress(24, console)
    first, second, third, *_ = run().outcomes
    progress.tell(Event(first.check, 0.0, 2, first))
    progress.tell(Event(second.check, 0.0))
    progress.tell(Event(third.check, 0.0, 1))
    with console.capture() as caught:
        console.print(progress)
    text = caught.get()
    assert "1 of 24 promises, 2 under way" in text
    assert first.check.name not in text
    assert second.check.name in text and "its objects are made" in text
    assert f"1/2 {third.check.steps[0].says}" in text


# --- the timeline


def heights(svg: str) -> list[float]:
    """What a picture shows in each unit of its width, as a part of its height: by the path's own commands."""
    path = re.search(r'class="area[^"]*" d="([^"]*)"', svg)
    assert path
    x, y, columns = 0, float(timeline.HEIGHT), []
    for command, value in re.findall(r"([VH])([\d.]+)", path[1]):
        if command == "V":
            y = float(value)
        else:
            columns += [1 - y / timeline.HEIGHT] * (int(value) - x)
            x = int(value)
    return columns


def test_the_timeline_shows_what_was_held_at_every_time() -> None:
    held = [
        UsageInterval("a", "blue", "blue", "gpu", 4, 1.0, 5.0),
        UsageInterval("b", "blue", "blue-prod", "gpu", 12, 3.0, 8.0),
        UsageInterval("b", "red", "red", "gpu", 2, 0.0, 10.0),
    ]
    blue, red = timeline.by_team(held, timeline.colors(held))
    assert (blue.name, blue.most, red.name, red.most) == ("blue", 16, "red", 2)
    columns = heights(timeline.svg(blue, 0.0, 10.0))
    assert len(columns) == timeline.WIDTH
    for at in (0.5, 2.0, 4.0, 6.0, 9.0):
        total = sum(entry.units for entry in held if entry.team == "blue" and entry.since <= at < entry.until)
        assert columns[int(at / 10 * timeline.WIDTH)] == pytest.approx(total / 16, abs=0.01)
    assert set(heights(timeline.svg(red, 0.0, 10.0))) == {1.0}
    queues = timeline.by_queue(held, timeline.colors(held))
    assert [(row.name, row.most, row.color) for row in queues] == [("blue", 4, 0), ("blue-prod", 12, 0), ("red", 2, 1)]


def test_a_line_stands_where_a_step_ended() -> None:
    """Steps of the fabricated checks end half-way and at the end; every picture of a check has its lines there."""
    lines = re.findall(r'class="mark" d="M([\d.]+) 0V', page(run(("training",), ("reach",))))
    assert set(map(float, lines)) == {timeline.WIDTH / 2, timeline.WIDTH}


def test_what_was_held_for_less_than_can_be_drawn_is_drawn() -> None:
    held = [UsageInterval("a", "blue", "blue", "gpu", 8, 50.0, 50.001)]
    (row,) = timeline.by_team(held, {})
    assert heights(timeline.svg(row, 0.0, 100.0)).count(1.0) == 1


def test_the_page_has_no_address_of_anything_else() -> None:
    text = page(run())
    assert not re.search(r"""(?:src|href)=["'](?!data:)|url\(|@import|http-equiv="refresh""", text)
    assert "default-src 'none'" in text


def test_fabricated_runs_have_every_verdict_and_two_schedulers() -> None:
    assert set(VERDICTS) == set(Verdict)
    assert {one.check.scheduler for one in run().outcomes} == {Scheduler.KUEUE, Scheduler.KAI}
