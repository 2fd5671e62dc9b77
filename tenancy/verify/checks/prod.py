"""Of prod: its slice and no more, back at once, and never stopped for a regular job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ...objects.schedulers import Place
from ...quota.kueue_model import KueueModel
from ...quota.reach import reach
from .builder import CheckBuilder, one, others, queue_of, sizes, teams
from .jobs import levels
from .model import Check


def checks(plan: Plan) -> Iterator[Check]:
    for flavor in plan.flavors:
        for team in plan.teams:
            if team.shares[flavor.name].prod:
                yield prod_slice(plan, flavor, team)
                yield prod_back(plan, flavor, team)
                yield prod_kept(plan, flavor, team)


def prod_slice(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """All is idle, and still one more waits; a regular job gets it."""
    own = team.shares[flavor.name].prod
    prod = sizes(flavor, own).jobs("prod", team, own, place=Place.PROD)
    story = CheckBuilder().then(f"{team.name} submits prod jobs of {flavor.count(own)} in all.", prod)
    story.then(
        "It asks for one more in prod, and waits.", one("one-more", team, flavor, Place.PROD), waits=["one-more"]
    )
    if reach(plan, team, flavor.name) > own:
        story.then("It is there: a regular job gets it.", one("regular", team, flavor))
    promise = f"{team.name}'s prod queue has {flavor.count(own)} and never borrows."
    return story.check("prod-slice", team.name, flavor.name, promise, queue_of(team, Place.PROD))


def prod_back(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """Another team holds the slice while the rest of the guarantee is in use; where none can, the team's own regular jobs do.

    In the first case, with the guarantee on the Cohort, Kueue may stop the newest regular job of the team itself, which then
    takes its part back: two stops for one. It is promised that the borrower pays for it, not that only it is stopped.
    """
    share = team.shares[flavor.name]
    found = [(other, *_lent(plan, flavor, team, other)) for other in others(plan, team)]
    payer, held, need = max(found, key=lambda one: one[2], default=(team, {}, 0))
    if not need:
        payer, (held, need) = team, _lent(plan, flavor, team, team)
    size = sizes(flavor, share.prod, need, *held.values())
    groups = teams(plan, size, held, {team.name: need, payer.name: need})
    own, pays = groups.get(team.name), groups[payer.name]
    whose = "its own regular jobs" if payer is team else payer.name
    says = f"All hold what they are guaranteed, but {team.name}'s prod nothing: {whose} took what was free."
    story = CheckBuilder().then(says, *groups.values())
    story.then(
        f"{team.name} submits a prod job of {flavor.count(share.prod)}; in the end {whose} gave {need} for it.",
        size.gang("prod", team, share.prod, Place.PROD),
        stops={pays.name: need // pays.each},
        most_stopped={own.name: own.count} if own and payer is not team and plan.guarantee_on == "cohort" else {},
    )
    promise = f"{team.name}'s prod queue takes back its {flavor.count(share.prod)} at once: {need} from {whose}."
    return story.check("prod-back", team.name, flavor.name, promise, queue_of(team, Place.PROD))


def prod_kept(plan: Plan, flavor: Hardware, team: TeamPlan) -> Check:
    """The prod jobs are the newest; the team's regular jobs, of the highest priority there is, borrow what an owner takes back."""
    share = team.shares[flavor.name]
    choices = [
        _while_idle(plan, flavor, team, other) for other in others(plan, team) if other.shares[flavor.name].guaranteed
    ]
    owner, held, need = max(choices, key=lambda one: one[2], default=_while_idle(plan, flavor, team, None))
    back = owner.shares[flavor.name].guaranteed if owner else 0
    size = sizes(flavor, share.prod, back, need, *held.values())
    groups = teams(plan, size, held, {team.name: need})
    highest = (levels(plan, team) or [None])[-1]
    if own := groups.get(team.name):
        groups[team.name] = own = replace(own, priority=highest)
    story = CheckBuilder().then(
        f"{team.name}'s regular jobs take what is free; {owner.name if owner else 'nobody'} is idle.", *groups.values()
    )
    story.then(
        f"{team.name} submits prod jobs of {flavor.count(share.prod)}.",
        size.jobs("prod", team, share.prod, place=Place.PROD),
    )
    if owner and own and need:
        story.then(
            f"{owner.name} comes back for {flavor.count(back)}; {team.name}'s regular jobs are stopped, prod is not.",
            size.gang("owner", owner, back),
            stops={own.name: need // own.each},
        )
    more = replace(one("one-more", team, flavor), priority=highest)
    story.then(
        f"{team.name} asks for one more regular job, and it waits; prod is not stopped.", more, waits=["one-more"]
    )
    promise = f"{team.name}'s prod jobs on {flavor.count(share.prod)} are not stopped for regular jobs, whatever their priority."
    return story.check("prod-kept", team.name, flavor.name, promise, queue_of(team, Place.PROD))


def _lent(plan: Plan, flavor: Hardware, team: TeamPlan, payer: TeamPlan) -> tuple[dict[str, int], int]:
    """What each team holds in its regular queue, and how much of it the prod queue must take back: all hold their guarantee, but
    for the slice, and the payer, of another team or of this one, takes what is left."""
    model = KueueModel(plan, flavor.name)
    for entry in plan.teams:
        share = entry.shares[flavor.name]
        model.run(entry.name, share.regular if entry is team else share.guaranteed)
    model.run(payer.name)
    need = team.shares[flavor.name].prod - model.queue(team.name, prod=True).available
    return {team.name: model.queue(team.name).usage for team in plan.teams}, max(0, need)


def _while_idle(
    plan: Plan, flavor: Hardware, team: TeamPlan, owner: TeamPlan | None
) -> tuple[TeamPlan | None, dict[str, int], int]:
    """The same while an owner is idle, the team's prod jobs run, and its regular jobs take what is left."""
    model = KueueModel(plan, flavor.name)
    model.run(team.name, team.shares[flavor.name].prod, prod=True)
    for other in others(plan, team, *([owner] if owner else [])):
        model.run(other.name, other.shares[flavor.name].guaranteed)
    model.run(team.name)
    need = owner.shares[flavor.name].guaranteed - model.queue(owner.name).available if owner else 0
    return owner, {team.name: model.queue(team.name).usage for team in plan.teams}, max(0, need)
