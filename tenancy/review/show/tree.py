"""The tree of Cohorts and ClusterQueues that an agreement becomes on Kueue, with what each node has of each flavor.

Nodes are those of `tenancy.objects.kueue`, by its kinds and names; numbers are the plan's, so a team's node says what the team is
promised and not which of Kueue's objects the quota stands on. All amounts are whole units of their flavor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ...agreement.hardware import Hardware
from ...agreement.plan import DepartmentPlan, Plan, TeamPlan
from ...objects.kueue import PROD_SUFFIX
from ...quota.kueue_model import KueueModel
from ...quota.reach import reach_together

Role = Literal["root", "department", "team", "regular", "prod"]
Kind = Literal["Cohort", "ClusterQueue"]


@dataclass(frozen=True, slots=True)
class Amounts:
    """What one node has of one flavor; of a root or department the sum of its teams.

    `borrowable` None is no limit; `reach` is the most that all jobs below the node can use together; `pool` is what no team is
    guaranteed (only the root has it).
    """

    flavor: Hardware
    guaranteed: int
    lendable: int
    prod: int
    borrowable: int | None
    reach: int
    pool: int = 0

    @property
    def reserved(self) -> int:
        """The part of the guarantee that nobody else ever uses."""
        return self.guaranteed - self.lendable


@dataclass(frozen=True, slots=True)
class Node:
    """One Cohort or ClusterQueue. `others` are flavors that it may use and that the agreement does not name for it."""

    role: Role
    kind: Kind
    name: str
    display_name: str
    amounts: tuple[Amounts, ...]
    others: tuple[Amounts, ...] = ()
    children: tuple[Node, ...] = ()

    @property
    def label(self) -> str:
        """The name, and the name to show where that is another. What would change the direction of text is taken out."""
        own = self.name.removesuffix(PROD_SUFFIX) if self.role == "prod" else self.name
        return self.name if self.display_name in (own, "") else f"{self.name} ({printable(self.display_name)})"

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """The node and all below it with their depth, parents first."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def cohort_tree(plan: Plan, teams: Collection[str] = (), flavors: Collection[str] = ()) -> Node:
    """The tree; only these teams and flavors of it, where some are named (what is summed is summed over all teams).

    Of several flavors a node lists those of which it has something; of one, or of those asked for, it lists all.
    """
    return _Maker(plan, frozenset(teams), frozenset(flavors)).root()


def printable(text: str) -> str:
    """Text that neither moves the cursor nor turns the direction of what follows it."""
    return "".join(char if char.isprintable() or char == "\u200d" else "\ufffd" for char in text)


@dataclass(frozen=True)
class _Maker:
    plan: Plan
    only_teams: frozenset[str]
    only_flavors: frozenset[str]

    @cached_property
    def models(self) -> Mapping[str, KueueModel]:
        """By flavor; nothing runs in them."""
        return {flavor.name: KueueModel(self.plan, flavor.name) for flavor in self.flavors()}

    def reach(self, team: TeamPlan, flavor: Hardware) -> int:
        return self.models[flavor.name].queue(team.name).potential

    def root(self) -> Node:
        top = [self.team(team) for team in self.plan.teams if team.department is None and self.wanted(team)]
        departments = [
            made
            for department in self.plan.departments
            if (made := self.department(department)).children or not self.only_teams
        ]
        amounts = tuple(self.total(flavor) for flavor in self.flavors())
        return Node("root", "Cohort", self.plan.cluster, "", amounts, children=(*departments, *top))

    def department(self, value: DepartmentPlan) -> Node:
        teams = [team for team in self.plan.teams if team.department == value.name]
        amounts = [self.summed(flavor, teams) for flavor in self.flavors()]
        said = {flavor for team in teams for flavor in self.said(team)}
        children = tuple(self.team(team) for team in teams if self.wanted(team))
        return Node("department", "Cohort", value.name, value.display_name, *self.split(amounts, said), children)

    def team(self, value: TeamPlan) -> Node:
        amounts = [self.share(value, flavor) for flavor in self.flavors()]
        named, others = self.split(amounts, self.said(value))
        if not value.has_prod:
            return Node("team", "ClusterQueue", value.name, value.display_name, named, others)
        return Node(
            "team", "Cohort", value.name, value.display_name, named, others, (self.regular(value), self.prod(value))
        )

    def regular(self, team: TeamPlan) -> Node:
        """The queue for all jobs but prod: it can reach what the team can, and owns G − P where the agreement puts it there."""
        on_queue = self.plan.guarantee_on == "queue"
        amounts = tuple(
            Amounts(flavor, share.regular, share.regular, 0, None, self.reach(team, flavor))
            for flavor in self.flavors()
            if on_queue and (share := team.shares[flavor.name]).regular
        )
        return Node("regular", "ClusterQueue", team.name, team.display_name, amounts)

    def prod(self, team: TeamPlan) -> Node:
        amounts = tuple(
            Amounts(flavor, share.prod, share.prod, share.prod, 0, share.prod)
            for flavor in self.flavors()
            if (share := team.shares[flavor.name]).prod
        )
        return Node("prod", "ClusterQueue", team.name + PROD_SUFFIX, team.display_name, amounts)

    # --- amounts

    def share(self, team: TeamPlan, flavor: Hardware) -> Amounts:
        own = team.shares[flavor.name]
        reach = self.reach(team, flavor)
        return Amounts(flavor, own.guaranteed, own.lendable, own.prod, own.borrowable, reach)

    def summed(self, flavor: Hardware, teams: Sequence[TeamPlan]) -> Amounts:
        """Of a group."""
        shares = [team.shares[flavor.name] for team in teams]
        guaranteed, lendable = sum(share.guaranteed for share in shares), sum(share.lendable for share in shares)
        limits = [share.borrowable for share in shares if share.borrowable is not None]
        borrowable = sum(limits) if len(limits) == len(shares) else None
        reach = reach_together(self.models[flavor.name], teams)
        return Amounts(flavor, guaranteed, lendable, sum(share.prod for share in shares), borrowable, reach)

    def total(self, flavor: Hardware) -> Amounts:
        """Of the root: it borrows from nobody, and all there is can be used."""
        every = self.summed(flavor, self.plan.teams)
        pool = self.plan.pool[flavor.name]
        return Amounts(flavor, every.guaranteed, every.lendable, every.prod, 0, flavor.capacity, pool)

    # --- what is listed

    def flavors(self) -> list[Hardware]:
        return [flavor for flavor in self.plan.flavors if not self.only_flavors or flavor.name in self.only_flavors]

    def wanted(self, team: TeamPlan) -> bool:
        return not self.only_teams or team.name in self.only_teams

    def said(self, team: TeamPlan) -> set[str]:
        """The flavors of which the agreement says something to the team."""
        return {name for name, share in team.shares.items() if share.guaranteed or share.borrowable is not None}

    def split(self, amounts: list[Amounts], said: set[str]) -> tuple[tuple[Amounts, ...], tuple[Amounts, ...]]:
        """What is listed of a node, and what is only summed up."""
        if self.only_flavors or len(self.plan.flavors) == 1:
            return tuple(amounts), ()
        named = tuple(amount for amount in amounts if amount.flavor.name in said)
        return named, tuple(amount for amount in amounts if amount.flavor.name not in said and amount.reach)
