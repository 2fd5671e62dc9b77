"""Who held how much when: one interval for each time that a queue's jobs of a check held the same amount."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from .evidence.model import UsageInterval

Holder = tuple[str, str, str]
"""Team, queue, flavor."""


class Timeline:
    """Filled by checks as they look, from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._now: dict[tuple[str, Holder], tuple[int, float]] = {}
        self._over: list[UsageInterval] = []

    def see(self, check: str, at: float, holds: Mapping[Holder, int]) -> None:
        """What a check's jobs hold at a time; nothing of a holder that is left out."""
        with self._lock:
            before = {holder for name, holder in self._now if name == check}
            for holder in before | set(holds):
                key, units = (check, holder), holds.get(holder, 0)
                had, since = self._now.get(key, (0, at))
                if units == had:
                    continue
                if had:
                    self._over.append(UsageInterval(check, *holder, had, since, at))
                if units:
                    self._now[key] = (units, at)
                else:
                    self._now.pop(key, None)

    def all(self) -> tuple[UsageInterval, ...]:
        """In the order in which they began."""
        with self._lock:
            return tuple(sorted(self._over, key=lambda held: (held.since, held.check, held.queue)))
