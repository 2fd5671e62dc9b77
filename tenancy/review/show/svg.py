"""The cohort tree as an SVG picture: one file, no script, no font, light or dark as the reader's system is.

Every text is ASCII with character references, so that it survives any encoding. The standard library's ElementTree does the
escaping; a name can hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rich.cells import cell_len

from ...text.counts import counted
from .layout import (
    ALSO_CELL,
    BOLD_CELL,
    CAPTION_CELL,
    CAPTIONS,
    HEAD,
    LINE,
    MARGIN,
    PAD,
    ROW,
    Card,
    Layout,
    fitted,
    lay_out,
    numbers,
)
from .tree import Amounts, Node

BAR, STRIP = 11.0, 3.5  # heights of a bar, and of the prod slice below it
NOTES = {"regular": "for all other jobs: uses what its Cohort has", "prod": "for prod jobs: never borrows"}
LEGEND = {
    "reserved": "reserved",
    "lendable": "lendable",
    "pool": "free pool",
    "reach": "may borrow",
    "prod": "prod: back at once",
}
QUIET = ("0", "–", "no limit")  # numbers that say there is nothing to see
SCALE = "a whole bar is the capacity of its flavor"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.name, .number, .flavor, .also { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.title { font-size: 19px; font-weight: 600 }
.name { font-size: 13px; font-weight: 600 }
.small, .caption, .also { font-size: 10.5px }
.small, .caption, .also, .dim { fill: #59636e }
.strong { font-weight: 600 }
.end { text-anchor: end }
.page { fill: #ffffff }
.card { fill: #f6f8fa; stroke: #d1d9e0 }
.queue { fill: #6e7781 }
.line { fill: none; stroke: #8c959f; stroke-width: 1.5 }
.track { fill: #e4e8ec }
.reserved { fill: #0a3069 }
.lendable { fill: #54aeff }
.pool { fill: #4ac26b }
.prod { fill: #d1560a }
.reach { fill: #ddf4ff; stroke: #424a53; stroke-dasharray: 3 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small, .caption, .also, .dim { fill: #9198a1 }
  .page { fill: #0d1117 }
  .card { fill: #161b22; stroke: #3d444d }
  .queue { fill: #9198a1 }
  .line { stroke: #656c76 }
  .track { fill: #2a313c }
  .reserved { fill: #1158c7 }
  .lendable { fill: #79c0ff }
  .pool { fill: #2ea043 }
  .prod { fill: #f0883e }
  .reach { fill: #0c2d4f; stroke: #b7bdc8 }
}
"""


def draw(root: Node) -> str:
    """The picture as text that ends in a newline."""
    layout = lay_out(root)
    width, height = layout.grid.width, layout.height
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_n(width)} {_n(height)}",
            "width": _n(width),
            "height": _n(height),
            "role": "img",
            "aria-labelledby": "tenancy-title tenancy-desc",
        },
    )
    _add(svg, "title", id="tenancy-title", text=f"The agreement of {root.name}")
    _add(svg, "desc", id="tenancy-desc", text=" ".join(_told(root)))
    _add(svg, "style", text=STYLE)
    _rect(svg, "page", 0, 0, width, height)
    _heading(svg, root, layout)
    for card in layout.cards:
        if card.parent:
            _line(svg, card, card.parent)
    for y in layout.captions:
        _captions(svg, layout, y + 12)
    for card in layout.cards:
        _card(svg, card, layout)
    indent(svg, " ")
    text: bytes = tostring(svg, encoding="us-ascii", xml_declaration=False)
    return text.decode("ascii") + "\n"


# --- parts of the picture


def _heading(svg: Element, root: Node, layout: Layout) -> None:
    _text(svg, "title", MARGIN, 34, fitted(f"The agreement of {root.name}", layout.grid.width - 2 * MARGIN, 12))
    _text(svg, "dim", MARGIN, 55, _shape(root))
    x, y = MARGIN, 80.0
    drawn = {
        name
        for card in layout.cards
        for amounts in card.node.amounts
        for name, _, amount in _parts(card.node, amounts)
        if amount
    }
    for name, words in LEGEND.items():
        if name in drawn:
            _rect(svg, name, x, y - BAR + 2, 22, STRIP if name == "prod" else BAR)
            _text(svg, "legend", x + 28, y, words)
            x += 28 + len(words) * 7.0 + 16
    _text(svg, "dim end", layout.grid.width - MARGIN, y, SCALE)


def _line(svg: Element, card: Card, parent: Card) -> None:
    x = parent.x + 10
    _add(svg, "path", class_="line", d=f"M{_n(x)} {_n(parent.y + parent.height)}V{_n(card.elbow)}H{_n(card.x)}")


def _captions(svg: Element, layout: Layout, y: float) -> None:
    for caption, right in zip(CAPTIONS, layout.grid.rights, strict=True):
        _text(svg, "caption end", right, y, caption)


def _card(svg: Element, card: Card, layout: Layout) -> None:
    node, grid = card.node, layout.grid
    group = _add(svg, "g")
    _add(group, "title", text=_sentence(node))
    _rect(group, "card", card.x, card.y, grid.width - MARGIN - card.x, card.height, rx="5")
    if node.kind == "ClusterQueue":
        _rect(group, "prod" if node.role == "prod" else "queue", card.x, card.y, 4, card.height, rx="2")
    x = card.x + PAD
    if grid.one and node.amounts:
        _text(group, "name", x, card.y + 16, fitted(node.label, grid.bar_x - PAD / 2 - x, BOLD_CELL), BOLD_CELL)
        _text(group, "small", x, card.y + 30, node.kind)
        _amounts(group, node, node.amounts[0], layout, card.y, LINE)
        return
    note = NOTES.get(node.role, "")
    kind_width = (len(node.kind) + len(note)) * CAPTION_CELL + 2 * PAD
    end = grid.width - MARGIN - PAD if note else grid.rights[0] - len(CAPTIONS[0]) * CAPTION_CELL
    name = fitted(node.label, end - x - kind_width, BOLD_CELL)
    _text(group, "name", x, card.y + 18, name, BOLD_CELL)
    after = x + cell_len(name) * BOLD_CELL + PAD
    _text(group, "small", after, card.y + 18, node.kind + (f", {note}" if note else ""))
    if not note:
        _captions(group, layout, card.y + 18)
    y = card.y + HEAD
    for amount in node.amounts:
        row = _add(group, "g")
        _add(row, "title", text=f"{node.label}: {_words(node, amount)}")
        _text(row, "flavor", x, y + ROW / 2 + 4, fitted(amount.flavor.name, grid.bar_x - PAD / 2 - x))
        _amounts(row, node, amount, layout, y, ROW)
        y += ROW
    if node.others:
        names = "may also borrow " + ", ".join(amounts.flavor.name for amounts in node.others)
        _text(group, "also", x, y + 12, fitted(names, grid.width - MARGIN - PAD - x, ALSO_CELL))


def _amounts(row: Element, node: Node, amounts: Amounts, layout: Layout, y: float, height: float) -> None:
    """The bar and the numbers of one flavor; the bar's parts are to scale."""
    grid = layout.grid
    x, top = grid.bar_x, y + (height - BAR) / 2 - 1
    _rect(row, "track", x, top, grid.bar_width, BAR)
    for name, start, amount in _parts(node, amounts):
        if amount:
            below, tall = (BAR + 1, STRIP) if name == "prod" and node.role != "prod" else (0, BAR)
            _rect(row, name, x + grid.scaled(start, amounts), top + below, grid.scaled(amount, amounts), tall)
    for at, (text, right) in enumerate(zip(numbers(node, amounts), grid.rights, strict=True)):
        if text:
            look = "number end dim" if text in QUIET else "number end strong" if at == 0 else "number end"
            _text(row, look, right, y + height / 2 + 4, text)


def _parts(node: Node, amounts: Amounts) -> Iterator[tuple[str, int, int]]:
    """What a bar is made of: name, start and length in units of the flavor. Prod is drawn below, as it may be of either part."""
    if node.role != "prod":
        # First, so that its dashed edge does not cover a guarantee that is a small part of all there is.
        yield "reach", amounts.guaranteed + amounts.pool, amounts.reach - amounts.guaranteed - amounts.pool
        yield "reserved", 0, amounts.reserved
        yield "lendable", amounts.reserved, amounts.lendable
        yield "pool", amounts.guaranteed, amounts.pool
    yield "prod", 0, amounts.prod


# --- words


def _shape(root: Node) -> str:
    nodes = list(root.walk())
    roles = [node.role for _, node in nodes]
    parts = [counted(roles.count("team"), "team")]
    if "department" in roles:
        parts[0] += f" in {counted(roles.count('department'), 'department')}"
    flavors = root.amounts
    parts.append(
        f"{flavors[0].flavor.count(flavors[0].flavor.capacity)} of flavor {fitted(flavors[0].flavor.name, 300)}"
        if len(flavors) == 1
        else counted(len(flavors), "flavor")
    )
    kinds = [node.kind for _, node in nodes]
    parts.append(
        f"{counted(kinds.count('Cohort'), 'Cohort')} and {counted(kinds.count('ClusterQueue'), 'ClusterQueue')}"
    )
    parts.append(f"{max(depth for depth, _ in nodes) + 1} levels")
    return " · ".join(parts)


def _told(root: Node) -> Iterator[str]:
    """The picture for who does not see it."""
    yield f"A tree of Kueue's Cohorts and ClusterQueues: {_shape(root)}."
    yield from (f"{_sentence(node)}." for _, node in root.walk())


def _sentence(node: Node) -> str:
    parts = [_words(node, amounts) for amounts in node.amounts]
    if node.role in NOTES:
        parts.insert(0, NOTES[node.role])
    return f"{node.kind} {node.label}" + (f": {'; '.join(parts)}" if parts else "")


def _words(node: Node, amounts: Amounts) -> str:
    count, name = amounts.flavor.count, amounts.flavor.name
    match node.role:
        case "root":
            pool = f", {amounts.pool} in the free pool" if amounts.pool else ""
            return f"{count(amounts.flavor.capacity)} of {name}, {amounts.guaranteed} guaranteed to teams{pool}"
        case "prod":
            return f"{count(amounts.prod)} of {name}"
        case "regular":
            return f"{count(amounts.guaranteed)} of {name}"
    text = f"{count(amounts.guaranteed)} of {name} guaranteed"
    if amounts.guaranteed:
        text += f" ({amounts.reserved} reserved, {amounts.lendable} lendable" + (
            f", {amounts.prod} of them prod)" if amounts.prod else ")"
        )
    limit = "without limit" if amounts.borrowable is None else f"at most {amounts.borrowable}"
    return f"{text}, borrows {limit}, can reach {amounts.reach}"


# --- elements


def _add(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """An element with its text and attributes (`class_` is class, as that is a word of Python)."""
    if "class_" in attributes:
        attributes["class"] = attributes.pop("class_")
    child = SubElement(parent, tag, attributes)
    if text is not None:
        child.text = NOT_XML.sub("\ufffd", text)
    return child


def _rect(parent: Element, name: str, x: float, y: float, width: float, height: float, **more: str) -> None:
    _add(parent, "rect", class_=name, x=_n(x), y=_n(y), width=_n(width), height=_n(height), **more)


def _text(parent: Element, name: str, x: float, y: float, text: str, cell: float = 0) -> None:
    """A text; one in letters that the font may not have is set to the width of its cells, so that it stays in its place."""
    more = (
        {}
        if not cell or text.isascii()
        else {"textLength": _n(cell_len(text) * cell), "lengthAdjust": "spacingAndGlyphs"}
    )
    _add(parent, "text", text, class_=name, x=_n(x), y=_n(y), **more)


def _n(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
