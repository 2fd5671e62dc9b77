"""An agreement in one line, and as plain data for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from ...agreement.hardware import by_flavor, resolve
from ...agreement.model import Agreement
from ...agreement.plan import Plan
from ...objects.registry import OBJECTS
from ...objects.schedulers import Scheduler
from ...quota.reach import reaches
from ...text.counts import counted
from .. import fidelity


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
    return f"fine: {counted(len(agreement.teams), 'team')}, {counted(len(agreement.flavors), 'flavor')}, {amounts}"


def as_json(plan: Plan, teams: Collection[str] = (), flavors: Collection[str] = ()) -> dict[str, Any]:
    """All of `show` for a program; of teams and flavors only these, where some are named.

    Amounts are in units of the flavor; `borrowable` null is no limit.
    """
    reach = {flavor.name: reaches(plan, flavor.name) for flavor in plan.flavors}
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
            if not flavors or flavor.name in flavors
        },
        "teams": {
            team.name: {
                "display_name": team.display_name,
                "department": team.department,
                "shares": {
                    flavor: {
                        "guaranteed": share.guaranteed,
                        "lendable": share.lendable,
                        "reserved": share.guaranteed - share.lendable,
                        "borrowable": share.borrowable,
                        "prod": share.prod,
                        "reach": reach[flavor][team.name],
                    }
                    for flavor, share in team.shares.items()
                    if not flavors or flavor in flavors
                },
            }
            for team in plan.teams
            if not teams or team.name in teams
        },
        "objects": {str(scheduler): kinds(OBJECTS[scheduler].objects(plan)) for scheduler in Scheduler},
        "fidelity": [
            {
                "scheduler": verdict.scheduler,
                "promise": verdict.promise,
                "level": verdict.level,
                "for": list(verdict.subjects),
                "how": verdict.how,
            }
            for verdict in fidelity.verdicts(plan)
        ],
    }


def kinds(objects: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(one["kind"] for one in objects))
