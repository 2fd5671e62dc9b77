"""What somebody may have meant by a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import islice

MOST_COMPARED = 1000  # names; each comparison takes microseconds, and a file may hold a thousand errors
MOST_LETTERS = 64  # of a name: Kubernetes has none that is longer
MOST_SHOWN = 20


def similar(name: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> list[str]:
    """The known names that look most like this one, the most similar first."""
    return difflib.get_close_matches(name, list(known), n=most, cutoff=likeness)


def did_you_mean(name: str, known: Collection[str], none: str) -> str:
    """A remedy for a name that is not known: the most similar one, else all of them, else `none`."""
    if near := similar(name[:MOST_LETTERS], islice(known, MOST_COMPARED)):
        return f"did you mean {near[0]!r}?"
    return f"known are {', '.join(islice(known, MOST_SHOWN))}" if known else none
