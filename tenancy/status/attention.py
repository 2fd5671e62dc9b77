"""From what was seen to a standing for each team and flavor, with what needs attention first.

A promise is short when

- the cluster does not hold it: a queue is missing, changed, stopped or inactive;
- the nodes are not there: less is usable than is guaranteed (`capacity`). Which team lacks is not decided by a scheduler, so this
  is said of the flavor; of a team only where it lacks whatever the others do, or where its jobs have quota and find no nodes;
- jobs wait that fit into what is left of the guarantee, for longer than a reclaim takes. One look cannot know since when there was
  room: a job of the team may have ended just now. So it is said of jobs that an earlier look found waiting so as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from ..agreement.hardware import Hardware
from ..agreement.plan import Plan, Share, TeamPlan
from ..objects.kai import parts
from ..objects.schedulers import Place
from ..quota.lending import POOL, Loan, Use, lending
from ..review.nodes import FlavorSupply
from ..text.counts import counted
from ..text.durations import duration
from .model import Attention, Eviction, FlavorStatus, Kind, Observed, Part, StatusReport, TeamStatus, Violation, Waiting

RECLAIM = timedelta(minutes=2)
"""What a reclaim takes at most: jobs that are stopped get 30 s to end by default, and are placed anew after that."""
CLOSED = (Kind.STOPPED, Kind.MISSING, Kind.INACTIVE)
NOTHING = Share(0, 0, None, 0)


def board(
    plan: Plan, seen: Observed, *, reclaim: timedelta = RECLAIM, before: Collection[str] | None = None
) -> StatusReport:
    """`before` are the names of jobs that an earlier look found `owed`; None: there was none, and nothing is late yet."""
    if seen.scheduler == "kai":  # where a job runs so long before another queue may take back its GPUs
        reclaim += timedelta(seconds=plan.sharing.reclaim_min_runtime or 0)
    supplies = {supply.flavor.name: supply for supply in seen.supply.flavors} if seen.supply else {}
    loans = {flavor.name: lending(plan, flavor, _uses(plan, seen, flavor.name)) for flavor in plan.flavors}
    violations = [*seen.violations, *_of_nodes(supplies.values())]
    of = _Sorted(plan, seen, violations, loans)
    statuses = []
    for team in plan.teams:
        for flavor in (*plan.flavors, *([] if of.only else [None])):
            result = of.standing(team, flavor, reclaim, before)
            if flavor or result.attention is not Attention.QUIET:
                statuses.append(result)
    # Python's sort is stable: ties stay in the agreement's order.
    statuses.sort(key=lambda standing: (standing.attention.rank, *_urgency(standing, seen.at)))
    flavors = tuple(of.flavor(flavor, supplies.get(flavor.name)) for flavor in plan.flavors)
    return StatusReport(plan, seen, tuple(statuses), flavors, tuple(short for short in violations if not short.team))


def room(share: Share, use: Use, place: Place, scheduler: str) -> int:
    """What is left of the guarantee for a job of this place, whatever the other places do."""
    if place is Place.PROD:
        return share.prod - use.prod
    if scheduler == "kai":
        own = parts(share)
        return own.regular_reserved - use.reserved if place is Place.RESERVED else own.regular_shared - use.regular
    return share.regular - use.regular


class _Sorted:
    """What was seen, by team and flavor."""

    def __init__(
        self, plan: Plan, seen: Observed, violations: Iterable[Violation], loans: Mapping[str, Sequence[Loan]]
    ) -> None:
        self.plan, self.seen, self.loans = plan, seen, loans
        self.only = plan.flavors[0].name if len(plan.flavors) == 1 else ""
        """Of what nobody says a flavor, there may be only one."""
        supply = seen.supply.flavors if seen.supply else ()
        self.lost = {entry.flavor.name for entry in supply if entry.lost}
        """Flavors with fewer usable units than agreed."""
        self.waiting = self._by(seen.waiting)
        self.held_up = self._by(seen.held_up)
        self.evictions: dict[tuple[str, str], list[Eviction]] = defaultdict(list)
        for eviction in seen.evictions:
            self.evictions[eviction.team, eviction.flavor or self.only].append(eviction)
        self.violations: dict[tuple[str, str], list[Violation]] = defaultdict(list)
        for short in violations:
            self.violations[short.team, short.flavor or self.only].append(short)
        self.lent: dict[tuple[str, str], list[Loan]] = defaultdict(list)
        self.borrowed: dict[tuple[str, str], list[Loan]] = defaultdict(list)
        for name, some in loans.items():
            for loan in some:
                self.lent[loan.lender, name].append(loan)
                self.borrowed[loan.borrower, name].append(loan)

    def standing(
        self, team: TeamPlan, flavor: Hardware | None, reclaim: timedelta, before: Collection[str] | None
    ) -> TeamStatus:
        key = team.name, flavor.name if flavor else ""
        share = team.shares[flavor.name] if flavor else NOTHING
        use = self.seen.uses.get(key, Use())
        waiting = self.waiting[key]
        owed = [
            entry
            for entry in waiting
            if not entry.own_fault and 0 < entry.units <= room(share, use, entry.place, self.seen.scheduler)
        ]
        late = [
            waiting
            for waiting in owed
            if before is not None and waiting.name in before and self.seen.at - waiting.since > reclaim
        ]
        violations = list(self.violations[key])
        if not any(short.kind in CLOSED for short in (*violations, *self.violations[team.name, ""])):  # that says it
            violations += _late(key, share, use, late, self.seen.at)
        held_up = [waiting for waiting in self.held_up[key] if self.seen.at - waiting.since > reclaim]
        if flavor and flavor.name in self.lost and use.total <= share.guaranteed:
            violations += _without_nodes(key, held_up, self.seen.at)
        evictions, borrowed = self.evictions[key], use.borrowed(share)
        lent = self.lent[key]
        return TeamStatus(
            team=team,
            flavor=flavor,
            share=share,
            use=use,
            lent=sum(loan.units for loan in lent),
            lent_about=any(loan.sum_about for loan in lent),
            lent_to=_together((loan.borrower, loan) for loan in lent),
            borrowed=borrowed,
            borrowed_from=_together((loan.lender, loan) for loan in self.borrowed[key]),
            waiting=tuple(waiting),
            owed=tuple(owed),
            held_up=tuple(held_up),
            evictions=tuple(evictions),
            violations=tuple(violations),
            attention=_attention(bool(violations), bool(owed), bool(evictions), bool(waiting), bool(borrowed)),
        )

    def flavor(self, flavor: Hardware, supply: FlavorSupply | None) -> FlavorStatus:
        loans = self.loans[flavor.name]
        waiting = [waiting for team in self.plan.teams for waiting in self.waiting[team.name, flavor.name]]
        return FlavorStatus(
            flavor=flavor,
            guaranteed=flavor.capacity - self.plan.pool[flavor.name],
            used=sum(use.total for use in _uses(self.plan, self.seen, flavor.name).values()),
            lent=sum(loan.units for loan in loans if loan.lender != POOL),
            from_pool=sum(loan.units for loan in loans if loan.lender == POOL),
            waiting=tuple(sorted(waiting, key=lambda waiting: waiting.since)),
            violations=tuple(self.violations["", flavor.name]),
            supply=supply,
        )

    def _by(self, some: Iterable[Waiting]) -> dict[tuple[str, str], list[Waiting]]:
        found: dict[tuple[str, str], list[Waiting]] = defaultdict(list)
        for entry in sorted(some, key=lambda waiting: waiting.since):
            found[entry.team, entry.flavor or self.only].append(entry)
        return found


def _uses(plan: Plan, seen: Observed, flavor: str) -> dict[str, Use]:
    return {team.name: seen.uses.get((team.name, flavor), Use()) for team in plan.teams}


def _together(loans: Iterable[tuple[str, Loan]]) -> tuple[Part, ...]:
    """Loans to or from one other as one, the largest first: it may lend from within the department and from without."""
    units: dict[str, int] = defaultdict(int)
    about: dict[str, bool] = defaultdict(bool)
    for other, loan in loans:
        units[other] += loan.units
        about[other] |= loan.about
    return tuple(Part(name, units[name], about[name]) for name in sorted(units, key=lambda unit: -units[unit]))


def _attention(short: bool, owed: bool, evicted: bool, waiting: bool, borrowing: bool) -> Attention:
    levels = zip(Attention, (short, owed, evicted, waiting, borrowing, True), strict=True)
    return next(level for level, so in levels if so)


def _urgency(standing: TeamStatus, now: datetime) -> tuple[float, ...]:
    """Within a level: the longest wait, then most evictions, then most borrowed."""
    oldest = min((one.since for one in standing.owed or standing.waiting), default=now)
    return -(now - oldest).total_seconds(), -standing.evicted, -standing.borrowed, -standing.lent


def _late(key: tuple[str, str], share: Share, use: Use, late: Sequence[Waiting], now: datetime) -> Iterable[Violation]:
    if late:
        first = late[0]
        of = (
            f"{use.prod} of the prod slice of {share.prod}"
            if first.place is Place.PROD
            else f"{use.total} of {share.guaranteed}"
        )
        wait = "waits" if len(late) == 1 else "wait"
        told = f": {first.why}" if first.why else ""
        why = f"{counted(len(late), 'job')} within the guarantee {wait} ({of} in use), {first.name} for {duration(now - first.since)}{told}"
        yield Violation(Kind.LATE, *key, why)


def _without_nodes(key: tuple[str, str], held_up: Sequence[Waiting], now: datetime) -> Iterable[Violation]:
    """Quota is a number: where Kueue counts no nodes it goes on lending what is broken, and whose pods come last find none."""
    if held_up:
        first = held_up[0]
        told = f": {first.why}" if first.why else ""
        have = "has" if len(held_up) == 1 else "have"
        why = (
            f"{counted(len(held_up), 'job')} within the guarantee {have} quota and no nodes: {first.name}'s pods have not been ready "
            f"for {duration(now - first.since)}{told}"
        )
        yield Violation(Kind.NODES, *key, why, "tenancy check --live says which nodes are not usable")


def _of_nodes(supplies: Iterable[FlavorSupply]) -> Iterable[Violation]:
    """Of a flavor whose guarantees cannot all be kept: that, and the teams that lack whatever the others do."""
    for supply in supplies:
        if not supply.promises.short:
            continue
        usable = supply.promises.usable
        why = (
            f"{supply.promises.short} of {supply.flavor.count(supply.promises.guaranteed)} guaranteed cannot be kept at once: "
            f"{usable or 'none'} {'is' if usable < 2 else 'are'} usable"
        )
        yield Violation(
            Kind.NODES,
            "",
            supply.flavor.name,
            why,
            "tenancy check --live says which nodes, and how much each team can lack",
        )
        for team in supply.promises.teams:
            if team.at_least:
                why = f"{supply.flavor.count(team.guaranteed)} guaranteed, and {usable or 'none'} {'is' if usable < 2 else 'are'} usable"
                yield Violation(Kind.NODES, team.team, supply.flavor.name, why)
