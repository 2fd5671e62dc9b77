"""A job that runs, as a comparison sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Job:
    """`units` are whole units by flavor; `since` is when it got its quota (Kueue) or its first pod started (KAI)."""

    namespace: str
    name: str
    kind: str
    team: str
    prod: bool
    units: Mapping[str, int] = field(hash=False)
    priority: int
    since: datetime
    evicted: bool = False
    """It is being taken off already."""
    uid: str = ""

    @property
    def preempted_first(self) -> tuple[bool, int, float, str]:
        """Sorts as a scheduler chooses whom to preempt: evicted, lower priority, newest."""
        return not self.evicted, self.priority, -self.since.timestamp(), self.uid

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
