"""The checks of an agreement on KAI: what each team is promised of each flavor.

What differs from Kueue stands in decision 24: a team's guarantee is in two queues where it keeps something back, a job that is
never stopped must fit a quota, and what is over quota is divided by weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...agreement.plan import Plan, TeamPlan
from ...objects import kai
from ...objects.schedulers import Place
from .kai_field import KaiFlavor, fields, label
from .kai_flavor import of_flavor
from .model import Check, JobGroup, Step

NOT_PREEMPTIBLE = "Non-preemptible workload is over quota"


def kai_checks(plan: Plan) -> list[Check]:
    """Every check, by flavor, then by team. Empty where KAI gets no queues."""
    if kai.refusal(plan):
        return []
    return [check for field in fields(plan) for check in _of_field(field)]


def _of_field(field: KaiFlavor) -> Iterator[Check]:
    for team in field.teams:
        for make in (guarantee, reach, reserved, never_lent, reclaim, kept, over_quota, unstoppable, *PROD):
            yield from make(field, team)
    yield from of_flavor(field)


def guarantee(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    """Everybody else holds all it can when the team comes: its quota from the borrower, and what it never lends, which is free."""
    share, own, borrower = field.share(team), field.own(team), field.borrower(team)
    if not share.guaranteed:
        return
    others = field.besides(team, borrower)
    asked = [jobs for team in others for jobs in _all_of(field, team)]
    taken = 0
    if borrower:
        taken = min(field.reach(borrower), field.shared - field.owned(others))
        asked += [field.jobs(borrower, taken, more=1), *_kept_back(field, borrower)]
    mine = _all_of(field, team)
    lost = max(0, own.shared - (field.shared - field.owned(others) - taken)) // field.size
    full = _running(asked, {_name(team): taken // field.size for team in (borrower,) if team})
    steps = [
        Step(
            "All others ask for all they can get.",
            tuple(asked),
            running=full,
            most_stopped=field.churn(borrower, others),
        )
    ]
    left = {_name(team): full[_name(team)] - lost for team in (borrower,) if team}
    steps.append(
        Step(
            f"{team.display_name} comes and asks for its {field.count(share.guaranteed)}.",
            tuple(mine),
            running={**full, **left, **_running(mine)},
            stopped={_name(team): lost for team in (borrower,) if team and lost},
        )
    )
    promise = f"{team.display_name} gets the {field.count(share.guaranteed)} that it is guaranteed while all others hold all they can"
    place = Place.REGULAR if own.shared else Place.RESERVED
    steps = steps if asked else steps[1:]
    yield field.check("guarantee", team, promise, field.queue(team, place), steps, field.no_reclaim if lost else "")


def reach(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    most = field.reach(team)
    if not most:
        return
    says = f"{team.display_name} asks for {field.count(most)}; all others are idle."
    steps = _exactly(field, field.jobs(team, most), says, field.limit_says(most))
    kind, where = "reach", "of what is lent"
    if most < field.shared:
        kind, where = "borrowable", "and goes no further above what it lends than it may borrow"
        if (other := field.borrower(team)) and (rest := min(field.reach(other), field.shared - most)):
            more = field.jobs(other, rest)
            says = f"What {team.display_name} may not borrow was there: {other.display_name} takes {field.count(rest)}."
            steps.append(Step(says, (more,), running={**steps[-1].running, **_running([more])}))
    promise = f"alone {team.display_name} reaches {field.count(most)} {where}, and one more waits"
    yield field.check(kind, team, promise, field.queue(team), steps)


def reserved(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    amount = field.own(team).reserved
    if not amount:
        return
    queue = field.queue(team, Place.RESERVED)
    says = f"{queue} is asked for {field.count(amount)}; all else is free."
    steps = _exactly(field, field.jobs(team, amount, place=Place.RESERVED), says, field.limit_says(amount))
    promise = f"{queue} runs the {field.count(amount)} that {team.display_name} never lends, and not one more"
    yield field.check("reserved", team, promise, queue, steps)


def never_lent(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    amount, borrower = field.own(team).reserved, field.borrower(team)
    if not amount or not borrower:
        return
    others = field.besides(team, borrower)
    taken = min(field.reach(borrower), field.shared - field.owned(others))
    regular = [field.jobs(team, field.own(team).shared) for team in others if field.own(team).shared]
    pressing = [jobs for team in (*others, borrower) for jobs in _kept_back(field, team, more=1)]
    first = field.jobs(borrower, taken, more=amount // field.size)
    wanted = {jobs.name: jobs.count - 1 for jobs in pressing} | _running(regular) | {first.name: taken // field.size}
    mine = field.jobs(team, amount, place=Place.RESERVED)
    steps = [
        Step(
            f"All others ask for more than there is; the {field.count(amount)} stay free.",
            (*regular, first, *pressing),
            running=wanted,
            most_stopped=field.churn(borrower, others),
        ),
        Step(
            f"{team.display_name} asks for what it never lends: it is there at once, and nobody is stopped.",
            (mine,),
            running={**wanted, **_running([mine])},
        ),
    ]
    promise = f"nobody else ever uses the {field.count(amount)} that {team.display_name} does not lend"
    yield field.check("never-lent", team, promise, field.queue(team, Place.RESERVED), steps)


def reclaim(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    """In two halves: no more is taken back than is asked for."""
    own, borrower = field.own(team).shared, field.borrower(team)
    if not own or not borrower:
        return
    taken = field.reach(borrower)
    free = field.shared - taken
    if taken <= field.own(borrower).shared or own <= free:
        return
    first = own // field.size // 2 * field.size
    full = field.jobs(borrower, taken)
    steps = [
        Step(f"{borrower.display_name} borrows all it can: {field.count(taken)}.", (full,), running=_running([full]))
    ]
    mine: list[JobGroup] = []
    left = taken
    for number, amount in enumerate(entry for entry in (first, own - first) if entry):
        mine.append(field.jobs(team, amount, f"owner-{number + 1}"))
        held = sum(jobs.count * jobs.each for jobs in mine)
        now = min(taken, field.shared - held)
        lost = (left - now) // field.size
        left = now
        says = f"{team.display_name} asks for {field.count(amount)} of its own; {borrower.display_name} keeps {field.count(now)}."
        stopped = {full.name: lost} if lost else {}
        running = {full.name: now // field.size, **_running(mine)}
        steps.append(Step(says, (mine[-1],), running=running, stopped=stopped))
    promise = (
        f"{team.display_name} takes back the {field.count(own)} that it lends from {borrower.display_name}, who borrowed them, "
        "and no more than it asks for"
    )
    yield field.check("reclaim", team, promise, field.queue(team), steps, field.no_reclaim)


def kept(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    borrower, mine = field.borrower(team), _all_of(field, team)
    if not mine or not borrower:
        return
    others = [beside for beside in field.besides(team, borrower) if field.own(beside).shared]
    rest = min(field.reach(borrower), field.shared - field.own(team).shared - field.owned(others))
    asked = [*(field.jobs(team, field.own(team).shared) for team in others), field.jobs(borrower, field.shared)]
    amount = field.count(field.share(team).guaranteed)
    steps = [
        Step(f"{team.display_name} runs on the {amount} that it is guaranteed.", tuple(mine), running=_running(mine)),
        Step(
            f"All others ask for all there is. None of {team.display_name}'s jobs is stopped.",
            tuple(asked),
            running={**_running(mine), **_running(asked, {_name(borrower): rest // field.size})},
            most_stopped=field.churn(borrower, others),
        ),
    ]
    promise = f"jobs of {team.display_name} within its {amount} are never stopped for others"
    place = Place.REGULAR if field.own(team).shared else Place.RESERVED
    yield field.check("kept", team, promise, field.queue(team, place), steps)


def over_quota(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    """Whoever runs over its quota gives it back to all owners at once, and keeps its quota."""
    taken, owners = field.reach(team), field.lenders(team)
    if not owners or taken <= field.own(team).shared:
        return
    left = min(taken, field.shared - field.owned(owners))
    if left == taken:
        return
    own = field.own(team).shared
    mine = field.jobs(team, taken)
    asked = [field.jobs(team, field.own(team).shared) for team in owners]
    steps = [
        Step(
            f"{team.display_name} runs {field.count(taken)}, {taken - own} of them over its quota of {own}.",
            (mine,),
            running=_running([mine]),
        ),
        Step(
            f"All owners come for what they lend: {team.display_name} keeps {field.count(left)}.",
            tuple(asked),
            running={**_running([mine], {mine.name: left // field.size}), **_running(asked)},
            stopped={mine.name: (taken - left) // field.size},
        ),
    ]
    promise = (
        f"{team.display_name} runs over its quota while others are idle, and gives back {field.count(taken - left)} "
        f"when all of them come, down to {field.count(left)}"
    )
    yield field.check("over-quota", team, promise, field.queue(team), steps, field.no_reclaim)


def unstoppable(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    """A team with no quota in the shared tree runs none at all."""
    quota, most = field.own(team).regular_shared, field.reach(team)
    if not most:
        return
    fixed = field.jobs(team, quota, "never-stopped", preemptible=False)
    says = f"{team.display_name} asks for its quota of {field.count(quota)}, in jobs that KAI may never stop."
    steps = _exactly(field, fixed, says, NOT_PREEMPTIBLE)
    if most > quota:
        others = field.jobs(team, field.size, "may-be-stopped")
        says = "A job that KAI may stop runs in the same queue: the GPUs are free."
        steps.append(Step(says, (others,), running={**steps[-1].running, **_running([others])}))
    promise = f"jobs of {team.display_name} that are never stopped stay within its quota of {field.count(quota)}, so they never borrow"
    yield field.check("non-preemptible", team, promise, field.queue(team), steps)


def prod_slice(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    if not field.share(team).prod:
        return
    queue, amount = next(iter(kai.prod_queues(field.plan, team, field.flavor).items()))
    says = f"{queue} is asked for {field.count(amount)}; all else is free."
    jobs = field.jobs(team, amount, place=Place.PROD, preemptible=False)
    promise = f"{queue} runs the {field.count(amount)} of {team.display_name}'s prod slice and never borrows"
    yield field.check("prod-slice", team, promise, queue, _exactly(field, jobs, says, "quota"))


def prod_back(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    """From the team's own regular jobs, which have it while it is idle."""
    if not field.share(team).prod:
        return
    queue, amount = next(iter(kai.prod_queues(field.plan, team, field.flavor).items()))
    place = Place.RESERVED if field.own(team).prod_reserved else Place.REGULAR
    most = field.own(team).reserved if place is Place.RESERVED else field.reach(team)
    regular = field.jobs(team, most, "regular", place=place)
    prod = field.jobs(team, amount, "prod", place=Place.PROD, preemptible=False)
    left = {regular.name: (most - amount) // field.size}
    steps = [
        Step(
            f"{team.display_name}'s regular jobs use {field.count(most)}, its prod slice among them.",
            (regular,),
            running=_running([regular]),
        ),
        Step(
            f"Prod asks for its {field.count(amount)} and has them; as many of regular jobs are stopped.",
            (prod,),
            running={**left, **_running([prod])},
            stopped={regular.name: amount // field.size},
        ),
    ]
    # The two queues stand side by side, where no job is left alone for a while (`tenancy.objects.kai.tree`).
    yield field.check(
        "prod-back",
        team,
        f"{queue} takes its slice back at once from {team.display_name}'s own jobs",
        queue,
        steps,
    )


def prod_kept(field: KaiFlavor, team: TeamPlan) -> Iterator[Check]:
    own, owners = field.own(team), field.lenders(team)
    if not own.prod_shared or own.prod_reserved or not owners:
        return
    prod = field.jobs(team, own.prod_shared, "prod", place=Place.PROD, preemptible=False)
    taken = min(field.reach(team), field.shared) - own.prod_shared
    left = min(taken, field.shared - field.owned(owners) - own.prod_shared)
    regular = field.jobs(team, taken, "regular")
    asked = [field.jobs(team, field.own(team).shared) for team in owners]
    before = {**_running([prod]), **_running([regular])}
    steps = [
        Step(
            f"{team.display_name} runs its prod slice, and regular jobs on all it can borrow.",
            (prod, regular),
            running=before,
        ),
        Step(
            "All owners come for what they lend: regular jobs are stopped, no prod job is.",
            tuple(asked),
            running={**before, regular.name: left // field.size, **_running(asked)},
            stopped={regular.name: (taken - left) // field.size} if taken > left else {},
        ),
    ]
    promise = f"no prod job of {team.display_name} is stopped for others' jobs"
    yield field.check("prod-kept", team, promise, field.queue(team, Place.PROD), steps, field.no_reclaim)


PROD = (prod_slice, prod_back, prod_kept)


def _exactly(field: KaiFlavor, jobs: JobGroup, says: str, because: str) -> list[Step]:
    """All of these jobs run, and one of a single unit more waits, which is told so. It comes after them where they are larger:
    before, it could take the place of one."""
    running = {jobs.name: jobs.count} if jobs.count else {}
    if field.size == 1:
        asked = replace(jobs, count=jobs.count + 1)
        return [Step(f"{says} One more waits.", (asked,), running=running, because={jobs.name: because})]
    more = replace(jobs, name="one-more", count=1, units=1)
    steps = [Step(says, (jobs,), running=running)] if jobs.count else []
    waits = f"One job of {field.count(1)} more waits."
    return [*steps, Step(waits, (more,), running={**running, more.name: 0}, because={more.name: because})]


def _all_of(field: KaiFlavor, team: TeamPlan) -> list[JobGroup]:
    """Jobs for a team's whole guarantee, in its two places."""
    own = field.own(team)
    return [*([field.jobs(team, own.shared)] if own.shared else []), *_kept_back(field, team)]


def _kept_back(field: KaiFlavor, team: TeamPlan, more: int = 0) -> list[JobGroup]:
    amount = field.own(team).reserved
    return [field.jobs(team, amount, more=more, place=Place.RESERVED)] if amount else []


def _running(jobs: Iterable[JobGroup], other: Mapping[str, int] | None = None) -> dict[str, int]:
    """All of these jobs, but for those of which another number is given."""
    return {job.name: (other or {}).get(job.name, job.count) for job in jobs}


def _name(team: TeamPlan) -> str:
    return label(team, Place.REGULAR)
