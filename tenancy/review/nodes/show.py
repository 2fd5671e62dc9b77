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
        "flavors": {supply.flavor.name: _flavor(supply) for supply in report.flavors},
        "problems": [{**problem.as_json(), **place(problem.finding).as_json()} for problem in report.problems],
        "promises": [place(finding).as_json() for _, team, finding in report.promises if team is None],
        "teams": [
            {**asdict(team), "flavor": supply.flavor.name, "left": team.left, **place(finding).as_json()}
            for supply, team, finding in report.promises
            if team
        ],
    }


def _flavor(supply: FlavorSupply) -> dict[str, Any]:
    return {
        "unit": supply.flavor.unit,
        "resource": supply.flavor.resource,
        "nodes": {"agreed": supply.flavor.nodes, "found": supply.nodes, "usable": supply.nodes_usable},
        "agreed": supply.flavor.capacity,
        "usable": supply.promises.usable,
        "guaranteed": supply.promises.guaranteed,
        "pool": supply.promises.pool,
        "overlent": supply.overlent,
        "violated": supply.promises.short,
        "short": supply.promises.short,
        "prod_short": supply.promises.prod_short,
    }


def _table(report: Report) -> Table:
    heads = ("nodes agreed", "found", "usable", "units agreed", "usable", "guaranteed", "free pool", "violated")
    made = new_table("flavor", right=heads)
    for supply in report.flavors:
        promises = supply.promises
        numbers = (supply.flavor.nodes, supply.nodes, supply.nodes_usable, supply.flavor.capacity, promises.usable)
        made.add_row(
            supply.flavor.name,
            *map(str, numbers),
            str(promises.guaranteed),
            str(promises.pool),
            str(promises.short or "–"),
        )
    return made
