"""The picture of the cohort tree: its numbers are the plan's, its bars are to scale, nothing lies outside or upon another thing.

Text is measured here anew: 0.605 em a cell for the monospace font, 0.6 em a letter for the other: no less than the widest of the
usual fonts (DejaVu) needs for these words.
"""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given, settings
from large import FILES, many_teams, plan_of
from rich.cells import cell_len
from samples import LAB, ONE_FLAVOR, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, make_plan
from tenancy.review.show.svg import draw
from tenancy.review.show.tree import Amounts, Node, cohort_tree

SVG = "{http://www.w3.org/2000/svg}"
MONO = {"name": 13.0, "number": 12.0, "flavor": 12.0, "also": 10.5}
SANS = {"title": 19.0, "small": 10.5, "caption": 10.5}
PARTS = ("reserved", "lendable", "pool", "reach", "prod")


@dataclass(frozen=True)
class Box:
    """Where something impact, for a message that says what it is."""

    what: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        slack = 0.01
        return (
            self.left + slack < other.right
            and other.left + slack < self.right
            and self.top + slack < other.bottom
            and other.top + slack < self.bottom
        )

    def inside(self, other: Box) -> bool:
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.top <= self.top
            and self.bottom <= other.bottom
        )


def number(element: Element, key: str) -> float:
    return float(element.attrib[key])


def rect(element: Element) -> Box:
    x, y = number(element, "x"), number(element, "y")
    return Box(element.attrib["class"], x, y, x + number(element, "width"), y + number(element, "height"))


def text_box(element: Element) -> Box:
    words, text = element.attrib["class"].split(), element.text or ""
    if mono := [size for name, size in MONO.items() if name in words]:
        size, width = mono[0], cell_len(text) * 0.605 * mono[0]
    else:
        size = next((size for name, size in SANS.items() if name in words), 12.0)
        width = len(text) * 0.6 * size
    width = float(element.get("textLength", width))
    x, y = number(element, "x"), number(element, "y")
    left = x - width if "end" in words else x
    return Box(text, left, y - 0.8 * size, left + width, y + 0.22 * size)


def svg_of(the_plan: Plan, **filters: Any) -> tuple[Element, Node]:
    root = cohort_tree(the_plan, **filters)
    return fromstring(draw(root)), root


def cards(svg: Element, root: Node) -> list[tuple[Element, Node]]:
    """The group of each card with its node; both go from parents to children."""
    return list(zip(svg.findall(f"{SVG}g"), (node for _, node in root.walk()), strict=True))


def rows(group: Element, node: Node) -> list[tuple[Element, Amounts]]:
    """The element that holds bar and numbers of each flavor."""
    if not node.amounts:
        return []
    inner = group.findall(f"{SVG}g") or [group]
    return list(zip(inner, node.amounts, strict=True))


def of_class(element: Element, name: str) -> list[Element]:
    return [entry for entry in element if name in entry.get("class", "").split()]


def hold(svg: Element, root: Node) -> None:
    """All that holds of every picture."""
    numbers_are_the_plans(svg, root)
    bars_are_to_scale(svg, root)
    nothing_is_outside_or_upon_another(svg, root)


def numbers_are_the_plans(svg: Element, root: Node) -> None:
    for group, node in cards(svg, root):
        for row, amounts in rows(group, node):
            texts = [text.text for text in of_class(row, "number")]
            prod = str(amounts.prod) if amounts.prod else "–"
            promised = [
                str(amounts.guaranteed),
                str(amounts.guaranteed - amounts.lendable),
                str(amounts.lendable),
                prod,
            ]
            expected = {
                "root": [*promised, f"pool {amounts.pool}" if amounts.pool else "–", str(amounts.flavor.capacity)],
                "regular": [str(amounts.guaranteed), str(amounts.reach)],
                "prod": [prod, "0", str(amounts.prod)],
            }.get(
                node.role,
                [*promised, "no limit" if amounts.borrowable is None else str(amounts.borrowable), str(amounts.reach)],
            )
            assert texts == expected, (node.name, amounts.flavor.name)


def bars_are_to_scale(svg: Element, root: Node) -> None:
    tracks = set()
    for group, node in cards(svg, root):
        for row, amounts in rows(group, node):
            (track,) = map(rect, of_class(row, "track"))
            tracks.add((track.left, track.right))
            scale = (track.right - track.left) / max(amounts.flavor.capacity, 1)
            ends = (amounts.reserved, amounts.guaranteed, amounts.guaranteed + amounts.pool, amounts.reach)
            starts = (0, amounts.reserved, amounts.guaranteed, amounts.guaranteed + amounts.pool)
            expected = dict(zip(PARTS, zip(starts, ends, strict=True), strict=False)) if node.role != "prod" else {}
            expected["prod"] = (0, amounts.prod)
            for name, (start, end) in expected.items():
                drawn = [box for element in of_class(row, name) if (box := rect(element)).left >= track.left]
                if end == start:
                    assert drawn == [], (node.name, amounts.flavor.name, name)
                    continue
                (bar,) = drawn
                assert bar.left == pytest.approx(track.left + scale * start, abs=0.01), (node.name, name)
                assert bar.right == pytest.approx(track.left + scale * end, abs=0.01), (node.name, name)
    assert len(tracks) <= 1, "bars that do not begin and end together cannot be compared"


def nothing_is_outside_or_upon_another(svg: Element, root: Node) -> None:
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    page = Box("the page", left, top, left + width, top + height)
    assert 1000 <= width <= 1200
    boxes = []
    for group, node in cards(svg, root):
        (card,) = map(rect, of_class(group, "card"))
        assert card.inside(page)
        inner = [group, *group.findall(f"{SVG}g")]
        texts = [text_box(element) for one in inner for element in one.findall(f"{SVG}text")]
        bars = [rect(element) for one in inner for element in of_class(one, "track") + of_class(one, "prod")]
        for box in texts + bars:
            assert box.inside(card), (node.name, box, card)
        for one, other in itertools.combinations(texts, 2):
            assert not one.meets(other), (one, other)
        for one, other in itertools.product(texts, bars):
            assert not one.meets(other), (one, other)
        boxes.append(card)
    for one, other in itertools.pairwise(boxes):
        assert one.bottom < other.top
    heading = [text_box(element) for element in svg.findall(f"{SVG}text")]
    for one, other in itertools.combinations(heading, 2):
        assert one.inside(page) and other.inside(page) and not one.meets(other), (one, other)
    assert not any(text.meets(card) for text in heading for card in boxes)
    lines_lead_from_parents_to_children(svg, boxes)


def lines_lead_from_parents_to_children(svg: Element, boxes: list[Box]) -> None:
    for line in svg.findall(f"{SVG}path"):
        x, y, down, to = map(float, re.split("[MVH ]", line.attrib["d"])[1:])
        assert any(box.bottom == y and box.left < x < box.right for box in boxes)
        assert any(box.left == to and box.top < down < box.bottom for box in boxes)
        assert not any(box.left < x < box.right and box.top < down and box.bottom > y for box in boxes)


# --- pictures -------------------------------------------------------------------------------------------------------

CASES: dict[str, Any] = {
    **{path.stem: lambda entry=path: plan_of(entry) for path in FILES},
    "100 teams, 1 flavor": lambda: many_teams(flavors=1),
    "100 teams, 11 flavors": many_teams,
    "no team": lambda: plan(ONE_FLAVOR),
    "numbers of ten digits": lambda: plan(
        ONE_FLAVOR.replace("nodes = 4", "nodes = 1_000_000").replace(
            "gpus_per_node = 8", "gpus_per_node = 1000\ncpu_per_gpu = 1\nmemory_per_gpu = '1Gi'"
        )
        + "[teams.a]\nguaranteed = 999_999_999\nlendable = 499_999_999\nborrowable = 1\nprod = 399_999_999\n"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_scale_and_places(case: str) -> None:
    hold(*svg_of(CASES[case]()))


@settings(max_examples=40, deadline=None)
@given(values=agreements())
def test_numbers_scale_and_places_of_any_agreement(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    hold(*svg_of(the_plan))
    hold(*svg_of(the_plan, flavors=[the_plan.flavors[0].name]))


def test_one_flavor_of_many_is_a_picture_of_one_flavor() -> None:
    svg, root = svg_of(plan_of(FILES[-1]), teams=["tts", "asr"], flavors=["h100"])
    hold(svg, root)
    assert {node.name for _, node in root.walk() if node.role == "team"} == {"tts", "asr"}


def test_a_long_picture_repeats_its_captions() -> None:
    svg, _ = svg_of(many_teams(flavors=1))
    captions = [number(element, "y") for element in of_class(svg, "caption") if element.text == "guaranteed"]
    assert max(b - a for a, b in itertools.pairwise(captions)) < 1000


def test_the_lab_by_hand() -> None:
    """The numbers of the issue: training's bar is 8 reserved, 8 lendable, 8 to borrow, of 32."""
    svg, root = svg_of(plan(LAB))
    (group,) = (group for group, node in cards(svg, root) if node.name == "training")
    (track,) = map(rect, of_class(group, "track"))
    quarter = (track.right - track.left) / 4
    for at, name in enumerate(("reserved", "lendable", "reach")):
        (bar,) = map(rect, of_class(group, name))
        assert (bar.left, bar.right) == pytest.approx(
            (track.left + quarter * at, track.left + quarter * (at + 1)), abs=0.01
        )
    assert [element.text for element in of_class(group, "number")] == ["16", "8", "8", "–", "no limit", "24"]


# --- for everybody --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=lambda entry: entry.stem)
def test_it_is_told_to_who_does_not_see_it(file: Path) -> None:
    svg, root = svg_of(plan_of(file))
    ids = {element.get("id"): element.text or "" for element in svg}
    assert svg.attrib["role"] == "img"
    title, told = (ids[part] for part in svg.attrib["aria-labelledby"].split())
    assert title == f"The agreement of {root.name}"
    for group, node in cards(svg, root):
        hover = group[0]
        assert hover.tag == f"{SVG}title" and hover.text and f"{node.kind} {node.label}" in hover.text
        assert hover.text in told
        for row, amounts in rows(group, node):
            assert row[0].tag == f"{SVG}title" and amounts.flavor.name in (row[0].text or "")


def test_a_row_says_in_words_what_it_shows() -> None:
    svg, root = svg_of(plan_of(FILES[-1]))
    (group,) = (group for group, node in cards(svg, root) if (node.role, node.name) == ("team", "asr"))
    assert [row[0].text for row, _ in rows(group, next(node for _, node in root.walk() if node.name == "asr"))] == [
        "asr: 64 GPUs of h100 guaranteed (0 reserved, 64 lendable, 16 of them prod), borrows without limit, can reach 128",
        "asr: 128 GPUs of hgx-h100 guaranteed (32 reserved, 96 lendable), borrows without limit, can reach 512",
        "asr: 56 slices of a100-80-10gb guaranteed (0 reserved, 56 lendable), borrows without limit, can reach 112",
    ]


def test_it_is_one_file_without_a_script_and_for_light_and_dark() -> None:
    text = draw(cohort_tree(plan_of(FILES[-1])))
    assert not re.search(r"<script|href|url\(|@import|@font-face|javascript|<image|<foreignObject", text)
    assert text.isascii() and text.endswith("</svg>\n")
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    colored = set(re.findall(r"^\.?([\w]+)[^{}]*\{[^}]*(?:fill|stroke): #", light.split("<style>")[1], re.MULTILINE))
    assert colored <= set(re.findall(r"\b([a-z]+)\b[^{}]*\{", dark)) | {"small"}


HOSTILE = {
    "markup": "</text><script>alert(1)</script>",
    "quotes": "\" onload='x' &lt; &amp; ]]> <!--",
    "long": "y" * 4000,
    "wide": "検索チーム" * 20,
    "emoji": "👩‍🚀🚀",
    "combining": "e\u0301" * 10,
    "right to left": "שלום",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("flavors", [1, 2])
def test_a_name_is_any_text(name: str, flavors: int) -> None:
    text = ONE_FLAVOR + "".join(
        f"[flavors.f{at}]\nnodes = 1\ngpus_per_node = 8\nnode_labels = {{ a = '{at}' }}\n" for at in range(1, flavors)
    )
    shown = HOSTILE[name].replace("\\", "\\\\").replace('"', '\\"')
    for prod in ("", "prod = { gpu = 4 }\n"):
        made = plan(f'{text}[departments.d]\ndisplay_name = "{shown}"\n[teams.{"a" * 40}]\ndepartment = "d"\n'
                    f'display_name = "{shown}"\nguaranteed = {{ gpu = 8 }}\n{prod}')  # fmt: skip
        svg, root = svg_of(made)
        hold(svg, root)
        assert not svg.findall(f".//{SVG}script")
        assert {element.tag.removeprefix(SVG) for element in svg.iter()} <= {
            "svg",
            "title",
            "desc",
            "style",
            "rect",
            "path",
            "g",
            "text",
        }
        assert any(HOSTILE[name] in (element.text or "") for element in svg.iter(f"{SVG}title")) or name == "emoji"


def test_text_that_xml_cannot_hold_is_replaced() -> None:
    """`check` refuses such names; a plan made in Python need not have been checked."""
    the_plan, hostile = plan(LAB), "\x00\x1b[31m\ud800\u202e\ufffe"
    team, *rest = the_plan.teams
    hold(*svg_of(replace(the_plan, cluster=hostile, teams=(replace(team, display_name=hostile), *rest))))


def test_a_hundred_teams_with_eleven_flavors_are_drawn_at_once() -> None:
    """Half a second is what a person does not wait for; the limit leaves room for a busy machine."""
    the_plan = many_teams()
    began = time.process_time()
    draw(cohort_tree(the_plan))
    assert time.process_time() - began < 1
