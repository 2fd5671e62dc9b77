"""Who pays for a change: of each flavor, what some have more of is what others have less of.

Of a flavor, what teams are guaranteed and the free pool come to its capacity. So what teams and the pool gain, and hardware that
goes, is exactly what teams and the pool lose, and hardware that comes. Both sides are read off the two agreements, and nothing
is made up: who gives to whom is certain only where one side is a single one, and is not said elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ...agreement.plan import Plan
from .numbers import recounted


class Party(StrEnum):
    TEAM = "team"
    POOL = "pool"
    """What no team is guaranteed."""
    HARDWARE = "hardware"
    """It gives when nodes come, and takes when they go."""


@dataclass(frozen=True, slots=True)
class Side:
    """How much one has less (a giver) or more (a taker) of a flavor; `team` is empty but for a team."""

    party: Party
    team: str
    amount: int


@dataclass(frozen=True, slots=True)
class Balance:
    """Of one flavor. Both sides come to the same."""

    flavor: str
    givers: tuple[Side, ...]
    takers: tuple[Side, ...]

    @property
    def moved(self) -> int:
        return sum(taker.amount for taker in self.takers)


def balances(old: Plan, new: Plan) -> Iterator[Balance]:
    """One for each flavor of which anything moves, but for those that are counted in another unit than before."""
    skipped = recounted(old, new)
    for flavor in dict.fromkeys((*new.flavor, *old.flavor)):
        if flavor not in skipped and (found := _balance(old, new, flavor)).moved:
            yield found


def _balance(old: Plan, new: Plan, flavor: str) -> Balance:
    givers, takers = [], []
    teams = dict.fromkeys((*new.team, *old.team))
    gains = [(Party.TEAM, team, guaranteed_to(new, team, flavor) - guaranteed_to(old, team, flavor)) for team in teams]
    gains.append((Party.POOL, "", new.pool.get(flavor, 0) - old.pool.get(flavor, 0)))
    gains.append((Party.HARDWARE, "", _capacity(old, flavor) - _capacity(new, flavor)))
    for party, team, gain in gains:
        if gain > 0:
            takers.append(Side(party, team, gain))
        elif gain < 0:
            givers.append(Side(party, team, -gain))
    return Balance(flavor, tuple(givers), tuple(takers))


def guaranteed_to(plan: Plan, team: str, flavor: str) -> int:
    """0 where there is no such team or flavor."""
    return plan.team[team].shares[flavor].guaranteed if team in plan.team and flavor in plan.flavor else 0


def _capacity(plan: Plan, flavor: str) -> int:
    return plan.flavor[flavor].capacity if flavor in plan.flavor else 0
