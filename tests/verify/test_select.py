"""Which checks are meant: kinds, patterns, teams, flavors, and a sample that stays the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from runs import KINDS, TEAMS, check

from tenancy.verify.checks.model import Check, Scheduler
from tenancy.verify.checks.select import select

FLAVORS = ("gpu", "cpu")
ALL = [
    check(kind, team, scheduler, flavor)
    for scheduler in list(Scheduler)[:2]
    for kind in KINDS
    for team in TEAMS
    for flavor in FLAVORS
]


def names(checks: tuple[Check, ...]) -> list[str]:
    return [check.name for check in checks]


def test_nothing_chosen_is_everything_in_its_order() -> None:
    assert list(select(ALL)) == ALL


@pytest.mark.parametrize(
    ("choice", "fits"),
    [
        ({"only": ["reclaim"]}, lambda entry: entry.kind == "reclaim"),
        ({"only": ["reach", "gang"]}, lambda entry: entry.kind in ("reach", "gang")),
        ({"only": ["kai/*/training/*"]}, lambda entry: entry.scheduler == "kai" and entry.team == "training"),
        ({"only": ["recl*"]}, lambda entry: False),
        ({"teams": ["research"]}, lambda entry: entry.team == "research"),
        (
            {"flavors": ["cpu"], "teams": ["research", "training"]},
            lambda entry: entry.flavor == "cpu" and entry.team in ("research", "training"),
        ),
        (
            {"only": ["reach"], "teams": ["research"], "flavors": ["gpu"]},
            lambda entry: entry.name.endswith("reach/research/gpu"),
        ),
    ],
)
def test_choices_add_up(choice: dict[str, list[str]], fits: object) -> None:
    assert callable(fits)
    assert names(select(ALL, **choice)) == [check.name for check in ALL if fits(check)]  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 5, len(KINDS) * 2, 30, len(ALL), 1000])
def test_a_sample_has_of_every_kind_about_as_many(size: int) -> None:
    found = select(ALL, sample=size)
    assert len(found) == min(size, len(ALL))
    assert names(found) == [check.name for check in ALL if check in found], "in their order"
    kinds = Counter((check.scheduler, check.kind) for check in found)
    assert max(kinds.values()) - min(kinds.get((check.scheduler, check.kind), 0) for check in ALL) <= 1


def test_a_sample_is_the_same_every_time_and_grows() -> None:
    few, many = select(ALL, sample=12), select(ALL, sample=40)
    assert few == select(list(reversed(ALL))[::-1], sample=12)
    assert set(names(few)) <= set(names(many))
    assert len({check.team for check in many}) == len(TEAMS) and len({check.flavor for check in many}) == len(FLAVORS)


def test_what_cannot_be_run_is_sampled_last() -> None:
    some = [replace(check, not_run="why") if check.flavor == "gpu" else check for check in ALL]
    assert not [check for check in select(some, sample=len(KINDS) * 2 * len(TEAMS)) if check.not_run]


def test_a_small_sample_has_of_every_scheduler() -> None:
    assert Counter(str(check.scheduler) for check in select(ALL, sample=4)) == {"kueue": 2, "kai": 2}
