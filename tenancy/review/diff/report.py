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

from ...quota.jobs import Job
from ...text.counts import some
from .domains import LostDomain
from .facts import NONE
from .gangs import Gang, Limit, LostLevel
from .live_impact import Above, Ask, Standing
from .model import Difference, Kept
from .numbers import Numbers, Row
from .objects import Fate, ObjectChange
from .words import Names, limit, listed, story

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)

CAPTIONS = ("guaranteed", "lendable", "borrowable", "prod", "can reach")
MOST_FIELDS = 6  # of one object, in a sentence; the rest is counted
MOST_VALUE = 80  # characters of a value in such a sentence
MOST_JOBS = 10  # by name, in a sentence; the rest is counted
GROUPS = {"kueue": "Kueue", "kai": "KAI", "access": "Namespaces and rights"}


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


def sections(difference: Difference, stands: Standing | None = None) -> list[Section]:
    """Those that have something to say."""
    if difference.is_empty and stands is None:
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
    if stands:
        made.append(Section("What runs now", tuple(_standing(stands, names))))
    for name, changes in difference.objects.items():
        made.append(Section(f"Objects: {GROUPS[name]}", tuple(map(_object, _by_weight(changes))), detail=True))
    return [it for it in made if it.lines or it.table]


# --- numbers


def _numbers(rows: Iterable[Row], names: Names) -> Section:
    columns = ("team", *(["flavor"] if names.several else []), *CAPTIONS)
    table = tuple(
        (names.team(row.team), *([row.flavor] if names.several else []), *_cells(row.before, row.after)) for row in rows
    )
    return Section("Numbers", captions=columns, table=table)


def _cells(before: Numbers | None, after: Numbers | None) -> Iterator[str]:
    reads: tuple[Callable[[Numbers], str], ...] = (
        lambda it: f"{it.guaranteed:,}",
        lambda it: f"{it.lendable:,}",
        lambda it: limit(it.borrowable),
        lambda it: f"{it.prod:,}",
        lambda it: f"{it.reach:,}",
    )
    for read in reads:
        was, becomes = ("–" if it is None else read(it) for it in (before, after))
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
        yield f"{names.teams(gone)}: no job starts any more; those that run end by themselves."
    yield from _gangs(difference, names, Limit.POD, Limit.EVER, Limit.PROD)
    yield from map(_lost_level, difference.lost_levels)


def _gangs(difference: Difference, names: Names, *limits: Limit) -> Iterator[str]:
    """One line for all teams of which a limit says the same."""
    for which in limits:
        same = (it for it in difference.gangs if it.limit is which)
        for group in _grouped(same, lambda it: (it.flavor, it.before, it.after, it.scheduler)).values():
            it = group[0]
            on = "on KAI, where a job has one queue, " if it.scheduler else ""
            who = f"{names.teams(one.team for one in group)}: {on}" if it.team else ""
            yield f"{who}{_gang(it, names)}."


def _gang(it: Gang, names: Names) -> str:
    most, before = names.units(it.flavor, it.after), f"{it.before:,}"
    sizes = listed([f"{size:,}" for size in it.common[-3:]])
    fitted = f"; a gang of {sizes} fitted and no longer does" if it.common else ""
    match it.limit:
        case Limit.POD:
            return f"no pod of more than {most} fits on a node (before {before})"
        case Limit.EVER if it.after == 0:
            return f"no job of {it.flavor} can start any more (before up to {before})"
        case Limit.EVER:
            return f"no job of more than {most} can ever start (before {before}){fitted}"
        case Limit.PROD if it.after == 0:
            return f"no prod job of {it.flavor} any more (before up to {before})"
        case Limit.PROD:
            return f"no prod job of more than {most} (before {before}){fitted}"
        case _ if it.after == 0:
            return f"no job of {it.flavor} is within the guarantee (before up to {before}); it starts only while others lend"
        case _:
            within = f"; a gang of {sizes} was within it" if it.common else ""
            return f"a job of more than {most} is beyond the guarantee (before {before}) and starts only while others lend{within}"


def _lost_level(it: LostLevel) -> str:
    return f"A job that asks for one {it.level} fits nowhere on {it.flavor} any more: its nodes are no longer packed by that."


def _kept(it: Kept) -> str:
    for_whom = f" for {listed(list(it.subjects))}" if it.subjects else ""
    before = f"{it.before} → " if it.before else ""
    return f"{GROUPS[it.scheduler]}: {it.promise}{for_whom}: {before}{it.after}: {it.how}."


# --- the cluster


def _cluster(difference: Difference) -> Iterator[str]:
    if not difference.objects:
        yield "No object changes."
        return
    yield "The change itself stops no running job: a number that is lowered only lets owners take back what is theirs, when they ask."
    for name, changes in difference.objects.items():
        count = Counter(it.fate for it in changes)
        yield f"{GROUPS[name]}: {', '.join(f'{count[fate]:,} {fate}' for fate in Fate if count[fate])}."
    for it in difference.costly:
        yield f"{it.reference} is {it.fate}: {it.cost}."
    told = (Fate.REFUSED, Fate.REPLACED)
    others = (it for group in difference.objects.values() for it in group if it.cost and it.fate not in told)
    for (fate, cost), group in _grouped(others, lambda it: (it.fate, it.cost)).items():
        yield f"{_some([it.reference for it in group])}: {fate}; {cost}."


def _by_weight(changes: Iterable[ObjectChange]) -> list[ObjectChange]:
    order = [Fate.REFUSED, Fate.REPLACED, Fate.DELETED, Fate.CHANGED, Fate.MADE]
    return sorted(changes, key=lambda it: order.index(it.fate))


def _object(it: ObjectChange) -> str:
    fields = [
        f"{where} {_short(was) or NONE} → {_short(becomes) or NONE}" for where, was, becomes in it.fields[:MOST_FIELDS]
    ]
    if (more := len(it.fields) - MOST_FIELDS) > 0:
        fields.append(f"{more:,} more")
    return f"{it.reference}: {it.fate}" + (f": {', '.join(fields)}" if fields else "")


def _short(value: str) -> str:
    value = " ".join(value.split())
    return value if len(value) <= MOST_VALUE else f"{value[: MOST_VALUE - 1]}…"


# --- what runs


def _standing(it: Standing, names: Names) -> Iterator[str]:
    if it.already:
        yield "The cluster holds the new agreement already."
    elif it.unlike:
        yield f"The cluster does not hold the old agreement as it is: {_some(list(it.unlike))} differ. What follows is of what runs there now."
    by_change = [one for one in it.above if one.by_change]
    for above in by_change:
        yield _above(above, names)
    if others := [one for one in it.above if not one.by_change]:
        said = listed(
            [f"{names.team(one.team)} {names.units(one.flavor, one.used - one.guaranteed)}" for one in others]
        )
        yield f"Borrowing before as after: {said}."
    if it.leaving:
        teams = names.teams(dict.fromkeys(job.team for job in it.leaving))
        yield f"{teams} leaves {len(it.leaving):,} running job{'s' * (len(it.leaving) != 1)}, which nobody stops: {_jobs(it.leaving)}."
    for ask in it.asks:
        yield _ask(ask, names)
    for lost in it.domains:
        yield _domain(lost, names)
    if not (by_change or it.leaving or any(ask.stopped for ask in it.asks)):
        yield f"Of {it.running:,} running jobs none is above a new guarantee by this change."


def _domain(it: LostDomain, names: Names) -> str:
    whole = f"a gang that fills one {it.level} ({names.units(it.flavor, it.units)})"
    if it.limit is Limit.EVER:
        return f"{names.team(it.team)}: {whole} fitted and no longer does."
    return f"{names.team(it.team)}: {whole} was within the guarantee; now it starts only while others lend."


def _above(it: Above, names: Names) -> str:
    return (
        f"{names.team(it.team)} uses {names.units(it.flavor, it.used)}, {it.used - it.guaranteed:,} above its new guarantee of "
        f"{it.guaranteed:,}, by {_jobs(it.jobs, it.flavor)}. They run on until an owner asks."
    )


def _ask(it: Ask, names: Names) -> str:
    what = f"If {names.team(it.team)}{' (prod)' if it.prod else ''} asked now for the {names.units(it.flavor, it.amount)} it would have left, "
    if it.leaving:
        return (
            f"{what}nobody can say whom it would stop while jobs of {names.teams(it.leaving)} run: until they end Kueue counts that "
            "queue's quota beside the new numbers, and may admit what no node has room for."
        )
    if it.stopped is None:
        return f"{what}who is stopped is decided by shares at that moment, and is not foretold here."
    if not it.starts:
        return f"{what}no job that may be stopped would make room for them at once."
    if not it.stopped:
        return f"{what}nobody would be stopped."
    by_team = _grouped(it.stopped, lambda job: job.team)
    whose = listed(
        [f"{len(jobs):,} of {names.team(team)} ({_sum(jobs, it.flavor):,})" for team, jobs in by_team.items()]
    )
    return f"{what}{len(it.stopped):,} job{'s' * (len(it.stopped) != 1)} would be stopped: {whose}: {_jobs(it.stopped, it.flavor)}."


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
    for it in items:
        groups.setdefault(key(it), []).append(it)
    return groups
