"""Whatever a file holds, `check` answers: never a traceback, always a place, exit 0 or 2; and what loads can be used.

2,500 damaged files through the loader, a few dozen through the command, one of each kind of value at each path.
"""

from __future__ import annotations

import copy
import datetime
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from samples import LAB, ONE_FLAVOR, PRODUCTION, ROOT
from strategies import DEEP, agreements, as_agreement, damaged, paths

from tenancy.agreement import Loaded, errors
from tenancy.agreement.plan import make_plan
from tenancy.objects.loading import check, loads, validate
from tenancy.review import show
from tenancy.review.render import rendered

PATIENT = {"deadline": datetime.timedelta(seconds=20), "suppress_health_check": list(HealthCheck)}


def hold(loaded: Loaded, data: bytes) -> None:
    """What must be true of the answer to any file."""
    lines = data.count(b"\n") + 1
    for finding in loaded.findings:
        assert 1 <= finding.line <= lines and finding.column >= 1
        assert str(finding).startswith(f"f:{finding.line}:{finding.column}: ")
        assert finding.message and "\n" not in str(finding)
    assert loaded.ok is not bool(errors(loaded.findings))


@pytest.mark.slow
@settings(max_examples=2500, **PATIENT)
@given(data=damaged())
def test_a_damaged_file_is_answered_with_places(data: bytes) -> None:
    loaded = loads(data, "f")
    hold(loaded, data)
    if loaded.agreement is not None:
        plan = make_plan(loaded.agreement)
        assert rendered(plan) and show.as_json(plan) and show.summary(loaded.agreement)


@pytest.mark.slow
@settings(max_examples=24, **PATIENT)
@given(data=damaged())
def test_the_command_answers_a_damaged_file(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("damaged") / "tenancy.toml"
    file.write_bytes(data)
    code, out, err = command("check", str(file))
    assert (code, err) in ((0, ""), (2, ""))
    assert all(line.startswith(f"{file}:") for line in out.splitlines())


def command(*arguments: str, cwd: Path = ROOT, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tenancy", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


# One value of each type TOML has, and edges of each.
KINDS: tuple[Any, ...] = (
    *(
        True,
        0,
        -1,
        8,
        2**31,
        2**63,
        2**64,
        10**40,
        1.5,
        float("inf"),
        float("nan"),
        1e300,
        "",
        "x",
        "8 gpu",
        "é\n\0",
        "x" * 5000,
    ),
    *([], [1], [[]], [{}], {}, {"a": 1}, {"gpu": 8}, {"": {}}, datetime.date(2026, 1, 1), datetime.time(1)),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
)
PLACES = [(text, path) for text in (LAB, PRODUCTION.read_text("utf-8")) for path in paths(tomllib.loads(text))[1:]]


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda kind: repr(KINDS[kind])[:20])
def test_a_value_of_another_kind_is_answered_wherever_it_stands(kind: int) -> None:
    for text, path in PLACES[kind % 3 :: 3] if kind else PLACES:
        values = replaced(tomllib.loads(text), path, copy.deepcopy(KINDS[kind]))
        agreement, findings = validate(values)
        assert findings or agreement
        if agreement and not errors(findings):
            assert rendered(make_plan(agreement))


def replaced(values: Any, path: tuple[str | int, ...], value: Any) -> Any:
    inner = values
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return values


@settings(max_examples=200, **PATIENT)
@given(values=agreements())
def test_a_right_agreement_is_planned_rendered_and_shown(values: dict[str, Any]) -> None:
    agreement = as_agreement(values)
    assert errors(check(agreement)) == []
    plan = make_plan(agreement)
    assert rendered(plan) and show.as_json(plan)


# Files that are wrong in size: what they are → their text. Each is answered in seconds.
LARGE: dict[str, str] = {
    "20,000 unknown keys": ONE_FLAVOR + "".join(f"key{number} = 1\n" for number in range(20_000)),
    "20,000 teams of no flavor": ONE_FLAVOR
    + "[teams]\n"
    + "".join(f"t{number}.guaranteed.g{number} = 1\n" for number in range(20_000)),
    "10,000 flavors": '[cluster]\nname = "c"\n'
    + "".join(f"[flavors.f{number}]\nnodes = 1\ngpus_per_node = 1\n" for number in range(10_000)),
    "10,000 teams of one name and a number each": ONE_FLAVOR
    + "".join(f"[teams.T{number}]\nguaranteed = {number}\n" for number in range(10_000)),
    "a key of a megabyte": ONE_FLAVOR + "k" * 2**20 + " = 1",
    "a team of a megabyte": ONE_FLAVOR + "[teams." + "k" * 2**20 + "]",
    "text of a megabyte": ONE_FLAVOR + "[teams.a]\ndepartment = '" + "k" * 2**20 + "'",
    "10,000 dotted keys": ONE_FLAVOR + ".".join("a" * DEEP) + " = 1",
    "10,000 tables in each other": ONE_FLAVOR + f"[{'.'.join('a' * DEEP)}]",
    "10,000 tables in each other under a team": ONE_FLAVOR + f"[teams.a.guaranteed.{'.'.join('a' * DEEP)}]",
    "10,000 inline tables in each other": ONE_FLAVOR + "x = " + "{a=" * DEEP + "1" + "}" * DEEP,
    "300 arrays in each other": ONE_FLAVOR + "[teams.a]\nguaranteed = " + "[" * 300 + "]" * 300,
    "a list of 100,000 numbers": ONE_FLAVOR + f"[teams.a]\nguaranteed = [{'1,' * 100_000}]",
    "10,000 tables of an array": ONE_FLAVOR + "[[teams]]\nx = 1\n" * 10_000,
    "100,000 lines of nothing": "\n" * 100_000 + ONE_FLAVOR,
    "100,000 brackets": "[" * 100_000,
}


@pytest.mark.parametrize("case", LARGE)
def test_a_file_of_hostile_size_is_answered_in_seconds(case: str) -> None:
    data = LARGE[case].encode()
    began = time.process_time()
    hold(loads(data, "f"), data)
    assert time.process_time() - began < 20


def test_a_file_name_the_terminal_cannot_show_is_no_traceback() -> None:
    code, out, err = command("check", "caf\udce9.toml", PYTHONIOENCODING="ascii")
    assert (code, err) == (2, "")
    assert out.startswith("caf\\udce9.toml:1:1: cannot be read")


def test_letters_the_terminal_cannot_show_are_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(ONE_FLAVOR + '[teams."é"]\n', encoding="utf-8")
    code, out, err = command("check", str(file), PYTHONIOENCODING="ascii")
    assert (code, err) == (2, "")
    assert "\\xe9" in out


def test_an_answer_that_cannot_be_written_is_no_traceback() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tenancy", "check"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "tenancy: cannot write the answer: No space left on device\n")


def test_a_reader_that_leaves_is_no_traceback() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m tenancy show | true"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("", "")
