"""Of what a team is guaranteed: it gets all of it, takes back what others borrowed, and is not stopped while it stays within."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ...objects.schedulers import Place
from ...quota.kueue_model import KueueModel
from .builder import CheckBuilder, Sizes, node_of, one, others, queue_of, sizes, teams
from .model import Check
from .pressure import Borrowing, asking, certain, from_all, holders, told


def checks(plan: Plan) -> Iterator[Check]:
    for flavor in plan.flavors:
        borrowing = Borrowing(plan, flavor.name)
        for team in plan.teams:
            if team.shares[flavor.name].guaranteed:
                yield guarantee(plan, flavor, team, borrowing)
                yield from reclaim(flavor, team, borrowing)
                yield kept(plan, flavor, team, borrowing)


def guarantee(plan: Plan, flavor: Hardware, owner: TeamPlan, borrowing: Borrowing) -> Check:
    """All others hold all they can when the owner comes; it gets all of its guarantee, in one job for each of its queues. Where it
    is not certain of whom a part is taken, one of the others borrows alone."""
    share = owner.shares[flavor.name]
    free = from_all(plan, flavor.name, owner).free
    them, taken = certain(owner, borrowing, all_at_once=share.prod <= free)
    by_prod = max(0, share.prod - them.free) if share.prod else 0
    size = sizes(flavor, share.prod, share.regular, by_prod, *them.held.values(), *taken.values())
    held = holders(plan, size, them, taken, by_prod)
    stops = {jobs.name: (taken[jobs.team], jobs.each) for jobs in held if jobs.team in taken}
    story = CheckBuilder().then(f"All other teams take what they can: {told(flavor, them)}.", *held)
    if share.prod:
        story.then(
            f"{owner.name} submits a prod job of {flavor.count(share.prod)}.",
            size.gang("owner-prod", owner, share.prod, Place.PROD),
            stops={name: by_prod // each for name, (_, each) in stops.items()},
        )
    if share.regular:
        story.then(
            f"{owner.name} submits a job of {flavor.count(share.regular)}: now it holds all it is guaranteed.",
            size.gang("owner", owner, share.regular),
            stops={name: (amount - by_prod) // each for name, (amount, each) in stops.items()},
        )
    promise = (
        f"{owner.name} gets the {flavor.count(share.guaranteed)} it is guaranteed while all others hold all they can."
    )
    return story.check("guarantee", owner.name, flavor.name, promise, node_of(owner))


def reclaim(flavor: Hardware, owner: TeamPlan, borrowing: Borrowing) -> Iterator[Check]:
    """The owner comes back in two jobs. Each stops as many of the one borrower's jobs as it needs, and nobody else's."""
    best = borrowing.most(owner)
    if not best:
        return
    borrower, them = best
    share = owner.shares[flavor.name]
    later = _later(them.need, them.held[borrower.name], flavor)
    parts = (share.prod, share.regular) if share.prod else (share.guaranteed - later, later)
    needs = [max(0, parts[0] - them.free)]
    needs.append(them.need - needs[0])
    size = sizes(flavor, *parts, *needs, *them.held.values())
    held = holders(borrowing.plan, size, them, {borrower.name: them.need}, *needs)
    borrowed = next(jobs for jobs in held if jobs.team == borrower.name)
    says = (
        f"{owner.name} is idle; {borrower.name} holds {them.held[borrower.name]}, {them.need} of them {owner.name}'s."
    )
    story = CheckBuilder().then(says, *held)
    for number, (part, need) in enumerate(zip(parts, needs, strict=True)):
        if part:
            stops = need // borrowed.each
            of_whom = f"{stops} of {borrower.name}'s jobs of {flavor.count(borrowed.each)}" if stops else "nobody"
            prod = bool(share.prod) and not number
            story.then(
                f"{owner.name} submits a {'prod ' * prod}job of {flavor.count(part)}; it stops {of_whom}.",
                size.gang(f"owner-{number + 1}", owner, part, Place.PROD if prod else Place.REGULAR),
                stops={borrowed.name: stops},
            )
    what = flavor.count(them.need)
    promise = (
        f"{owner.name} takes back {what} from {borrower.name}, who borrowed them, and no more than each job needs."
    )
    yield story.check("reclaim", owner.name, flavor.name, promise, queue_of(owner))


def kept(plan: Plan, flavor: Hardware, team: TeamPlan, borrowing: Borrowing) -> Check:
    """The team holds its guarantee, in the newest jobs of all, when another owner takes back what was borrowed of it."""
    share = team.shares[flavor.name]
    owners = [other for other in others(plan, team) if other.shares[flavor.name].guaranteed]
    found = [(owner, *best) for owner in owners if (best := borrowing.most(owner, team))]
    if not found:
        return _kept_under_pressure(plan, flavor, team)
    owner, borrower, them = max(found, key=lambda one: one[2].need)
    back = owner.shares[flavor.name].guaranteed
    size = sizes(flavor, share.regular, share.prod, back, them.need, *them.held.values())
    held = [jobs for jobs in holders(plan, size, them, {borrower.name: them.need}) if jobs.team != team.name]
    borrowed = next(jobs for jobs in held if jobs.team == borrower.name)
    story = CheckBuilder()
    story.then(
        f"{owner.name} is idle, and {borrower.name} holds {flavor.count(them.need)} of {owner.name}'s own.", *held
    )
    _all_of_its_own(story, size, team, f"{team.name} submits all it is guaranteed: its jobs are the newest.")
    story.then(
        f"{owner.name} comes back for {flavor.count(back)}; only {borrower.name} is stopped.",
        size.gang("owner", owner, back),
        stops={borrowed.name: them.need // borrowed.each},
    )
    promise = (
        f"{team.name} is not stopped within the {flavor.count(share.guaranteed)} it is guaranteed: {owner.name} takes back "
        f"what is its own from {borrower.name}, who borrowed it."
    )
    return story.check("kept", team.name, flavor.name, promise, node_of(team))


def _kept_under_pressure(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """Where nobody borrows of another: the others ask for all they can get, and for more."""
    share = team.shares[flavor.name]
    model = KueueModel(plan, flavor.name)
    model.run(team.name, share.guaranteed)
    for other in others(plan, team):
        model.run(other.name, other.shares[flavor.name].guaranteed)
    held = {other.name: model.queue(other.name).usage + model.run(other.name) for other in others(plan, team)}
    size = sizes(flavor, share.regular, share.prod, *held.values())
    story = CheckBuilder()
    _all_of_its_own(story, size, team, f"{team.name} submits all it is guaranteed.")
    story.then("The others take what they can get.", *teams(plan, size, held).values())
    more = [one(f"more-{number}", other, flavor) for number, other in enumerate(asking(plan, model, team), 1)]
    story.then("Each of them asks for one more, and waits.", *more, waits=[jobs.name for jobs in more])
    promise = f"{team.name} is not stopped within the {flavor.count(share.guaranteed)} it is guaranteed."
    return story.check("kept", team.name, flavor.name, promise, node_of(team))


def _all_of_its_own(story: CheckBuilder, sizes: Sizes, team: TeamPlan, says: str) -> None:
    share = team.shares[sizes.flavor.name]
    places = {Place.REGULAR: share.regular, Place.PROD: share.prod}
    story.then(
        says,
        *(sizes.jobs(f"own-{place}", team, amount, place=place, most=2) for place, amount in places.items() if amount),
    )


def _later(need: int, held: int, flavor: Hardware) -> int:
    """How much of what is taken back the owner's second job takes: half of the largest jobs that the borrower can have; where that
    is only one, half of it, if its jobs then are not too many. 0: there is no second."""
    largest = gcd(need, held)
    if need > largest:
        return need // largest // 2 * largest
    if held > 4 * need:
        return 0
    node = gcd(need, flavor.units_per_node)
    return need // node // 2 * node or need // 2
