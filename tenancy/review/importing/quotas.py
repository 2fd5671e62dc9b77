"""The tree of Kueue's quotas: every node with its rows, its parent, and what of a row means the same as none.

A row is what a node says of one flavor's resource. That a node has no row, and that it has one of 0, is the same for a Cohort;
for a ClusterQueue it is the same only where it may borrow nothing either, or where nobody in the tree has any of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...objects.difference import quantity
from ...quota.tree import lent
from .objects import Object, spec_of

Pair = tuple[str, str]
"""A flavor, and a resource of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """Each number None where the node does not say it."""

    nominal: Fraction | None
    borrowing: Fraction | None
    lending: Fraction | None


NO_ROW = Row(None, None, None)


@dataclass(frozen=True)
class Node:
    """A Cohort, also one that queues name and that is not there, or a ClusterQueue."""

    kind: str
    name: str
    parent: str | None
    rows: Mapping[Pair, Row]
    body: Object | None
    children: list[Node] = field(default_factory=list)

    @property
    def reference(self) -> str:
        return f"{self.kind}/{self.name}"

    def nominal(self, pair: Pair) -> Fraction:
        return self.rows.get(pair, NO_ROW).nominal or Fraction(0)

    def subtree(self, pair: Pair) -> Fraction:
        """What it owns with all below it, as `quota.tree` counts it."""
        return self.nominal(pair) + sum((node.lent(pair) for node in self.children), Fraction(0))

    def lent(self, pair: Pair) -> Fraction:
        """What of that its parent counts."""
        return lent(self.subtree(pair), self.rows.get(pair, NO_ROW).lending)

    def below(self) -> Iterator[Node]:
        """Itself and everything under it, parents first."""
        yield self
        for node in self.children:
            yield from node.below()


@dataclass(frozen=True)
class Forest:
    """Every tree there is. `circular`: Cohorts above which there is no root, and what hangs under them."""

    roots: Sequence[Node]
    nodes: Mapping[str, Node]
    circular: Sequence[Node]

    def total(self, pair: Pair) -> Fraction:
        return sum((node.nominal(pair) for node in self.nodes.values()), Fraction(0))


def forest(objects: Iterable[Object]) -> Forest:
    nodes = {node.reference: node for node in map(_node, objects) if node}
    for item in [*nodes.values()]:
        if item.parent:
            nodes.setdefault(f"Cohort/{item.parent}", Node("Cohort", item.parent, None, {}, None))
    for entry in nodes.values():
        if entry.parent:
            nodes[f"Cohort/{entry.parent}"].children.append(entry)
    roots = [node for node in nodes.values() if node.parent is None]
    reached = {node.reference for root in roots for node in root.below()}
    return Forest(roots, nodes, [node for name, node in nodes.items() if name not in reached])


def _node(body: Object) -> Node | None:
    if body["kind"] not in ("Cohort", "ClusterQueue"):
        return None
    spec = spec_of(body)
    parent = spec.get("cohortName" if body["kind"] == "ClusterQueue" else "parentName")
    rows = {pair: _row(row) for pair, row in raw_rows(spec).items()}
    return Node(
        body["kind"], body["metadata"]["name"], parent if isinstance(parent, str) and parent else None, rows, body
    )


def raw_rows(spec: Mapping[str, Any]) -> dict[Pair, Mapping[str, Any]]:
    """The rows as they stand there, whatever group they are in."""
    return {
        (flavor["name"], row["name"]): row for flavor in raw_flavors(spec) for row in _named(flavor.get("resources"))
    }


def raw_flavors(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    groups = spec.get("resourceGroups")
    return [
        flavor
        for group in (groups if isinstance(groups, list) else ())
        if isinstance(group, Mapping)
        for flavor in _named(group.get("flavors"))
    ]


def flavors_of(nodes: Iterable[Node]) -> list[str]:
    """The flavors in the order that most queues try them: each stands after those that stand before it in more queues than
    behind it."""
    before: dict[Pair, int] = defaultdict(int)
    order: dict[str, int] = {}
    for node in nodes:
        names = [flavor["name"] for flavor in raw_flavors(spec_of(node.body or {}))]
        for place, name in enumerate(names):
            order.setdefault(name, len(order))
            for later in names[place + 1 :]:
                before[name, later] += 1
    left, found = list(order), list[str]()
    while left:
        first = min(
            left, key=lambda entry: (sum(before[other, entry] > before[entry, other] for other in left), order[entry])
        )
        left.remove(first)
        found.append(first)
    return found


def _row(row: Mapping[str, Any]) -> Row:
    return Row(*(quantity(row.get(key)) for key in ("nominalQuota", "borrowingLimit", "lendingLimit")))


def _named(items: Any) -> list[Mapping[str, Any]]:
    found = items if isinstance(items, list) else []
    return [entry for entry in found if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)]
