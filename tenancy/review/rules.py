"""What any set of queues must keep to, whoever wrote them: the arithmetic of an agreement, held against objects.

The builders keep these rules by themselves. They are for stacks that write queues by other means beside, and for a
reviewer who would rather have a machine look: `policy/` runs them on everything a Pulumi stack is about to write.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..agreement.plan import Plan
from ..objects import kai, kueue
from ..objects.identity import AGREEMENT_LABEL
from ..objects.quotas import resource_quotas
from ..text.quantity import bytes_text, milli_text, parse, whole
from ..text.spelling import similar

GROUPS = (kueue.API_VERSION.partition("/")[0], kai.API_VERSION.partition("/")[0])
QUEUES = ("Cohort", "ClusterQueue", "Queue")  # what holds a promise; a LocalQueue only leads to one

Object = Mapping[str, Any]
Amounts = Counter[tuple[str, str]]
"""By flavor and resource: bytes of memory, thousandths of all else."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an object breaks, in a sentence with its name, the numbers and what would be right. `reference` is
    `ClusterQueue/training`."""

    reference: str
    message: str


def is_queue(body: Object, kinds: Sequence[str] = QUEUES) -> bool:
    """Whether an object is one of Kueue's or KAI's of these kinds."""
    group = str(body.get("apiVersion", "")).partition("/")[0]
    return group in GROUPS and body.get("kind") in kinds


def lends_more_than_it_has(objects: Iterable[Object]) -> Iterator[Violation]:
    """A lendingLimit above the nominalQuota it is a part of: a ClusterQueue's own, or that of a Cohort's whole subtree."""
    nodes = [entry for entry in objects if is_queue(entry, ("Cohort", "ClusterQueue"))]
    below = defaultdict(list)
    for item in nodes:
        below[item["spec"].get("cohortName" if item["kind"] == "ClusterQueue" else "parentName")].append(item)

    def owned(node: Object, above: tuple[str, ...] = ()) -> Amounts:
        amounts, name = _amounts(node, "nominalQuota"), _name(node)
        if node["kind"] == "Cohort" and name not in above:  # a cycle is the API server's to refuse
            for entry in below[name]:
                amounts += owned(entry, (*above, name))
        return amounts

    for node in nodes:
        has = owned(node)
        over = {key: lends for key, lends in _amounts(node, "lendingLimit").items() if lends > has[key]}
        for flavor in dict.fromkeys(flavor for flavor, _ in over):
            numbers = " and ".join(
                f"{_text(resource, lends)} of {_text(resource, has[of, resource])} {resource}"
                for (of, resource), lends in over.items()
                if of == flavor
            )
            what = "its subtree has" if node["kind"] == "Cohort" else "it has"
            yield Violation(
                _reference(node),
                f"{_reference(node)} may lend more of flavor {flavor} than {what}: {numbers}; "
                "lower its lendingLimit to that, or raise the guarantee",
            )


def promises_more_than_there_is(objects: Iterable[Object], plan: Plan) -> Iterator[Violation]:
    """More nominalQuota on all nodes of the tree together than the flavor has."""
    nodes = [entry for entry in objects if is_queue(entry, ("Cohort", "ClusterQueue"))]
    given = {_reference(entry): _amounts(entry, "nominalQuota") for entry in kueue.objects(plan) if is_queue(entry)}
    total: Amounts = sum((_amounts(node, "nominalQuota") for node in nodes), Counter())
    there = _capacity(plan)
    over = {key: amount for key, amount in total.items() if amount > there[key]}
    for flavor in dict.fromkeys(flavor for flavor, _ in over):
        numbers = " and ".join(
            f"{_text(resource, amount)} {resource} where there are {_text(resource, there[of, resource])}"
            for (of, resource), amount in over.items()
            if of == flavor
        )
        more = [
            node
            for node in nodes
            if (_amounts(node, "nominalQuota") - given.get(_reference(node), Counter())) & Counter(over)
        ]
        names = ", ".join(map(_reference, more[:5])) + (f" and {len(more) - 5} others" if len(more) > 5 else "")
        yield Violation(
            _reference(more[0]) if more else "",
            f"the guarantees of flavor {flavor} come to {numbers} in the agreement of {plan.cluster}; "
            f"more than it gives is owned by {names}: lower that, or give the flavor more nodes",
        )


def queues_of(plan: Plan) -> frozenset[str]:
    """Every queue of the agreement, in both schedulers, by reference."""
    return frozenset(_reference(entry) for entry in (*kueue.objects(plan), *kai.objects(plan)) if is_queue(entry))


def outside(body: Object, cluster: str, known: frozenset[str]) -> Violation | None:
    """A queue that is none of the agreement's (`queues_of`), or that says it is of another."""
    if not is_queue(body, (*QUEUES, "LocalQueue")):
        return None
    reference = _reference(body)
    wanted, verb = reference, "is"
    if body["kind"] == "LocalQueue":
        wanted = f"ClusterQueue/{body.get('spec', {}).get('clusterQueue')}"
        verb = f"leads to {wanted}, which is"
    if wanted not in known:
        near = similar(wanted, sorted(known))
        meant = f"did you mean {near[0]}? Or give" if near else "give"
        remedy = f"{meant} the team a table in it, or write the queue from another stack"
        return Violation(reference, f"{reference} {verb} not in the agreement of {cluster}; {remedy}")
    label = body["metadata"].get("labels", {}).get(AGREEMENT_LABEL)
    if body["kind"] == "LocalQueue" or label == cluster:
        return None
    said = f"{AGREEMENT_LABEL}={label}" if label else f"no {AGREEMENT_LABEL}"
    return Violation(
        reference,
        f"{reference} has the name of a queue of {cluster} and carries {said}; write it from that agreement, or rename it",
    )


def _capacity(plan: Plan) -> Amounts:
    """Everything of every flavor."""
    return Counter(
        {
            (flavor.name, row["name"]): amount
            for flavor in plan.flavors
            for row in resource_quotas(plan, flavor, {flavor.name: flavor.capacity}, {}, {})
            if (amount := _number(row["name"], row["nominalQuota"])) is not None
        }
    )


def _amounts(node: Object, field: str) -> Amounts:
    """What a node says of each flavor's resources; what is no quantity is the API server's to refuse."""
    return Counter(
        {
            (flavor["name"], quota["name"]): amount
            for group in node.get("spec", {}).get("resourceGroups", ())
            for flavor in group["flavors"]
            for quota in flavor["resources"]
            if field in quota and (amount := _number(quota["name"], quota[field])) is not None
        }
    )


def _number(resource: str, value: Any) -> int | None:
    try:
        number = parse(str(value))
    except ValueError:
        return None
    return None if number < 0 else whole(number * (1 if resource == "memory" else 1000))


def _text(resource: str, amount: int) -> str:
    return bytes_text(amount) if resource == "memory" else milli_text(amount)


def _name(body: Object) -> str:
    return str(body["metadata"]["name"])


def _reference(body: Object) -> str:
    return f"{body['kind']}/{_name(body)}"
