"""The schedulers that an agreement becomes objects of, and the queues that a team has in each.

What differs between schedulers by name only stands in a `PerScheduler`: a value for each, given by keyword. A new member of
`Scheduler` needs a new field, and the type checker then points at every place that has no answer for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Scheduler(StrEnum):
    KUEUE = "kueue"
    KAI = "kai"


@dataclass(frozen=True, slots=True)
class PerScheduler(Generic[T]):
    """One value for each scheduler; the fields are the members of `Scheduler` (a test compares)."""

    kueue: T
    kai: T

    def __getitem__(self, scheduler: Scheduler) -> T:
        value: T = getattr(self, scheduler.value)
        return value


TITLES = PerScheduler(kueue="Kueue", kai="KAI")
"""What a scheduler is called in a sentence."""


def chosen(given: Iterable[Scheduler] | None) -> list[Scheduler]:
    """Those that are asked for, in our order; all where none is."""
    wanted = set(given or Scheduler)
    return [scheduler for scheduler in Scheduler if scheduler in wanted]


class Place(StrEnum):
    """Which of a team's queues a job goes to."""

    REGULAR = "regular"
    PROD = "prod"
    RESERVED = "reserved"
    """KAI only: what the team never lends stands in a queue of its own."""
