"""Where two objects differ: the one that we want and the one that is there, or the same object of two agreements.

An object never comes back from the API server as it was written, so a plain comparison finds drift where there is none. What one has to
know for it stands here once:

- The server adds fields: its own metadata and status, defaults, what other controllers write. Server-side apply leaves them alone, so
  beside what is live only what we speak of counts (`spoken_of`). Kueue's quotas are the exception: their list is atomic, the server
  adds nothing to it, and a limit more is somebody's.
- A field that is absent means its default (`DEFAULTS`), and an empty table or list means none.
- Quantities are rewritten in canonical form (`1000m` comes back as `1`), so amounts are compared as numbers.
- Lists are compared as the API merges them: whole, or item by item by the items' names, where order may count too.

`differences` walks both and names the leaves. What a difference means, and how it is told, is the matter of who asks: `review.diff`
(what an update writes), `review.importing` (what an agreement would not say), `status` (what is not as agreed), and whoever only asks
whether there is one (`covers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from ..text.quantity import parse

Steps = tuple[str, ...]
"""Keys from the object down. An item of a list is a step (an `Item`) where it has a name, and none where it has no name."""


class Item(str):
    """The name of an item of a list."""

    __slots__ = ()


ORDER = "(order)"
"""The last step where the same items stand in another order; before and after are then their names."""

ATOMIC_QUOTAS = "resourceGroups"
OF_THE_SERVER = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "name", "namespace"}
    | {"finalizers"}  # Kueue's own, while an object is in use
)
"""Keys of metadata that nobody writes, or that say which object it is."""

# What the server fills in where nothing is said (the CRDs of Kueue 0.19; KAI's Queue fills in nothing).
DEFAULTS: Mapping[tuple[str, str], Any] = {
    ("ClusterQueue", "spec.flavorFungibility.whenCanBorrow"): "MayStopSearch",
    ("ClusterQueue", "spec.flavorFungibility.whenCanPreempt"): "TryNextFlavor",
    ("ClusterQueue", "spec.preemption.borrowWithinCohort.policy"): "Never",
    ("ClusterQueue", "spec.preemption.reclaimWithinCohort"): "Never",
    ("ClusterQueue", "spec.preemption.withinClusterQueue"): "Never",
    ("ClusterQueue", "spec.queueingStrategy"): "BestEffortFIFO",
    ("ClusterQueue", "spec.stopPolicy"): "None",
    ("ClusterQueue", "spec.fairSharing.weight"): 1,
    ("Cohort", "spec.fairSharing.weight"): 1,
    ("LocalQueue", "spec.fairSharing.weight"): 1,
    ("LocalQueue", "spec.stopPolicy"): "None",
}
"""By kind as `identity.kind_of` calls it, and dotted path."""
ATOMIC = ("spec.namespaceSelector", "spec.nodeLabels", "spec.tolerations", "spec.levels")
"""Tables and lists that are written whole, so that a part of one is no difference by itself."""
TOLERATIONS = "spec.tolerations"


class Lists(Enum):
    """How lists are compared."""

    WHOLE = "whole"
    ALIGNED = "aligned"
    """Item by item where both have the same items in the same order, else whole."""
    BY_NAME = "by name"
    """Item by item by their names, also where items come and go; those without names whole, but for a single one."""


@dataclass(frozen=True, slots=True)
class Change:
    """A leaf that differs; None where there is nothing."""

    steps: Steps
    before: Any
    after: Any

    @property
    def path(self) -> str:
        return ".".join(self.steps)


def differences(before: Any, after: Any, lists: Lists, kind: str = "", steps: Steps = ()) -> Iterator[Change]:
    """The leaves that differ, in the order of `after`, then what only `before` has. With a `kind` (as `identity.kind_of` calls it)
    two leaves that mean the same to the API server are no difference; without one they must be equal."""
    path = ".".join(steps)
    if same(kind, path, before, after) if kind else before == after:
        return
    if (tables := _tables(before, after, kind, path)) is not None:
        was, becomes = tables
        for key in dict.fromkeys((*becomes, *was)):
            yield from differences(was.get(key), becomes.get(key), lists, kind, (*steps, str(key)))
    elif (items := _items(before, after, lists)) is not None:
        for step, one, other in items:
            yield from differences(one, other, lists, kind, (*steps, *step))
        if lists is Lists.BY_NAME and (order := _order(before, after)):
            yield Change((*steps, ORDER), *order)
    else:
        yield Change(steps, before, after)


def covers(live: Any, wanted: Any) -> bool:
    """Whether what is live is what is wanted; fields that the cluster added are no difference. Amounts are compared as text: the
    builders write the form that the API server keeps."""
    return next(differences(spoken_of(live, wanted), wanted, Lists.ALIGNED), None) is None


def spoken_of(live: Any, wanted: Any) -> Any:
    """Of what is live, the part that the wanted object speaks of. Quotas stay whole."""
    if isinstance(live, Mapping) and isinstance(wanted, Mapping):
        return {
            key: live[key] if key == ATOMIC_QUOTAS else spoken_of(live[key], value)
            for key, value in wanted.items()
            if key in live
        }
    if isinstance(live, list) and isinstance(wanted, list | tuple) and len(live) == len(wanted):
        return [spoken_of(*pair) for pair in zip(live, wanted, strict=True)]
    return live


# --- what means the same


def same(kind: str, path: str, one: Any, other: Any) -> bool:
    """Whether two leaves of a kind's objects mean the same to the API server."""
    if one == other and type(one) is type(other):
        return True
    if path == TOLERATIONS:
        return bool(_tolerations(one) == _tolerations(other))
    if one is None or other is None:
        there, default = (other if one is None else one), DEFAULTS.get((kind, path))
        return there is not None and (equal(there, default) if default is not None else there in ({}, []))
    return equal(one, other)


def equal(one: Any, other: Any) -> bool:
    """Text as text; numbers, and quantities, as numbers."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) or isinstance(other, int | float):
        number = quantity(one)
        return number is not None and number == quantity(other)
    return bool(one == other)


def quantity(value: Any) -> Fraction | None:
    """A Kubernetes quantity or number, exactly; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse(str(value))
    except ValueError:
        return None


def _tolerations(given: Any) -> Any:
    """Equal is the operator where none is named, and empty the value. Their order means nothing."""
    if not isinstance(given, list):
        return given
    filled = [{"operator": "Equal", "value": "", **one} if isinstance(one, Mapping) else one for one in given]
    return sorted(map(repr, (sorted(one.items()) if isinstance(one, dict) else one for one in filled)))


# --- how two values are walked


def _tables(before: Any, after: Any, kind: str, path: str) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Both as tables, where they are compared key by key. To the API server none is an empty one."""
    if kind and path in ATOMIC:
        return None
    was, becomes = ({} if kind and value is None else value for value in (before, after))
    return (was, becomes) if isinstance(was, Mapping) and isinstance(becomes, Mapping) else None


def _items(before: Any, after: Any, lists: Lists) -> Sequence[tuple[Steps, Any, Any]] | None:
    """Pairs of items that are compared one by one; None where both lists are compared whole."""
    if lists is Lists.BY_NAME:
        if (was := _by_name(before)) is not None and (becomes := _by_name(after)) is not None:
            return [((Item(name),), was.get(name), becomes.get(name)) for name in dict.fromkeys((*becomes, *was))]
        if isinstance(before, list) and isinstance(after, list) and len(before) == len(after) == 1:
            return [((), before[0], after[0])]
    if lists is Lists.ALIGNED and isinstance(before, list) and isinstance(after, list | tuple):
        pairs = list(zip(before, after, strict=False))
        named = [_name(one) for one in before], [_name(one) for one in after]
        if named[0] == named[1] and (isinstance(after, tuple) or all(isinstance(one, Mapping) for one in after)):
            return [((name,) if name else (), *pair) for name, pair in zip(named[0], pairs, strict=True)]
    return None


def _name(item: Any) -> Item | None:
    return Item(item["name"]) if isinstance(item, Mapping) and "name" in item else None


def _by_name(value: Any) -> dict[str, Any] | None:
    """A list of things with names, each once, or nothing (a list that is not there)."""
    if value is None:
        return {}
    if isinstance(value, list) and all(isinstance(item, Mapping) and "name" in item for item in value):
        named = {str(item["name"]): {key: part for key, part in item.items() if key != "name"} for item in value}
        return named if len(named) == len(value) else None
    return None


def _order(before: Any, after: Any) -> tuple[list[str], list[str]] | None:
    """The names that both lists have, where they stand in another order."""
    was, becomes = _by_name(before), _by_name(after)
    if was is None or becomes is None:
        return None
    both = [name for name in was if name in becomes], [name for name in becomes if name in was]
    return None if both[0] == both[1] else both
