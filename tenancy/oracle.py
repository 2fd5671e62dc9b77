"""What Kueue answers, by the agreement's numbers: the arithmetic of its tree, over the plan, for one flavor.

A node owns `nominal`; its siblings may use `lending` of what it has while it is idle, and it may go `borrowing` above its own.

- subtree(queue) = nominal; subtree(Cohort) = nominal + what each child lends: min(subtree, lending).
- local = max(0, subtree − lending), 0 without a lending limit: what stays inside.
- available(root) = subtree − usage; available(node) = max(0, local − usage) + min(available(parent),
  subtree − local − max(0, usage − local) + borrowing).

(Kueue's pkg/cache/scheduler/resource_node.go.) The oracle reads the plan and not the objects that are made of it, so that what
a cluster does with the objects can be held against it. All amounts are whole units of the flavor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .plan import Plan, TeamPlan


@dataclass(eq=False)
class Node:
    """A ClusterQueue or a Cohort: its quota of the flavor, its usage, its place in the tree. `lending` and `borrowing` None:
    no limit."""

    name: str
    is_queue: bool
    nominal: int
    lending: int | None = None
    borrowing: int | None = None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    usage: int = 0
    """Of a queue: the units of the jobs that are admitted in it."""

    def __post_init__(self) -> None:
        if self.parent:
            self.parent.children.append(self)

    @property
    def subtree(self) -> int:
        return self.nominal + sum(child.subtree - child.local for child in self.children)

    @property
    def local(self) -> int:
        return 0 if self.lending is None else max(0, self.subtree - self.lending)

    @property
    def used(self) -> int:
        return self.usage + sum(max(0, child.used - child.local) for child in self.children)

    @property
    def available(self) -> int:
        if self.parent is None:
            return self.subtree - self.used
        from_parent = self.parent.available
        if self.borrowing is not None:
            used_there = max(0, self.used - self.local)
            from_parent = min(from_parent, self.subtree - self.local - used_there + self.borrowing)
        return max(0, self.local - self.used) + from_parent

    def up(self) -> Iterator[Node]:
        """The node, its Cohort, and so on to the root."""
        yield self
        if self.parent:
            yield from self.parent.up()


class Oracle:
    """The tree of a plan for one flavor, in which nothing runs yet."""

    def __init__(self, plan: Plan, flavor: str) -> None:
        self.plan, self.flavor = plan, flavor
        self.root = Node(plan.cluster, False, plan.pool[flavor])
        self.departments = {it.name: Node(it.name, False, 0, parent=self.root) for it in plan.departments}
        self.queues: dict[tuple[str, bool], Node] = {}
        for team in plan.teams:
            self._add(team)

    def queue(self, team: str, prod: bool = False) -> Node:
        return self.queues[team, prod]

    def run(self, team: str, units: int | None = None, *, each: int = 1, prod: bool = False) -> int:
        """Runs as many jobs of `each` units as the queue can get without stopping any, `units` at most; returns their units."""
        node = self.queue(team, prod)
        fits = max(node.available, 0) // each * each
        amount = fits if units is None else min(fits, units // each * each)
        node.usage += amount
        return amount

    def _add(self, team: TeamPlan) -> None:
        share = team.shares[self.flavor]
        parent = self.departments[team.department] if team.department else self.root
        if not team.has_prod:
            own = Node(team.name, True, share.guaranteed, share.lendable, share.borrowable, parent)
            self.queues[team.name, False] = own
            return
        on_cohort = self.plan.guarantee_on == "cohort"
        cohort = Node(team.name, False, share.regular * on_cohort, share.lendable, share.borrowable, parent)
        self.queues[team.name, False] = Node(team.name, True, share.regular * (not on_cohort), parent=cohort)
        self.queues[team.name, True] = Node(f"{team.name}-prod", True, share.prod, borrowing=0, parent=cohort)
