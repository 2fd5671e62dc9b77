"""Which checks are meant: by kind, by a pattern of their names, by team and flavor, and a sample of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from hashlib import sha256

from .model import Check


def select(
    checks: Iterable[Check],
    *,
    only: Collection[str] = (),
    teams: Collection[str] = (),
    flavors: Collection[str] = (),
    sample: int | None = None,
) -> tuple[Check, ...]:
    """The checks that fit every choice that is made, in their order. `only` has kinds and patterns of names (`kueue/*/research/*`);
    `sample` is how many at most, the same ones every time."""
    found = [
        check
        for check in checks
        if (not only or any(check.kind == entry or fnmatchcase(check.name, entry) for entry in only))
        and (not teams or check.team in teams)
        and (not flavors or check.flavor in flavors)
    ]
    return tuple(found if sample is None or sample >= len(found) else _sample(found, sample))


def _sample(checks: list[Check], size: int) -> list[Check]:
    """One of each kind in turn, the schedulers mixed, then a second of each. Within a kind by a digest of the name, so that teams
    and flavors come mixed, and a check stays in the sample when others are added to the agreement."""
    kinds: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        kinds.setdefault((check.scheduler, check.kind), []).append(check)
    place: dict[str, int] = {}  # kinds of each scheduler so far: the schedulers' kinds take turns
    turns = []
    for (scheduler, _), them in kinds.items():
        # What cannot be run shows nothing: it is taken when there is nothing else.
        them.sort(key=lambda check: (bool(check.not_run), sha256(check.name.encode()).digest()))
        place[scheduler] = place.get(scheduler, 0) + 1
        turns += [(turn, place[scheduler], check) for turn, check in enumerate(them)]
    chosen = {check.name for _, _, check in sorted(turns, key=lambda turn: turn[:2])[:size]}
    return [check for check in checks if check.name in chosen]
