"""Of lending and borrowing: how far each team gets, what it may not go beyond, and what is never lent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ...quota.kueue_model import KueueModel
from ...quota.reach import reach as most_of
from .builder import CheckBuilder, node_of, not_run, one, others, sizes, teams
from .model import Check, JobGroup
from .pressure import Borrowing, asking, certain, from_all, holders, told


def checks(plan: Plan) -> Iterator[Check]:
    for flavor in plan.flavors:
        borrowing = Borrowing(plan, flavor.name)
        for team in plan.teams:
            share = team.shares[flavor.name]
            if most_of(plan, team, flavor.name):
                yield reach(plan, flavor, team)
            if share.borrowable is not None:
                yield borrowable(plan, flavor, team, share.borrowable)
            if share.reserved and others(plan, team):
                yield never_lent(plan, flavor, team)
            if share.guaranteed and flavor.unit != "cpu" and others(plan, team):
                yield ratio(plan, flavor, team, borrowing)
            if plan.pool[flavor.name] and share.borrowable != 0:
                yield pool(plan, flavor, team)
        yield whole(plan, flavor)


def reach(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """Nobody else asks for anything."""
    share, most = team.shares[flavor.name], most_of(plan, team, flavor.name)
    size = sizes(flavor, most)
    borrowed = most - share.guaranteed
    of_which = f", {borrowed} of them borrowed" if borrowed else ""
    story = CheckBuilder()
    story.then(
        f"{team.name} alone submits jobs of {flavor.count(most)} in all{of_which}.", size.jobs("all", team, most)
    )
    story.then("It asks for one more, and waits.", one("one-more", team, flavor), waits=["one-more"])
    promise = f"{team.name} alone reaches {flavor.count(most)}: {share.guaranteed} of its own, {borrowed} that others lend; no more."
    return story.check("reach", team.name, flavor.name, promise, node_of(team))


def borrowable(plan: Plan, flavor: Hardware, team: TeamPlan, limit: int) -> Check:
    """One more waits although it is there: who can, borrows it. Where others lend no more than the limit, nothing shows it."""
    share, most = team.shares[flavor.name], most_of(plan, team, flavor.name)
    promise = f"{team.name} goes no more than {limit} above the {flavor.count(share.guaranteed)} it is guaranteed."
    there = plan.lent[flavor.name] - share.lendable + plan.pool[flavor.name]
    if there <= limit:
        why = f"the others and the pool lend {there} at most, so that the limit is never reached"
        if there == limit:
            why = f"the others and the pool lend {there}, just as much, so that nothing is left for it to ask for"
        return not_run("borrowable", team.name, flavor.name, promise, node_of(team), why)
    model = KueueModel(plan, flavor.name)
    model.run(team.name)
    spare = {
        other.name: model.queue(other.name).available - other.shares[flavor.name].guaranteed
        for other in others(plan, team)
    }
    taker = max(spare, key=lambda name: spare[name], default="")
    takes = model.run(taker) if taker and spare[taker] > 0 else 0
    size = sizes(flavor, most, takes)
    story = CheckBuilder()
    if most:
        story.then(f"{team.name} submits jobs of {flavor.count(most)} in all.", size.jobs("all", team, most))
    story.then("It asks for one more, and waits.", one("one-more", team, flavor), waits=["one-more"])
    if takes:
        says = f"It is there: {taker} borrows {flavor.count(spare[taker])}."
        story.then(says, size.jobs("taker", plan.team[taker], takes))
    return story.check("borrowable", team.name, flavor.name, promise, node_of(team))


def never_lent(plan: Plan, flavor: Hardware, owner: TeamPlan) -> Check:
    """All others take all they can and ask for more; what the owner keeps it then gets without stopping anyone."""
    share = owner.shares[flavor.name]
    them = from_all(plan, flavor.name, owner)
    size = sizes(flavor, share.reserved, *them.held.values())
    model = KueueModel(plan, flavor.name)
    for name, amount in them.held.items():
        model.run(name, amount)
    held = holders(plan, size, them, {})
    more = [one(f"more-{number}", other, flavor) for number, other in enumerate(asking(plan, model, owner), 1)]
    story = CheckBuilder().then(f"All others take what they can: {told(flavor, them)}.", *held)
    story.then("They ask for one more each, and wait.", *more, waits=[jobs.name for jobs in more])
    kept = size.gang("owner", owner, share.reserved)
    story.then(f"{owner.name} submits a job of {flavor.count(share.reserved)}; it starts and stops nobody.", kept)
    promise = (
        f"{flavor.count(share.reserved)} that {owner.name} never lends stay free while all others ask for all they can."
    )
    return story.check("never-lent", owner.name, flavor.name, promise, node_of(owner))


def ratio(plan: Plan, flavor: Hardware, owner: TeamPlan, borrowing: Borrowing) -> Check:
    """Jobs that ask for CPUs alone, and jobs that ask for memory alone, get as much of it as goes with the units that they could
    have; one unit's more waits, and the owner takes back what is its own. Each by itself, so that neither is in the other's way."""
    them, taken = certain(owner, borrowing)
    own = owner.shares[flavor.name].guaranteed
    model = KueueModel(plan, flavor.name)
    for name, amount in them.held.items():
        model.run(name, amount)
    size = sizes(flavor, own, *them.held.values(), *taken.values())
    held = holders(plan, size, them, taken)
    first = [other for other in asking(plan, model, owner) if not taken or other.name in taken][:2]
    more = [one(f"more-{number}", other, flavor) for number, other in enumerate(first, 1)]
    story = CheckBuilder()
    story.then(
        f"Others take the CPUs and the memory that go with what they can get: {told(flavor, them)}.", *_apart(*held)
    )
    story.then(
        "Who holds most asks for those of one more, and waits.",
        *_apart(*more),
        waits=[jobs.name for jobs in _apart(*more)],
    )
    story.then(
        f"{owner.name} submits a job for the CPUs and one for the memory of {flavor.count(own)}.",
        *_apart(size.gang("owner", owner, own)),
        stops={
            part.name: taken[jobs.team] // jobs.each for jobs in held if jobs.team in taken for part in _apart(jobs)
        },
    )
    promise = f"CPU and memory of {owner.name}'s {flavor.count(own)} are kept, lent and taken back as those are."
    return story.check("ratio", owner.name, flavor.name, promise, node_of(owner))


def _apart(*groups: JobGroup) -> list[JobGroup]:
    """The same twice: for CPUs alone, and for memory alone."""
    return [replace(jobs, name=f"{only}-{jobs.name}", only=only) for jobs in groups for only in ("cpu", "memory")]


def pool(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """All teams hold what they are guaranteed; what is left is nobody's, and the team gets of it what it may borrow."""
    model = KueueModel(plan, flavor.name)
    held = {team.name: model.run(team.name, team.shares[flavor.name].guaranteed) for team in plan.teams}
    gets = model.run(team.name)
    size = sizes(flavor, gets, *held.values())
    groups = teams(plan, size, held).values()
    story = CheckBuilder().then("All teams hold what they are guaranteed.", *groups)
    says = f"{team.name} submits jobs of {flavor.count(gets)} more, of what no team is guaranteed."
    story.then(says, size.jobs("of-the-pool", team, gets))
    story.then("It asks for one more, and waits.", one("one-more", team, flavor), waits=["one-more"])
    promise = f"Of {flavor.count(plan.pool[flavor.name])} that no team is guaranteed, {team.name} can use {gets}."
    return story.check("pool", team.name, flavor.name, promise, f"cohort/{plan.cluster}")


def whole(plan: Plan, flavor: Hardware) -> Check:
    """All teams hold what they are guaranteed, and in turn what they can get of the pool."""
    model = KueueModel(plan, flavor.name)
    held = {team.name: model.run(team.name, team.shares[flavor.name].guaranteed) for team in plan.teams}
    held = {name: amount + model.run(name) for name, amount in held.items()}
    total = sum(held.values())
    size = sizes(flavor, *held.values())
    groups = teams(plan, size, held).values()
    story = CheckBuilder().then(f"All teams together submit jobs of {flavor.count(total)}.", *groups)
    more = [one(f"more-{number}", who, flavor) for number, who in enumerate(asking(plan, model), 1)]
    story.then("Each asks for one more, and waits.", *more, waits=[jobs.name for jobs in more])
    there = f"of {flavor.count(flavor.capacity)}" if total < flavor.capacity else "all that there is"
    promise = f"All teams together use {flavor.count(total)}, {there}, and never more."
    return story.check("whole", "", flavor.name, promise, f"cohort/{plan.cluster}")
