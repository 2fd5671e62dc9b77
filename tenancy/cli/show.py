"""`show`: an agreement for people, from nothing but the file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import common
from .common import File, FileOption, Json

if TYPE_CHECKING:
    from ..agreement.plan import Plan

Svg = Annotated[
    str | None,
    typer.Option("--svg", metavar="FILE.svg|-", help="Draw the cohort tree as a picture; - is standard output."),
]
Teams = Annotated[
    list[str] | None,
    typer.Option("--team", metavar="NAME", help="Show only the tree, with only this team. Repeatable."),
]
Flavors = Annotated[
    list[str] | None,
    typer.Option("--flavor", metavar="NAME", help="Show only the tree, with only this flavor. Repeatable."),
]


def show(
    file: File = None,
    named: FileOption = None,
    team: Teams = None,
    flavor: Flavors = None,
    svg: Svg = None,
    json: Json = False,
) -> None:
    """Show the cohort tree with who is promised what and can reach what, the objects it becomes, and how exactly each promise is kept."""
    from ..review import show as showing

    plan = common.plan_of(common.file_of(file, named))
    teams, flavors = team or (), flavor or ()
    common.known("team", teams, plan.team)
    common.known("flavor", flavors, plan.flavor)
    if svg is not None:
        if json:
            common.stop("--svg and --json: give one of them")
        _draw(plan, teams, flavors, svg)
    elif json:
        common.print_json(showing.as_json(plan, teams, flavors))
    else:
        showing.print_plan(plan, teams, flavors)


def _draw(plan: Plan, teams: Collection[str], flavors: Collection[str], target: str) -> None:
    from ..review.show.svg import draw
    from ..review.show.tree import cohort_tree

    if target != "-" and not target.endswith(".svg"):
        common.stop(
            f"--svg: {target!r} is not the name of a picture; use one that ends in .svg, or - for standard output"
        )
    picture = draw(cohort_tree(plan, teams, flavors))
    if target == "-":
        print(picture, end="")
        return
    try:
        Path(target).write_text(picture, encoding="utf-8")
    except OSError as error:
        common.stop(f"--svg: {target}: cannot be written: {error.strerror}")
    print(f"{target}: the cohort tree of {plan.cluster}")
