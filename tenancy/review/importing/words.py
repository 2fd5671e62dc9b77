"""The list of what an agreement does not say, for people: one line for what is the same on many objects."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...text.counts import some
from .outcome import Difference, Outcome

MOST_NAMES = 5
MOST_CHARACTERS = 100


def lines(not_expressed: Sequence[Difference]) -> Iterator[str]:
    """In the order of the list; of what is alike, where the first of it stands."""
    alike: dict[tuple[str, ...], list[Difference]] = {}
    for entry in not_expressed:
        kind = entry.reference.partition("/")[0]
        # A whole object that is not in the agreement is told by its reason: what is in it would fill a page.
        what = ("", "") if not entry.path else (_short(entry.found), _short(entry.becomes))
        alike.setdefault((kind, entry.path, entry.outcome, entry.why, *what), []).append(entry)
    for group in alike.values():
        yield _line(group[0], [difference.reference.partition("/")[2] for difference in group])


def skipped(references: Iterable[str]) -> str:
    """Kinds that no agreement is read from; empty where there are none."""
    kinds = Counter(reference.partition("/")[0] for reference in references)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _line(difference: Difference, names: Sequence[str]) -> str:
    kind = difference.reference.partition("/")[0]
    of = f"{kind}/{some(names, MOST_NAMES)}"
    why = f": {difference.why}" if difference.why else ""
    if not difference.path:
        what = "new" if difference.outcome is Outcome.ADD else "not in the agreement, is kept as it is"
        return f"{of}: {what}{why}"
    match difference.outcome:
        case Outcome.KEEP:
            what = f"{_short(difference.found)} is kept"
        case Outcome.REMOVE:
            what = f"{_short(difference.found)} is removed"
        case Outcome.UPDATE:
            what = f"{_short(difference.found)} becomes {_short(difference.becomes)}"
        case Outcome.ADD:
            was = "no value" if difference.found is None else _short(difference.found)
            what = f"{was} becomes {_short(difference.becomes)}"
    return f"{of} {difference.path}: {what}{why}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
