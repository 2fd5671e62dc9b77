"""Times in words."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil

STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def span(seconds: float) -> str:
    """`3 d`, `2 h`, `12 min`, `40 s`: one unit, rounded down."""
    for size, unit in STEPS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"


def within(seconds: float) -> str:
    """The same rounded up: of a bound."""
    for size, unit in STEPS:
        if seconds > size or unit == "s":
            return f"{max(0, ceil(seconds / size))} {unit}"
    raise AssertionError("seconds are the last")


def since(then: datetime | None, now: datetime) -> str:
    return f"{span((now - then).total_seconds())} ago" if then else "at an unknown time"


def clock(then: datetime) -> str:
    """To the minute, rounded up."""
    return (then + timedelta(seconds=59, microseconds=999_999)).strftime("%Y-%m-%d %H:%M UTC")
