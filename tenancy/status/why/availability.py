"""What of a flavor a queue can get now, by the agreement's numbers: what is missing, who holds it, who must give it back.

The arithmetic is the model's. It counts units of the flavor; CPU and memory follow them by the flavor's ratio, so of a job
that asks for more of these than its GPUs bring along `ratio` tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from fractions import Fraction
from functools import cached_property

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, Share, TeamPlan
from ...quota.jobs import Job
from ...quota.kueue_model import KueueModel
from ...quota.reclaim import preempted_for
from ...quota.tree import Node
from .admitted import Held, in_order, queues
from .amounts import Asks, amount_in_words
from .model import Holder
from .times import span, within

SHOWN = 3  # jobs of a team that are named


class Bound(Enum):
    """What is in the way of a job; NOTHING: it fits."""

    NOTHING = "nothing"
    MAXIMUM = "maximum"
    PROD = "prod"
    BORROWABLE = "borrowable"
    IDLE = "idle"


@dataclass(frozen=True)
class Room:
    plan: Plan
    flavor: Hardware
    team: TeamPlan
    prod: bool
    asked: int
    priority: int
    held: Sequence[Held]

    @cached_property
    def queue(self) -> Node:
        model = KueueModel(self.plan, self.flavor.name)
        for it in self.held:
            if queue := model.queues.get((it.job.team, it.job.prod)):
                queue.usage += it.units(self.flavor.name)
        return model.queue(self.team.name, self.prod)

    @property
    def share(self) -> Share:
        return self.team.shares[self.flavor.name]

    @property
    def own(self) -> int:
        """What its queue is guaranteed: the prod slice, or all else of the team."""
        return self.share.prod if self.prod else self.share.regular if self.team.has_prod else self.share.guaranteed

    def used(self, team: str, prod: bool | None = None) -> int:
        mine = (it for it in self.held if it.job.team == team and prod in (None, it.job.prod))
        return sum(it.units(self.flavor.name) for it in mine)

    @cached_property
    def free(self) -> int:
        return max(0, self.queue.available)

    @property
    def most(self) -> int:
        return self.queue.potential

    @property
    def missing(self) -> int:
        return max(0, self.asked - self.free)

    @cached_property
    def bound(self) -> Bound:
        if self.asked > self.most:
            return Bound.MAXIMUM
        if not self.missing:
            return Bound.NOTHING
        if self.prod and self.used(self.team.name, True) + self.asked > self.share.prod:
            return Bound.PROD
        limit = self.share.borrowable
        if limit is not None and self.used(self.team.name) + self.asked > self.share.guaranteed + limit:
            return Bound.BORROWABLE
        return Bound.IDLE

    # --- in words

    def n(self, amount: int) -> str:
        return self.flavor.count(amount)

    def sentence(self) -> str:
        team, used, may = self.team.name, self.used(self.team.name), self._may()
        asks = f"it asks for {self.n(self.asked)}"
        if self.bound is Bound.MAXIMUM:
            what = f"the prod slice of {team}" if self.prod else team
            if not self.most:
                return f"{self.flavor.name}: {team} has none of it and may borrow none."
            return f"{self.flavor.name}: {asks} in one job. The most that {what} can ever have is {self.n(self.most)}: {may}."
        if self.bound is Bound.NOTHING:
            return (
                f"{self.flavor.name}: {self.n(self.free)} are within reach of its queue, and it asks for {self.asked}."
            )
        if self.bound is Bound.PROD:
            used = self.used(team, True)
            return f"{self.flavor.name}: of {team}'s prod slice of {self.n(self.share.prod)} {used} are in use. {self._lacks()}"
        if self.bound is Bound.BORROWABLE:
            reach = self.share.guaranteed + (self.share.borrowable or 0)
            return f"{self.flavor.name}: {team} uses {used if used < reach else 'all'}{' of the' if used < reach else ''} {self.n(reach)} that it may have ({may}). {self._lacks()}"
        return f"{self.flavor.name}: {self._idle()}"

    def _idle(self) -> str:
        mine = self.used(self.team.name, self.prod if self.team.has_prod else None)
        whose = f"{self.team.name}'s prod slice" if self.prod else self.team.name
        inside = self._inside()
        if inside == self.asked:
            return (
                f"{whose} is guaranteed {self.n(self.own)} and uses {mine}, so these {self.asked} are its own. "
                f"Others have borrowed them: {self.free} are free now."
            )
        kind = "its regular jobs are" if self.team.has_prod and not self.prod else "it is"
        own = f"{self.team.name} uses {mine} of the {self.n(self.own)} that {kind} guaranteed"
        if mine == self.own:
            own = f"{self.team.name} uses all {self.n(self.own)} that {kind} guaranteed"
        if mine > self.own:
            own = f"{self.team.name} uses {self.n(mine)}, {mine - self.own} more than the {self.own} that {kind} guaranteed"
        if not self.own:
            own = f"{self.team.name} is guaranteed none and uses {mine}"
        if inside:
            rest = self.asked - inside
            part = f"{inside} of the {self.asked} that it asks for are its own, the other {rest} it must borrow"
            return f"{own}. {part}. {self._lacks()}"
        return f"{own}. For more it must borrow what others leave idle. {self._lacks()}"

    def _lacks(self) -> str:
        free = (
            f"{self.n(self.free)} {'is' if self.free == 1 else 'are'} free to it" if self.free else "none is free to it"
        )
        return f"It asks for {self.asked}, and {free}: {self.missing} {'is' if self.missing == 1 else 'are'} missing."

    def _may(self) -> str:
        if self.prod:
            return "it borrows nothing"
        if self.share.borrowable is None:
            return f"{self.share.guaranteed} guaranteed, and all that others lend"
        return f"{self.share.guaranteed} guaranteed and {self.share.borrowable} borrowable"

    def holders(self, now: datetime) -> Iterator[Holder]:
        """Whose jobs stand in its way: the team's own where a limit of its own does, else everyone's, borrowers first; and what
        is kept idle."""
        own = self.bound in (Bound.BORROWABLE, Bound.PROD, Bound.MAXIMUM)
        teams = [self.team] if own else sorted(self.plan.teams, key=lambda it: -self._above(it))
        for team in teams:
            used = self.used(team.name, True if own and self.prod else None)
            if used:
                yield Holder(team.name, self.flavor.name, used, self._holds(team, used, now))
        for team in () if own else teams:
            share = team.shares[self.flavor.name]
            if team is not self.team and (idle := share.reserved - self.used(team.name)) > 0:
                text = f"{team.name} keeps {self.n(idle)} idle, which it never lends"
                yield Holder(team.name, self.flavor.name, 0, text)

    def _above(self, team: TeamPlan) -> int:
        return self.used(team.name) - team.shares[self.flavor.name].guaranteed

    def _holds(self, team: TeamPlan, used: int, now: datetime) -> str:
        jobs = [it for it in self.held if it.job.team == team.name and (it.job.prod or self.bound is not Bound.PROD)]
        if self.bound is Bound.PROD:
            return holds(team.name, self.flavor, used, f"its prod slice of {self.share.prod}", jobs, now)
        return holds(team.name, self.flavor, used, of_guaranteed(team, self.flavor, used), jobs, now)

    # --- who may be stopped for it

    @cached_property
    def victims(self) -> list[Job] | None:
        """Whom Kueue would stop for it; None where it cannot start even so, or stops nobody."""
        if self.bound is not Bound.IDLE or self.plan.sharing.policy == "fair":
            return None
        return preempted_for(
            self.plan, self.flavor.name, (it.job for it in self.held), self.team.name, self.asked, self.prod
        )

    @cached_property
    def lower(self) -> list[Job]:
        """Jobs of lower priority in the same queue, which it may stop: the lowest first, then the newest."""
        mine = (it.job for it in self.held if (it.job.team, it.job.prod) == (self.team.name, self.prod))
        lower = (it for it in mine if it.priority < self.priority and it.units.get(self.flavor.name))
        return sorted(lower, key=lambda it: it.preempted_first)

    def reclaims(self) -> Iterator[str]:
        if self.bound in (Bound.NOTHING, Bound.MAXIMUM):
            return
        if self.plan.sharing.policy == "fair":
            yield 'Shares decide here ([sharing] policy = "fair"): whom Kueue stops for it is not foretold.'
            return
        if self.bound is Bound.IDLE:
            yield self._from_others()
        if names := [str(it) for it in self.lower]:
            yield f"In its own queue it comes before jobs of lower priority, and may stop them: {listed(names)}."
        elif self.bound is not Bound.IDLE:
            yield "It may stop nobody: its own team's jobs are in its way, and none in its queue has a lower priority."

    def _from_others(self) -> str:
        whom: Counter[str] = Counter()
        places = queues(self.plan)
        for queue, units in self.queue.reclaimable(self.asked).items():
            whom[places[queue.name][0]] += units
        if not whom:
            after = self.used(self.team.name) + self.asked
            return (
                f"It may stop no other team's job: with this one {self.team.name} would use {self.n(after)}, and it is "
                f"guaranteed {self.share.guaranteed}."
                if after > self.share.guaranteed
                else "Nobody uses more than its own guarantee, so nobody's job is stopped for it."
            )
        who = " and ".join(f"{team} (up to {self.n(units)})" for team, units in whom.items())
        said = f"It may take back what it is guaranteed from {who}"
        if self.victims:
            jobs = listed([f"{it} ({it.units[self.flavor.name]})" for it in self.victims])
            return f"{said}: Kueue then stops {jobs}."
        return f"{said}, but that is not enough for this job."

    # --- what would do

    def smaller(self, asks: Asks) -> str:
        """A job of as many pods as fit now, or as its team may take back; empty where that is none, or all."""
        if len(asks.pods) != 1 or not self.missing:
            return ""
        (pods,) = asks.pods
        each = self.asked // pods.count if pods.count else 0
        if not each:
            return ""
        fit, own = self.free // each, self._inside() // each
        if fit < own < pods.count and replace(self, asked=own * each).victims:
            return f"it asks for {own} of its {pods.count} pods ({self.n(own * each)}): so many are its own, and are taken back for it"
        if not 0 < fit < pods.count:
            return f"it asks for at most {self.n(self.free)}: so many are free to it now" if self.free else ""
        return f"it asks for {fit} of its {pods.count} pods ({self.n(fit * each)}): so many are free to it now"

    def _inside(self) -> int:
        """What of the units that it asks for is its queue's own."""
        mine = self.used(self.team.name, self.prod if self.team.has_prod else None)
        return max(0, min(self.asked, self.own - mine))

    def frees(self) -> list[Held]:
        """Jobs whose end leaves more to it than there is now."""
        nodes = {node.name: node for node in self._queues()}
        known: dict[tuple[str, int], bool] = {}

        def frees(it: Held) -> bool:
            name, units = _queue_name(it.job), it.units(self.flavor.name)
            if (name, units) not in known:
                known[name, units] = units > 0 and name in nodes and self._gain({nodes[name]: units}) > 0
            return known[name, units]

        return [it for it in self.held if frees(it)]

    def bounded(self, ending: Sequence[Held]) -> list[Held] | None:
        """Of those, the ones whose time limits, one after the other, make room for it; None where limits alone do not."""
        gone: Counter[Node] = Counter()
        nodes = {node.name: node for node in self._queues()}
        taken = []
        for it in in_order(ending):
            if it.ends is None:
                return None
            gone[nodes[_queue_name(it.job)]] += it.units(self.flavor.name)
            taken.append(it)
            if self._gain(gone) >= self.missing:
                return taken
        return None

    def _queues(self) -> list[Node]:
        *_, root = self.queue.up()
        return [node for node in root.down() if node.is_queue]

    def _gain(self, gone: dict[Node, int] | Counter[Node]) -> int:
        before = self.queue.available
        for queue, units in gone.items():
            queue.usage -= units
        after = self.queue.available
        for queue, units in gone.items():
            queue.usage += units
        return after - before


def of_guaranteed(team: TeamPlan, flavor: Hardware, used: int) -> str:
    """How much of it is the team's own."""
    own = team.shares[flavor.name].guaranteed
    return f"{own} guaranteed, {used - own} borrowed" if used > own else f"of {own} guaranteed"


def holds(team: str, flavor: Hardware, used: int, what: str, held: Sequence[Held], now: datetime) -> str:
    """`training uses 8 GPUs (of 16 guaranteed): training/steady (8, for 2 h)`: the largest jobs first."""
    jobs = sorted((it for it in held if it.units(flavor.name)), key=lambda it: -it.units(flavor.name))
    named = [
        f"{it.job} ({it.units(flavor.name)}, for {span((now - it.job.since).total_seconds())}{_until(it, now)})"
        for it in jobs
    ]
    return f"{team} uses {flavor.count(used)} ({what}): {listed(named)}"


def _queue_name(job: Job) -> str:
    return f"{job.team}-prod" if job.prod else job.team


def _until(it: Held, now: datetime) -> str:
    return f", ends within {within((it.ends - now).total_seconds())}" if it.ends else ""


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def ratio(asks: Asks, flavor: Hardware, resource: str, team: str) -> str | None:
    """Where a job asks for more CPU or memory than its GPUs bring along; None where it does not."""
    units = asks.units(flavor)
    if not units or flavor.resource == resource:
        return None
    asked = asks.total(resource) / units
    given = Fraction(flavor.cpu, 1000) if resource == "cpu" else Fraction(flavor.memory)
    if asked <= given:
        return None
    one = flavor.count(1).removeprefix("1 ")
    return (
        f"{flavor.name}: for each {one} the job asks for {amount_in_words(resource, asked)}, and a {one} of {team}'s quota brings "
        f"{amount_in_words(resource, given)}. So it needs the CPU or memory of more {one}s than it uses."
    )
