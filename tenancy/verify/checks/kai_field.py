"""One flavor on KAI as the checks need it: how much each tree holds, who may take how much of it, and how large jobs are.

Everything that teams lend, and the free pool, is one tree, `shared`; what a team never lends is a tree of its own
(`tenancy.objects.kai.amounts`). Who uses what of `shared` depends on weights as soon as several ask for more than their quota. So in a
check all teams but one, the *borrower*, ask for their quota exactly, and it asks for the rest: then one outcome only is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, Share, TeamPlan
from ...objects import kai
from ...objects.kai.amounts import Parts, parts, per_unit, reach_in_shared, shared_quota
from ...objects.schedulers import Place
from ...text.durations import duration
from .model import Check, JobGroup, Scheduler, Step

MOST_JOBS = 8  # of a group; where the numbers allow it jobs are larger than that
DEFAULT = 50  # the priority of a job that names none: `train`
UNSTOPPABLE = 100  # jobs of this priority and above are never stopped (KAI's docs, priority)
REST = 30  # seconds that a job may be left alone before it is stopped; a check does not wait longer


@dataclass(frozen=True)
class KaiFlavor:
    """A flavor of a plan. Amounts are units of the flavor."""

    plan: Plan
    name: str

    @cached_property
    def flavor(self) -> Hardware:
        return self.plan.flavor[self.name]

    @cached_property
    def teams(self) -> tuple[TeamPlan, ...]:
        """Those that may use it at all."""
        return tuple(team for team in self.plan.teams if self.reach(team) or self.own(team).reserved)

    @cached_property
    def shared(self) -> int:
        """What the shared tree holds."""
        return shared_quota(self.plan, self.flavor)

    def share(self, team: TeamPlan) -> Share:
        return team.shares[self.name]

    def own(self, team: TeamPlan) -> Parts:
        return parts(self.share(team))

    def reach(self, team: TeamPlan) -> int:
        """The most a team's regular queue may use."""
        return reach_in_shared(self.plan, team, self.flavor)

    @cached_property
    def size(self) -> int:
        """Units of a job: a part of every amount and of a node, so that whole jobs come to each amount exactly and nothing is
        lost to fragments."""
        amounts = [self.shared, self.flavor.units_per_node]
        for team in self.teams:
            own = self.own(team)
            amounts += [self.reach(team), own.shared, own.reserved, own.prod_shared, own.prod_reserved]
        common = gcd(*amounts) or 1
        largest = max(self.shared, *(self.own(team).reserved for team in self.teams), 1)
        fitting = [number for number in range(1, common + 1) if common % number == 0]
        return next((entry for entry in fitting if largest // entry <= MOST_JOBS), common)

    def limit_says(self, amount: int) -> str:
        """What KAI says to a job that a limit of so many units stops."""
        counted = f"{amount} cores" if self.flavor.unit == "cpu" else f"{amount * per_unit(self.flavor)} GPUs"
        return f"Limit is {counted}"

    def queue(self, team: TeamPlan, place: Place = Place.REGULAR) -> str:
        if place is Place.PROD:
            return next(iter(kai.prod_queues(self.plan, team, self.flavor)))
        if place is Place.RESERVED:
            return kai.reserved(self.plan, team, self.flavor) or ""
        return kai.regular(self.plan, team, self.flavor)

    def queue_named(self, base: str) -> str:
        """A queue that is no team's, such as `shared` or a department's."""
        return kai.queue_name(self.plan, base, self.flavor)

    def count(self, amount: int) -> str:
        return self.flavor.count(amount)

    def jobs(
        self,
        team: TeamPlan,
        amount: int,
        name: str = "",
        *,
        more: int = 0,
        place: Place = Place.REGULAR,
        **rest: object,
    ) -> JobGroup:
        """Jobs for an amount, and `more` jobs beyond it."""
        return JobGroup(
            name or label(team, place),
            team.name,
            self.name,
            amount // self.size + more,
            units=self.size,
            place=place,
            **rest,  # type: ignore[arg-type]
        )

    def borrower(self, *but: TeamPlan) -> TeamPlan | None:
        """Who may take most of the shared tree, these aside; of equals the one that owns least there."""
        others = [team for team in self.teams if team not in but and self.reach(team)]
        return max(others, key=lambda team: (self.reach(team), -self.own(team).shared), default=None)

    def besides(self, *these: TeamPlan | None) -> list[TeamPlan]:
        return [team for team in self.teams if team not in these]

    def churn(self, borrower: TeamPlan | None, others: Iterable[TeamPlan]) -> dict[str, int]:
        """How many jobs of the borrower may be stopped where it asks at the same time as others, who then come for their quota."""
        return {label(borrower, Place.REGULAR): self.owned(others) // self.size} if borrower else {}

    def lenders(self, *but: TeamPlan) -> list[TeamPlan]:
        """Teams with a quota in the shared tree, these aside."""
        return [team for team in self.teams if team not in but and self.own(team).shared]

    def owned(self, teams: Iterable[TeamPlan]) -> int:
        return sum(self.own(team).shared for team in teams)

    def left_alone(self, seconds: int | None) -> str:
        """Why a check in which jobs are stopped is not run."""
        if seconds is None or seconds <= REST:
            return ""
        return f"a job runs for {duration(seconds)} before it may be stopped, and a check does not wait that long"

    def may_not(self, jobs: JobGroup) -> str:
        """Why policies would refuse such jobs: their priority is above what the team may name."""
        highest, wanted = self.plan.team[jobs.team].highest_priority, priority(self.plan, jobs)
        by_default = jobs.priority is None and jobs.preemptible
        if not self.plan.access or highest is None or by_default or wanted <= highest:
            return ""
        return f"jobs of {jobs.team} may name no priority above {highest}, and policies refuse one of {wanted}"

    @property
    def no_reclaim(self) -> str:
        return self.left_alone(self.plan.sharing.reclaim_min_runtime)

    def check(
        self, kind: str, team: TeamPlan, promise: str, look_at: str, steps: Iterable[Step], why: str = ""
    ) -> Check:
        """Groups of no jobs are left out, and steps that then do nothing."""
        whole = [step for step in _without_none(steps) if step.submit or step.remove]
        why = why or next((result for step in whole for jobs in step.submit if (result := self.may_not(jobs))), "")
        return Check(Scheduler.KAI, kind, team.name, self.name, promise, tuple(whole), f"queue/{look_at}", why)


def priority(plan: Plan, jobs: JobGroup) -> int:
    """What their PriorityClass is worth. Jobs that are never stopped have that of the agreement's prod jobs, where it is high
    enough, or the lowest of KAI's chart that is."""
    if jobs.priority is not None:
        return jobs.priority
    if jobs.preemptible:
        return DEFAULT
    prod = plan.priorities[plan.prod_priority] if plan.prod_priority and jobs.place is Place.PROD else 0
    return max(prod, UNSTOPPABLE)


def fields(plan: Plan) -> Iterator[KaiFlavor]:
    for flavor in plan.flavors:
        yield KaiFlavor(plan, flavor.name)


def _without_none(steps: Iterable[Step]) -> Iterator[Step]:
    none: set[str] = set()
    for step in steps:
        none |= {jobs.name for jobs in step.submit if not jobs.count}
        yield replace(
            step,
            submit=tuple(jobs for jobs in step.submit if jobs.count),
            remove=tuple(name for name in step.remove if name not in none),
            running={name: count for name, count in step.running.items() if name not in none},
        )


def label(team: TeamPlan, place: Place) -> str:
    name = team.name.replace(".", "-")[:40]
    return name if place is Place.REGULAR else f"{name}-{place}"
