"""A board on the terminal, with what needs attention first; plain text at full width where stdout is none.

A hundred teams with eleven flavors are a thousand standings, and few of them matter: what is short is said in sentences, what else
needs attention is a line of the table, up to as many lines as can be read, and the rest is one line that counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..text.console import console, new_table
from ..text.counts import counted, plural
from ..text.durations import duration
from .model import Attention, Board, Part, Short, Standing
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


def show(board: Board, *, detail: bool = False, every: bool = False) -> None:
    """Prints it. `detail`: with each job that waits or was stopped, in place of the flavors; `every`: all lines."""
    it = console()
    it.print(render(board, it, detail=detail, most=None if every else MOST_ROWS))


def render(board: Board, out: Console, *, detail: bool = False, most: int | None = MOST_ROWS) -> Group:
    """`most` rows of the table; None: every one that says something."""
    from rich.console import Group
    from rich.text import Text

    shown, hidden = _split([it for it in board.standings if _says_something(it)], most)
    some: list[RenderableType] = [headline(board), *_shorts(board.all_shorts, most)]
    if shown:
        some += _table(board, shown, out)
    if hidden:
        some.append(Text(_hidden(hidden), "dim"))
    if detail:
        some += _jobs(board)
    elif len(board.plan.flavors) > 1:
        some.append(_flavors(board, out))
    some += [Text(f"not known: {short_text(it)}", "yellow") for it in board.seen.unread]
    return Group(*some)


def headline(board: Board) -> Text:
    """`Kueue, 14:02:31 UTC: 1 promise short, 3 jobs wait, the longest 12m, 2 evictions in the last hour`."""
    from rich.text import Text

    seen, shorts = board.seen, len(board.all_shorts)
    waiting = [one.since for it in board.standings for one in it.waiting]
    evicted = sum(it.evicted for it in board.standings)
    told = [
        (f"{counted(shorts, 'promise')} short", "bold red") if shorts else ("no promise short", "green"),
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
    if len(board.plan.flavors) == 1 and len(board.standings) == len(board.plan.teams):
        it = board.flavors[0]
        lent = f", {it.lent} lent" if it.lent else ""
        missing = f" ({it.usable} usable)" if it.usable < it.flavor.capacity else ""
        told.append((f"{it.used} of {it.flavor.count(it.flavor.capacity)}{missing} in use{lent}", ""))
    name = {"kueue": "Kueue", "kai": "KAI Scheduler"}[seen.scheduler]
    made = Text(f"{name}, {seen.at:%H:%M:%S} UTC: ")
    for place, part in enumerate(told):
        made.append(", " if place else "").append(*part)
    return made


def _says_something(it: Standing) -> bool:
    """What is short of a team in all flavors is said in a sentence, and there is nothing more in its line."""
    return bool(it.share.guaranteed or it.use.total or it.waiting or it.evictions)


def _split(chosen: Sequence[Standing], most: int | None) -> tuple[Sequence[Standing], Sequence[Standing]]:
    """What is shown and what is folded: all where it is few, else what needs attention, the first of it."""
    if most is None or len(chosen) <= most:
        return chosen, ()
    loud = sum(it.attention is not Attention.QUIET for it in chosen)
    return chosen[: min(loud, most)], chosen[min(loud, most) :]


def _hidden(hidden: Iterable[Standing]) -> str:
    counts = Counter(it.attention for it in hidden)
    told = ", ".join(f"{counts[level]} {level}" for level in Attention if counts[level])
    return f"not shown: {told}. --all shows them, --team and --flavor choose"


def _shorts(shorts: Sequence[Short], most: int | None) -> Iterator[Text]:
    from rich.text import Text

    shown = shorts if most is None else shorts[: min(MOST_SHORTS, max(2, most // 3))]  # on a low screen few
    for it in shown:
        who = " ".join(filter(None, (it.team, it.flavor))) or "all"
        yield Text.assemble(("SHORT ", STYLES[Attention.SHORT]), (who, "bold"), f": {short_text(it.why, 400)}")
        if it.remedy:
            yield Text(f"      {short_text(it.remedy)}", "dim")
    if len(shown) < len(shorts):
        yield Text(f"      and {len(shorts) - len(shown)} more that are short; --all shows them", "dim")


def _flavors(board: Board, out: Console) -> Table:
    from rich.text import Text

    heads = ("agreed", "usable", "guaranteed", "in use", "lent", "of the pool", "free", "jobs wait")
    some = (0, 1, 3, 6, 7) if out.width < NARROW else range(len(heads))
    table = new_table("flavor", right=[heads[place] for place in some])
    for it in board.flavors:
        less = it.usable < it.guaranteed
        usable = Text(str(it.usable) if it.supply else "?", STYLES[Attention.SHORT] if less else "")
        waiting = f"{len(it.waiting)}, {duration(board.seen.at - it.waiting[0].since)}" if it.waiting else NONE
        numbers = [_number(amount) for amount in (it.guaranteed, it.used, it.lent, it.from_pool, it.free)]
        cells: list[RenderableType] = [it.flavor.count(it.flavor.capacity), usable, *numbers, waiting]
        table.add_row(Text(it.flavor.name), *(cells[place] for place in some))
    return table


def _table(board: Board, shown: Sequence[Standing], out: Console) -> Iterator[RenderableType]:
    """With as many names of others as there is room for, on lines that do not wrap where that can be."""
    from rich.text import Text

    several = len(board.plan.flavors) > 1
    for heads, names, units in DETAIL:
        around = 3 if heads is HEADS else 2  # cells beside a column's text
        rows = [_row(board, it, names, units) for it in shown]
        widths = [max(map(cell_width, column)) + around for column in zip(heads, *rows, strict=True)]
        if sum(widths) - (0 if several else widths[2]) <= out.width:
            break
    table = new_table(*heads[: 3 if several else 2], right=heads[3:5], then=heads[5:])
    table.padding = (0, around - 2)
    for it, row in zip(shown, rows, strict=True):
        cells = [Text(row[0], STYLES[it.attention]), *map(Text, row[1:])]
        table.add_row(*(cell for place, cell in enumerate(cells) if several or place != 2))
    yield table
    if any("~" in cell for row in rows for cell in row[5:7]):
        yield Text("~ which of several lends or borrows is not known: shared out in proportion", "dim")


def _row(board: Board, it: Standing, most: int, units: bool) -> list[str]:
    sources = [*it.borrowed_from, *([Part("beyond what is there", it.beyond, False)] if it.beyond else [])]
    return [
        "" if it.attention is Attention.QUIET else it.attention,
        it.team.name,
        it.flavor_name or "(unknown)",
        _number(it.share.guaranteed),
        str(it.use.total),
        parts(it.lent_to, most, it.lent_about) if it.lent else NONE,
        parts(sources, most) if it.borrowed else NONE,
        _waiting(board, it, units),
        _number(it.evicted),
    ]


def _waiting(board: Board, it: Standing, of_units: bool) -> str:
    """`3 (12 GPUs) 7m`: how many, of how much, the longest."""
    if not it.waiting:
        return NONE
    units = f" ({it.counted(it.waiting_units)})" if it.flavor and of_units else ""
    return f"{len(it.waiting)}{units} {duration(board.seen.at - it.waiting[0].since)}"


def _jobs(board: Board) -> Iterator[Text]:
    """Each job that waits and each that was stopped."""
    from rich.text import Text

    lines: Counter[tuple[str, str]] = Counter()
    for it in board.standings:
        for one in it.waiting:
            size = f", {it.flavor.count(one.units)}" if it.flavor else ""
            lines[f"waits {duration(board.seen.at - one.since)}", f"{short_text(one.name)}{size}{_told(one.why)}"] += 1
        for one in it.held_up:
            time = duration(board.seen.at - one.since)
            lines[f"has quota, pods not ready for {time}", f"{short_text(one.name)}{_told(one.why)}"] += 1
        for stopped in it.evictions:
            lines["stopped", f"{short_text(stopped.name)}{_told(stopped.why)}"] += stopped.times
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
