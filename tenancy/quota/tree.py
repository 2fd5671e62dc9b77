"""A tree of quotas, of one flavor: what each node owns, what it uses, and what it can still get. As Kueue counts.

A node owns `nominal`; its siblings may use `lending` of what it has while it is idle, and it may go `borrowing` above its own.

- subtree(queue) = nominal; subtree(Cohort) = nominal + what each child lends: min(subtree, lending).
- local = max(0, subtree − lending), 0 without a lending limit: what stays inside.
- used(Cohort) = what each child uses beyond its local part.
- available(root) = subtree − used; available(node) = max(0, local − used) + min(available(parent),
  subtree − local − max(0, used − local) + borrowing).

(Kueue's pkg/cache/scheduler/resource_node.go.) Who may be preempted for a request goes by the same tree, from the queue upwards:

- The first node whose subtree still holds its usage and the request has the advantage over all that is used outside of it.
- Preempted are jobs of queues over their nominal, as long as each Cohort between them and the common ancestor is over its subtree.
- Where only the root holds the request nobody is preempted: a queue does not borrow by preemption.

(pkg/scheduler/preemption/classical. Every queue has `reclaimWithinCohort: Any`, so priorities do not matter here.) Not in the
tree: jobs of lower priority in the same queue, which a request may preempt too; which of several queues Kueue chooses (see
`reclaim`); `[sharing] policy = "fair"`, under which shares decide and not the tree.

Every node keeps its sums, and a change passes on to its parent only what the parent sees of it, so that asking costs no more than
the depth of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeVar

Amount = TypeVar("Amount", int, Fraction)


def lent(subtree: Amount, lending: Amount | None) -> Amount:
    """What its parent counts of what a node owns with all below it."""
    return subtree if lending is None else min(subtree, lending)


class Node:
    """A ClusterQueue or a Cohort: its quota of the flavor, its place in the tree, its usage. `lending` and `borrowing` None:
    no limit."""

    __slots__ = (
        "_usage",
        "borrowing",
        "children",
        "is_queue",
        "lending",
        "local",
        "name",
        "nominal",
        "parent",
        "subtree",
        "used",
    )

    def __init__(
        self,
        name: str,
        is_queue: bool,
        nominal: int,
        lending: int | None = None,
        borrowing: int | None = None,
        parent: Node | None = None,
    ) -> None:
        self.name, self.is_queue, self.parent = name, is_queue, parent
        self.nominal, self.lending, self.borrowing = nominal, lending, borrowing
        self.children: list[Node] = []
        self._usage = 0
        self.subtree = 0
        """What it owns, with what all below it lend it."""
        self.local = 0
        """The part of that which stays inside."""
        self.used = 0
        """By its own jobs, and by those below it beyond what is local to them."""
        if parent:
            parent.children.append(self)
        self._add(nominal, 0)

    def _add(self, owned: int, used: int) -> None:
        lent_before, spilled = self.lent, self.spilled
        self.subtree += owned
        self.used += used
        self.local = self.subtree - lent(self.subtree, self.lending)
        if self.parent and (self.lent != lent_before or self.spilled != spilled):
            self.parent._add(self.lent - lent_before, self.spilled - spilled)

    @property
    def usage(self) -> int:
        """Of a queue: the units of the jobs that are admitted in it."""
        return self._usage

    @usage.setter
    def usage(self, units: int) -> None:
        change, self._usage = units - self._usage, units
        self._add(0, change)

    @property
    def lent(self) -> int:
        """What its parent counts as there."""
        return self.subtree - self.local

    @property
    def spilled(self) -> int:
        """What its parent counts as used."""
        return max(0, self.used - self.local)

    @property
    def idle(self) -> int:
        """What of the part that it lends it does not use itself."""
        return max(0, self.lent - self.spilled)

    @property
    def over(self) -> int:
        """How far its usage is above its own quota; 0 where it is not."""
        return max(0, self.used - self.subtree)

    @property
    def available(self) -> int:
        """What it can get now without a preemption; below 0 where more is used than there is."""
        if self.parent is None:
            return self.subtree - self.used
        from_parent = self.parent.available
        if self.borrowing is not None:
            from_parent = min(from_parent, self.lent - self.spilled + self.borrowing)
        return max(0, self.local - self.used) + from_parent

    @property
    def potential(self) -> int:
        """What would be available if nothing ran: Kueue says of a larger job that it exceeds the maximum, not that it waits."""
        if self.parent is None:
            return self.subtree
        reached = self.local + self.parent.potential
        return reached if self.borrowing is None else min(reached, self.subtree + self.borrowing)

    def holds(self, units: int = 0) -> bool:
        """Whether its own quota holds what it uses and so much more."""
        return self.used + units <= self.subtree

    def beyond_local(self, units: int) -> int:
        """What of a request the node's own, unlent part does not hold, so that its parent must."""
        return max(0, units - max(0, self.local - self.used))

    # --- its place in the tree

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

    def queues(self) -> list[Node]:
        """Every queue of the whole tree."""
        *_, root = self.up()
        return [node for node in root.down() if node.is_queue]

    # --- from whom it may take back

    def holder(self, units: int) -> Node | None:
        """The first node upwards whose own quota holds what it uses and `units` more of this queue; None where none does."""
        for node in self.up():
            if node.holds(units):
                return node
            units = node.beyond_local(units)
        return None

    def reclaimable(self, units: int) -> dict[Node, int]:
        """From which other queues this one may take back for a request of `units` that does not fit, and how much of each at most.
        (Of queues in one Cohort together not more than the Cohort is over; the last job preempted may be larger than what was
        left.)"""
        holder, lineage = self.holder(units), set(self.up())
        if holder is None:
            return {}
        inside = set(holder.down())
        found = {}
        for queue in self.queues():
            if queue in inside:
                continue
            if most := min(node.over for node in queue.up() if node not in lineage):
                found[queue] = most
        return found

    def must_preempt(self, units: int, each: int = 1) -> int | None:
        """How many jobs of `each` units must be preempted, at least, before a request of `units` in this queue can start: 0 where
        it fits, None where it waits whoever is preempted."""
        preempted: list[Node] = []
        while self.available < units:
            # Any choice frees as much, but where a job is larger than what its queue borrows: so the one that frees most.
            choices = [(self.gain({queue: each}), queue) for queue in self.reclaimable(units) if queue.usage >= each]
            freed, queue = max(choices, key=lambda choice: choice[0], default=(0, self))
            if not freed:
                break
            queue.usage -= each
            preempted.append(queue)
        fits = self.available >= units
        for queue in preempted:
            queue.usage += each
        return len(preempted) if fits else None

    def gain(self, ended: dict[Node, int]) -> int:
        """What more would be available to it if so much less ran in other queues."""
        before = self.available
        for queue, units in ended.items():
            queue.usage -= units
        after = self.available
        for queue, units in ended.items():
            queue.usage += units
        return after - before
