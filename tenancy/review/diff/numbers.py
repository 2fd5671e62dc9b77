"""Each team's numbers of each flavor, before and after, and how many units a flavor has.

Who is not in an agreement has nothing there, and so has a team of a flavor that is not: its numbers are None. All amounts are
whole units of the flavor (GPUs, slices, CPUs).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan
from ...quota.reach import reaches


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a team is promised of a flavor, and the most that it could use of it. `borrowable` None: no limit."""

    guaranteed: int
    lendable: int
    borrowable: int | None
    prod: int
    reach: int

    @property
    def reserved(self) -> int:
        """The part of the guarantee that is reserved: nobody else ever uses it."""
        return self.guaranteed - self.lendable

    @property
    def promised(self) -> tuple[int, int, int | None, int]:
        """What the agreement says of the team itself; its reach follows from what it says of others, too."""
        return self.guaranteed, self.lendable, self.borrowable, self.prod


NOTHING = Numbers(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Row:
    """One team and flavor whose numbers change. None: the team or the flavor is not in that agreement."""

    team: str
    flavor: str
    before: Numbers | None
    after: Numbers | None

    @property
    def was(self) -> Numbers:
        return self.before or NOTHING

    @property
    def becomes(self) -> Numbers:
        return self.after or NOTHING

    @property
    def of_promise(self) -> bool:
        """Whether something that the team itself is promised changes, and not only how far it could go on others'. A team or a
        flavor that comes or goes takes no promise along where the team is guaranteed nothing of it."""
        if self.before is None or self.after is None:
            return bool(self.was.guaranteed or self.becomes.guaranteed)
        return self.before.promised != self.after.promised

    @property
    def is_less(self) -> bool:
        """Whether the team has less of anything than before."""
        was, becomes = self.was, self.becomes
        return (
            becomes.guaranteed < was.guaranteed
            or becomes.prod < was.prod
            or becomes.reserved < was.reserved
            or becomes.reach < was.reach
        )


def rows(old: Plan, new: Plan) -> Iterator[Row]:
    """Every team and flavor with other numbers than before: the new agreement's order, then what is only in the old."""
    was, becomes = _of(old), _of(new)
    for team, flavor in dict.fromkeys((*becomes, *was)):
        row = Row(team, flavor, was.get((team, flavor)), becomes.get((team, flavor)))
        if row.was != row.becomes:
            yield row


def recounted(old: Plan, new: Plan) -> list[str]:
    """Flavors whose unit is another one than before: amounts of one are none of the other."""
    return [
        flavor.name
        for flavor in new.flavors
        if flavor.name in old.flavor and _unit(old.flavor[flavor.name]) != _unit(flavor)
    ]


def _unit(flavor: Hardware) -> tuple[str, str]:
    return flavor.unit, flavor.resource


def _of(plan: Plan) -> dict[tuple[str, str], Numbers]:
    reach = {flavor.name: reaches(plan, flavor.name) for flavor in plan.flavors}
    return {
        (team.name, flavor): Numbers(
            share.guaranteed, share.lendable, share.borrowable, share.prod, reach[flavor][team.name]
        )
        for team in plan.teams
        for flavor, share in team.shares.items()
    }
