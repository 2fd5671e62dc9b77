"""The cohort tree as text: guides and a name, and under or beside it the numbers of each flavor, with a bar where there is room.

Widths are in terminal cells. A name is never cut: one too long for its column has a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len

from .tree import Amounts, Node

Piece = tuple[str, str]  # text and its style on a terminal
Line = list[Piece]

GAP = 2
LEAST_TREE, LEAST_BAR, MOST_BAR = 12, 10, 48
# The captions of the numbers: on one line, or on two where the terminal is narrow.
WIDE = (("guaranteed", "reserved", "lendable", "prod", "borrowable", "can reach"),)
NARROW = (("guaran-", "re-", "lend-", "", "borrow-", "can"), ("teed", "served", "able", "prod", "able", "reach"))
NOTES = {"regular": "for all other jobs; uses what its Cohort has", "prod": "for prod jobs; never borrows"}
STYLES = {"reserved": "blue", "lendable": "cyan", "pool": "green", "prod": "yellow", "reach": "dim"}
LEGEND = {
    "reserved": "reserved",
    "lendable": "lendable",
    "pool": "free pool",
    "reach": "may borrow",
    "prod": "prod",
}
SCALE = "a whole bar: the capacity of the flavor"


@dataclass(frozen=True, slots=True)
class Signs:
    """What guides and bars are drawn with."""

    down: str = "│  "
    tee: str = "├─ "
    elbow: str = "└─ "
    reserved: str = "█"
    lendable: str = "▓"
    pool: str = "▒"
    prod: str = "▚"
    reach: str = "┄"
    none: str = "–"


ASCII = Signs("|  ", "|- ", "`- ", "#", "=", "+", "%", ".", "-")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line before its columns are set. `under` are the guides of a second line, should it need one."""

    guides: str
    under: str
    label: str
    style: str = ""
    numbers: tuple[str, ...] = ()
    amounts: Amounts | None = None
    note: str = ""
    prod: bool = False


def tree_lines(root: Node, width: int, signs: Signs | None = None) -> list[Line]:
    """The picture, its captions above and its legend below. At 80 cells and more no line with a number is wider than `width`."""
    signs = signs or Signs()
    entries = list(_entries(root, signs, one=len(root.amounts) == 1))
    numbers = [entry.numbers for entry in entries if entry.numbers]
    wanted = max((cell_len(entry.guides + entry.label) for entry in entries if entry.numbers), default=0)
    captions = WIDE if wanted + sum(_columns(WIDE, numbers)) <= width else NARROW
    columns = _columns(captions, numbers)
    tree = max(min(wanted, width - sum(columns)), LEAST_TREE)
    room = width - tree - sum(columns) - GAP
    bar = min(room, MOST_BAR) if room >= LEAST_BAR else 0
    lines: list[Line] = [[(" " * tree + _right(caption, columns), "dim")] for caption in captions]
    for entry in entries:
        lines += _set(entry, tree, columns, bar, width, signs)
    return [*lines, [], *_legend(root, signs, width)] if bar else lines


# --- what stands on which line


def _entries(node: Node, signs: Signs, one: bool, first: str = "", rest: str = "") -> Iterator[Entry]:
    """A node and all below it: `first` are the guides of its own line, `rest` those of what follows."""
    inner = rest + (signs.down if node.children else "   ")
    label, note, prod = f"{node.kind} {node.label}", NOTES.get(node.role, ""), node.role == "prod"
    if one and len(node.amounts) == 1:
        amount = node.amounts[0]
        yield Entry(first, inner, label, "bold", _numbers(node, amount, signs), amount, prod=prod)
    else:
        yield Entry(first, inner, label, "bold", note=note)
        yield from (
            Entry(inner, inner, amounts.flavor.name, "", _numbers(node, amounts, signs), amounts, prod=prod)
            for amounts in node.amounts
        )
    if node.others:
        yield Entry(
            inner, inner, "", note="may also borrow " + ", ".join(amounts.flavor.name for amounts in node.others)
        )
    for child in node.children:
        last = child is node.children[-1]
        own, below = (signs.elbow, "   ") if last else (signs.tee, signs.down)
        yield from _entries(child, signs, one, rest + own, rest + below)


def _numbers(node: Node, amounts: Amounts, signs: Signs) -> tuple[str, ...]:
    borrowable = "no limit" if amounts.borrowable is None else str(amounts.borrowable)
    prod = str(amounts.prod) if amounts.prod else signs.none
    match node.role:
        case "root":
            pool = f"pool {amounts.pool}" if amounts.pool else ""
            return (
                str(amounts.guaranteed),
                str(amounts.reserved),
                str(amounts.lendable),
                prod,
                pool,
                str(amounts.reach),
            )
        case "regular":
            return (str(amounts.guaranteed), "", "", "", "", str(amounts.reach))
        case "prod":
            return ("", "", "", prod, "0", str(amounts.reach))
        case _:
            return (
                str(amounts.guaranteed),
                str(amounts.reserved),
                str(amounts.lendable),
                prod,
                borrowable,
                str(amounts.reach),
            )


# --- how it is set


def _columns(captions: tuple[tuple[str, ...], ...], numbers: list[tuple[str, ...]]) -> list[int]:
    """The width of each column of numbers with the gap before it."""
    return [GAP + max(map(len, column)) for column in zip(*captions, *numbers, strict=True)]


def _right(texts: tuple[str, ...], columns: list[int]) -> str:
    return "".join(text.rjust(size) for text, size in zip(texts, columns, strict=True))


def _set(entry: Entry, tree: int, columns: list[int], bar: int, width: int, signs: Signs) -> Iterator[Line]:
    label = [(entry.guides, "dim"), (entry.label, entry.style)]
    used = cell_len(entry.guides + entry.label)
    if not entry.numbers:
        note = _cropped(entry.note, width - used - GAP)
        yield [*label, (" " * (GAP if entry.label else 0) + note, "dim")] if note else label
        return
    if used > tree:
        yield label
        label, used = [(entry.under, "dim")], cell_len(entry.under)
    line = [*label, (" " * max(tree - used, 0) + _right(entry.numbers, columns), "")]
    if bar and entry.amounts:
        line += [(" " * GAP, ""), *_bar(entry.amounts, bar, signs, entry.prod)]
    yield line


def _cropped(text: str, width: int) -> str:
    """Text cut to a width, at a word."""
    if cell_len(text) <= width:
        return text
    words = text.split(" ")
    while words and cell_len(" ".join(words)) + 2 > width:
        words.pop()
    return " ".join([*words, "…"]) if words else ""


def _bar(amounts: Amounts, width: int, signs: Signs, prod: bool) -> Iterator[Piece]:
    """A bar on which `width` cells are all there is of the flavor; what is not zero has a cell at least."""
    capacity, at, end = max(amounts.flavor.capacity, 1), 0, 0
    for name, amount in (
        ("reserved", amounts.reserved),
        ("prod" if prod else "lendable", amounts.lendable),
        ("pool", amounts.pool),
        ("reach", amounts.reach - amounts.guaranteed - amounts.pool),
    ):
        end += amount
        to = min(max(round(width * end / capacity), at + (amount > 0)), width)
        if to > at:
            yield getattr(signs, name) * (to - at), STYLES[name]
        at = to


def _legend(root: Node, signs: Signs, width: int) -> Iterator[Line]:
    line: Line = []
    for name, words in LEGEND.items():
        if name not in ("pool", "prod") or any(getattr(amounts, name) for amounts in root.amounts):
            line += [(getattr(signs, name) * 3, STYLES[name]), (f" {words}   ", "dim")]
    if sum(cell_len(text) for text, _ in line) + len(SCALE) > width:
        yield line
        line = []
    yield [*line, (SCALE, "dim")]
