"""Which running jobs Kueue would preempt for an owner that asks: its own choice, made before it over the agreement's numbers.

Without fair sharing (kueue `pkg/scheduler/preemption`, `classical`): from the asking queue upwards, jobs of queues that use more than
their quota, below Cohorts that do, are candidates. Where the request fits the quota of a node on the way they are all candidates;
else only as far as the asking queue then owns what it has. Jobs already evicted go first, then lower priority, then the newest.
They are taken in that order until the request fits, and each that turns out not to be needed is given back, the last taken first.

Quota alone is counted: a job that must fit a domain of a topology may cost more. The asking job is taken to preempt none of its own
queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..agreement.plan import Plan
from .jobs import Job
from .kueue_model import KueueModel
from .tree import Node


def preempted_for(
    plan: Plan, flavor: str, running: Iterable[Job], team: str, amount: int, prod: bool
) -> list[Job] | None:
    """The jobs that go so that one job of `amount` units starts in the team's queue; None where it cannot start even so."""
    running_jobs = _RunningJobs(KueueModel(plan, flavor))
    for job in running:
        running_jobs.add(job)
    owner = running_jobs.model.queue(team, prod)
    if owner.available >= amount:
        return []
    candidates = _in_order(running_jobs, owner, amount)
    for may_borrow in _attempts(owner, candidates):
        taken: list[Job] = []
        for candidate in candidates:
            if not candidate.is_valid(may_borrow):
                continue
            running_jobs.remove(candidate.job)
            taken.append(candidate.job)
            if _fits(owner, amount, may_borrow):
                return _needed(running_jobs, owner, amount, may_borrow, taken)
        for job in taken:
            running_jobs.add(job)
    return None


class _RunningJobs:
    """Jobs in the queues of a model, which counts them. A job of a team that the agreement no longer has is in no queue of it."""

    def __init__(self, model: KueueModel) -> None:
        self.model = model
        self.by_queue: dict[Node, list[Job]] = {queue: [] for queue in model.queues.values()}

    def units(self, job: Job) -> int:
        return job.units.get(self.model.flavor, 0)

    def add(self, job: Job) -> None:
        if queue := self.model.queues.get((job.team, job.prod)):
            self.by_queue[queue].append(job)
            queue.usage += self.units(job)

    def remove(self, job: Job) -> None:
        queue = self.model.queue(job.team, job.prod)
        self.by_queue[queue].remove(job)
        queue.usage -= self.units(job)


@dataclass(frozen=True, slots=True)
class _Candidate:
    job: Job
    queue: Node
    common: Node
    """The lowest node that has both this queue and the asking one below it."""
    free: bool
    """Whether it may be preempted also where the asking queue then borrows."""

    def is_valid(self, may_borrow: bool) -> bool:
        """Others that were taken before it may have brought its queue, or a Cohort above that, back within its quota."""
        if may_borrow and not self.free:
            return False
        for node in self.queue.up():
            if node is self.common:
                return True
            if node.holds():
                return False
        return True


def _in_order(running: _RunningJobs, owner: Node, amount: int) -> list[_Candidate]:
    free: list[_Candidate] = []
    others: list[_Candidate] = []
    fits, remaining = owner.holds(amount), owner.beyond_local(amount)
    below = owner
    for node in (node for node in owner.up() if node is not owner):
        (free if fits else others).extend(_candidates(running, node, node, below, fits))
        here = node.holds(remaining)
        remaining = node.beyond_local(remaining)
        fits, below = fits or here, node
    groups = [sorted(group, key=lambda candidate: candidate.job.preempted_first) for group in (free, others)]
    return [
        candidate
        for evicted in (True, False)
        for group in groups
        for candidate in group
        if candidate.job.evicted is evicted
    ]


def _candidates(running: _RunningJobs, node: Node, common: Node, skipped: Node, free: bool) -> Iterator[_Candidate]:
    for child in node.children:
        if child is skipped or child.holds():
            continue
        if child.is_queue:
            jobs = (job for job in running.by_queue[child] if running.units(job))
            yield from (_Candidate(job, child, common, free) for job in jobs)
        else:
            yield from _candidates(running, child, common, skipped, free)


def _attempts(owner: Node, candidates: list[_Candidate]) -> tuple[bool, ...]:
    """Whether the asking queue may end up borrowing, in the order in which Kueue tries."""
    if not candidates or owner.nominal <= owner.used:
        return (True,)
    return (True, False) if any(candidate.free for candidate in candidates) else (False, True)


def _fits(owner: Node, amount: int, may_borrow: bool) -> bool:
    return (may_borrow or owner.holds(amount)) and amount <= owner.available


def _needed(running: _RunningJobs, owner: Node, amount: int, may_borrow: bool, taken: list[Job]) -> list[Job]:
    needed = taken[-1:]
    for job in reversed(taken[:-1]):
        running.add(job)
        if not _fits(owner, amount, may_borrow):
            running.remove(job)
            needed.append(job)
    return needed[::-1]
