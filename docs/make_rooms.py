"""Draws the rooms of the house from their imports: `docs/pictures/rooms.svg`.

A row is a room, the one that may import all others at the top, and a column is a room that is imported. A cell is filled where the row does
import the column. Imports point one way, so one half stays empty; what stood in it would be a fault that import-linter refuses. The
order of the rooms is read from the contract in pyproject.toml, the line beside each name from the room's docstring.

`make pictures` draws it, with the agreements' pictures; `make docs-check` fails where it is stale.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGES = ("tenancy", "components")
Pairs = set[tuple[str, str]]
LEFT, TOP, ROW, COLUMN, STORY = 16, 160, 36, 44, 470  # pixels; STORY is where the columns begin
MOST = 66  # characters of a room's line

STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.name { font: 600 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.title { font-size: 19px; font-weight: 600 }
.small { font-size: 10.5px }
.small, .dim { fill: #59636e }
.page { fill: #ffffff }
.own { fill: #d1d9e0 }
.may { fill: #f6f8fa; stroke: #d1d9e0 }
.uses { fill: #ddf4ff; stroke: #54aeff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small, .dim { fill: #9198a1 }
  .page { fill: #0d1117 }
  .own { fill: #3d444d }
  .may { fill: #161b22; stroke: #3d444d }
  .uses { fill: #0c2d4f; stroke: #1158c7 }
}
"""


def rooms() -> list[str]:
    """From the top of the house down, as the contract has them; `components` stands above all, beside `cli`."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers" and one["containers"] == ["tenancy"])
    return ["components", *(room for room in layers if room != "__main__")]


def imports() -> Pairs:
    """Which room imports which other, as (importer, imported)."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    return {
        (room_of(module), room_of(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }


def room_of(module: str) -> str:
    package, _, rest = module.partition(".")
    return package if package != "tenancy" else rest.partition(".")[0]


def story(room: str) -> list[str]:
    """The first sentence of a room's docstring, in lines."""
    folder = ROOT / room if room == "components" else ROOT / "tenancy" / room
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    sentence = " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    return textwrap.wrap(sentence, MOST, break_on_hyphens=False)


def draw() -> str:
    order, used = rooms(), imports()
    width, height = LEFT + STORY + COLUMN * len(order) + 16, TOP + ROW * len(order) + 24
    said = "; ".join(f"{room} imports {', '.join(_imported(room, order, used)) or 'no other room'}" for room in order)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
            ' aria-labelledby="rooms-title rooms-desc">'
        ),
        ' <title id="rooms-title">The rooms and their imports</title>',
        f' <desc id="rooms-desc">{escape(said)}.</desc>',
        f" <style>{STYLE}</style>",
        f' <rect x="0" y="0" width="{width}" height="{height}" class="page" />',
        _text(LEFT, 34, "The rooms and their imports", "title"),
        _text(
            LEFT,
            55,
            "Blue: the row imports the column. Empty: it may. Drawn from the source, by docs/make_rooms.py.",
            "dim",
        ),
    ]
    for at, room in enumerate(order):
        x, y = LEFT + STORY + at * COLUMN, TOP + at * ROW
        parts.append(
            f' <g transform="rotate(-45 {x + 20} {TOP - 10})">{_text(x + 20, TOP - 10, room, "name").strip()}</g>'
        )
        lines = story(room)
        first = y + 23 - 6 * (len(lines) - 1)
        parts.append(_text(LEFT, y + 23, room, "name"))
        parts += [_text(LEFT + 100, first + 13 * number, line, "small") for number, line in enumerate(lines)]
        parts += _row(room, order, used, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _imported(room: str, order: list[str], used: Pairs) -> list[str]:
    return [other for other in order if other != room and (room, other) in used]


def _row(room: str, order: list[str], used: Pairs, y: int) -> list[str]:
    """A cell for each room that this one may import, and for any other that it imports all the same."""
    parts = []
    for at, other in enumerate(order):
        used_here = (room, other) in used
        if at < order.index(room) and not used_here:
            continue
        x, kind = LEFT + STORY + at * COLUMN, "own" if other == room else "uses" if used_here else "may"
        parts.append(f' <rect x="{x}" y="{y + 2}" width="{COLUMN - 4}" height="{ROW - 4}" rx="3" class="{kind}" />')
    return parts


def _text(x: int, y: int, text: str, kind: str) -> str:
    return f' <text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>'
