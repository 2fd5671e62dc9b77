"""The sound part of values that are no agreement, so that one mistyped number does not hide the other problems.

What is broken is left out whole, with every mention of it: a team with a wrong amount, a flavor and the amounts of it.
What the checks then find in the rest they would find in the mended file too. Where leaving out would change what the rest
means (no cluster, an unknown table), there is no sound part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .findings import Path
from .model import Agreement

NAMED = ("topologies", "flavors", "departments", "priorities", "teams")  # tables of named things
PROMISES = ("guaranteed", "lendable", "borrowable", "prod")


def sound_part(values: object, broken: Iterable[Path]) -> dict[str, Any] | None:
    """`values` without what the `broken` paths lie in; None where nothing is to be learned from the rest."""
    if not isinstance(values, Mapping) or not all(isinstance(table, Mapping) for table in values.values()):
        return None
    rest = {name: dict(table) for name, table in values.items()}
    for path in broken:
        if len(path) < 2 or path[0] not in Agreement.model_fields or path[:2] == ("cluster", "name"):
            return None
        if path[0] == "access":
            rest.pop("access", None)
        else:
            rest[str(path[0])].pop(path[1], None)
    if not rest.get("flavors"):
        return None
    gone = {table: set(values.get(table, ())) - set(rest.get(table, ())) for table in NAMED}
    rest["flavors"] = {
        name: _without(flavor, "topology", gone["topologies"]) for name, flavor in rest["flavors"].items()
    }
    rest["cluster"] = _without(rest["cluster"], "prod_priority", gone["priorities"])
    rest["teams"] = {name: _team(team, gone) for name, team in rest.get("teams", {}).items()}
    if "access" in values and "access" not in rest:
        of_access = ("members", "leads", "highest_priority")
        rest["teams"] = {
            name: {key: value for key, value in team.items() if key not in of_access}
            for name, team in rest["teams"].items()
        }
    return rest


def _team(team: Mapping[str, Any], gone: Mapping[str, set[str]]) -> dict[str, Any]:
    """A bare number is of the only flavor, so with a flavor gone nobody knows of which it is."""
    kept = _without(_without(team, "department", gone["departments"]), "highest_priority", gone["priorities"])
    for promise in PROMISES if gone["flavors"] else ():
        amounts = kept.pop(promise, None)
        if isinstance(amounts, Mapping):
            kept[promise] = {flavor: amount for flavor, amount in amounts.items() if flavor not in gone["flavors"]}
    return kept


def _without(table: Mapping[str, Any], key: str, gone: set[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != key or value not in gone}
