"""Who else asks for quota while a promise is proved, and what each can get: by the tree of quotas, in which nothing is preempted.

Each of the others gets its guarantee first and then, one after another, whatever it can borrow. What they then hold together can
be asked for in any order: nobody is in another's way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ...quota.kueue_model import KueueModel
from ...text.counts import listed
from .builder import Sizes, others
from .model import JobGroup


@dataclass(frozen=True)
class Pressure:
    """What others hold of a flavor while the owner is idle. `held` is by team, in regular queues; `borrowed` the part of it above
    the guarantee; `need` what must be taken back from it for the owner's whole guarantee."""

    held: dict[str, int]
    borrowed: dict[str, int]
    free: int
    """What the owner can get without stopping anyone."""
    need: int

    @property
    def all_of_it(self) -> bool:
        """Whether the owner takes back all that is borrowed, so that it is certain who is stopped."""
        return self.need == sum(self.borrowed.values())


def from_all(plan: Plan, flavor: str, owner: TeamPlan) -> Pressure:
    """All others take all they can. Those of the owner's department first: what it lends to others they may take back, and shall
    have no reason to."""
    model = KueueModel(plan, flavor)
    teams = others(plan, owner)
    held = {team.name: model.run(team.name, team.shares[flavor].guaranteed) for team in teams}
    fellows = sorted(teams, key=lambda team: owner.department is None or team.department != owner.department)
    borrowed = {team.name: model.run(team.name) for team in fellows}
    return _pressure(model, flavor, owner, held, borrowed)


@dataclass(frozen=True)
class Borrowing:
    """Of a flavor: what one team can borrow of another while all the rest hold their guarantees."""

    plan: Plan
    flavor: str
    known: dict[tuple[str, str], Pressure] = field(default_factory=dict)

    def of(self, owner: TeamPlan, borrower: TeamPlan) -> Pressure:
        """The borrower takes all that it can get."""
        pair = owner.name, borrower.name
        if pair not in self.known:
            model = KueueModel(self.plan, self.flavor)
            rest = others(self.plan, owner)
            held = {team.name: model.run(team.name, team.shares[self.flavor].guaranteed) for team in rest}
            more = {borrower.name: model.run(borrower.name)}
            self.known[pair] = _pressure(model, self.flavor, owner, held, more)
        return self.known[pair]

    def most(self, owner: TeamPlan, *not_these: TeamPlan) -> tuple[TeamPlan, Pressure] | None:
        """The borrower of whom the owner must take back most, and of several that in the largest jobs; None where nobody can hold
        anything of the owner's."""
        found = [(team, self.of(owner, team)) for team in others(self.plan, owner, *not_these)]
        best = max(found, key=lambda one: (one[1].need, gcd(one[1].need, one[1].held[one[0].name])), default=None)
        return best if best and best[1].need else None


def certain(owner: TeamPlan, borrowing: Borrowing, all_at_once: bool = True) -> tuple[Pressure, dict[str, int]]:
    """What others hold, as many as can be, and what is taken back of each borrower: all of them where the owner takes back all, in
    one job; else one that borrows alone."""
    them = from_all(borrowing.plan, borrowing.flavor, owner)
    if all_at_once and len(them.borrowed) > 1 and them.all_of_it:
        return them, dict(them.borrowed)
    if best := borrowing.most(owner):
        borrower, them = best
        return them, {borrower.name: them.need}
    if len(them.borrowed) > 1:
        them = borrowing.of(owner, borrowing.plan.team[next(iter(them.borrowed))])
    return them, {}


def holders(plan: Plan, sizes: Sizes, them: Pressure, taken: Mapping[str, int], *parts: int) -> list[JobGroup]:
    """For each team that holds something one job, or several that `taken` of it, and each part of that, is a whole number of."""
    alone = len(them.borrowed) == 1
    found = []
    for number, (name, amount) in enumerate(them.held.items(), 1):
        role = "borrower" if alone and name in them.borrowed else f"other-{number}"
        team = plan.team[name]
        if amount:
            found.append(
                sizes.jobs(role, team, amount, taken[name], *parts)
                if taken.get(name)
                else sizes.gang(role, team, amount)
            )
    return found


def told(flavor: Hardware, them: Pressure) -> str:
    """`training 24 and research 8 GPUs`."""
    amounts = [f"{name} {amount}" for name, amount in them.held.items() if amount]
    word = flavor.count(2).partition(" ")[2]
    return f"{listed(amounts)} {word}" if amounts else "nothing"


def asking(plan: Plan, model: KueueModel, *not_these: TeamPlan) -> list[TeamPlan]:
    """The teams that may ask for one unit more, and must wait. Not those whose department has it back from others; and where
    shares count, not those beside a borrower, whose share they may ask for: only who borrows alone, or all where none does."""
    teams = [team for team in others(plan, *not_these) if model.queue(team.name).must_preempt(1) is None]
    if plan.sharing.policy != "fair":
        return teams
    borrowers = [team for team in plan.teams if model.queue(team.name).usage > team.shares[model.flavor].guaranteed]
    return teams if not borrowers else [team for team in teams if [team] == borrowers]


def _pressure(model: KueueModel, flavor: str, owner: TeamPlan, held: dict[str, int], more: dict[str, int]) -> Pressure:
    borrowed = {name: amount for name, amount in more.items() if amount}
    free = max(0, model.queue(owner.name).available)
    return Pressure(
        held={name: amount + borrowed.get(name, 0) for name, amount in held.items()},
        borrowed=borrowed,
        free=free,
        need=max(0, owner.shares[flavor].guaranteed - model.queue(owner.name).available),
    )
