"""An agreement on the terminal; plain text at full width where stdout is none."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ...agreement.plan import Plan
from ...objects.registry import OBJECTS
from ...objects.schedulers import TITLES, Scheduler
from ...text.console import console, new_table
from ...text.quantity import bytes_text, milli_text
from .. import fidelity
from .facts import kinds
from .tree import Node, cohort_tree

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.segment import Segments
    from rich.table import Table

NARROW = 110
COLORS = {"exact": "green", "approximate": "yellow", "refused": "red"}


def print_plan(plan: Plan, teams: Collection[str] = (), flavors: Collection[str] = ()) -> None:
    """All of it; only the cohort tree with these teams and flavors, where some are named."""
    out = console()
    out.print(f"\n[bold]The agreement of {plan.cluster}[/bold]\n")
    out.print(_tree(cohort_tree(plan, teams, flavors), out), soft_wrap=True)
    if teams or flavors:
        return
    narrow = out.width < NARROW
    for title, table in (
        ("What there is", _flavors(plan, narrow)),
        ("The objects it becomes", _objects(plan)),
        ("How exactly each promise is kept", _fidelity(plan, narrow)),
    ):
        out.print(f"\n[bold]{title}[/bold]")
        out.print(table)


def _tree(root: Node, console: Console) -> Segments:
    """The tree as finished segments: a Text of a thousand lines would be measured and wrapped once more."""
    from rich.segment import Segment, Segments

    from .text import ASCII, Signs, tree_lines

    lines = tree_lines(root, console.width, ASCII if console.options.ascii_only else Signs())
    styles = {style: console.get_style(style or "none") for line in lines for _, style in line}
    return Segments(Segment(text, styles.get(style)) for line in lines for text, style in (*(line or ()), ("\n", "")))


def _flavors(plan: Plan, narrow: bool) -> Table:
    """The hardware; on a narrow terminal without the sums, which stand at the tree's root."""
    sums = () if narrow else ("capacity", "guaranteed", "free pool")
    table = new_table("flavor", "counted in", right=("nodes", "per node", *sums, "with CPU", "memory"))
    for flavor in plan.flavors:
        pool = plan.pool[flavor.name]
        numbers = [
            flavor.nodes,
            flavor.units_per_node,
            *([] if narrow else [flavor.capacity, flavor.capacity - pool, pool]),
        ]
        table.add_row(
            flavor.name, flavor.resource, *map(str, numbers), milli_text(flavor.cpu), bytes_text(flavor.memory)
        )
    return table


def _objects(plan: Plan) -> Table:
    table = new_table("scheduler", "objects")
    for scheduler in Scheduler:
        made = ", ".join(f"{count} {kind}" for kind, count in kinds(OBJECTS[scheduler].objects(plan)).items())
        table.add_row(TITLES[scheduler], made or "none (see below)")
    return table


def _fidelity(plan: Plan, narrow: bool) -> RenderableType:
    """The verdicts as a table; as paragraphs where its columns would be a few letters wide."""
    from rich.console import Group
    from rich.padding import Padding

    verdicts = fidelity.verdicts(plan)
    if narrow:
        lines = (
            (
                f" {verdict.scheduler} {verdict.promise}: {_level(verdict)} for {fidelity.subjects_text(verdict, 4)}",
                Padding(verdict.how, (0, 1, 0, 5)),
            )
            for verdict in verdicts
        )
        return Group("", *(part for pair in lines for part in pair))
    table = new_table("scheduler", "promise", "kept", "for", "how")
    for entry in verdicts:
        table.add_row(entry.scheduler, entry.promise, _level(entry), fidelity.subjects_text(entry, 4), entry.how)
    return table


def _level(verdict: fidelity.Verdict) -> str:
    return f"[{COLORS[verdict.level]}]{verdict.level}[/]"
