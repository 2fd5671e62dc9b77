"""A difference as sections of sentences and tables, in the order in which a reviewer wants them; how they are set is left to
`text` and `markdown`.

First what changes for whom, then what is lost by it, then what it does to a cluster and to the jobs there. Of each section the most
important lines stand first, so that whoever has little room can leave out the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ...objects.schedulers import TITLES, Scheduler
from ...quota.jobs import Job
from ...text.counts import some
from .domains import LostDomain
from .facts import NONE
from .gangs import Gang, Limit, LostLevel
from .live_impact import Above, Ask, LiveImpact
from .model import Difference, FidelityChange
from .numbers import Numbers, Row
from .objects import Action, ObjectChange
from .words import Names, limit, listed, story

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)

CAPTIONS = ("guaranteed", "lendable", "borrowable", "prod", "can reach")
MOST_FIELDS = 6  # of one object, in a sentence; the rest is counted
MOST_VALUE = 80  # characters of a value in such a sentence
MOST_JOBS = 10  # by name, in a sentence; the rest is counted
GROUPS = {**{str(scheduler): TITLES[scheduler] for scheduler in Scheduler}, "access": "Namespaces and rights"}


@dataclass(frozen=True, slots=True)
class Section:
    """`detail`: it may be folded away. `captions` and `table` are of a table, which stands above the lines."""

    title: str
    lines: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    detail: bool = False


def headline(difference: Difference) -> list[str]:
    return story(difference)


def sections(difference: Difference, impact: LiveImpact | None = None) -> list[Section]:
    """Those that have something to say."""
    if difference.is_empty and impact is None:
        return []
    names = Names(difference)
    made = [
        _numbers(difference.promised, names),
        Section("What others can reach", tuple(_reached(difference.reached, names))),
        Section("What becomes impossible", tuple(_impossible(difference, names))),
        Section("What is no longer certain", tuple(_gangs(difference, names, Limit.SURE))),
        Section("What else changes", tuple(map(str, difference.facts))),
        Section("How exactly promises are kept", tuple(map(_kept, difference.kept))),
        Section("On the cluster", tuple(_cluster(difference))),
    ]
    if impact:
        made.append(Section("What runs now", tuple(_standing(impact, names))))
    for name, changes in difference.objects.items():
        made.append(Section(f"Objects: {GROUPS[name]}", tuple(map(_object, _by_weight(changes))), detail=True))
    return [section for section in made if section.lines or section.table]


# --- numbers


def _numbers(rows: Iterable[Row], names: Names) -> Section:
    columns = ("team", *(["flavor"] if names.several else []), *CAPTIONS)
    table = tuple(
        (names.team(row.team), *([row.flavor] if names.several else []), *_cells(row.before, row.after)) for row in rows
    )
    return Section("Numbers", captions=columns, table=table)


def _cells(before: Numbers | None, after: Numbers | None) -> Iterator[str]:
    reads: tuple[Callable[[Numbers], str], ...] = (
        lambda numbers: f"{numbers.guaranteed:,}",
        lambda numbers: f"{numbers.lendable:,}",
        lambda numbers: limit(numbers.borrowable),
        lambda numbers: f"{numbers.prod:,}",
        lambda numbers: f"{numbers.reach:,}",
    )
    for read in reads:
        was, becomes = ("–" if entry is None else read(entry) for entry in (before, after))
        yield was if was == becomes else f"{was} → {becomes}"


def _reached(rows: Iterable[Row], names: Names) -> Iterator[str]:
    """Teams of whose own promises nothing changes, together where the difference is the same."""
    groups = _grouped(rows, lambda row: (row.flavor, row.becomes.reach - row.was.reach))
    for (flavor, change), group in groups.items():
        how = names.units(flavor, abs(change), "more" if change > 0 else "fewer")
        by_pair = _grouped(group, lambda row: (row.was.reach, row.becomes.reach))
        said = "; ".join(
            f"{names.teams(row.team for row in same)} {was:,} → {becomes:,}" for (was, becomes), same in by_pair.items()
        )
        yield f"{how}: {said}."


# --- what is lost


def _impossible(difference: Difference, names: Names) -> Iterator[str]:
    if gone := [team for team in difference.old.team if names.is_gone(team)]:
        yield f"{names.teams(gone)}: no new job starts; running jobs continue until they end."
    yield from _gangs(difference, names, Limit.POD, Limit.EVER, Limit.PROD)
    yield from map(_lost_level, difference.lost_levels)


def _gangs(difference: Difference, names: Names, *limits: Limit) -> Iterator[str]:
    """One line for all teams of which a limit says the same."""
    for which in limits:
        same = (gang for gang in difference.gangs if gang.limit is which)
        for group in _grouped(same, lambda gang: (gang.flavor, gang.before, gang.after, gang.scheduler)).values():
            result = group[0]
            on = "on KAI, where a job has one queue, " if result.scheduler else ""
            who = f"{names.teams(one.team for one in group)}: {on}" if result.team else ""
            yield f"{who}{_gang(result, names)}."


def _gang(gang: Gang, names: Names) -> str:
    most, before = names.units(gang.flavor, gang.after), f"{gang.before:,}"
    sizes = listed([f"{size:,}" for size in gang.common[-3:]])
    fitted = f"; a gang of {sizes} was possible and no longer is" if gang.common else ""
    match gang.limit:
        case Limit.POD:
            return f"no pod of more than {most} fits on a node (before {before})"
        case Limit.EVER if gang.after == 0:
            return f"no job of {gang.flavor} can start any more (before up to {before})"
        case Limit.EVER:
            return f"no job of more than {most} can ever start (before {before}){fitted}"
        case Limit.PROD if gang.after == 0:
            return f"no prod job of {gang.flavor} can start any more (before up to {before})"
        case Limit.PROD:
            return f"no prod job of more than {most} can start (before {before}){fitted}"
        case _ if gang.after == 0:
            return f"no job of {gang.flavor} is within the guarantee (before up to {before}); it starts only while others lend"
        case _:
            within = f"; a gang of {sizes} was within the guarantee" if gang.common else ""
            return f"a job of more than {most} is beyond the guarantee (before {before}) and starts only while others lend{within}"


def _lost_level(lost_level: LostLevel) -> str:
    return f"A job that asks for one {lost_level.level} can no longer start on {lost_level.flavor}: the flavor lost that topology level."


def _kept(kept: FidelityChange) -> str:
    for_whom = f" for {listed(list(kept.subjects))}" if kept.subjects else ""
    before = f"{kept.before} → " if kept.before else ""
    return f"{GROUPS[kept.scheduler]}: {kept.promise}{for_whom}: {before}{kept.after}: {kept.how}."


# --- the cluster


_TO = {
    Action.CREATE: "to create",
    Action.UPDATE: "to update",
    Action.REPLACE: "to replace",
    Action.DELETE: "to delete",
    Action.REFUSED: "refused",
}


def _cluster(difference: Difference) -> Iterator[str]:
    if not difference.objects:
        yield "No object changes."
        return
    yield "The change itself preempts no running job. When a guarantee is lowered, other teams can reclaim their capacity by submitting jobs."
    for name, changes in difference.objects.items():
        count = Counter(change.action for change in changes)
        yield f"{GROUPS[name]}: {', '.join(f'{count[action]:,} {_TO[action]}' for action in Action if count[action])}."
    for entry in difference.costly:
        yield f"{entry.reference}: {entry.action}: {entry.cost}."
    told = (Action.REFUSED, Action.REPLACE)
    others = (
        change for group in difference.objects.values() for change in group if change.cost and change.action not in told
    )
    for (action, cost), group in _grouped(others, lambda change: (change.action, change.cost)).items():
        yield f"{_some([change.reference for change in group])}: {action}; {cost}."


def _by_weight(changes: Iterable[ObjectChange]) -> list[ObjectChange]:
    order = [Action.REFUSED, Action.REPLACE, Action.DELETE, Action.UPDATE, Action.CREATE]
    return sorted(changes, key=lambda change: order.index(change.action))


def _object(change: ObjectChange) -> str:
    fields = [
        f"{where} {_short(was) or NONE} → {_short(becomes) or NONE}"
        for where, was, becomes in change.fields[:MOST_FIELDS]
    ]
    if (more := len(change.fields) - MOST_FIELDS) > 0:
        fields.append(f"{more:,} more")
    return f"{change.reference}: {change.action}" + (f": {', '.join(fields)}" if fields else "")


def _short(value: str) -> str:
    value = " ".join(value.split())
    return value if len(value) <= MOST_VALUE else f"{value[: MOST_VALUE - 1]}…"


# --- what runs


def _standing(impact: LiveImpact, names: Names) -> Iterator[str]:
    if impact.already:
        yield "The cluster already has the new agreement."
    elif impact.unlike:
        yield f"The cluster differs from the old agreement: {_some(list(impact.unlike))}. The following lines are based on the jobs that run there now."
    by_change = [one for one in impact.above if one.by_change]
    for above in by_change:
        yield _above(above, names)
    if others := [one for one in impact.above if not one.by_change]:
        said = listed(
            [f"{names.team(one.team)} {names.units(one.flavor, one.used - one.guaranteed)}" for one in others]
        )
        yield f"Borrowing both before and after the change: {said}."
    if impact.leaving:
        teams = names.teams(dict.fromkeys(job.team for job in impact.leaving))
        yield f"{len(impact.leaving):,} running job{'s' * (len(impact.leaving) != 1)} of {teams}, which leaves the agreement, cannot be preempted: {_jobs(impact.leaving)}."
    for ask in impact.asks:
        yield _ask(ask, names)
    for lost in impact.domains:
        yield _domain(lost, names)
    if not (by_change or impact.leaving or any(ask.preempted for ask in impact.asks)):
        yield f"This change puts none of the {impact.running:,} running jobs above a new guarantee."


def _domain(lost_domain: LostDomain, names: Names) -> str:
    whole = f"a gang that fills one {lost_domain.level} ({names.units(lost_domain.flavor, lost_domain.units)})"
    if lost_domain.limit is Limit.EVER:
        return f"{names.team(lost_domain.team)}: {whole} was possible and no longer is."
    return f"{names.team(lost_domain.team)}: {whole} was within the guarantee; now it starts only while others lend."


def _above(above: Above, names: Names) -> str:
    return (
        f"{names.team(above.team)} uses {names.units(above.flavor, above.used)}, {above.used - above.guaranteed:,} above its new guarantee of "
        f"{above.guaranteed:,}, by {_jobs(above.jobs, above.flavor)}. They keep running until an owner reclaims the capacity."
    )


def _ask(ask: Ask, names: Names) -> str:
    what = f"If {names.team(ask.team)}{' (prod)' if ask.prod else ''} requested its remaining {names.units(ask.flavor, ask.amount)} now, "
    if ask.leaving:
        return (
            f"{what}the preempted jobs cannot be predicted while jobs of {names.teams(ask.leaving)} run: until they end, Kueue counts "
            "the quota of their queue in addition to the new numbers, and may admit jobs that fit on no node."
        )
    if ask.preempted is None:
        return f"{what}the shares at that moment decide which jobs are preempted, so nothing is predicted here."
    if not ask.starts:
        return f"{what}preempting every job that may be preempted would still not free enough at once."
    if not ask.preempted:
        return f"{what}no job would be preempted."
    by_team = _grouped(ask.preempted, lambda job: job.team)
    whose = listed(
        [f"{len(jobs):,} of {names.team(team)} ({_sum(jobs, ask.flavor):,})" for team, jobs in by_team.items()]
    )
    return f"{what}{len(ask.preempted):,} job{'s' * (len(ask.preempted) != 1)} would be preempted: {whose}: {_jobs(ask.preempted, ask.flavor)}."


def _jobs(jobs: Iterable[Job], flavor: str = "") -> str:
    def said(job: Job) -> str:
        units = f"{job.units.get(flavor, 0):,}, " if flavor else ""
        return f"{job} ({units}since {job.since:%Y-%m-%d %H:%M} UTC)"

    return _some([said(job) for job in jobs])


def _sum(jobs: Iterable[Job], flavor: str) -> int:
    return sum(job.units.get(flavor, 0) for job in jobs)


def _some(items: list[str]) -> str:
    return some(items, MOST_JOBS)


def _grouped(items: Iterable[T], key: Callable[[T], Key]) -> dict[Key, list[T]]:
    groups: dict[Key, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
