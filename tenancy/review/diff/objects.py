"""Which objects a change makes, deletes, changes or replaces, for each scheduler, and what that costs.

The objects are those of the builders, so this is what `render` would write differently and what `pulumi up` would do. What happens to
jobs follows from rules of the cluster that are known by the kind and the field: each is a line of a table below, with where it
was seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...agreement.plan import Plan
from ...objects import access, kai, kueue
from ...objects import immutable as fixed
from ...objects.access import Namespaces
from ...objects.difference import ORDER, Item, Lists, differences
from ...objects.identity import kind_of, reference
from ...objects.schedulers import Scheduler

Object = Mapping[str, Any]
Field = tuple[str, str, str]
"""Where, what was there, what will be; empty where nothing was or will be."""


class Fate(StrEnum):
    """What becomes of an object."""

    MADE = "made"
    CHANGED = "changed"
    REPLACED = "replaced"
    DELETED = "deleted"
    REFUSED = "refused"
    """The cluster lets nobody make this change: another name is needed."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    reference: str
    fate: Fate
    fields: tuple[Field, ...] = ()
    cost: str = ""


def object_changes(
    old: Plan, new: Plan, schedulers: Collection[Scheduler], namespaces: Namespaces
) -> dict[str, tuple[ObjectChange, ...]]:
    """By whom they are for: a scheduler, or `access`. Those of a scheduler that gets none for either agreement are left out."""
    for_kueue, for_kai = (scheduler in schedulers for scheduler in (Scheduler.KUEUE, Scheduler.KAI))
    builders = {
        "kueue": (lambda plan: kueue.objects(plan)) if for_kueue else None,
        "kai": (lambda plan: kai.objects(plan)) if for_kai else None,
        "access": lambda plan: access.objects(plan, namespaces, kueue=for_kueue, kai=for_kai),
    }
    return {
        name: changes
        for name, build in builders.items()
        if build and (changes := tuple(_changes(build(old), build(new))))
    }


def _changes(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[ObjectChange]:
    was, becomes = ({reference(entry): entry for entry in objects} for objects in (old, new))
    for name, body in becomes.items():
        if name not in was:
            yield ObjectChange(name, Fate.MADE)
        elif was[name] != body and (fields := tuple(differing(was[name], body))):
            yield _changed(name, was[name], body, fields)
    for name, body in was.items():
        if name not in becomes:
            yield ObjectChange(name, Fate.DELETED, cost=_WHEN_DELETED.get(kind_of(body), ""))


def _changed(name: str, was: Object, becomes: Object, fields: tuple[Field, ...]) -> ObjectChange:
    kind = kind_of(becomes)
    if stuck := fixed.changed(was, becomes):
        if fixed.is_replaced(becomes):
            return ObjectChange(name, Fate.REPLACED, fields, _WHEN_REPLACED.get(kind, ""))
        cost = f"the cluster lets nobody change {', '.join(stuck)}: give the {kind} a new name in the agreement"
        return ObjectChange(name, Fate.REFUSED, fields, cost)
    if kind == "Namespace":
        return ObjectChange(name, Fate.CHANGED, fields)
    costs = [
        cost for key, cost in _WHEN_CHANGED.get(kind, {}).items() if any(where.endswith(key) for where, *_ in fields)
    ]
    return ObjectChange(name, Fate.CHANGED, fields, "; ".join(costs))


_WHEN_DELETED = {
    # docs/namespaces.md, tests/on_lab/test_namespaces.py
    "ClusterQueue": "Kueue keeps it until its last job has ended, and admits nothing to it meanwhile; until then its quota counts "
    "beside what others are promised, so lower a team to 0 in an update before the one that it goes with",
    "LocalQueue": "jobs that run go on, jobs that wait in it wait on",
    "ResourceFlavor": "Kueue keeps it while a queue names it",
    "Namespace": "its label goes; the namespace and all in it stay",
    "Profile": "stays on the cluster, with its namespace",
    # docs/kai.md
    "Queue": "jobs that run in it go on, uncounted; jobs that wait and name it wait for ever",
}
_WHEN_REPLACED = {
    "LocalQueue": "jobs that run end on the old queue's quota, jobs that wait go to the new one's",
    "PriorityClass": "pods that are there keep the old value; until the new one is there, pods that name it are refused",
}
_WHEN_CHANGED: Mapping[str, Mapping[str, str]] = {
    "ClusterQueue": {
        "cohortName": "moves to another Cohort with all that runs in it; nothing is stopped",
        "namespaceSelector.matchLabels": "takes jobs only from namespaces with the new label",
    },
    "Cohort": {"parentName": "moves with all that is below it; nothing is stopped"},
    "WorkloadPriorityClass": {"value": "Kueue gives the new value to jobs that are there, too"},
    "PriorityClass": {
        "value": "Kubernetes lets nobody change it: delete the PriorityClass first, or give it a new name"
    },
    "Queue": {"parentQueue": "moves with all that runs in it"},
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
