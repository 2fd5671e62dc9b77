"""A difference of two agreements, as data. How it reads is `report`'s, what is in each part is said where it is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...agreement.plan import Plan
from ...objects.schedulers import Scheduler
from ..fidelity import Level
from .balance import Balance
from .facts import Fact
from .gangs import Gang, LostLevel
from .numbers import Row
from .objects import Action, ObjectChange


@dataclass(frozen=True, slots=True)
class FidelityChange:
    """A promise that a scheduler keeps in another way than before: for whom, how exactly, and how so."""

    scheduler: Scheduler
    promise: str
    before: Level | None
    after: Level
    how: str
    subjects: tuple[str, ...]

    @property
    def is_less(self) -> bool:
        order = [Level.EXACT, Level.APPROXIMATE, Level.REFUSED]
        return order.index(self.after) > (order.index(self.before) if self.before else 0)


@dataclass(frozen=True)
class Difference:
    """Everything that is not as before. Of `rows`, `balances` and `gangs` only what changes."""

    old: Plan
    new: Plan
    rows: tuple[Row, ...]
    balances: tuple[Balance, ...]
    gangs: tuple[Gang, ...]
    lost_levels: tuple[LostLevel, ...]
    facts: tuple[Fact, ...]
    kept: tuple[FidelityChange, ...]
    objects: Mapping[str, tuple[ObjectChange, ...]]

    @property
    def is_empty(self) -> bool:
        return not (self.rows or self.balances or self.facts or self.kept or self.objects)

    @cached_property
    def promised(self) -> tuple[Row, ...]:
        """Where a team's own promise changes."""
        return tuple(row for row in self.rows if row.of_promise)

    @cached_property
    def reached(self) -> tuple[Row, ...]:
        """Where only what a team could get of others does."""
        return tuple(row for row in self.rows if not row.of_promise and row.was.reach != row.becomes.reach)

    @cached_property
    def changed_teams(self) -> tuple[str, ...]:
        """Every team that any number or word changes for, and those that come and go: the new agreement's order first."""
        teams = dict.fromkeys(row.team for row in self.rows)
        said = {fact.subject.removeprefix("team ") for fact in self.facts if fact.subject.startswith("team ")}
        return tuple(
            fromkey
            for fromkey in dict.fromkeys((*self.new.team, *self.old.team))
            if fromkey in teams or fromkey in said
        )

    @cached_property
    def unchanged_teams(self) -> tuple[str, ...]:
        return tuple(entry for entry in self.new.team if entry not in self.changed_teams)

    @property
    def is_less(self) -> bool:
        """Whether anybody may do or has less than before."""
        return bool(
            self.gangs
            or self.lost_levels
            or any(row.is_less for row in self.rows)
            or any(fact.less for fact in self.facts)
            or any(kept.is_less for kept in self.kept)
        )

    @property
    def refused(self) -> tuple[ObjectChange, ...]:
        return tuple(change for group in self.objects.values() for change in group if change.action is Action.REFUSED)

    @cached_property
    def costly(self) -> tuple[ObjectChange, ...]:
        """Objects that are replaced, or that the cluster refuses to change."""
        return tuple(
            change
            for group in self.objects.values()
            for change in group
            if change.action in (Action.REFUSED, Action.REPLACE)
        )
