"""What becomes impossible: the largest job that a team can run of a flavor, where it is smaller than before.

A job of several pods starts whole or not at all, so a number that falls may end a size of job for good, and nothing on the
cluster says so: the job waits. Four limits count, in units of the flavor:

- `ever`: the team's reach. Nothing larger ever starts, however much others lend.
- `sure`: its guarantee. Up to there a job starts whenever the team asks; above, only while others lend.
- `prod`: its prod slice, which never borrows.
- `pod`: what one node has. Nothing larger fits into one pod.

KAI knows no lending limit, so a team's promise stands there in two queues, of which a job has one (`kai.amounts`): where that makes
a limit smaller than Kueue's it is said for KAI by itself. The agreement does not have a topology's domains, but it has its levels: a level that a
flavor loses is found here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...agreement.plan import Plan, TeamPlan
from ...objects.kai.amounts import parts, reach_in_shared
from ...objects.schedulers import Scheduler
from ...quota.reach import reaches


class Limit(StrEnum):
    EVER = "ever"
    SURE = "sure"
    PROD = "prod"
    POD = "pod"


Limits = Mapping[Limit, int]
NONE: Limits = dict.fromkeys((Limit.EVER, Limit.SURE, Limit.PROD), 0)


@dataclass(frozen=True, slots=True)
class Gang:
    """The largest job of a team and flavor by one limit, before and after; `scheduler` where it is only one's. `team` is empty
    for what holds for every team."""

    team: str
    flavor: str
    limit: Limit
    before: int
    after: int
    scheduler: Scheduler | None = None

    @property
    def common(self) -> list[int]:
        """Sizes that jobs often have, which fitted and no longer do."""
        sizes = [2**power for power in range(1, 24)]
        return [size for size in sizes if self.after < size <= self.before]


@dataclass(frozen=True, slots=True)
class LostLevel:
    """A level of the topology that a flavor's nodes were packed by, and no longer are: a job that asks for it fits nowhere."""

    flavor: str
    level: str


def smaller(old: Plan, new: Plan, schedulers: Collection[Scheduler]) -> Iterator[Gang]:
    """In the order of the old agreement. A flavor counted in another unit than before is left out, as are teams that go."""
    for flavor in old.flavors:
        there = new.flavor.get(flavor.name)
        if there is not None and there.resource != flavor.resource:
            continue
        per_node = there.units_per_node if there else 0
        if there and 0 < per_node < flavor.units_per_node:
            yield Gang("", flavor.name, Limit.POD, flavor.units_per_node, per_node)
        limits = _limits(old, flavor.name), _limits(new, flavor.name)
        for team in old.teams:
            if team.name in new.team:
                was, becomes = (of_plan[team.name] for of_plan in limits)
                yield from _of_team(old, new, team.name, flavor.name, was, becomes, schedulers)


def lost_levels(old: Plan, new: Plan) -> Iterator[LostLevel]:
    for flavor in old.flavors:
        if flavor.name in new.flavor:
            left = _levels(new, flavor.name)
            yield from (LostLevel(flavor.name, level) for level in _levels(old, flavor.name) if level not in left)


def _of_team(
    old: Plan, new: Plan, team: str, flavor: str, was: Limits, becomes: Limits, schedulers: Collection[Scheduler]
) -> Iterator[Gang]:
    general = Scheduler.KUEUE in schedulers or Scheduler.KAI not in schedulers
    for limit in was if general else ():
        if becomes[limit] < was[limit]:
            yield Gang(team, flavor, limit, was[limit], becomes[limit])
    if Scheduler.KAI not in schedulers:
        return
    kai_was, kai_becomes = _on_kai(old, old.team[team], flavor), _on_kai(new, new.team[team], flavor)
    for limit in kai_was:
        pair = kai_was[limit], kai_becomes[limit]
        if pair[1] < pair[0] and not (general and pair == (was[limit], becomes[limit])):
            yield Gang(team, flavor, limit, *pair, Scheduler.KAI)


def _limits(plan: Plan, flavor: str) -> Mapping[str, Limits]:
    """By team."""
    if flavor not in plan.flavor:
        return dict.fromkeys(plan.team, NONE)
    reach = reaches(plan, flavor)
    return {
        team.name: {Limit.EVER: reach[team.name], Limit.SURE: share.guaranteed, Limit.PROD: share.prod}
        for team in plan.teams
        for share in (team.shares[flavor],)
    }


def _on_kai(plan: Plan, team: TeamPlan, flavor: str) -> Limits:
    """The larger of the team's two places: what is shared, and what it never lends. Of prod the larger of its queues."""
    if flavor not in plan.flavor:
        return NONE
    own = parts(team.shares[flavor])
    return {
        Limit.EVER: max(reach_in_shared(plan, team, plan.flavor[flavor]), own.reserved),
        Limit.SURE: max(own.shared, own.reserved),
        Limit.PROD: max(own.prod_shared, own.prod_reserved),
    }


def _levels(plan: Plan, flavor: str) -> tuple[str, ...]:
    name = plan.flavor[flavor].topology
    return next((topology.levels for topology in plan.topologies if topology.name == name), ())
