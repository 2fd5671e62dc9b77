"""An agreement for people: who is promised what, how far each team can go, what it becomes, how exactly it is kept."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from . import fidelity, kai, kueue
from .agreement.hardware import by_flavor, resolve
from .agreement.model import Agreement
from .agreement.quantity import bytes_text, milli_text
from .plan import Plan, Share

if TYPE_CHECKING:
    from rich.table import Table


def summary(agreement: Agreement) -> str:
    """One line: what the file holds and how much of each kind of unit is guaranteed."""
    given: Counter[str] = Counter()
    capacity: Counter[str] = Counter()
    for name, flavor in agreement.flavors.items():
        hardware = resolve(name, flavor)
        capacity[hardware.unit] += hardware.capacity
        for team in agreement.teams.values():
            amount = by_flavor(team.guaranteed, agreement).get(name)
            given[hardware.unit] += amount.count if amount else 0
    words = {"gpu": "GPUs", "slice": "MIG slices", "cpu": "CPUs"}
    amounts = ", ".join(
        f"{given[unit]} of {capacity[unit]} {words[unit]} guaranteed" for unit in words if capacity[unit]
    )
    return f"fine: {_count(len(agreement.teams), 'team')}, {_count(len(agreement.flavors), 'flavor')}, {amounts}"


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


def as_json(plan: Plan) -> dict[str, Any]:
    """The same for a program. Amounts are in units of the flavor; `borrowable` null is no limit."""
    return {
        "cluster": plan.cluster,
        "flavors": {
            flavor.name: {
                "unit": flavor.unit,
                "resource": flavor.resource,
                "nodes": flavor.nodes,
                "capacity": flavor.capacity,
                "pool": plan.pool[flavor.name],
            }
            for flavor in plan.flavors
        },
        "teams": {
            team.name: {
                "display_name": team.display_name,
                "department": team.department,
                "shares": {
                    flavor: {
                        "guaranteed": share.guaranteed,
                        "lendable": share.lendable,
                        "borrowable": share.borrowable,
                        "prod": share.prod,
                        "reach": plan.reach(team, flavor),
                    }
                    for flavor, share in team.shares.items()
                },
            }
            for team in plan.teams
        },
        "objects": {"kueue": _kinds(kueue.objects(plan)), "kai": _kinds(kai.objects(plan))},
        "fidelity": [
            {
                "scheduler": it.scheduler,
                "promise": it.promise,
                "level": it.level,
                "for": list(it.subjects),
                "how": it.how,
            }
            for it in fidelity.verdicts(plan)
        ],
    }


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
        kinds = ", ".join(f"{count} {kind}" for kind, count in _kinds(objects).items())
        table.add_row(scheduler, kinds or "none (see below)")
    return table


def _fidelity(plan: Plan) -> Table:
    table = _table("scheduler", "promise", "kept", "for", "how")
    colors = {"exact": "green", "approximate": "yellow", "refused": "red"}
    for it in fidelity.verdicts(plan):
        level = f"[{colors[it.level]}]{it.level}[/]"
        table.add_row(it.scheduler, it.promise, level, fidelity.subjects_text(it, 4), it.how)
    return table


def _kinds(objects: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(one["kind"] for one in objects))


def _table(*left: str, right: tuple[str, ...] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right")
    return table


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
