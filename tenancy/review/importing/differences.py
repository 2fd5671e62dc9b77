"""What was given beside what the agreement renders: every difference, with its path, and what becomes of it.

This is the proof that nothing is lost: whatever the reading of an object understood or not, a field that the rendered object
does not have, or has otherwise, is found here. What becomes of a field follows from how it is written: by server-side
apply, which leaves what the agreement does not speak of (but for what kubectl wrote, see `owners`), and replaces whole what
Kueue's CRDs call atomic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...agreement.plan import Plan
from ...objects import kai, kueue
from ...objects.access import namespaces as access
from ...objects.difference import ATOMIC_QUOTAS, DEFAULTS, OF_THE_SERVER, Change, Lists
from ...objects.difference import differences as differences_of
from ...objects.identity import AGREEMENT_LABEL, kind_of, reference
from ...objects.immutable import changed
from . import owners
from .objects import Object, spec_of
from .outcome import Difference, Outcome
from .quotas import Forest, forest
from .rows import quotas

WHY: Mapping[str, str] = {
    "spec.namespaceSelector": "the queue takes jobs of namespaces that carry its team's label, so label those first",
    "spec.nodeLabels": "jobs of the flavor go to nodes that carry these labels",
}
OF_KUBECTL = "kubectl wrote it, and an update takes over the fields that kubectl wrote"
FIXED = "the cluster lets nobody change this field, so give the object a new name, or write the present value into the agreement"
WRITING = frozenset(  # annotations that say how an object is written, and nothing of it
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "pulumi.com/patchFieldManager",
        "pulumi.com/patchForce",
        "pulumi.com/deletionPropagationPolicy",
    }
)


def rendered(plan: Plan, given: Mapping[str, Object]) -> dict[str, Object]:
    """What the agreement makes of the kinds that were given: Kueue's where there is any of Kueue, and so for KAI."""
    groups = {str(body["apiVersion"]).partition("/")[0] for body in given.values()}
    made: list[Object] = []
    if kueue.API_VERSION.partition("/")[0] in groups:
        made += kueue.objects(plan)
        for team in plan.teams:
            for name in team.namespaces:
                made += access.local_queues(plan, team, name)
    if kai.API_VERSION.partition("/")[0] in groups:
        made += kai.objects(plan)
    for team in plan.teams:
        made += [
            access.namespace(plan, team, namespace)
            for namespace in team.namespaces
            if f"Namespace/{namespace}" in given
        ]
    return {reference(body): body for body in made}


def differences(given: Mapping[str, Object], wanted: Mapping[str, Object], left: Mapping[str, str]) -> list[Difference]:
    """In the order of what was given, then what is new. `left`: why an object has no part in the agreement."""
    trees = forest(given.values()), forest(wanted.values())
    found: list[Difference] = []
    for name, body in given.items():
        if name in wanted:
            found += _object(name, body, wanted[name], trees)
        elif body["kind"] != "Namespace":
            why = left.get(name, "the agreement makes no such object")
            found.append(Difference(name, "", _summary(body), Outcome.KEEP, why=why))
    for name in added(given, wanted):
        body = wanted[name]
        if why := _matters(name, body, trees):
            found.append(Difference(name, "", None, Outcome.ADD, _summary(body), why))
    return found


def added(given: Mapping[str, Object], wanted: Mapping[str, Object]) -> list[str]:
    """Every object that the agreement makes and that was not given."""
    return [name for name in wanted if name not in given]


def _matters(name: str, body: Object, trees: tuple[Forest, Forest]) -> str:
    """Why a new object is a change; empty where all is as it was: a Cohort that queues named is one that owns nothing, and a
    LocalQueue is one more way to a queue."""
    if body["kind"] == "LocalQueue":
        return ""
    if body["kind"] != "Cohort":
        return "it is not among the objects that were read"
    node = trees[1].nodes[name]
    owns = any(node.nominal(pair) for pair in node.rows) or any(
        row.borrowing is not None or row.lending is not None for row in node.rows.values()
    )
    if name in trees[0].nodes and not owns and node.parent is None:
        return ""
    if owns:
        return "capacity of its flavors that no queue owns becomes a pool that all may borrow"
    return "the queues get a new parent Cohort"


def _summary(body: Object) -> Any:
    return spec_of(body) or {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}


# --- one object -------------------------------------------------------------------------------------------------------


def _object(name: str, given: Object, wanted: Object, trees: tuple[Forest, Forest]) -> Iterator[Difference]:
    for difference in _fields(name, given, wanted, trees):
        if difference.outcome is Outcome.KEEP and owners.goes(given, _steps(difference.path)):
            default = DEFAULTS.get((kind_of(given), difference.path))
            outcome = Outcome.REMOVE if default is None else Outcome.UPDATE
            yield replace(difference, outcome=outcome, becomes=default, why=OF_KUBECTL)
        else:
            yield difference


def _steps(path: str) -> tuple[str, ...]:
    """`metadata.labels[a.b/c]` as its keys."""
    path, _, last = path.partition("[")
    return (*path.split("."), *([last.removesuffix("]")] if last else ()))


def _fields(name: str, given: Object, wanted: Object, trees: tuple[Forest, Forest]) -> Iterator[Difference]:
    yield from _metadata(name, given, wanted)
    if given["kind"] == "Namespace":  # the rest of it is somebody's, and stays
        return
    kind = kind_of(given)
    fixed = changed(given, wanted)
    for change in differences_of(_compared(wanted), _compared(given), Lists.WHOLE, kind):
        leaf = _leaf(name, kind, change)
        is_fixed = any(leaf.path.startswith(field) for field in fixed) and leaf.outcome is not Outcome.KEEP
        yield replace(leaf, why=FIXED) if is_fixed else leaf
    if kind in ("Cohort", "ClusterQueue"):
        yield from quotas(name, given, wanted, trees)


def _metadata(name: str, given: Object, wanted: Object) -> Iterator[Difference]:
    namespace = given["kind"] == "Namespace"
    for key, value in given["metadata"].items():
        if key in ("labels", "annotations"):
            made = wanted["metadata"].get(key) or {}
            for entry, text in (value or {}).items() if isinstance(value, Mapping) else ():
                if entry in WRITING or made.get(entry) == text or (namespace and entry not in made):
                    continue
                outcome = Outcome.UPDATE if entry in made else Outcome.KEEP
                yield Difference(name, f"metadata.{key}[{entry}]", text, outcome, made.get(entry))
        elif key not in OF_THE_SERVER and value and not namespace:
            yield Difference(name, f"metadata.{key}", value, Outcome.KEEP)
    for key in ("labels", "annotations"):
        there = given["metadata"].get(key) or {}
        for item, text in (wanted["metadata"].get(key) or {}).items():
            if item not in there and item != AGREEMENT_LABEL and not namespace:
                yield Difference(name, f"metadata.{key}[{item}]", None, Outcome.ADD, text)


def _leaf(name: str, kind: str, change: Change) -> Difference:
    """From what is wanted to what was found, so that the list has the order of what was found."""
    path, wanted, found = change.path, change.before, change.after
    if wanted is None:
        return Difference(name, path, found, Outcome.KEEP)
    if found is None:
        return Difference(name, path, DEFAULTS.get((kind, path)), Outcome.ADD, wanted, WHY.get(path, ""))
    return Difference(name, path, found, Outcome.UPDATE, wanted, WHY.get(path, ""))


def _compared(body: Object) -> Object:
    """Without what is not compared field by field: its metadata, its status, and the quotas (see `rows`)."""
    plain = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    if body["kind"] in ("Cohort", "ClusterQueue") and isinstance(spec := plain.get("spec"), Mapping):
        plain["spec"] = {key: value for key, value in spec.items() if key != ATOMIC_QUOTAS}
    return plain
