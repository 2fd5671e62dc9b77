"""A board on the terminal, with what needs attention first; plain text at full width where stdout is none.

A hundred teams with eleven flavors are a thousand statuses, and few of them matter: what is short is said in sentences, what else
needs attention is a line of the table, up to as many lines as can be read, and the rest is one line that counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..objects.schedulers import PerScheduler, Scheduler
from ..text.console import console, new_table
from ..text.counts import counted, plural
from ..text.durations import duration
from .model import Attention, Part, StatusReport, TeamStatus, Violation
from .words import parts, short_text

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text

NARROW = 100
MOST_ROWS = 30  # of the table
MOST_SHORTS = 12
AROUND = 14  # lines on a screen beside those of the table
MOST_JOBS = 20  # named where somebody asks for a team
STYLES = {
    Attention.SHORT: "bold red",
    Attention.BELOW: "red",
    Attention.EVICTED: "yellow",
    Attention.WAITING: "yellow",
    Attention.BORROWING: "cyan",
    Attention.QUIET: "dim",
}
HEADS = ("state", "team", "flavor", "guaranteed", "in use", "lent to", "borrowed from", "waiting", "evicted")
SHORT_HEADS = ("state", "team", "flavor", "guar.", "used", "lent", "borr.", "waits", "evict.")
NONE = "–"
NAMES = PerScheduler(kueue="Kueue", kai="KAI Scheduler")
DETAIL = (
    (HEADS, 3, True),
    (HEADS, 2, True),
    (HEADS, 1, True),
    (SHORT_HEADS, 2, True),
    (SHORT_HEADS, 1, True),
    (SHORT_HEADS, 0, True),
    (SHORT_HEADS, 0, False),
    (SHORT_HEADS, -1, False),
)
"""As there is room: the heads, how many others a cell names, and whether it says how much waits."""


def show(board: StatusReport, *, detail: bool = False, every: bool = False) -> None:
    """Prints it. `detail`: with each job that waits or was stopped, in place of the flavors; `every`: all lines."""
    result = console()
    result.print(render(board, result, detail=detail, most=None if every else MOST_ROWS))


def render(board: StatusReport, out: Console, *, detail: bool = False, most: int | None = MOST_ROWS) -> Group:
    """`most` rows of the table; None: every one that says something."""
    from rich.console import Group
    from rich.text import Text

    shown, hidden = _split([standing for standing in board.statuses if _says_something(standing)], most)
    some: list[RenderableType] = [headline(board), *_violations(board.all_violations, most)]
    if shown:
        some += _table(board, shown, out)
    if hidden:
        some.append(Text(_hidden(hidden), "dim"))
    if detail:
        some += _jobs(board)
    elif len(board.plan.flavors) > 1:
        some.append(_flavors(board, out))
    some += [Text(f"not known: {short_text(entry)}", "yellow") for entry in board.seen.unread]
    return Group(*some)


def headline(board: StatusReport) -> Text:
    """`Kueue, 14:02:31 UTC: 1 promise short, 3 jobs wait, the longest 12m, 2 evictions in the last hour`."""
    from rich.text import Text

    seen, violations = board.seen, len(board.all_violations)
    waiting = [one.since for standing in board.statuses for one in standing.waiting]
    evicted = sum(standing.evicted for standing in board.statuses)
    told = [
        (f"{counted(violations, 'promise')} violated", "bold red") if violations else ("no promise violated", "green"),
        (
            f"{counted(len(waiting), 'job')} wait{'s' if len(waiting) == 1 else ''}, the longest {duration(seen.at - min(waiting))}"
            if waiting
            else "no job waits",
            "",
        ),
        (
            f"{evicted or 'no'} {plural(evicted, 'eviction')} in the last hour",
            STYLES[Attention.EVICTED] if evicted else "",
        ),
    ]
    if len(board.plan.flavors) == 1 and len(board.statuses) == len(board.plan.teams):
        flavor = board.flavors[0]
        lent = f", {flavor.lent} lent" if flavor.lent else ""
        missing = f" ({flavor.usable} usable)" if flavor.usable < flavor.flavor.capacity else ""
        told.append((f"{flavor.used} of {flavor.flavor.count(flavor.flavor.capacity)}{missing} in use{lent}", ""))
    name = NAMES[Scheduler(seen.scheduler)]
    made = Text(f"{name}, {seen.at:%H:%M:%S} UTC: ")
    for place, part in enumerate(told):
        made.append(", " if place else "").append(*part)
    return made


def _says_something(standing: TeamStatus) -> bool:
    """What is short of a team in all flavors is said in a sentence, and there is nothing more in its line."""
    return bool(standing.share.guaranteed or standing.use.total or standing.waiting or standing.evictions)


def _split(chosen: Sequence[TeamStatus], most: int | None) -> tuple[Sequence[TeamStatus], Sequence[TeamStatus]]:
    """What is shown and what is folded: all where it is few, else what needs attention, the first of it."""
    if most is None or len(chosen) <= most:
        return chosen, ()
    loud = sum(standing.attention is not Attention.QUIET for standing in chosen)
    return chosen[: min(loud, most)], chosen[min(loud, most) :]


def _hidden(hidden: Iterable[TeamStatus]) -> str:
    counts = Counter(standing.attention for standing in hidden)
    told = ", ".join(f"{counts[level]} {level}" for level in Attention if counts[level])
    return f"not shown: {told}. --all shows them, --team and --flavor choose"


def _violations(violations: Sequence[Violation], most: int | None) -> Iterator[Text]:
    from rich.text import Text

    shown = violations if most is None else violations[: min(MOST_SHORTS, max(2, most // 3))]  # on a low screen few
    for short in shown:
        who = " ".join(filter(None, (short.team, short.flavor))) or "all"
        yield Text.assemble(("VIOLATED ", STYLES[Attention.SHORT]), (who, "bold"), f": {short_text(short.why, 400)}")
        if short.remedy:
            yield Text(f"      {short_text(short.remedy)}", "dim")
    if len(shown) < len(violations):
        yield Text(f"      and {len(violations) - len(shown)} more violations; --all shows them", "dim")


def _flavors(board: StatusReport, out: Console) -> Table:
    from rich.text import Text

    heads = ("agreed", "usable", "guaranteed", "in use", "lent", "of the pool", "free", "jobs wait")
    some = (0, 1, 3, 6, 7) if out.width < NARROW else range(len(heads))
    table = new_table("flavor", right=[heads[place] for place in some])
    for standing in board.flavors:
        less = standing.usable < standing.guaranteed
        usable = Text(str(standing.usable) if standing.supply else "?", STYLES[Attention.SHORT] if less else "")
        waiting = (
            f"{len(standing.waiting)}, {duration(board.seen.at - standing.waiting[0].since)}"
            if standing.waiting
            else NONE
        )
        numbers = [
            _number(amount)
            for amount in (standing.guaranteed, standing.used, standing.lent, standing.from_pool, standing.free)
        ]
        cells: list[RenderableType] = [standing.flavor.count(standing.flavor.capacity), usable, *numbers, waiting]
        table.add_row(Text(standing.flavor.name), *(cells[place] for place in some))
    return table


def _table(board: StatusReport, shown: Sequence[TeamStatus], out: Console) -> Iterator[RenderableType]:
    """With as many names of others as there is room for, on lines that do not wrap where that can be."""
    from rich.text import Text

    several = len(board.plan.flavors) > 1
    for heads, names, units in DETAIL:
        around = 3 if heads is HEADS else 2  # cells beside a column's text
        rows = [_row(board, standing, names, units) for standing in shown]
        widths = [max(map(cell_width, column)) + around for column in zip(heads, *rows, strict=True)]
        if sum(widths) - (0 if several else widths[2]) <= out.width:
            break
    table = new_table(*heads[: 3 if several else 2], right=heads[3:5], then=heads[5:])
    table.padding = (0, around - 2)
    for entry, row in zip(shown, rows, strict=True):
        cells = [Text(row[0], STYLES[entry.attention]), *map(Text, row[1:])]
        table.add_row(*(cell for place, cell in enumerate(cells) if several or place != 2))
    yield table
    if any("~" in cell for row in rows for cell in row[5:7]):
        yield Text("~ which of several lends or borrows is not known: shared out in proportion", "dim")


def _row(board: StatusReport, standing: TeamStatus, most: int, units: bool) -> list[str]:
    sources = [
        *standing.borrowed_from,
        *([Part("beyond what is idle", standing.beyond, False)] if standing.beyond else []),
    ]
    return [
        "" if standing.attention is Attention.QUIET else standing.attention,
        standing.team.name,
        standing.flavor_name or "(unknown)",
        _number(standing.share.guaranteed),
        str(standing.use.total),
        parts(standing.lent_to, most, standing.lent_about) if standing.lent else NONE,
        parts(sources, most) if standing.borrowed else NONE,
        _waiting(board, standing, units),
        _number(standing.evicted),
    ]


def _waiting(board: StatusReport, standing: TeamStatus, of_units: bool) -> str:
    """`3 (12 GPUs) 7m`: how many, of how much, the longest."""
    if not standing.waiting:
        return NONE
    units = f" ({standing.counted(standing.waiting_units)})" if standing.flavor and of_units else ""
    return f"{len(standing.waiting)}{units} {duration(board.seen.at - standing.waiting[0].since)}"


def _jobs(board: StatusReport) -> Iterator[Text]:
    """Each job that waits and each that was stopped."""
    from rich.text import Text

    lines: Counter[tuple[str, str]] = Counter()
    for standing in board.statuses:
        for one in standing.waiting:
            size = f", {standing.flavor.count(one.units)}" if standing.flavor else ""
            lines[f"waits {duration(board.seen.at - one.since)}", f"{short_text(one.name)}{size}{_told(one.why)}"] += 1
        for one in standing.held_up:
            time = duration(board.seen.at - one.since)
            lines[f"has quota, pods not ready for {time}", f"{short_text(one.name)}{_told(one.why)}"] += 1
        for stopped in standing.evictions:
            lines["evicted", f"{short_text(stopped.name)}{_told(stopped.why)}"] += stopped.times
    said = [f"{how}{f' ×{count}' if count > 1 else ''}  {what}" for (how, what), count in lines.items()]
    yield from (Text(line) for line in said[:MOST_JOBS])
    if len(said) > MOST_JOBS:
        yield Text(f"and {len(said) - MOST_JOBS} more", "dim")


def cell_width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _told(why: str) -> str:
    return f": {short_text(why, 400)}" if why else ""


def _number(amount: int) -> str:
    return str(amount) if amount else NONE
