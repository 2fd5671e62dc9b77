"""A difference as text, as a comment that always fits, and as data: every team is named, nothing is dropped in silence."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import LAB, ONE_FLAVOR, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.schedulers import Scheduler
from tenancy.quota.jobs import Job
from tenancy.review.diff import compare
from tenancy.review.diff.data import as_json
from tenancy.review.diff.live_impact import live_impact
from tenancy.review.diff.markdown import MARKER, MOST, escape, markdown
from tenancy.review.diff.text import text

GITHUB = 65_536  # characters of a comment

HOSTILE = [
    "@everyone",
    "a | b",
    "<script>alert(1)</script>",
    "[x](https://example.com)",
    "www.example.com",
    "https://example.com",
    "#1",
    "GH-1",
    ":tada:",
    "`code` *bold* _it_ ~~no~~",
    "</details>",
    "&amp; &#64;x",
    "$x$",
    "<!-- tenancy diff -->",
]


def many(teams: int, shift: int, flavors: int = 3, name: str = "") -> Plan:
    """A large agreement of which every number depends on `shift`."""
    names = [f"f{number}" for number in range(flavors)]
    values: dict[str, Any] = {
        "cluster": {"name": "c"},
        "flavors": {name: {"nodes": 9 * teams, "gpus_per_node": 8} for name in names},
        "teams": {
            f"t{team}": {
                "display_name": f"{name} t{team}".strip(),
                "guaranteed": {name: 16 + (team * shift + place) % 8 for place, name in enumerate(names)},
                "prod": dict.fromkeys(names, (team + shift) % 3),
            }
            for team in range(teams)
        },
    }
    return make_plan(as_agreement(values))


# --- text


@settings(deadline=None)
@given(agreements(), agreements())
def test_the_text_names_every_team_that_changes(old: dict, new: dict) -> None:  # type: ignore[type-arg]
    difference = compare(make_plan(as_agreement(old)), make_plan(as_agreement(new)))
    words = set(re.findall(r"[\w-]+", text(difference, 100)))
    assert set(difference.changed_teams) <= words


def test_a_flavor_of_which_a_team_had_nothing_goes_without_a_word_of_the_team() -> None:
    other = "[flavors.other]\nnodes = 1\ngpus_per_node = 1\n"
    team = "[teams.a]\nguaranteed = { gpu = 8 }\nborrowable = { gpu = 8, other = 0 }\n"
    before, after = plan(ONE_FLAVOR + other + team), plan(ONE_FLAVOR + team.replace(", other = 0", ""))
    assert compare(before, after).changed_teams == ()


def test_a_table_stands_in_columns() -> None:
    difference = compare(plan(LAB), plan(LAB.replace("guaranteed = 16", "guaranteed = 8")))
    lines = text(difference, 100).splitlines()
    (head,) = [line for line in lines if line.startswith("  team ")]
    (row,) = [line for line in lines if line.startswith("  training ")]
    assert row.index("16 → 8") + len("16 → 8") == head.index("guaranteed") + len("guaranteed")


def test_objects_are_counted_and_named_only_when_asked_for() -> None:
    difference = compare(plan(LAB), plan(LAB.replace("guaranteed = 16", "guaranteed = 8")))
    assert "ClusterQueue/training" not in text(difference, 100)
    assert "ClusterQueue/training: update" in text(difference, 100, detail=True)


# --- Markdown


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_nothing_but_text(name: str) -> None:
    shown = escape(name)
    assert html.unescape(shown).replace("\u200b", "") == name
    assert not re.search(r"[@|<>\[\]`*_~#$\\](?!\d+;)", shown.replace("&#", ""))


@pytest.mark.parametrize("name", ["@everyone", "#1", ":tada:", "www.example.com", "GH-1"])
def test_what_github_looks_for_after_markdown_is_broken_too(name: str) -> None:
    """Mentions, references and emoji are searched in the text that comes out, where a character's number is the character."""
    assert name not in html.unescape(escape(name))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_leaves_the_comment_whole(name: str) -> None:
    quoted = json.dumps(name)
    old = ONE_FLAVOR + f"[teams.a]\ndisplay_name = {quoted}\nguaranteed = 8\n[teams.b]\nguaranteed = 8\n"
    made = markdown(compare(plan(old), plan(old.replace("guaranteed = 8\n[", "guaranteed = 12\n["))))
    assert made.count(MARKER) == 1 and made.startswith(MARKER)
    assert made.count("<details>") == made.count("</details>")
    (row,) = [line for line in made.splitlines() if line.startswith("| ") and "8 → 12" in line]
    assert row.count(" | ") == 5 and html.unescape(row).replace("\u200b", "").startswith(f"| {name} (a) |")


@pytest.mark.parametrize("teams", [1, 30, 300, 1000])
def test_a_comment_always_fits(teams: int) -> None:
    made = markdown(compare(many(teams, 1), many(teams, 2)))
    assert len(made) <= GITHUB and len(made.encode()) <= MOST
    assert made.count("<details>") == made.count("</details>")


@settings(deadline=None, max_examples=30)
@given(agreements(), agreements(), st.integers(3_000, 20_000))
def test_a_comment_fits_whatever_room_there_is(old: dict, new: dict, most: int) -> None:  # type: ignore[type-arg]
    difference = compare(make_plan(as_agreement(old)), make_plan(as_agreement(new)))
    assert len(markdown(difference, most=most).encode()) <= most


def test_long_names_of_many_bytes_fit_too() -> None:
    assert len(markdown(compare(many(200, 1, name="🚀" * 60), many(200, 2, name="🚀" * 60))).encode()) <= MOST


def test_what_is_left_out_is_counted() -> None:
    made = markdown(compare(many(300, 1), many(300, 2)))
    rows = sum(line.startswith("| t") for line in made.splitlines())
    (said,) = re.findall(r"<summary>Numbers \(([\d,]+)\)", made)
    (left,) = re.findall(r"… and ([\d,]+) more lines", made.partition("<summary>Numbers")[2].partition("</details>")[0])
    assert rows - 1 + int(left.replace(",", "")) == int(
        said.replace(",", "")
    )  # the table's head begins with a t as well


def test_every_section_keeps_its_first_lines_when_there_is_little_room() -> None:
    made = markdown(compare(many(300, 1), many(300, 2)))
    for section in re.split(r"\n#### |<details><summary>", made)[1:]:
        assert re.search(r"^(- |\| t\d)", section, re.MULTILINE), section[:80]


def test_a_small_change_has_nothing_folded_but_objects() -> None:
    made = markdown(compare(plan(LAB), plan(LAB.replace("guaranteed = 16", "guaranteed = 8"))))
    assert {entry.partition(" (")[0] for entry in re.findall("<summary>(.*)</summary>", made)} == {
        "Objects: Kueue",
        "Objects: KAI",
    }


def test_no_change_is_a_comment_too() -> None:
    assert "Nothing changes." in markdown(compare(plan(LAB), plan(LAB)))


# --- data


def test_data_is_json_with_all_that_the_text_says() -> None:
    old, new = plan(LAB), plan(LAB.replace("guaranteed = 16", "guaranteed = 8\nprod = 2"))
    job = Job("night", "train", "Job", "training", False, {"gpu": 12}, 0, datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    made = json.loads(json.dumps(as_json(compare(old, new), live_impact(old, new, Scheduler.KUEUE, [job]))))
    (row,) = [number for number in made["numbers"] if number["of_promise"]]
    assert (row["team"], row["before"]["guaranteed"], row["after"]["guaranteed"], row["less"]) == (
        "training",
        16,
        8,
        True,
    )
    assert made["changes"] and made["less"] and made["unchanged_teams"] == []
    assert made["live"]["above"][0]["jobs"] == [
        {
            "namespace": "night",
            "name": "train",
            "kind": "Job",
            "team": "training",
            "prod": False,
            "units": {"gpu": 12},
            "priority": 0,
            "since": "2026-01-02T03:04:00+00:00",
        }
    ]


def test_data_of_no_change_says_so() -> None:
    made = as_json(compare(plan(LAB), plan(LAB)))
    assert not made["changes"] and not made["less"] and made["objects"] == {}
