"""Which running jobs Kueue would stop for an owner that asks: its own choice, foretold over the agreement's numbers.

Without fair sharing (kueue `pkg/scheduler/preemption`, `classical`): from the asking queue upwards, jobs of queues that use more than
their quota, below Cohorts that do, are candidates. Where the request fits the quota of a node on the way they are all fair game;
else only as far as the asking queue then owns what it has. Jobs already evicted go first, then lower priority, then the newest.
They are taken in that order until the request fits, and each that turns out not to be needed is given back, the last taken first.

Quota alone is counted: a job that must fit a domain of a topology may cost more. The asking job is taken to stop none of its own
queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..agreement.plan import Plan
from .jobs import Job
from .kueue_model import Node, Oracle


@dataclass(frozen=True, slots=True)
class _Candidate:
    job: Job
    queue: Node
    common: Node
    """The lowest node that has both this queue and the asking one below it."""
    free: bool
    """Whether it may be stopped also where the asking queue then borrows."""


def stopped_for(
    plan: Plan, flavor: str, running: Iterable[Job], team: str, amount: int, prod: bool
) -> list[Job] | None:
    """The jobs that go so that one job of `amount` units starts in the team's queue; None where it cannot start even so."""
    tree = _Tree(Oracle(plan, flavor), flavor)
    for job in running:
        tree.add(job)
    owner = tree.oracle.queue(team, prod)
    if tree.available(owner) >= amount:
        return []
    candidates = _in_order(tree, owner, amount)
    for may_borrow in _attempts(tree, owner, candidates):
        taken: list[Job] = []
        for it in candidates:
            if not _valid(tree, it, may_borrow):
                continue
            tree.add(it.job, -1)
            taken.append(it.job)
            if tree.fits(owner, amount, may_borrow):
                return _needed(tree, owner, amount, may_borrow, taken)
        for job in taken:
            tree.add(job)
    return None


class _Tree:
    """The oracle's tree with its sums kept, as each is asked for once per job."""

    def __init__(self, oracle: Oracle, flavor: str) -> None:
        self.oracle, self.flavor = oracle, flavor
        self.subtree: dict[Node, int] = {}
        self.local: dict[Node, int] = {}
        self.used: dict[Node, int] = {}
        self.jobs: dict[Node, list[Job]] = {}
        self._sum(oracle.root)

    def _sum(self, node: Node) -> None:
        for child in node.children:
            self._sum(child)
        self.subtree[node] = node.nominal + sum(self.subtree[it] - self.local[it] for it in node.children)
        self.local[node] = 0 if node.lending is None else max(0, self.subtree[node] - node.lending)
        self.used[node] = 0
        if node.is_queue:
            self.jobs[node] = []

    def add(self, job: Job, times: int = 1) -> None:
        """`times` −1 takes it away. A job of a team that the agreement no longer has is in no queue of the tree."""
        if (queue := self.oracle.queues.get((job.team, job.prod))) is None:
            return
        if times > 0:
            self.jobs[queue].append(job)
        else:
            self.jobs[queue].remove(job)
        change = times * job.units.get(self.flavor, 0)
        for node in queue.up():
            before = max(0, self.used[node] - self.local[node])
            self.used[node] += change
            change = max(0, self.used[node] - self.local[node]) - before

    def available(self, node: Node) -> int:
        if node.parent is None:
            return self.subtree[node] - self.used[node]
        from_parent = self.available(node.parent)
        if node.borrowing is not None:
            used_there = max(0, self.used[node] - self.local[node])
            from_parent = min(from_parent, self.subtree[node] - self.local[node] - used_there + node.borrowing)
        return max(0, self.local[node] - self.used[node]) + from_parent

    def within(self, node: Node, more: int = 0) -> bool:
        return self.used[node] + more <= self.subtree[node]

    def fits(self, owner: Node, amount: int, may_borrow: bool) -> bool:
        return (may_borrow or self.within(owner, amount)) and amount <= self.available(owner)


def _in_order(tree: _Tree, owner: Node, amount: int) -> list[_Candidate]:
    free: list[_Candidate] = []
    others: list[_Candidate] = []
    fits, remaining = tree.within(owner, amount), _beyond(tree, owner, amount)
    below = owner
    for node in (it for it in owner.up() if it is not owner):
        (free if fits else others).extend(_candidates(tree, node, node, below, fits))
        here = tree.within(node, remaining)
        remaining = _beyond(tree, node, remaining)
        fits, below = fits or here, node
    groups = [sorted(group, key=lambda it: it.job.stopped_first) for group in (free, others)]
    return [it for evicted in (True, False) for group in groups for it in group if it.job.evicted is evicted]


def _beyond(tree: _Tree, node: Node, amount: int) -> int:
    """What of an amount the node's own, unlent part does not hold."""
    return max(0, amount - max(0, tree.local[node] - tree.used[node]))


def _candidates(tree: _Tree, node: Node, common: Node, skipped: Node, free: bool) -> Iterator[_Candidate]:
    for child in node.children:
        if child is skipped or tree.within(child):
            continue
        if child.is_queue:
            jobs = (job for job in tree.jobs[child] if job.units.get(tree.flavor))
            yield from (_Candidate(job, child, common, free) for job in jobs)
        else:
            yield from _candidates(tree, child, common, skipped, free)


def _attempts(tree: _Tree, owner: Node, candidates: list[_Candidate]) -> tuple[bool, ...]:
    """Whether the asking queue may end up borrowing, in the order in which Kueue tries."""
    if not candidates or owner.nominal <= tree.used[owner]:
        return (True,)
    return (True, False) if any(it.free for it in candidates) else (False, True)


def _valid(tree: _Tree, it: _Candidate, may_borrow: bool) -> bool:
    """Others that were stopped before it may have brought its queue, or a Cohort above that, back within its quota."""
    if may_borrow and not it.free:
        return False
    for node in it.queue.up():
        if node is it.common:
            return True
        if tree.within(node):
            return False
    return True


def _needed(tree: _Tree, owner: Node, amount: int, may_borrow: bool, taken: list[Job]) -> list[Job]:
    needed = taken[-1:]
    for job in reversed(taken[:-1]):
        tree.add(job)
        if not tree.fits(owner, amount, may_borrow):
            tree.add(job, -1)
            needed.append(job)
    return needed[::-1]
