"""Where everything of the picture stands: a card for each node of the cohort tree, below each other, indented by depth.

Lengths are in the SVG's user units, which are CSS pixels at full size. The width of text is estimated: names and numbers are set
in a monospace font, whose cells are 0.6 em wide; a name too long for its place is cut and ends in "…".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from .tree import Amounts, Node

CAPTIONS = ("guaranteed", "reserved", "lendable", "prod", "borrowable", "can reach")
WIDTH, MOST_WIDTH, LEAST_BAR = 1000.0, 1200.0, 260.0
MARGIN, PAD, INDENT, GAP = 16.0, 12.0, 22.0, 7.0
TOP = 104.0  # title, subtitle and legend
HEAD, ROW, FOOT, ALSO, LINE = 26.0, 20.0, 6.0, 18.0, 38.0
CAPTION, CAPTIONS_EVERY = 20.0, 20  # of a line of captions: its height, and after how many cards it comes again
CELL, BOLD_CELL, ALSO_CELL = 7.3, 7.9, 6.4  # of monospace: 12 px, bold 13 px, 10.5 px
CAPTION_CELL = 6.3  # of our own words in 10.5 px of whatever font the reader has


@dataclass(frozen=True, slots=True)
class Grid:
    """The columns that all cards share, whatever their depth, so that bars and numbers can be compared."""

    width: float
    bar_x: float
    bar_width: float
    rights: tuple[float, ...]  # the right edge of each column of numbers
    one: bool  # whether the picture is of one flavor: then a card is one line

    def scaled(self, amount: int, amounts: Amounts) -> float:
        """The length of an amount on a bar: the whole bar is all there is of the flavor."""
        return self.bar_width * amount / max(amounts.flavor.capacity, 1)


@dataclass(frozen=True, slots=True)
class Card:
    """The place of one node; `parent` is the card it hangs under."""

    node: Node
    x: float
    y: float
    height: float
    parent: Card | None

    @property
    def elbow(self) -> float:
        """Where the line from the parent meets the card."""
        return self.y + min(self.height / 2, HEAD / 2 + 3)


@dataclass(frozen=True, slots=True)
class Layout:
    grid: Grid
    cards: tuple[Card, ...]
    captions: tuple[float, ...]  # the tops of lines of captions, in a picture of one flavor
    height: float


def lay_out(root: Node) -> Layout:
    """Place every node of the tree."""
    nodes = list(root.walk())
    grid = _grid(nodes)
    cards: list[Card] = []
    captions: list[float] = []
    parents: list[Card] = []  # the cards above the next node, by depth
    y = TOP
    for at, (depth, node) in enumerate(nodes):
        if grid.one and at % CAPTIONS_EVERY == 0:
            captions.append(y)
            y += CAPTION
        card = Card(node, MARGIN + INDENT * depth, y, _height(node, grid.one), parents[depth - 1] if depth else None)
        cards.append(card)
        parents[depth:] = [card]
        y += card.height + GAP
    return Layout(grid, tuple(cards), tuple(captions), y - GAP + MARGIN)


def numbers(node: Node, amounts: Amounts) -> tuple[str, ...]:
    """The texts under the captions; of the root the pool stands where others say what they may borrow."""
    borrowable = "no limit" if amounts.borrowable is None else str(amounts.borrowable)
    prod = str(amounts.prod) if amounts.prod else "–"
    match node.role:
        case "root":
            pool = f"pool {amounts.pool}" if amounts.pool else "–"
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


def fitted(text: str, width: float, cell: float = CELL) -> str:
    """Text cut to a width, with … at its end where something is missing."""
    cells = max(int(width / cell), 1)
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def _height(node: Node, one: bool) -> float:
    if one and node.amounts:
        return LINE
    rows = ROW * len(node.amounts) + (ALSO if node.others else 0)
    return HEAD + rows + (FOOT if rows else 0)


def _grid(nodes: list[tuple[int, Node]]) -> Grid:
    one = len(nodes[0][1].amounts) == 1
    rows = [numbers(node, amounts) for _, node in nodes for amounts in node.amounts] or [("",) * len(CAPTIONS)]
    columns = [
        PAD + max(len(caption) * CAPTION_CELL, max(map(len, texts)) * CELL)
        for caption, *texts in zip(CAPTIONS, *rows, strict=True)
    ]
    bar_x = max(_label_ends(nodes, one), default=0) + PAD
    bar_x = min(bar_x, MARGIN + 330)
    width = WIDTH
    taken = bar_x + PAD + sum(columns) + PAD + MARGIN
    width = min(max(WIDTH, taken + LEAST_BAR), MOST_WIDTH)
    bar_width = max(width - taken, 40)
    rights, edge = [], bar_x + bar_width + PAD
    for column in columns:
        edge += column
        rights.append(edge)
    return Grid(width, bar_x, bar_width, tuple(rights), one)


def _label_ends(nodes: list[tuple[int, Node]], one: bool) -> Iterator[float]:
    """Where the text to the left of each bar ends."""
    for depth, node in nodes:
        left = MARGIN + INDENT * depth + PAD
        if one and node.amounts:
            yield left + max(cell_len(node.label) * BOLD_CELL, len(node.kind) * CAPTION_CELL)
        else:
            yield from (left + cell_len(amounts.flavor.name) * CELL for amounts in node.amounts)
