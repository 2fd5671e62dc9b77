"""What Kueue answers, by the agreement's numbers: the arithmetic of its tree, over the plan, for one flavor.

A node owns `nominal`; its siblings may use `lending` of what it has while it is idle, and it may go `borrowing` above its own.

- subtree(queue) = nominal; subtree(Cohort) = nominal + what each child lends: min(subtree, lending).
- local = max(0, subtree − lending), 0 without a lending limit: what stays inside.
- available(root) = subtree − usage; available(node) = max(0, local − usage) + min(available(parent),
  subtree − local − max(0, usage − local) + borrowing).

(Kueue's pkg/cache/scheduler/resource_node.go.) Who may be stopped for a request goes by the same tree, from the queue upwards:

- The first node whose subtree still holds its usage and the request has the advantage over all that is used outside of it.
- Stopped are jobs of queues over their nominal, as long as each Cohort between them and the common ancestor is over its subtree.
- Where only the root holds the request nobody is stopped: a queue does not borrow by preemption.

(pkg/scheduler/preemption/classical. Every queue has `reclaimWithinCohort: Any`, so priorities do not matter here.) Not in the
oracle: jobs of lower priority in the same queue, which a request may stop too; which of several queues Kueue chooses (the newest
jobs first); `[sharing] policy = "fair"`, under which shares decide and not the tree.

The oracle reads the plan and not the objects that are made of it, so that what a cluster does with the objects can be held
against it. All amounts are whole units of the flavor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..agreement.plan import Plan, TeamPlan


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

    @property
    def potential(self) -> int:
        """What would be available if nothing ran: Kueue says of a larger job that it exceeds the maximum, not that it waits."""
        if self.parent is None:
            return self.subtree
        reached = self.local + self.parent.potential
        return reached if self.borrowing is None else min(reached, self.subtree + self.borrowing)

    @property
    def over(self) -> int:
        """How far its usage is above its own quota; 0 where it is not."""
        return max(0, self.used - self.subtree)

    def up(self) -> Iterator[Node]:
        """The node, its Cohort, and so on to the root."""
        yield self
        if self.parent:
            yield from self.parent.up()

    def down(self) -> Iterator[Node]:
        """The node and all below it."""
        yield self
        for child in self.children:
            yield from child.down()

    def holder(self, units: int) -> Node | None:
        """The first node upwards whose own quota holds what it uses and `units` more of this queue; None where none does."""
        for node in self.up():
            if node.used + units <= node.subtree:
                return node
            units -= max(0, node.local - node.used)
        return None

    def reclaimable(self, units: int) -> dict[Node, int]:
        """Whom this queue may stop for a request of `units` that does not fit: so many units of each other queue at most. (Of
        queues in one Cohort together not more than the Cohort is over; the last job stopped may be larger than what was left.)"""
        holder, lineage = self.holder(units), set(self.up())
        if holder is None:
            return {}
        found = {}
        for queue in holder.outside():
            between = [node for node in queue.up() if node not in lineage]
            if room := min(node.over for node in between):
                found[queue] = room
        return found

    def must_stop(self, units: int, each: int = 1) -> int | None:
        """How many jobs of `each` units must be stopped, at least, before a request of `units` in this queue can start: 0 where
        it fits, None where it waits whoever is stopped."""
        stopped: list[Node] = []
        while self.available < units:
            # Any choice frees as much, but where a job is larger than what its queue borrows: so the one that frees most.
            choices = [(self._freed(queue, each), queue) for queue in self.reclaimable(units) if queue.usage >= each]
            freed, queue = max(choices, key=lambda it: it[0], default=(0, self))
            if not freed:
                break
            queue.usage -= each
            stopped.append(queue)
        fits = self.available >= units
        for queue in stopped:
            queue.usage += each
        return len(stopped) if fits else None

    def outside(self) -> Iterator[Node]:
        """The queues of the tree that are not in this node's subtree."""
        *_, root = self.up()
        mine = set(self.down())
        yield from (node for node in root.down() if node.is_queue and node not in mine)

    def _freed(self, queue: Node, units: int) -> int:
        """What becomes available here when so much less runs there."""
        before = self.available
        queue.usage -= units
        freed = self.available - before
        queue.usage += units
        return freed


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
