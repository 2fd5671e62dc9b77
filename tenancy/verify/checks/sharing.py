"""Of what is lent, among those who want it: a department's own first, and by weight where the agreement says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from ...agreement.hardware import Hardware
from ...agreement.plan import DepartmentPlan, Plan, TeamPlan
from ...quota.kueue_model import KueueModel
from .builder import CheckBuilder, not_run, others, sizes, teams
from .model import Check
from .pressure import Borrowing, holders


def checks(plan: Plan) -> Iterator[Check]:
    for flavor in plan.flavors:
        for entry in plan.departments:
            yield from department(plan, flavor, entry)
        for team in plan.teams:
            yield from weights(plan, flavor, team)


def department(plan: Plan, flavor: Hardware, value: DepartmentPlan) -> Iterator[Check]:
    """An outsider uses what a team of the department does not; another team of it takes that back, though it is not its own. (The
    Cohort of the department still has room for it, so Kueue lets it reclaim from those outside.)"""
    members = [team for team in plan.teams if team.department == value.name]
    outside = [team for team in plan.teams if team.department != value.name]
    found = [
        (need, claim, idle, claimer, outsider)
        for idle in members
        for claimer in members
        for outsider in outside
        if idle is not claimer
        for claim, need in [_claim(plan, flavor, idle, claimer, outsider)]
        if need
    ]
    if not found:
        return
    need, claim, idle, claimer, outsider = max(found, key=lambda one: one[0])
    them = Borrowing(plan, flavor.name).of(idle, outsider)
    size = sizes(flavor, claim, need, *them.held.values())
    held = holders(plan, size, them, {outsider.name: need})
    borrowed = next(jobs for jobs in held if jobs.team == outsider.name)
    used = them.borrowed[outsider.name]
    story = CheckBuilder().then(
        f"{idle.name} is idle; {outsider.name}, of another department, borrows {flavor.count(used)}.", *held
    )
    story.then(
        f"{claimer.name}, of the same department, asks for {flavor.count(claim)} above its guarantee; {outsider.name} gives {need}.",
        size.gang("claimer", claimer, claim),
        stops={borrowed.name: need // borrowed.each},
    )
    promise = (
        f"What {idle.name} of {value.name} leaves idle goes to {outsider.name} outside, "
        f"and back to {claimer.name} of {value.name} when it asks."
    )
    yield story.check("department", claimer.name, flavor.name, promise, f"cohort/{value.name}")


def weights(plan: Plan, flavor: Hardware, late: TeamPlan) -> Iterator[Check]:
    """One team holds all that is lent when another comes, which then gets its part by weight: that of the two nodes which stand for
    them below their common Cohort. Who shares such a node with one of them holds its guarantee, so that nothing is lent there."""
    if plan.sharing.policy != "fair":
        if late.weight != 1000 and flavor is plan.flavors[0]:
            why = 'Kueue reads weights only with [sharing] policy = "fair"'
            promise = f"{late.name} gets its part by weight of what is lent."
            yield not_run("weights", late.name, flavor.name, promise, _cohort(plan, late, late), why)
        return
    contests = [result for other in others(plan, late) if (result := _contest(plan, flavor, other, late))]
    if contests:
        yield _contested(
            plan, flavor, max(contests, key=lambda contest: (contest.mine != contest.theirs, contest.amount))
        )


@dataclass(frozen=True)
class _Contest:
    """Two teams that can each borrow all of an amount, and their weights."""

    early: TeamPlan
    late: TeamPlan
    theirs: int
    mine: int
    amount: int
    fellows: tuple[TeamPlan, ...]


def _contest(plan: Plan, flavor: Hardware, early: TeamPlan, late: TeamPlan) -> _Contest | None:
    apart = early.department != late.department
    beside = {early.department, late.department} - {None} if apart else set()
    fellows = tuple(team for team in others(plan, early, late) if team.department in beside)
    theirs, mine = (_weight(plan, team) if apart else team.weight for team in (early, late))
    amounts = {_borrows(plan, flavor, *pair, fellows) for pair in ((early, late), (late, early))}
    if not theirs + mine or len(amounts) > 1 or 0 in amounts:
        return None
    return _Contest(early, late, theirs, mine, amounts.pop(), fellows)


def _borrows(plan: Plan, flavor: Hardware, team: TeamPlan, other: TeamPlan, fellows: tuple[TeamPlan, ...]) -> int:
    """What the team can borrow while the other and the fellows hold their guarantees and all the rest are idle."""
    model = KueueModel(plan, flavor.name)
    for fellow in (*fellows, other):
        model.run(fellow.name, fellow.shares[flavor.name].guaranteed)
    return model.run(team.name) - team.shares[flavor.name].guaranteed


def _contested(plan: Plan, flavor: Hardware, contest: _Contest) -> Check:
    early, late = contest.early, contest.late
    promise = f"What is lent goes to {early.name} and {late.name} by {contest.theirs / 1000:g} to {contest.mine / 1000:g}, whoever came first."
    about = ("weights", late.name, flavor.name, promise, _cohort(plan, early, late))
    rest = contest.amount % ((contest.theirs + contest.mine) // gcd(contest.theirs, contest.mine))
    held = {one.name: one.shares[flavor.name].guaranteed for one in contest.fellows}
    if rest:  # an idle team, that lends all it has, uses so much of it
        idle = others(plan, early, late, *contest.fellows)
        user = next(
            (one for one in idle if one.shares[flavor.name].lendable >= rest and not one.shares[flavor.name].reserved),
            None,
        )
        if not user:
            why = f"{flavor.count(contest.amount)} are lent, which cannot be parted so: {rest} would be left"
            return not_run(*about, why)
        held[user.name] = rest
    amount = contest.amount - rest
    gets = amount * contest.mine // (contest.theirs + contest.mine)
    model = KueueModel(plan, flavor.name)
    for name, units in held.items():
        model.run(name, units)
    before, own = model.run(early.name), late.shares[flavor.name].guaranteed
    taken = before - early.shares[flavor.name].guaranteed - amount  # of the late one's guarantee
    size = sizes(flavor, before, own, taken, gets, amount - gets, *held.values())
    job = size.jobs("early", early, before, taken, gets, amount - gets, most=1)
    more = replace(job, name="late", team=late.name, count=amount // job.each)
    groups = teams(plan, size, held).values()
    story = CheckBuilder().then(f"{early.name} holds {flavor.count(before)}, {amount} of them lent.", job, *groups)
    if own:
        says = f"{late.name} comes and takes back what it is guaranteed."
        story.then(says, size.gang("late-own", late, own), stops={"early": taken // job.each})
    says = f"It asks for all that is lent, and gets {gets} of {amount}."
    story.then(says, more, waits=["late"], starts={"late": gets // job.each}, gives={"early": gets // job.each})
    return story.check(*about)


def _claim(plan: Plan, flavor: Hardware, idle: TeamPlan, claimer: TeamPlan, outsider: TeamPlan) -> tuple[int, int]:
    """What the claimer can have of its department's while the outsider holds all it can, and how much of it the outsider gives."""
    model = KueueModel(plan, flavor.name)
    for team in others(plan, idle):
        model.run(team.name, team.shares[flavor.name].guaranteed)
    model.run(outsider.name)
    node, cohort = model.queue(claimer.name), model.departments[str(claimer.department)]
    limit = claimer.shares[flavor.name].borrowable
    room = cohort.subtree - cohort.used
    claim = room if limit is None else min(limit, room)
    need = max(0, claim - node.available)
    return claim, need if need and node.must_preempt(claim, each=need) == 1 else 0


def _cohort(plan: Plan, early: TeamPlan, late: TeamPlan) -> str:
    """The Cohort in which both stand."""
    return f"cohort/{(early.department == late.department and late.department) or plan.cluster}"


def _weight(plan: Plan, team: TeamPlan) -> int:
    """Of its node right below the root."""
    return next(
        (department.weight for department in plan.departments if department.name == team.department), team.weight
    )
