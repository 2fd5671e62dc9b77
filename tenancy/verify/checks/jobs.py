"""Of single jobs: the higher priority goes first, a job of several pods starts whole, and a queue is its own team's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ...objects.schedulers import Place
from ...quota.kueue_model import KueueModel
from ...quota.reach import reach
from .builder import MOST_JOBS, CheckBuilder, Sizes, not_run, one, others, queue_of, sizes
from .model import Check, JobGroup

MOST_LEVELS = 4
OF_OUR_OWN = 100  # the higher priority where the agreement has none
WRONG_NAMESPACE = "doesn't match ClusterQueue selector"  # Kueue's words


def checks(plan: Plan) -> Iterator[Check]:
    for team in plan.teams:
        if flavor := _smallest(plan, team):
            yield priority(plan, flavor, team)
            if others(plan, team):
                yield own_namespaces(plan, flavor, team)
        for flavor in plan.flavors:
            if team.shares[flavor.name].guaranteed and reach(plan, team, flavor.name) > 1:
                yield gang(plan, flavor, team)


def levels(plan: Plan, team: TeamPlan) -> list[int | None]:
    """Priorities that the team's jobs may have, from the lowest; None is that of a job that names none. The agreement's where they
    differ from that; else one of the check's own, which policies would refuse. Fewer than two: none may be higher."""
    highest = team.highest_priority
    values = {
        priority for priority in plan.priorities.values() if not plan.access or highest is None or priority <= highest
    }
    if not values - {0} and not plan.access:
        values.add(OF_OUR_OWN)
    found = [value or None for value in sorted(values | {0})]
    return found if len(found) <= MOST_LEVELS else [*found[: MOST_LEVELS - 1], found[-1]]


def priority(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """Of what becomes free the higher priority has the first part, though it asked last. Then the highest stops the others, from
    the lowest up, one job at a time and no more than it needs."""
    most = reach(plan, team, flavor.name)
    promise = f"Inside {team.name} the higher priority goes first"
    *lower, highest = levels(plan, team)
    if not lower:
        why = "its jobs may name no priority above that of a job which names none, and policies refuse others"
        return not_run("priority", team.name, flavor.name, f"{promise}.", queue_of(team), why)
    parts = _parts(most, len(lower), _largest_that_stops(plan, flavor, team))
    lower = lower[:parts]  # a team that reaches less than one job for each priority shows the lowest of them
    size = sizes(flavor, most // parts)
    first = replace(size.gang("first", team, most), priority=highest)
    part = size.gang("last", team, most // parts)
    groups = [
        replace(part, name=f"level-{number}", priority=value, count=1 if number else parts - len(lower) + 1)
        for number, value in enumerate(lower)
    ]
    last = replace(part, priority=highest)
    told = ", ".join(str(value or 0) for value in (*lower, highest))
    story = CheckBuilder().then(f"{team.name} uses all that it can reach, {flavor.count(most)}.", first)
    waiting = [jobs.name for jobs in (*groups, last)]
    story.then(f"Jobs of priority {told} ask in this order, and wait.", *groups, last, waits=waiting)
    starts = {jobs.name: jobs.count for jobs in (*groups, last)} | {"level-0": groups[0].count - 1}
    story.then(
        "What was used is free: the highest start, and one of the lowest waits.", remove=["first"], starts=starts
    )
    if part.each > _largest_that_stops(plan, flavor, team):
        return story.check("priority", team.name, flavor.name, f"{promise}.", queue_of(team))
    story.then("The highest is removed, and that one starts.", remove=["last"], starts={"level-0": 1})
    for number, group in enumerate(groups):
        stops = 1 if group is groups[-1] else group.count
        says = f"{stops} of priority {highest or 0} start at once and stop {stops} of {group.priority or 0}."
        story.then(says, replace(last, name=f"urgent-{number}", count=stops), stops={group.name: stops})
    return story.check("priority", team.name, flavor.name, f"{promise} and stops a lower one.", queue_of(team))


def gang(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """A part of its pods would fit, and none starts; when all fit, all start."""
    most = reach(plan, team, flavor.name)
    unit = gcd(most, flavor.units_per_node)
    sizes = Sizes(flavor, unit if most > unit else _most_pods(most, 2))
    all_of_it, small = sizes.gang("gang", team, most), JobGroup("small", team.name, flavor.name, 1, sizes.unit)
    story = CheckBuilder().then(f"{team.name} uses {flavor.count(sizes.unit)} of {most} that it can reach.", small)
    part, whole = all_of_it.pods - 1, all_of_it.pods
    story.then(f"A job of {whole} pods waits whole, though {part} of them would fit.", all_of_it, waits=["gang"])
    story.then(f"Then there is room for all: all {whole} start.", remove=["small"], starts={"gang": 1})
    promise = f"A job of {whole} pods of {team.name} starts whole or not at all."
    return story.check("gang", team.name, flavor.name, promise, queue_of(team))


def own_namespaces(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """All is idle. A job from a namespace of another team names the queue, and waits for ever. One for each queue: of equal jobs
    that wait in one, Kueue tells only the first why (decision 22)."""
    places = [Place.REGULAR] + [Place.PROD] * bool(team.shares[flavor.name].prod)
    own = [one(f"own-{place}", team, flavor, place) for place in places[-reach(plan, team, flavor.name) :]]
    strays = [
        replace(one(f"stray-{place}-{number}", team, flavor, place), namespace_of=other.name)
        for place in places
        for number, other in list(enumerate(_strangers(plan, team, place), 1))[:1]
    ]
    story = CheckBuilder().then(
        f"A job from a namespace of another team names {team.name}'s queue, and waits.",
        *strays,
        waits=[jobs.name for jobs in strays],
        because={jobs.name: WRONG_NAMESPACE for jobs in strays},
    )
    story.then(f"{team.name}'s own jobs run.", *own)
    promise = f"{team.name}'s queues take no job from a namespace of another team."
    return story.check("own-namespaces", team.name, flavor.name, promise, queue_of(team))


def _strangers(plan: Plan, team: TeamPlan, place: Place) -> list[TeamPlan]:
    """Teams whose jobs may name such a queue at all: policies know no prod queue in a namespace of a team without prod."""
    return [other for other in others(plan, team) if place is Place.REGULAR or other.has_prod or not plan.access]


def _smallest(plan: Plan, team: TeamPlan) -> Hardware | None:
    """Of the flavors in which the team has most of what it is promised (a prod slice, a guarantee, anything), that of fewest
    nodes: a queue's rules are the same in all."""
    able = [flavor for flavor in plan.flavors if reach(plan, team, flavor.name)]

    def rank(flavor: Hardware) -> tuple[bool, bool, int]:
        share = team.shares[flavor.name]
        return not share.prod, not share.guaranteed, flavor.nodes

    return min(able, key=rank, default=None)


def _largest_that_stops(plan: Plan, flavor: Hardware, team: TeamPlan) -> int:
    """The largest job for which Kueue stops one of its own queue when all is in use: what the queue itself owns. (docs/decisions/0022;
    the regular queue beside a prod queue may own nothing.) Where shares count there is no such limit."""
    return flavor.capacity if plan.sharing.policy == "fair" else KueueModel(plan, flavor.name).queue(team.name).nominal


def _parts(amount: int, fewest: int, largest: int) -> int:
    """Into how many jobs an amount is parted: more than `fewest` where it can be, and each at most `largest`."""
    able = [number for number in range(1, MOST_JOBS + 1) if amount % number == 0]
    right = [entry for entry in able if entry > fewest and amount // entry <= largest]
    return right[0] if right else next((entry for entry in able if entry >= fewest), able[-1])


def _most_pods(amount: int, parts: int = 4) -> int:
    """The size of pods of which a few, `parts` at most, come to the amount."""
    return amount // max(number for number in range(1, parts + 1) if amount % number == 0)
