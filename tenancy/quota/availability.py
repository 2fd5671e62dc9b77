"""What one job of a queue can get of a flavor now: how much is free to it, which limit is in its way, whom it may preempt.

The tree says how much there is. Which limit a request meets follows from the agreement, and the narrowest is named first: more than
the queue can ever have; the prod slice, which never borrows; what the team may borrow; and else that others use what is lent.

It counts units of the flavor; CPU and memory follow them by the flavor's ratio.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ..agreement.hardware import Hardware
from ..agreement.plan import Plan, Share, TeamPlan
from .jobs import Job
from .kueue_model import KueueModel
from .reclaim import preempted_for
from .tree import Node


class Bound(Enum):
    """What is in the way of a job; NOTHING: it fits."""

    NOTHING = "nothing"
    MAXIMUM = "maximum"
    PROD = "prod"
    BORROWABLE = "borrowable"
    IDLE = "idle"


@dataclass(frozen=True)
class Availability:
    """A request for `asked` units in the team's queue, beside the jobs that are admitted."""

    plan: Plan
    flavor: Hardware
    team: TeamPlan
    prod: bool
    asked: int
    priority: int
    jobs: Sequence[Job]

    @cached_property
    def model(self) -> KueueModel:
        """With all of these jobs, but for those of teams that the agreement no longer has."""
        model = KueueModel(self.plan, self.flavor.name)
        for job in self.jobs:
            if queue := model.queues.get((job.team, job.prod)):
                queue.usage += self.units(job)
        return model

    @cached_property
    def queue(self) -> Node:
        return self.model.queue(self.team.name, self.prod)

    @property
    def share(self) -> Share:
        return self.team.shares[self.flavor.name]

    @property
    def own(self) -> int:
        """What its queue is guaranteed: the prod slice, or all else of the team."""
        return self.share.prod if self.prod else self.share.regular if self.team.has_prod else self.share.guaranteed

    def units(self, job: Job) -> int:
        return job.units.get(self.flavor.name, 0)

    def used(self, team: str, prod: bool | None = None) -> int:
        return sum(self.units(job) for job in self.jobs if job.team == team and prod in (None, job.prod))

    @property
    def used_of_own(self) -> int:
        """What is used of its queue's guarantee, and beyond."""
        return self.used(self.team.name, self.prod if self.team.has_prod else None)

    # --- how much

    @cached_property
    def free(self) -> int:
        """What it can get without a preemption."""
        return max(0, self.queue.available)

    @property
    def most(self) -> int:
        """What it could get if nothing ran."""
        return self.queue.potential

    @property
    def missing(self) -> int:
        return max(0, self.asked - self.free)

    @property
    def inside(self) -> int:
        """What of the units that it asks for is its queue's own."""
        return max(0, min(self.asked, self.own - self.used_of_own))

    @cached_property
    def bound(self) -> Bound:
        if self.asked > self.most:
            return Bound.MAXIMUM
        if not self.missing:
            return Bound.NOTHING
        if self.prod and self.used(self.team.name, True) + self.asked > self.share.prod:
            return Bound.PROD
        limit = self.share.borrowable
        if limit is not None and self.used(self.team.name) + self.asked > self.share.guaranteed + limit:
            return Bound.BORROWABLE
        return Bound.IDLE

    # --- from whom

    def lenders(self) -> Counter[str]:
        """From which teams it may take back what is its own, and how much of each at most."""
        whose = {queue: team for (team, _), queue in self.model.queues.items()}
        found: Counter[str] = Counter()
        for queue, units in self.queue.reclaimable(self.asked).items():
            found[whose[queue]] += units
        return found

    @cached_property
    def preempted(self) -> list[Job] | None:
        """The jobs of others that Kueue would preempt for it; None where it cannot start even so, or preempts none."""
        if self.bound is not Bound.IDLE or self.plan.sharing.policy == "fair":
            return None
        return preempted_for(self.plan, self.flavor.name, self.jobs, self.team.name, self.asked, self.prod)

    @cached_property
    def lower(self) -> list[Job]:
        """Jobs of lower priority in the same queue, which it may preempt: the lowest first, then the newest."""
        lower = [job for job in self.jobs if self._is_mine(job) and job.priority < self.priority and self.units(job)]
        return sorted(lower, key=lambda job: job.preempted_first)

    def _is_mine(self, job: Job) -> bool:
        return (job.team, job.prod) == (self.team.name, self.prod)

    # --- when jobs end

    def gain(self, ended: Iterable[Job]) -> int:
        """What more is free to it when these have ended."""
        units: Counter[Node] = Counter()
        for job in ended:
            if queue := self.model.queues.get((job.team, job.prod)):
                units[queue] += self.units(job)
        return self.queue.gain(units)
