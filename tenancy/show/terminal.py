"""An agreement on the terminal; plain text at full width where stdout is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import fidelity, kai, kueue
from ..agreement.quantity import bytes_text, milli_text
from ..plan import Plan, Share
from .facts import kinds

if TYPE_CHECKING:
    from rich.table import Table


def print_plan(plan: Plan) -> None:
    """All of it on the terminal; plain text at full width where stdout is none."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=160, color_system=None)
    for title, table in (
        (f"The agreement of {plan.cluster}", _promises(plan)),
        ("What there is", _flavors(plan)),
        ("The objects it becomes", _objects(plan)),
        ("How exactly each promise is kept", _fidelity(plan)),
    ):
        console.print(f"\n[bold]{title}[/bold]")
        console.print(table)


def _promises(plan: Plan) -> Table:
    many = len(plan.flavors) > 1
    from rich.text import Text

    table = _table(
        "team", *(["flavor"] if many else []), right=("guaranteed", "lendable", "borrowable", "prod", "can reach")
    )
    for team in plan.teams:
        for flavor, share in team.shares.items():
            if _is_said(share) or not many:
                reach = str(plan.reach(team, flavor))
                table.add_row(Text(team.display_name), *([flavor] if many else []), *_numbers(share), reach)
    return table


def _is_said(share: Share) -> bool:
    """Whether the agreement says anything of this flavor to the team."""
    return bool(share.guaranteed) or share.borrowable is not None


def _numbers(share: Share) -> tuple[str, str, str, str]:
    borrowable = "no limit" if share.borrowable is None else str(share.borrowable)
    return str(share.guaranteed), str(share.lendable), borrowable, str(share.prod) if share.prod else "–"


def _flavors(plan: Plan) -> Table:
    table = _table(
        "flavor",
        "counted in",
        right=("nodes", "a node has", "capacity", "guaranteed", "free pool", "with each: CPU", "memory"),
    )
    for flavor in plan.flavors:
        pool = plan.pool[flavor.name]
        numbers = (flavor.nodes, flavor.units_per_node, flavor.capacity, flavor.capacity - pool, pool)
        table.add_row(
            flavor.name, flavor.resource, *map(str, numbers), milli_text(flavor.cpu), bytes_text(flavor.memory)
        )
    return table


def _objects(plan: Plan) -> Table:
    table = _table("scheduler", "objects")
    for scheduler, objects in (("Kueue", kueue.objects(plan)), ("KAI", kai.objects(plan))):
        made = ", ".join(f"{count} {kind}" for kind, count in kinds(objects).items())
        table.add_row(scheduler, made or "none (see below)")
    return table


def _fidelity(plan: Plan) -> Table:
    table = _table("scheduler", "promise", "kept", "for", "how")
    colors = {"exact": "green", "approximate": "yellow", "refused": "red"}
    for it in fidelity.verdicts(plan):
        level = f"[{colors[it.level]}]{it.level}[/]"
        table.add_row(it.scheduler, it.promise, level, fidelity.subjects_text(it, 4), it.how)
    return table


def _table(*left: str, right: tuple[str, ...] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right")
    return table
