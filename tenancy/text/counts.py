"""How many there are, in words: `1 job`, `3 jobs`, `a, b and 2 more`, `a, b and c`.

Nouns here take an s. A number is written as it is; who wants `1,000` gives it as text.
"""

from __future__ import annotations

from collections.abc import Sequence


def plural(count: int, noun: str) -> str:
    """The noun alone, as it stands after the number."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    return f"{count} {plural(count, noun)}"


def some(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def listed(names: Sequence[str]) -> str:
    """All of them, as a sentence lists them; empty for none."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
