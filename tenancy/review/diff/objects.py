"""Which objects a change makes, deletes, changes or replaces, for each scheduler, and what that costs.

The objects are those of the builders, so this is what `render` would write differently and what `pulumi up` would do. What happens to
jobs follows from rules of the cluster that are known by the kind and the field: each is a line of a table below, with where it
was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...agreement.plan import Plan
from ...objects import access, immutable
from ...objects.access import Namespaces
from ...objects.difference import ORDER, Item, Lists, differences
from ...objects.identity import kind_of, reference
from ...objects.registry import OBJECTS
from ...objects.schedulers import Scheduler

Object = Mapping[str, Any]
Field = tuple[str, str, str]
"""Where, what was there, what will be; empty where nothing was or will be."""


class Action(StrEnum):
    """What an update does with an object."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    REFUSED = "refused"
    """The cluster lets nobody make this change: another name is needed."""


FATES: Mapping[Action, str] = {
    Action.CREATE: "made",
    Action.UPDATE: "changed",
    Action.REPLACE: "replaced",
    Action.DELETE: "deleted",
    Action.REFUSED: "refused",
}
"""The same as `fate` in JSON, which programs read already."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    reference: str
    action: Action
    fields: tuple[Field, ...] = ()
    cost: str = ""


def object_changes(
    old: Plan, new: Plan, schedulers: Collection[Scheduler], namespaces: Namespaces
) -> dict[str, tuple[ObjectChange, ...]]:
    """By whom they are for: a scheduler, or `access`. Those of a scheduler that gets none for either agreement are left out."""
    for_kueue, for_kai = (scheduler in schedulers for scheduler in (Scheduler.KUEUE, Scheduler.KAI))
    builders: dict[str, Callable[[Plan], list[dict[str, Any]]]] = {
        str(scheduler): OBJECTS[scheduler].objects for scheduler in Scheduler if scheduler in schedulers
    }
    builders["access"] = lambda plan: access.objects(plan, namespaces, kueue=for_kueue, kai=for_kai)
    return {name: changes for name, build in builders.items() if (changes := tuple(_changes(build(old), build(new))))}


def _changes(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[ObjectChange]:
    was, becomes = ({reference(entry): entry for entry in objects} for objects in (old, new))
    for name, body in becomes.items():
        if name not in was:
            yield ObjectChange(name, Action.CREATE)
        elif was[name] != body and (fields := tuple(differing(was[name], body))):
            yield _changed(name, was[name], body, fields)
    for name, body in was.items():
        if name not in becomes:
            yield ObjectChange(name, Action.DELETE, cost=_WHEN_DELETED.get(kind_of(body), ""))


def _changed(name: str, was: Object, becomes: Object, fields: tuple[Field, ...]) -> ObjectChange:
    kind = kind_of(becomes)
    if stuck := immutable.changed(was, becomes):
        if immutable.is_replaced(becomes):
            return ObjectChange(name, Action.REPLACE, fields, _WHEN_REPLACED.get(kind, ""))
        cost = f"the cluster lets nobody change {', '.join(stuck)}: give the {kind} a new name in the agreement"
        return ObjectChange(name, Action.REFUSED, fields, cost)
    if kind == "Namespace":
        return ObjectChange(name, Action.UPDATE, fields)
    costs = [
        cost for key, cost in _WHEN_CHANGED.get(kind, {}).items() if any(where.endswith(key) for where, *_ in fields)
    ]
    return ObjectChange(name, Action.UPDATE, fields, "; ".join(costs))


_WHEN_DELETED = {
    # docs/namespaces.md, tests/on_lab/test_namespaces.py
    "ClusterQueue": "Kueue keeps it until its last job has ended, and admits no new job to it; until then its quota is counted in addition "
    "to the other teams' quota, so lower the team to 0 in an earlier update",
    "LocalQueue": "running jobs keep running, pending jobs stay pending",
    "ResourceFlavor": "Kueue keeps it as long as a queue names it",
    "Namespace": "only its label is removed; the namespace and everything in it stay",
    "Profile": "it stays on the cluster, with its namespace",
    # docs/kai.md
    "Queue": "running jobs keep running, and no queue counts them; pending jobs that name it never start",
}
_WHEN_REPLACED = {
    "LocalQueue": "running jobs stay on the old queue's quota until they end, pending jobs move to the new queue",
    "PriorityClass": "existing pods keep the old value; until the new PriorityClass exists, new pods that name it are refused",
}
_WHEN_CHANGED: Mapping[str, Mapping[str, str]] = {
    "ClusterQueue": {
        "cohortName": "it moves to another Cohort with all its running jobs; no job is preempted",
        "namespaceSelector.matchLabels": "it accepts jobs only from namespaces with the new label",
    },
    "Cohort": {"parentName": "it moves with everything below it; no job is preempted"},
    "WorkloadPriorityClass": {"value": "Kueue also gives the new value to existing jobs"},
    "PriorityClass": {
        "value": "Kubernetes lets nobody change the value: delete the PriorityClass first, or give it a new name"
    },
    "Queue": {"parentQueue": "it moves with all its running jobs"},
}


def differing(was: Any, becomes: Any) -> Iterator[Field]:
    """The leaves that differ, as text. The steps in which every quota of Kueue stands are left out of the path."""
    for change in differences(was, becomes, Lists.BY_NAME):
        steps = [step for step in change.steps if isinstance(step, Item) or step not in (*_LEFT_OUT, ORDER)]
        order = f" {ORDER}" if change.steps[-1] == ORDER else ""
        yield (f"{'.'.join(steps)}{order}", _text(change.before), _text(change.after))


_LEFT_OUT = ("spec", "resourceGroups", "flavors", "resources")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping) and len(value) == 1:
        return _text(next(iter(value.values())))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)
