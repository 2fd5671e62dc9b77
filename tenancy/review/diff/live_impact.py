"""A change beside what runs: who is above the new guarantee and by which jobs, and which jobs would be preempted if an owner asked.

A number that is lowered preempts nobody (kueue#5176; KAI takes back only for a job that waits). Whoever is above a new guarantee then
borrows what was theirs, and keeps it until an owner asks. So what is read off here is a risk, and whose: nothing happens by the
change itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...agreement.plan import Plan
from ...objects.schedulers import Scheduler
from ...quota.jobs import Job
from ...quota.reclaim import preempted_for
from .balance import guaranteed_to
from .domains import Domains, LostDomain, lost_domains


@dataclass(frozen=True, slots=True)
class Above:
    """A team that uses more of a flavor than it will be guaranteed. `jobs` are those beyond the guarantee: the ones that would be
    preempted first. `by_change`: its guarantee falls; else it borrowed before as it does after."""

    team: str
    flavor: str
    guaranteed: int
    used: int
    jobs: tuple[Job, ...]
    by_change: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """A team that is guaranteed more than before asks at once for all that it lacks. `preempted` is None where that cannot be
    predicted: by shares (KAI, fair sharing), or while jobs of `leaving` teams run, whose queues' quota counts until they end
    (seen on the lab: a job is admitted beyond the nodes). `starts` False: the amount would not start even so."""

    team: str
    flavor: str
    amount: int
    prod: bool
    preempted: tuple[Job, ...] | None
    starts: bool = True
    leaving: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveImpact:
    """What runs beside the new agreement. `leaving`: jobs of teams that go; nobody preempts them, they end by themselves. `unlike`:
    queues that are not on the cluster as the old agreement has them; `already`: all are as the new one has them. `domains`: of a
    topology, by the nodes that are there."""

    scheduler: Scheduler
    running: int
    above: tuple[Above, ...]
    asks: tuple[Ask, ...]
    leaving: tuple[Job, ...]
    unlike: tuple[str, ...] = ()
    already: bool = False
    domains: tuple[LostDomain, ...] = ()


def live_impact(
    old: Plan,
    new: Plan,
    scheduler: Scheduler,
    running: Iterable[Job],
    unlike: Sequence[str] = (),
    already: bool = False,
    domains: Domains | None = None,
) -> LiveImpact:
    jobs = list(running)
    return LiveImpact(
        scheduler=scheduler,
        running=len(jobs),
        above=tuple(_above(old, new, jobs)),
        asks=tuple(_asks(old, new, scheduler, jobs)),
        leaving=tuple(job for job in jobs if job.team not in new.team),
        unlike=tuple(unlike),
        already=already,
        domains=tuple(lost_domains(old, new, domains or {})),
    )


def _above(old: Plan, new: Plan, jobs: list[Job]) -> Iterator[Above]:
    for flavor in new.flavors:
        for team in new.teams:
            own = [job for job in jobs if job.team == team.name and job.units.get(flavor.name)]
            guaranteed, used = team.shares[flavor.name].guaranteed, _used(own, flavor.name)
            if used > guaranteed:
                before = guaranteed_to(old, team.name, flavor.name)
                beyond = tuple(_beyond(own, flavor.name, used - guaranteed))
                yield Above(team.name, flavor.name, guaranteed, used, beyond, guaranteed < before)


def _beyond(jobs: list[Job], flavor: str, excess: int) -> Iterator[Job]:
    """Prod jobs never borrow, so they are within whatever is guaranteed."""
    for job in sorted(jobs, key=lambda job: (job.prod, *job.preempted_first)):
        if excess <= 0:
            return
        excess -= job.units[flavor]
        yield job


def _asks(old: Plan, new: Plan, scheduler: Scheduler, jobs: list[Job]) -> Iterator[Ask]:
    by_quota = scheduler is Scheduler.KUEUE and new.sharing.policy != "fair" and new.sharing.usage is None
    for flavor in new.flavors:
        stay = (job.team for job in jobs if job.team not in new.team and job.units.get(flavor.name))
        leaving = tuple(dict.fromkeys(stay))
        predictable = by_quota and not leaving
        for team in new.teams:
            share = team.shares[flavor.name]
            if share.guaranteed <= guaranteed_to(old, team.name, flavor.name):
                continue
            for prod, owned in ((True, share.prod), (False, share.regular)):
                own = [job for job in jobs if job.team == team.name and job.prod is prod]
                if (amount := owned - _used(own, flavor.name)) <= 0:
                    continue
                found = preempted_for(new, flavor.name, jobs, team.name, amount, prod) if predictable else None
                yield Ask(
                    team=team.name,
                    flavor=flavor.name,
                    amount=amount,
                    prod=prod,
                    preempted=tuple(found or ()) if predictable else None,
                    starts=found is not None or not predictable,
                    leaving=leaving if by_quota else (),
                )


def _used(jobs: Iterable[Job], flavor: str) -> int:
    return sum(job.units.get(flavor, 0) for job in jobs)
