"""A scene with real jobs: one team borrows what another lends, the other comes back and gets it.

The scene is what the agreement is about, so it is not typed by hand: who lends and who borrows, how many GPUs each gets
and how many must be given back are computed from the plan, and the scene fails where the cluster does otherwise. On a
lab's nodes pods run without doing anything, so what is seen is the schedulers' own behaviour and speed.

1. The borrower submits more than it can ever reach. It gets its reach, on the lender's idle GPUs, and the rest waits.
2. The lender submits all it is guaranteed. Borrowed jobs are stopped until all of the lender's jobs run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd

from ..agreement.hardware import Hardware
from ..agreement.plan import Plan, TeamPlan
from ..cluster import usage
from ..cluster.clients import connect
from ..objects.kai import refusal
from ..quota.kueue_model import KueueModel
from .folder import LabError, folder
from .stage import Stage

MOST_JOBS = 64  # of one team; beyond that jobs get more pods
TOO_MANY = 4  # jobs more than the borrower can reach

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Cast:
    """Who plays, and what the agreement says must come of it, in units of the flavor.

    `reach` is what the borrower gets alone, `beside` what is left to it once the lender has its whole guarantee."""

    flavor: Hardware
    lender: TeamPlan
    borrower: TeamPlan
    reach: int
    beside: int

    @property
    def guaranteed(self) -> int:
        return self.lender.shares[self.flavor.name].guaranteed

    @property
    def size(self) -> int:
        """Units of one job: a divisor of all amounts, so that whole jobs come to them exactly, for not too many jobs."""
        reserved = (team.shares[self.flavor.name].reserved for team in (self.lender, self.borrower))
        common = gcd(self.reach, self.beside, self.guaranteed, *reserved)
        divisors = [size for size in range(1, common + 1) if common % size == 0]
        return next((size for size in divisors if max(self.reach, self.guaranteed) // size <= MOST_JOBS), common)


def cast(plan: Plan) -> Cast:
    """The pair for which most must be given back, of whole GPUs where it can be; ties by what the borrower itself lends, then
    by the agreement's order. Raises LabError when no team of the agreement borrows from another."""
    pairs = [pair for flavor in plan.flavors for pair in _pairs(plan, flavor)]
    best = max(pairs, key=_interest, default=None)
    if best is None or best.reach == best.beside:
        raise LabError("in this agreement no team can borrow what another lends: there is no scene to play")
    return best


def _interest(pair: Cast) -> tuple[bool, int, int, int]:
    flavor = pair.flavor.name
    return (
        pair.flavor.unit == "gpu" and pair.reach > pair.beside,
        pair.reach - pair.beside,
        pair.lender.shares[flavor].lendable + pair.borrower.shares[flavor].lendable,
        pair.lender.shares[flavor].guaranteed,
    )


def _pairs(plan: Plan, flavor: Hardware) -> Iterator[Cast]:
    """Each borrower's reach on an empty cluster, and while a lender uses all it is guaranteed."""
    model = KueueModel(plan, flavor.name)
    for lender in plan.teams:
        own = model.queue(lender.name)
        for borrower in plan.teams:
            if borrower is not lender:
                queue = model.queue(borrower.name)
                own.usage = lender.shares[flavor.name].guaranteed
                beside = queue.available
                own.usage = 0
                yield Cast(flavor, lender, borrower, queue.potential, beside)


def play(plan: Plan, name: str = "lab", scheduler: str = "kueue", tell: Tell = print) -> bool:
    """Plays the scene on a lab that holds the agreement; whether everything went as the agreement says.

    Raises LabError, Unreachable or NotThere when the scene cannot begin. Its namespaces are removed whatever happens.
    """
    it = folder(name)
    state = it.state()
    if state is None:
        raise LabError(f"there is no lab {name}: tenancy lab up --name {name}")
    if state.on != "kwok":
        raise LabError(f"lab {name} is on {state.on}, where pods run programs; the scene's have none")
    if scheduler == "kai" and (why := refusal(plan)):
        raise LabError(f"KAI has no queues for this agreement: {why}")
    players = cast(plan)
    client = connect(str(it.kubeconfig))
    stage = Stage(client, plan, players.flavor, players.size, (players.lender, players.borrower), scheduler)
    with stage.set():
        if busy := [row for row in stage.rows() if row.used]:
            used = ", ".join(f"{row.team} uses {row.used}" for row in busy)
            raise LabError(f"the scene needs a lab on which nothing runs, and {used}")
        return _act_one(players, stage, tell) and _act_two(players, stage, tell)


def _act_one(it: Cast, stage: Stage, tell: Tell) -> bool:
    count = it.flavor.count
    lender, borrower = it.lender.display_name, it.borrower.display_name
    own = it.borrower.shares[it.flavor.name].guaranteed
    jobs = it.reach // it.size + TOO_MANY
    tell(f"{lender} is idle. {borrower} submits {jobs} jobs of {count(it.size)}; it is guaranteed {count(own)}.")
    stage.submit(it.borrower, jobs * it.size)
    took = stage.until({it.borrower.name: it.reach})
    return _told(
        stage,
        tell,
        took,
        f"After {took or 0:.1f} s {borrower} runs on {count(it.reach)}: {own} of its own, {it.reach - own} that others lend. "
        f"That is all it can reach, so {TOO_MANY} jobs wait.",
        f"{borrower} should run on {it.reach} by now",
    )


def _act_two(it: Cast, stage: Stage, tell: Tell) -> bool:
    count = it.flavor.count
    lender, borrower = it.lender.display_name, it.borrower.display_name
    stopped = (it.reach - it.beside) // it.size
    tell(f"{lender} comes back and submits {it.guaranteed // it.size} jobs of {count(it.size)}, all it is guaranteed.")
    stage.submit(it.lender, it.guaranteed)
    took = stage.until({it.lender.name: it.guaranteed, it.borrower.name: it.beside})
    return _told(
        stage,
        tell,
        took,
        f"After {took or 0:.1f} s {stopped} borrowed jobs of {borrower} are stopped, and all of {lender} runs, on "
        f"{count(it.guaranteed)}. {borrower} keeps {count(it.beside)}.",
        f"{lender} should run on {it.guaranteed} and {borrower} on {it.beside} by now",
    )


def _told(stage: Stage, tell: Tell, took: float | None, well: str, ill: str) -> bool:
    """Says how an act ended, with the table of who has what."""
    rows = stage.rows()
    if took is None:
        running = ", ".join(f"{team.name} runs {stage.running(team.name)}" for team in stage.teams)
        tell(f"This is not what the agreement says: {ill}. Instead {running}.")
    else:
        tell(well)
    usage.show(rows)
    return took is not None
