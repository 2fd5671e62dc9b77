"""How a check is written: who asks for what, in jobs of a fitting size, and after each step what runs, waits and was stopped.

Sizes. All pods of a check have one size, a divisor of what a node has and of every amount of the check: then whole jobs come
to the amounts exactly, and whatever jobs are stopped, the units that become free on nodes are units for pods. Jobs are few and
large: an owner comes back with one job, so that quota is asked for once and nobody is stopped for a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ...objects.schedulers import Place
from .model import Check, JobGroup, Scheduler, Step

MOST_JOBS = 8  # of one group, where its amounts allow


@dataclass(frozen=True)
class Sizes:
    """Jobs whose pods are of one size. `unit`: units of a pod."""

    flavor: Hardware
    unit: int

    def jobs(
        self, name: str, team: TeamPlan, amount: int, *also: int, place: Place = Place.REGULAR, most: int = MOST_JOBS
    ) -> JobGroup:
        """A group that holds `amount`, in jobs that also come to each of the other amounts."""
        common = gcd(amount, *also) // self.unit
        wanted = (pods for pods in range(1, common + 1) if common % pods == 0 and amount <= most * pods * self.unit)
        pods = next(wanted, common)
        return JobGroup(name, team.name, self.flavor.name, amount // (pods * self.unit), self.unit, pods, place)

    def gang(self, name: str, team: TeamPlan, amount: int, place: Place = Place.REGULAR) -> JobGroup:
        """One job that holds all of `amount`."""
        return self.jobs(name, team, amount, place=place, most=1)


def sizes(flavor: Hardware, *amounts: int) -> Sizes:
    """The largest pods that a node and every amount is a whole number of."""
    return Sizes(flavor, gcd(flavor.units_per_node, *amounts))


def one(name: str, team: TeamPlan, flavor: Hardware, place: Place = Place.REGULAR) -> JobGroup:
    """A job of a single unit, to ask for one more than there is."""
    return JobGroup(name, team.name, flavor.name, 1, place=place)


@dataclass
class CheckBuilder:
    """The steps of a check so far. What runs is kept here, so that a step says only what changes."""

    running: dict[str, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def then(
        self,
        says: str,
        *submit: JobGroup,
        remove: Iterable[str] = (),
        waits: Iterable[str] = (),
        starts: Mapping[str, int] | None = None,
        stops: Mapping[str, int] | None = None,
        gives: Mapping[str, int] | None = None,
        most_stopped: Mapping[str, int] | None = None,
        because: Mapping[str, str] | None = None,
        together: Mapping[str, str] | None = None,
    ) -> CheckBuilder:
        """All of `submit` run, but for the names that wait. `starts` are jobs that waited until now; `stops` are stopped and wait;
        `gives` too, and some of them may be stopped twice; of `most_stopped` all run again in the end. Groups of no jobs are left out, and so is a step that then does nothing."""
        given, waiting, gone = tuple(jobs for jobs in submit if jobs.count), set(waits), tuple(remove)
        if not given and not gone:
            return self
        for name in gone:
            del self.running[name]
        self.running |= {jobs.name: 0 if jobs.name in waiting else jobs.count for jobs in given}
        stopped = {name: count for name, count in (stops or {}).items() if count}
        most = {name: 2 * count for name, count in (gives or {}).items()} | dict(most_stopped or {})
        given_up = {name: count for name, count in (gives or {}).items() if count}
        started = {name: count for name, count in (starts or {}).items() if count}
        for name, count in (*stopped.items(), *given_up.items()):
            self.running[name] -= count
        for name, count in started.items():
            self.running[name] += count
        step = Step(
            says,
            submit=given,
            remove=gone,
            running=dict(self.running),
            stopped=stopped,
            most_stopped={name: count for name, count in most.items() if count},
            because=because or {},
            together=together or {},
        )
        self.steps.append(step)
        return self

    def check(self, kind: str, team: str, flavor: str, promise: str, look_at: str) -> Check:
        return Check(Scheduler.KUEUE, kind, team, flavor, promise, tuple(self.steps), look_at)


def not_run(kind: str, team: str, flavor: str, promise: str, look_at: str, why: str) -> Check:
    """A promise that no jobs can show on this agreement, and why."""
    return Check(Scheduler.KUEUE, kind, team, flavor, promise, (), look_at, not_run=why)


def queue_of(team: TeamPlan, place: Place = Place.REGULAR) -> str:
    return f"clusterqueue/{team.name}{'-prod' if place is Place.PROD else ''}"


def node_of(team: TeamPlan) -> str:
    """The object on which a team's guarantee stands."""
    return f"cohort/{team.name}" if team.has_prod else queue_of(team)


def others(plan: Plan, *teams: TeamPlan) -> list[TeamPlan]:
    """All teams but these, in the agreement's order."""
    names = {team.name for team in teams}
    return [team for team in plan.teams if team.name not in names]


def teams(
    plan: Plan, sizes: Sizes, held: Mapping[str, int], parts: Mapping[str, int] | None = None
) -> dict[str, JobGroup]:
    """By team, what holds so much in its regular queue: one job, or where `parts` of it will be stopped several."""
    parts = parts or {}
    return {
        name: (
            sizes.jobs(role, plan.team[name], amount, parts[name])
            if parts.get(name)
            else sizes.gang(role, plan.team[name], amount)
        )
        for number, (name, amount) in enumerate(held.items(), 1)
        if amount
        for role in [f"team-{number}"]
    }
