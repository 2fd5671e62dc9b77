"""The list of what an agreement does not say, for people: one line for what is the same on many objects."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...text.counts import some
from .outcome import Difference, Fate

MOST_NAMES = 5
MOST_CHARACTERS = 100


def lines(unsaid: Sequence[Difference]) -> Iterator[str]:
    """In the order of the list; of what is alike, where the first of it stands."""
    alike: dict[tuple[str, ...], list[Difference]] = {}
    for it in unsaid:
        kind = it.reference.partition("/")[0]
        # A whole object that is not in the agreement is told by its reason: what is in it would fill a page.
        what = ("", "") if not it.path else (_short(it.found), _short(it.becomes))
        alike.setdefault((kind, it.path, it.fate, it.why, *what), []).append(it)
    for group in alike.values():
        yield _line(group[0], [it.reference.partition("/")[2] for it in group])


def skipped(references: Iterable[str]) -> str:
    """Kinds that no agreement is read from; empty where there are none."""
    kinds = Counter(it.partition("/")[0] for it in references)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _line(it: Difference, names: Sequence[str]) -> str:
    kind = it.reference.partition("/")[0]
    of = f"{kind}/{some(names, MOST_NAMES)}"
    why = f": {it.why}" if it.why else ""
    if not it.path:
        what = "new" if it.fate is Fate.ADDED else "not in the agreement, stays as it is"
        return f"{of}: {what}{why}"
    match it.fate:
        case Fate.KEPT:
            what = f"{_short(it.found)} stays as it is"
        case Fate.DROPPED:
            what = f"{_short(it.found)} goes"
        case Fate.CHANGED:
            what = f"{_short(it.found)} becomes {_short(it.becomes)}"
        case Fate.ADDED:
            was = "nothing" if it.found is None else _short(it.found)
            what = f"{was} becomes {_short(it.becomes)}"
    return f"{of} {it.path}: {what}{why}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
