"""Whether the cluster holds the agreement: its queues and what they hang under, beside what the agreement makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...objects.difference import Lists, differences, spoken_of
from ...objects.identity import reference
from .. import Kind, Violation
from ..words import short_text

Object = Mapping[str, Any]
Change = tuple[tuple[str, ...], Any, Any]
"""Where, what is there, what is agreed; None: nothing."""

PUT_BACK = "pulumi refresh and pulumi up put it back; or tenancy render and kubectl apply --server-side"
STRUCTURE = {"resourceGroups", "flavors", "resources"}  # says nothing beside the names in it
MOST_CHANGES = 2


def missing(body: Object, team: str, flavor: str) -> Violation:
    return Violation(Kind.MISSING, team, flavor, f"{reference(body)} is not on the cluster", PUT_BACK)


def changed(live: Object, body: Object, team: str, flavor: str, flavors: Iterable[str]) -> Violation | None:
    """None where it is as agreed. Of a flavor where nothing else of the object differs."""
    found = list(changes(live.get("spec") or {}, body.get("spec") or {}))
    if not found:
        return None
    of = {next((part for part in where if part in set(flavors)), "") for where, _, _ in found}
    said = [f"{' '.join(part for part in where if part not in STRUCTURE)} {_value(there)} instead of {_value(agreed)}"
            for where, there, agreed in found[:MOST_CHANGES]]  # fmt: skip
    more = f" and {len(found) - MOST_CHANGES} more" if len(found) > MOST_CHANGES else ""
    why = f"{reference(body)} is not as agreed: {', '.join(said)}{more}"
    return Violation(Kind.CHANGED, team, flavor or (of.pop() if len(of) == 1 else ""), why, PUT_BACK)


def changes(live: Any, wanted: Any) -> Iterator[Change]:
    """Fields that are not as agreed. What the cluster added is none, but for a limit where the agreement has none."""
    for change in differences(spoken_of(live, wanted), wanted, Lists.ALIGNED):
        yield change.steps, change.before, change.after


def _value(value: Any) -> str:
    return "none" if value is None else short_text(str(value), 60)
