"""How long something took, takes or has taken, in one form: `12s`, `7m`, `3h20m`, `4d6h`.

It is the form in which the agreement writes a duration (`"1h30m"`) and Kubernetes an age: two units at most, the smaller one
left out where it is nothing. Ages are rounded down, bounds up. What was measured keeps its tenths below a minute and its
seconds below an hour: there they are what a reader compares. Arguments are seconds, or a timedelta; nothing is negative,
since clocks differ.
"""

from __future__ import annotations

from datetime import timedelta
from math import ceil

UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def duration(time: timedelta | float) -> str:
    """An age: rounded down, in whole minutes from a minute on."""
    seconds = int(_seconds(time))
    return _two_units(seconds - seconds % _smallest(seconds))


def within(time: timedelta | float) -> str:
    """A bound: the same, rounded up."""
    seconds = ceil(_seconds(time))
    step = _smallest(seconds)
    seconds = ceil(seconds / step) * step
    step = _smallest(seconds)  # 59 minutes and a second are an hour, from where the steps are larger
    return _two_units(ceil(seconds / step) * step)


def measured(seconds: float | None) -> str:
    """What a clock of ours has measured; `never` for what did not come."""
    if seconds is None:
        return "never"
    if seconds < 59.95:
        return f"{max(0.0, seconds):.1f}s"
    whole = round(seconds)
    return _two_units(whole) if whole < 3_600 else duration(whole)


def _seconds(time: timedelta | float) -> float:
    return max(0.0, time.total_seconds() if isinstance(time, timedelta) else time)


def _smallest(seconds: int) -> int:
    """Of the two units that are shown, the size of the smaller one."""
    return 3_600 if seconds >= 86_400 else 60 if seconds >= 60 else 1


def _two_units(seconds: int) -> str:
    shown = []
    for size, unit in UNITS:
        if seconds >= size:
            shown.append(f"{seconds // size}{unit}")
            seconds %= size
    return "".join(shown[:2]) or "0s"
