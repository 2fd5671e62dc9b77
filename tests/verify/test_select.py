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
    return [it.name for it in checks]


def test_nothing_chosen_is_everything_in_its_order() -> None:
    assert list(select(ALL)) == ALL


@pytest.mark.parametrize(
    ("choice", "fits"),
    [
        ({"only": ["reclaim"]}, lambda it: it.kind == "reclaim"),
        ({"only": ["reach", "gang"]}, lambda it: it.kind in ("reach", "gang")),
        ({"only": ["kai/*/training/*"]}, lambda it: it.scheduler == "kai" and it.team == "training"),
        ({"only": ["recl*"]}, lambda it: False),
        ({"teams": ["research"]}, lambda it: it.team == "research"),
        (
            {"flavors": ["cpu"], "teams": ["research", "training"]},
            lambda it: it.flavor == "cpu" and it.team in ("research", "training"),
        ),
        (
            {"only": ["reach"], "teams": ["research"], "flavors": ["gpu"]},
            lambda it: it.name.endswith("reach/research/gpu"),
        ),
    ],
)
def test_choices_add_up(choice: dict[str, list[str]], fits: object) -> None:
    assert callable(fits)
    assert names(select(ALL, **choice)) == [it.name for it in ALL if fits(it)]  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 5, len(KINDS) * 2, 30, len(ALL), 1000])
def test_a_sample_has_of_every_kind_about_as_many(size: int) -> None:
    found = select(ALL, sample=size)
    assert len(found) == min(size, len(ALL))
    assert names(found) == [it.name for it in ALL if it in found], "in their order"
    kinds = Counter((it.scheduler, it.kind) for it in found)
    assert max(kinds.values()) - min(kinds.get((it.scheduler, it.kind), 0) for it in ALL) <= 1


def test_a_sample_is_the_same_every_time_and_grows() -> None:
    few, many = select(ALL, sample=12), select(ALL, sample=40)
    assert few == select(list(reversed(ALL))[::-1], sample=12)
    assert set(names(few)) <= set(names(many))
    assert len({it.team for it in many}) == len(TEAMS) and len({it.flavor for it in many}) == len(FLAVORS)


def test_what_cannot_be_run_is_sampled_last() -> None:
    some = [replace(it, not_run="why") if it.flavor == "gpu" else it for it in ALL]
    assert not [it for it in select(some, sample=len(KINDS) * 2 * len(TEAMS)) if it.not_run]


def test_a_small_sample_has_of_every_scheduler() -> None:
    assert Counter(str(it.scheduler) for it in select(ALL, sample=4)) == {"kueue": 2, "kai": 2}
