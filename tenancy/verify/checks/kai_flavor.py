"""The checks of a flavor on KAI that one team or two stand for: gangs, priority, weights, the free pool, parts of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ...agreement.hardware import HOSTNAME
from ...agreement.mig import GPU
from ...agreement.plan import TeamPlan
from ...objects.schedulers import Place
from .kai_field import KaiFlavor, label
from .model import Check, JobGroup, Step

LOW, HIGH = 50, 75  # KAI's classes `train` and `build-preemptible`
HALF = "0.5"
BESIDE_PROD = (
    "KAI 0.12 takes back for a team with a prod slice what it is guaranteed, and not what else its department lends"
)


def of_flavor(field: KaiFlavor) -> Iterator[Check]:
    for make in (whole, pool, department, weights, priority, gang, topology, fractions, slices):
        yield from make(field)


def whole(field: KaiFlavor) -> Iterator[Check]:
    """Everybody at once."""
    borrower = field.borrower()
    if not borrower:
        return
    others = field.besides(borrower)
    amount = min(field.reach(borrower), field.shared - field.owned(others))
    first = field.jobs(borrower, amount, more=1)
    asked = [field.jobs(team, field.own(team).shared) for team in others if field.own(team).shared]
    asked += [
        field.jobs(team, field.own(team).reserved, place=Place.RESERVED)
        for team in field.teams
        if field.own(team).reserved
    ]
    total = sum(jobs.count * jobs.each for jobs in asked) + amount
    step = Step(
        f"All teams ask at once for all that is theirs, and {borrower.display_name} for more.",
        (first, *asked),
        running={first.name: amount // field.size, **{jobs.name: jobs.count for jobs in asked}},
        most_stopped=field.churn(borrower, others),
    )
    promise = f"all teams together use {field.count(total)} of the {field.count(field.flavor.capacity)} there are, and never more"
    yield field.check("whole", borrower, promise, _root(field), [step])


def pool(field: KaiFlavor) -> Iterator[Check]:
    """For who owns least: it has most to borrow."""
    team, free = field.borrower(), field.plan.pool[field.name]
    if not team or not free:
        return
    owners, own = field.lenders(team), field.own(team).shared
    amount = min(field.reach(team), own + free)
    held = [field.jobs(team, field.own(team).shared) for team in owners]
    full = {jobs.name: jobs.count for jobs in held}
    jobs = field.jobs(team, amount, more=1)
    steps = [
        Step("All others use what they lend.", tuple(held), running=full),
        Step(
            f"{team.display_name} asks for its {own} and the {field.count(free)} that are nobody's.",
            (jobs,),
            running={**full, jobs.name: amount // field.size},
        ),
    ]
    promise = f"the {field.count(free)} that no team is guaranteed are there for {team.display_name} while all others use theirs"
    yield field.check("pool", team, promise, _root(field), [step for step in steps if step.submit])


def department(field: KaiFlavor) -> Iterator[Check]:
    """What a team of a department lends is its department's before it is others'."""
    for entry in field.plan.departments:
        inside = [team for team in field.teams if team.department == entry.name]
        outside = [team for team in field.teams if team.department != entry.name]
        team = max(inside, key=lambda team: (not team.shares[field.name].prod, field.reach(team)), default=None)
        other = field.borrower(*inside)
        if not team or not other or len(inside) < 2 or not outside:
            continue
        own = field.owned(inside)
        asks, taken = min(field.reach(team), own), field.reach(other)
        lost = max(0, asks - (field.shared - taken))
        if asks <= field.own(team).shared or not lost:
            continue
        full, mine = field.jobs(other, taken), field.jobs(team, asks)
        left = (taken - lost) // field.size
        says = f"{team.display_name} asks for the {field.count(asks)} that its department lends, and gets all of them."
        steps = [
            Step(f"{other.display_name} borrows {field.count(taken)}.", (full,), running={full.name: full.count}),
            Step(
                says, (mine,), running={full.name: left, mine.name: mine.count}, stopped={full.name: lost // field.size}
            ),
        ]
        promise = f"what {entry.display_name} lends, {field.count(own)}, is {team.display_name}'s before it is {other.display_name}'s"
        why = BESIDE_PROD if team.shares[field.name].prod else field.no_reclaim
        yield field.check("department", team, promise, field.queue_named(entry.name), steps, why)


def weights(field: KaiFlavor) -> Iterator[Check]:
    """Between two teams without a limit, while all others are idle."""
    free = [team for team in field.teams if field.reach(team) == field.shared]
    for one in free:
        for two in free:
            if one is two or one.department != two.department:
                continue
            owned = field.own(one).shared, field.own(two).shared
            over, total = field.shared - sum(owned), one.weight + two.weight
            if over <= 0 or not total or over * one.weight % (total * field.size):  # two weights of 0 divide nothing
                continue
            extra = over * one.weight // total
            mine, others = owned[0] + extra, owned[1] + over - extra
            if others == field.shared or mine == field.shared:
                continue
            yield _weighed(field, one, two, mine, others)
            return


def _weighed(field: KaiFlavor, one: TeamPlan, two: TeamPlan, mine: int, others: int) -> Check:
    first, second = field.jobs(two, field.shared), field.jobs(one, field.shared)
    parts = f"{one.display_name} {field.count(mine)}, {two.display_name} {field.count(others)}"
    steps = [
        Step(
            f"{two.display_name} has all of it: {field.count(field.shared)}.",
            (first,),
            running={first.name: first.count},
        ),
        Step(
            f"{one.display_name} asks for all of it too. By weight {one.weight / 1000:g} to {two.weight / 1000:g}: {parts}.",
            (second,),
            running={first.name: others // field.size, second.name: mine // field.size},
            stopped={first.name: (field.shared - others) // field.size},
        ),
    ]
    promise = f"what both ask for over their quota is divided by weight: {parts}"
    return field.check("weights", one, promise, field.queue(one), steps, field.no_reclaim)


def priority(field: KaiFlavor) -> Iterator[Check]:
    team = field.borrower()
    if not team or field.reach(team) < 2 * field.size:
        return
    most = field.reach(team)
    low = field.jobs(team, most, "low", priority=LOW)
    high = field.jobs(team, 2 * field.size, "high", priority=HIGH)
    steps = [
        Step(f"{team.display_name} runs {field.count(most)} of priority {LOW}.", (low,), running={low.name: low.count}),
        Step(
            f"{high.count} jobs of priority {HIGH} come: they run at once, and as many of the lower are stopped.",
            (high,),
            running={low.name: low.count - high.count, high.name: high.count},
            stopped={low.name: high.count},
        ),
    ]
    promise = f"in {team.display_name}'s queue a job of a higher priority stops one of a lower"
    why = field.left_alone(field.plan.sharing.preempt_min_runtime)
    yield field.check("priority", team, promise, field.queue(team), steps, why)


def gang(field: KaiFlavor) -> Iterator[Check]:
    """There is room for half of it; when there is room for all of it, all of it starts."""
    team = field.borrower()
    if not team or field.reach(team) < 2 * field.size:
        return
    most = field.reach(team)
    pods = min(most // field.size, 4)
    room = pods // 2 * field.size
    filler = field.jobs(team, most - room, "alone")
    together = JobGroup("gang", team.name, field.name, 1, units=field.size, pods=pods)
    held = {filler.name: filler.count} if filler.count else {}
    steps = [
        Step(f"{field.count(room)} are left.", (filler,), running=held),
        Step(
            f"A job of {pods} pods needs {field.count(together.each)}: not one of them starts.",
            (together,),
            running={**held, "gang": 0},
        ),
        Step("The others end: all its pods start.", remove=(filler.name,), running={"gang": 1}),
    ]
    promise = f"a job of {pods} pods starts whole or not at all"
    yield field.check("gang", team, promise, field.queue(team), steps)


def topology(field: KaiFlavor) -> Iterator[Check]:
    """Of pods that take a whole node two fit a domain of the widest level, and none of a node."""
    name, node = field.flavor.topology, field.flavor.units_per_node
    levels = next((topology.levels for topology in field.plan.topologies if topology.name == name), ())
    team = field.borrower()
    if not levels or not team or field.reach(team) < 2 * node:
        return

    def pair(named: str, level: str) -> JobGroup:
        return JobGroup(named, team.name, field.name, 1, units=node, pods=2, level=level)

    widest = levels[0]
    steps = []
    running = {}
    if widest != HOSTNAME:
        running = {"packed": 1}
        says = f"A job of two pods, each a whole node, lands in one {widest}."
        steps.append(Step(says, (pair("packed", widest),), running=running, together={"packed": widest}))
    if levels[-1] == HOSTNAME and field.reach(team) >= 2 * node * (1 + len(steps)):
        says = "One that asks for a single node for both waits, and is told so."
        wide = pair("too-wide", HOSTNAME)
        because = {wide.name: "couldn't be satisfied"}
        steps.append(Step(says, (wide,), running={**running, wide.name: 0}, because=because))
    if steps:
        promise = f"the pods of a job land in one domain of the level of {name} that it names, or wait"
        yield field.check("topology", team, promise, f"{field.queue(team)} topology.kai.scheduler/{name}", steps)


def fractions(field: KaiFlavor) -> Iterator[Check]:
    """All GPUs but one are taken, so two halves that run share that one. The parts are text: `0.5`.

    One after another: of two halves that KAI 0.12 puts on one GPU at once its binder may lose the pod that reserves it, and it
    stops both minutes later (`resource_reservation.go`, "Did not find fraction pod for gpu group")."""
    flavor, team = field.flavor, field.borrower()
    if flavor.resource != GPU or flavor.unit != "gpu" or not team or field.reach(team) < field.shared:
        return
    amounts = [(team, Place.REGULAR, field.shared - 1)]
    amounts += [(team, Place.RESERVED, field.own(team).reserved) for team in field.teams]
    every = [(team, place, *divmod(amount, flavor.units_per_node)) for team, place, amount in amounts]
    nodes = [
        JobGroup(f"{label(team, place)}-nodes", team.name, field.name, count, units=flavor.units_per_node, place=place)
        for team, place, count, _ in every
    ]
    rest = [
        JobGroup(f"{label(team, place)}-rest", team.name, field.name, count, place=place)
        for team, place, _, count in every
    ]
    first, second, third = (
        JobGroup(f"{which}-half", team.name, field.name, 1, fraction=HALF) for which in ("first", "second", "third")
    )
    whole = {jobs.name: jobs.count for jobs in nodes}
    held = {**whole, **{jobs.name: jobs.count for jobs in rest}}
    shared = {first.name: 1, second.name: 1}
    gone = rest[0] if rest[0].count else nodes[0]
    freed = {name: count for name, count in held.items() if name != gone.name}
    steps = [
        Step("All GPUs are taken, whole nodes first,", tuple(nodes), running=whole),
        Step("all but one.", tuple(rest), running=held),
        Step(
            f"A pod asks for {HALF} of a GPU, which is the one that is left.", (first,), running={**held, first.name: 1}
        ),
        Step("Another does, and shares it.", (second,), running={**held, **shared}),
        Step("A third waits.", (third,), running={**held, **shared, third.name: 0}),
        Step(
            "GPUs are free again: the third gets another.",
            remove=(gone.name,),
            running={**freed, **shared, third.name: 1},
            apart=(first.name, second.name, third.name),
        ),
    ]
    steps = steps if field.shared > 1 else steps[:-1]
    promise = f"two pods of {team.display_name} share a GPU at {HALF} each, and a third waits while no other is free"
    yield field.check("fractions", team, promise, field.queue(team), steps)


def slices(field: KaiFlavor) -> Iterator[Check]:
    """Its own number, which KAI counts in GPUs: a slice of `Ng` is N of them."""
    team = field.borrower()
    if field.flavor.unit != "slice" or not team:
        return
    most = field.reach(team)
    jobs = field.jobs(team, most, more=1)
    because = {jobs.name: field.limit_says(most)}
    says = (
        f"{team.display_name} asks for more than the {field.count(most)} of {field.flavor.profile} that it can reach."
    )
    step = Step(says, (jobs,), running={jobs.name: most // field.size}, because=because)
    promise = f"slices of {field.flavor.profile} are counted by themselves: {field.count(most)} and not one job more"
    yield field.check("slices", team, promise, field.queue(team), [step])


def _root(field: KaiFlavor) -> str:
    return field.queue_named("shared")
