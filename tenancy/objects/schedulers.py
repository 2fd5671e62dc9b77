"""The schedulers that an agreement becomes objects of, and the queues that a team has in each."""

from __future__ import annotations

from enum import StrEnum


class Scheduler(StrEnum):
    KUEUE = "kueue"
    KAI = "kai"


class Place(StrEnum):
    """Which of a team's queues a job goes to."""

    REGULAR = "regular"
    PROD = "prod"
    RESERVED = "reserved"
    """KAI only: what the team never lends stands in a queue of its own."""
