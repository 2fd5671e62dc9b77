"""Points in time, beside the moment of the answer."""

from __future__ import annotations

from datetime import datetime, timedelta

from ...text.durations import duration


def since(then: datetime | None, now: datetime) -> str:
    return f"{duration(now - then)} ago" if then else "at an unknown time"


def clock(then: datetime) -> str:
    """To the minute, rounded up."""
    return (then + timedelta(seconds=59, microseconds=999_999)).strftime("%Y-%m-%d %H:%M UTC")
