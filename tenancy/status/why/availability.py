"""What of a flavor a queue can get now, in words: what is missing, who holds it, who must give it back.

The numbers are those of `quota.availability`, which counts units of the flavor. CPU and memory follow them by the flavor's ratio, so
of a job that asks for more of these than its GPUs bring along `ratio` tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from ...agreement.hardware import Hardware
from ...agreement.plan import TeamPlan
from ...quota.availability import Availability, Bound
from ...quota.jobs import Job
from ...text.counts import some
from ...text.durations import duration, within
from .admitted import Admitted, in_order
from .amounts import Requests, amount_in_words
from .model import Holder

SHOWN = 3  # jobs of a team that are named


@dataclass(frozen=True)
class JobAvailability(Availability):
    """The availability in words. `held` are its jobs, with the end of those that have a time limit."""

    held: Sequence[Admitted]

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
            return f"{self.flavor.name}: {used} of the {self.n(self.share.prod)} in {team}'s prod slice are in use. {self._lacks()}"
        if self.bound is Bound.BORROWABLE:
            reach = self.share.guaranteed + (self.share.borrowable or 0)
            return f"{self.flavor.name}: {team} uses {used if used < reach else 'all'}{' of the' if used < reach else ''} {self.n(reach)} that it may have ({may}). {self._lacks()}"
        return f"{self.flavor.name}: {self._idle()}"

    def _idle(self) -> str:
        mine = self.used_of_own
        whose = f"{self.team.name}'s prod slice" if self.prod else self.team.name
        inside = self.inside
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
        teams = [self.team] if own else sorted(self.plan.teams, key=lambda team: -self._above(team))
        for team in teams:
            used = self.used(team.name, True if own and self.prod else None)
            if used:
                yield Holder(team.name, self.flavor.name, used, self._holds(team, used, now))
        for team in () if own else teams:
            share = team.shares[self.flavor.name]
            if team is not self.team and (idle := share.reserved - self.used(team.name)) > 0:
                text = f"{team.name} reserves {self.n(idle)} that are idle and never lent"
                yield Holder(team.name, self.flavor.name, 0, text)

    def _above(self, team: TeamPlan) -> int:
        return self.used(team.name) - team.shares[self.flavor.name].guaranteed

    def _holds(self, team: TeamPlan, used: int, now: datetime) -> str:
        jobs = [
            held for held in self.held if held.job.team == team.name and (held.job.prod or self.bound is not Bound.PROD)
        ]
        if self.bound is Bound.PROD:
            return holds(team.name, self.flavor, used, f"its prod slice of {self.share.prod}", jobs, now)
        return holds(team.name, self.flavor, used, of_guaranteed(team, self.flavor, used), jobs, now)

    # --- who may be stopped for it

    def reclaims(self) -> Iterator[str]:
        if self.bound in (Bound.NOTHING, Bound.MAXIMUM):
            return
        if self.plan.sharing.policy == "fair":
            yield 'Shares decide here ([sharing] policy = "fair"): this answer does not predict which jobs Kueue preempts.'
            return
        if self.bound is Bound.IDLE:
            yield self._from_others()
        if names := [str(job) for job in self.lower]:
            yield f"It may preempt jobs of lower priority in its own queue: {listed(names)}."
        elif self.bound is not Bound.IDLE:
            yield "It may preempt no job: its own team's jobs are in its way, and none in its queue has a lower priority."

    def _from_others(self) -> str:
        whom = self.lenders()
        if not whom:
            after = self.used(self.team.name) + self.asked
            return (
                f"It may preempt no other team's job: with this one {self.team.name} would use {self.n(after)}, and it is "
                f"guaranteed {self.share.guaranteed}."
                if after > self.share.guaranteed
                else "No team uses more than its own guarantee, so no job is preempted for it."
            )
        who = " and ".join(f"{team} (up to {self.n(units)})" for team, units in whom.items())
        said = f"It may take back what it is guaranteed from {who}"
        if self.preempted:
            jobs = listed([f"{job} ({job.units[self.flavor.name]})" for job in self.preempted])
            return f"{said}: Kueue then preempts {jobs}."
        return f"{said}, but that is not enough for this job."

    # --- what would do

    def smaller(self, asks: Requests) -> str:
        """A job of as many pods as fit now, or as its team may take back; empty where that is none, or all."""
        if len(asks.pods) != 1 or not self.missing:
            return ""
        (pods,) = asks.pods
        each = self.asked // pods.count if pods.count else 0
        if not each:
            return ""
        fit, own = self.free // each, self.inside // each
        if fit < own < pods.count and replace(self, asked=own * each).preempted:
            return f"it asks for {own} of its {pods.count} pods ({self.n(own * each)}), which its team is guaranteed and takes back"
        if not 0 < fit < pods.count:
            return f"it asks for at most {self.n(self.free)}, which are free to it now" if self.free else ""
        return f"it asks for {fit} of its {pods.count} pods ({self.n(fit * each)}), which are free to it now"

    def frees(self) -> list[Admitted]:
        """Jobs whose end leaves more to it than there is now."""
        known: dict[tuple[str, bool, int], bool] = {}

        def frees(job: Job) -> bool:
            key = job.team, job.prod, self.units(job)
            if key not in known:
                known[key] = self.gain([job]) > 0
            return known[key]

        return [held for held in self.held if frees(held.job)]

    def bounded(self, ending: Sequence[Admitted]) -> list[Admitted] | None:
        """Of those, the ones whose time limits, one after the other, make room for it; None where limits alone do not."""
        taken: list[Admitted] = []
        for held in in_order(ending):
            if held.ends is None:
                return None
            taken.append(held)
            if self.gain(one.job for one in taken) >= self.missing:
                return taken
        return None


def of_guaranteed(team: TeamPlan, flavor: Hardware, used: int) -> str:
    """How much of it is the team's own."""
    own = team.shares[flavor.name].guaranteed
    return f"{own} guaranteed, {used - own} borrowed" if used > own else f"of {own} guaranteed"


def holds(team: str, flavor: Hardware, used: int, what: str, held: Sequence[Admitted], now: datetime) -> str:
    """`training uses 8 GPUs (of 16 guaranteed): training/steady (8, for 2h)`: the largest jobs first."""
    jobs = sorted((entry for entry in held if entry.units(flavor.name)), key=lambda held: -held.units(flavor.name))
    named = [
        f"{held.job} ({held.units(flavor.name)}, for {duration(now - held.job.since)}{_until(held, now)})"
        for held in jobs
    ]
    return f"{team} uses {flavor.count(used)} ({what}): {listed(named)}"


def _until(held: Admitted, now: datetime) -> str:
    return f", ends within {within(held.ends - now)}" if held.ends else ""


def listed(names: Sequence[str]) -> str:
    return some(names, SHOWN)


def ratio(asks: Requests, flavor: Hardware, resource: str, team: str) -> str | None:
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
