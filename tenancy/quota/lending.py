"""Who lends to whom, of one flavor, in whole units.

A scheduler's status says what each queue uses, and no more: neither Kueue nor KAI says of whose capacity a borrower
lives (kueue#7538), and Kueue's own `borrowed` counts from the nominalQuota of one queue, which is 0 for the regular
queue of a team with prod. What can be said follows from the agreement's tree (`tree`):

- A team uses first what it keeps to itself (G − L), then what it lends; what it uses beyond G is *borrowed*. On KAI what is
  never lent is a queue of its own, so there it is seen how much of it is used (`Use.kept`).
- Borrowers take what the teams of their own department have idle, as the tree's arithmetic does (a Cohort borrows only what
  its children use beyond what they lend each other), then the free pool, then what other departments' teams have idle.
  The pool comes before other teams because they lack nothing as long as it lasts: all of theirs can be had without a stop.

So much is exact. Which of several lenders a unit is of, or which of several borrowers has it, nobody knows: that is shared out in
proportion, in whole units, by largest remainder, ties in the agreement's order, and marked `about`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..agreement.hardware import Hardware
from ..agreement.plan import Plan, Share
from .kueue_model import KueueModel
from .tree import Node

POOL = ""
"""The lender of what no team is guaranteed."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a team's queues hold of a flavor: `prod` in the queue of its slice, `kept` of what it never lends. Kueue does not say
    `kept`; there a team uses that first."""

    regular: int = 0
    prod: int = 0
    reserved: int = 0
    """Of `kept`, what is in KAI's reserved queue."""
    kept: int | None = None

    @property
    def total(self) -> int:
        return self.regular + self.prod + self.reserved

    def counted(self, share: Share) -> int:
        """What a tree with one place for the team counts as its usage. KAI's reserved queue stands beside the shared tree, so there
        what it does not use is no team's to use: the tree takes it as full."""
        return self.total if self.kept is None else share.reserved + max(0, self.total - self.kept)

    def borrowed(self, share: Share) -> int:
        return max(0, self.counted(share) - share.guaranteed)


@dataclass(frozen=True, slots=True)
class Loan:
    """`units` of `lender`'s (a team, or POOL) that `borrower` uses. `about`: that it is these two, and so many, is shared out;
    `sum_about`: so is what the lender lends in all."""

    lender: str
    borrower: str
    units: int
    about: bool
    sum_about: bool


def lending(plan: Plan, flavor: Hardware, uses: Mapping[str, Use]) -> list[Loan]:
    """Every loan of a flavor by what each team uses of it. What is borrowed beyond all that is idle (guarantees were lowered
    while jobs ran) is nobody's, and in no loan."""
    teams = _tree(plan, flavor.name, uses)
    needs = {name: node.over for name, node in teams.items()}
    idle = {name: node.idle for name, node in teams.items()}
    found: list[Loan] = []

    def settle(lenders: Mapping[str, int], borrowers: Mapping[str, int]) -> None:
        for loan in _stage(lenders, borrowers):
            found.append(loan)
            needs[loan.borrower] -= loan.units
            if loan.lender != POOL:
                idle[loan.lender] -= loan.units

    for department in plan.departments:
        names = [team.name for team in plan.teams if team.department == department.name]
        settle({name: idle[name] for name in names}, {name: needs[name] for name in names})
    settle({POOL: plan.pool[flavor.name]}, dict(needs))
    settle(dict(idle), dict(needs))
    return found


def _tree(plan: Plan, flavor: str, uses: Mapping[str, Use]) -> Mapping[str, Node]:
    """Each team's place in the tree, with what it uses. How that is divided between a team's queues is nobody else's matter."""
    model = KueueModel(plan, flavor)
    for team in plan.teams:
        model.queue(team.name).usage = uses.get(team.name, Use()).counted(team.shares[flavor])
    return model.teams


def shared_out(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """A total in whole parts in proportion to the weights, none larger than its weight; largest remainder first."""
    whole = sum(weights.values())
    total = min(total, whole)
    if not whole:
        return dict.fromkeys(weights, 0)
    parts = {name: total * weight // whole for name, weight in weights.items()}
    rest = total - sum(parts.values())
    for name in sorted(weights, key=lambda name: -(total * weights[name] % whole))[:rest]:
        parts[name] += 1
    return parts


def _stage(idle: Mapping[str, int], needs: Mapping[str, int]) -> Iterator[Loan]:
    """All that these need of what these have idle. Whole parts by borrower, of what is left of each lender, so that both sums
    come out."""
    idle = {name: units for name, units in idle.items() if units > 0}
    needs = {name: units for name, units in needs.items() if units > 0}
    total = min(sum(idle.values()), sum(needs.values()))
    gives, takes = shared_out(total, idle), shared_out(total, needs)
    sum_about = len(idle) > 1 and total < sum(idle.values())
    about = sum_about or (len(needs) > 1 and (len(idle) > 1 or total < sum(needs.values())))
    for borrower, units in takes.items():
        for lender, part in shared_out(units, gives).items():
            if part:
                gives[lender] -= part
                yield Loan(lender, borrower, part, about, sum_about)
