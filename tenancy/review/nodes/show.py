"""A report for people, and the same for a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...agreement.findings import Finding
from ...text.console import console, new_table
from .report import FlavorSupply, Report

if TYPE_CHECKING:
    from rich.table import Table

Place = Callable[[Finding], Finding]  # gives a finding its file, line and column


def print_report(report: Report, place: Place) -> None:
    """The table of flavors, what is not as agreed, what is short; aligned text where stdout is no terminal."""
    console().print(_table(report))
    for problem in report.problems:
        print(place(problem.finding))
    for _, _, finding in report.promises:
        print(place(finding))
    if report.as_agreed:
        print(f"all is as agreed on the {report.nodes} nodes of the cluster")


def as_json(report: Report, place: Place) -> dict[str, Any]:
    """`flavors` and `problems` begin with what most needs attention; amounts are in units of the flavor."""
    return {
        "as_agreed": report.as_agreed,
        "nodes": report.nodes,
        "flavors": {it.flavor.name: _flavor(it) for it in report.flavors},
        "problems": [{**it.as_json(), **place(it.finding).as_json()} for it in report.problems],
        "promises": [place(finding).as_json() for _, team, finding in report.promises if team is None],
        "teams": [
            {**asdict(team), "flavor": it.flavor.name, "left": team.left, **place(finding).as_json()}
            for it, team, finding in report.promises
            if team
        ],
    }


def _flavor(it: FlavorSupply) -> dict[str, Any]:
    return {
        "unit": it.flavor.unit,
        "resource": it.flavor.resource,
        "nodes": {"agreed": it.flavor.nodes, "found": it.nodes, "usable": it.nodes_usable},
        "agreed": it.flavor.capacity,
        "usable": it.promises.usable,
        "guaranteed": it.promises.guaranteed,
        "pool": it.promises.pool,
        "overlent": it.overlent,
        "short": it.promises.short,
        "prod_short": it.promises.prod_short,
    }


def _table(report: Report) -> Table:
    heads = ("nodes agreed", "found", "usable", "units agreed", "usable", "guaranteed", "free pool", "short")
    made = new_table("flavor", right=heads)
    for it in report.flavors:
        promises = it.promises
        numbers = (it.flavor.nodes, it.nodes, it.nodes_usable, it.flavor.capacity, promises.usable)
        made.add_row(
            it.flavor.name, *map(str, numbers), str(promises.guaranteed), str(promises.pool), str(promises.short or "–")
        )
    return made
