"""Counts, names and tables read the same wherever they are printed."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenancy.text.console import console, new_table
from tenancy.text.counts import counted, listed, plural, some
from tenancy.text.spelling import did_you_mean, similar

NAMES = ("a", "b", "c", "d")


@pytest.mark.parametrize(("count", "text"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1000, "1000 jobs")])
def test_one_thing_has_no_s(count: int, text: str) -> None:
    assert counted(count, "job") == text == f"{count} {plural(count, 'job')}"


@pytest.mark.parametrize(("most", "text"), [(2, "a, b and 2 more"), (3, "a, b, c and 1 more"), (4, "a, b, c, d")])
def test_of_many_names_some_are_shown(most: int, text: str) -> None:
    assert some(NAMES, most) == text


@pytest.mark.parametrize(("count", "text"), [(0, ""), (1, "a"), (2, "a and b"), (4, "a, b, c and d")])
def test_names_are_listed_as_in_a_sentence(count: int, text: str) -> None:
    assert listed(NAMES[:count]) == text


@given(st.lists(st.sampled_from(NAMES), min_size=1), st.integers(1, 10))
def test_every_name_is_shown_or_counted(names: list[str], most: int) -> None:
    shown, _, more = some(names, most).partition(" and ")
    assert len(shown.split(", ")) + int(more.partition(" ")[0] or 0) == len(names)


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("trainig", ("research", "training"), "did you mean 'training'?"),
        ("xyz", ("research", "training"), "known are research, training"),
        ("xyz", (), "add one"),
        (
            "xyz",
            [f"team-{number}" for number in range(100)],
            "known are " + ", ".join(f"team-{number}" for number in range(20)),
        ),
    ],
)
def test_a_name_that_is_not_known_comes_with_what_would_be(name: str, known: list[str], text: str) -> None:
    assert did_you_mean(name, known, "add one") == text


def test_the_most_similar_name_is_first() -> None:
    assert similar("training", ("training-2", "traning", "research"), 2) == ["traning", "training-2"]


def test_a_stream_that_is_no_terminal_gets_text_of_a_fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    stream = io.StringIO()
    console(stream).print("[bold]" + "word " * 30 + "[/bold]")
    assert stream.getvalue() == "word " * 30 + "\n"


def test_columns_says_how_wide_a_stream_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert console(io.StringIO()).width == 40


def test_a_table_has_names_to_the_left_and_numbers_to_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    stream = io.StringIO()
    made = new_table("team", right=("used",), then=("who",))
    made.add_row("ml", "8", "x")
    console(stream).print(made)
    assert [line.rstrip() for line in stream.getvalue().splitlines() if "─" not in line and line.strip()] == [
        " team   used   who",
        " ml        8   x",
    ]
