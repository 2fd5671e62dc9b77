"""A duration has one form, wherever it is printed; an age is never more than the time that passed, a bound never less."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenancy.agreement.scalars import SECONDS
from tenancy.text.durations import duration, measured, within

TIMES = {
    # seconds: (an age, a bound, as measured)
    -5: ("0s", "0s", "0.0s"),
    0: ("0s", "0s", "0.0s"),
    0.44: ("0s", "1s", "0.4s"),
    59: ("59s", "59s", "59.0s"),
    60: ("1m", "1m", "1m"),
    74: ("1m", "2m", "1m14s"),
    3541: ("59m", "1h", "59m1s"),
    3599.7: ("59m", "1h", "1h"),
    3600: ("1h", "1h", "1h"),
    12_000: ("3h20m", "3h20m", "3h20m"),
    86_399: ("23h59m", "1d", "23h59m"),
    86_460: ("1d", "1d1h", "1d"),
    86_400 * 4 + 3600 * 6: ("4d6h", "4d6h", "4d6h"),
}


@pytest.mark.parametrize(("seconds", "texts"), TIMES.items())
def test_a_duration_has_one_form(seconds: float, texts: tuple[str, str, str]) -> None:
    assert (duration(seconds), within(seconds), measured(seconds)) == texts


def test_a_timedelta_is_a_duration_too() -> None:
    assert duration(timedelta(hours=3, minutes=20)) == within(timedelta(seconds=12_000)) == "3h20m"


def test_what_never_came_was_not_measured() -> None:
    assert measured(None) == "never"


def worth(text: str) -> int:
    """Read as the agreement reads a duration."""
    assert re.fullmatch(r"(\d+[dhms]){1,2}", text)
    return sum(int(number) * SECONDS[unit] for number, unit in re.findall(r"(\d+)([dhms])", text))


@given(st.integers(0, 10**9))
def test_an_age_is_rounded_down_and_a_bound_up(seconds: int) -> None:
    step = 3600 if seconds >= 86_400 else 60 if seconds >= 60 else 1
    assert seconds - step < worth(duration(seconds)) <= seconds <= worth(within(seconds)) < seconds + 3600
