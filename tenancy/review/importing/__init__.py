"""What is on a cluster already, as an agreement: objects in, the file out, and a list of all that it does not say.

`objects` reads them, `quotas` is the tree of Kueue's, `kueue` and `kai` take from them what has the meaning of an agreement
(`draft`), `values` makes of that what `check` accepts. `differences` (`rows` of quotas) then renders it and compares: the list does not
depend on what the reading understood. `text` writes the file, `records` what `pulumi import` takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...agreement import Agreement
from ...agreement.hardware import UNIT_WORDS
from ...agreement.plan import Plan, make_plan
from ...cluster.nodes import Node
from ...objects.identity import reference
from . import kai, kueue, owners
from .differences import added, differences, rendered
from .draft import Draft, Shape
from .kueue import NothingThere
from .objects import NotObjects, Object, by_reference, is_configuration, is_read, parse
from .outcome import Difference, Outcome
from .shapes import of_nodes
from .text import document
from .values import fitted

__all__ = [
    "Difference",
    "Imported",
    "NotObjects",
    "NothingThere",
    "Object",
    "Outcome",
    "Shape",
    "import_agreement",
    "parse",
]


@dataclass(frozen=True)
class Imported:
    """An agreement read from objects. `not_expressed`: what it does not say of them; `new`: what it makes beside them, by reference;
    `skipped`: objects of kinds that no agreement is read from."""

    agreement: Agreement
    plan: Plan
    text: str
    given: Mapping[str, Object]
    not_expressed: tuple[Difference, ...]
    new: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def owners_unknown(self) -> bool:
        """Whether some object does not say who wrote its fields."""
        return not all(map(owners.known, self.given.values()))

    def as_json(self) -> dict[str, Any]:
        return {
            "agreement": self.text,
            "owners_unknown": self.owners_unknown,
            "unsaid": [difference.as_json() for difference in self.not_expressed],
            "new": list(self.new),
            "skipped": list(self.skipped),
        }


def import_agreement(
    objects: Iterable[Object],
    *,
    source: str,
    cohort: str | None = None,
    shapes: Mapping[str, Shape] | None = None,
    nodes: Iterable[Node] = (),
) -> Imported:
    """The agreement that `objects` keep already. `source` says in its first line where they are from. `shapes` are nodes as
    a person says they are, `nodes` those of the cluster. Raises NothingThere."""
    every = list(objects)
    given = by_reference(every)
    draft = _draft(given, cohort)
    for entry in every:
        if is_configuration(entry):
            kueue.configured(draft, entry)
    if unknown := [name for name in shapes or () if name not in draft.flavors]:
        raise NothingThere(
            f"--nodes {unknown[0]}: there is no flavor with that name; flavors: {', '.join(draft.flavors)}"
        )
    for name, shape in (shapes or {}).items():
        _hold(draft, name, shape)
    there = of_nodes(draft, nodes)
    values, agreement = fitted(draft, {**there, **(shapes or {})})
    plan = make_plan(agreement)
    wanted = rendered(plan, given)
    not_expressed = tuple(differences(given, wanted, draft.left))
    head = [f"Read by `tenancy import` from {source}."]
    if not_expressed:
        head.append(f"It does not express {len(not_expressed)} details of the objects; import lists them.")
    return Imported(
        agreement=agreement,
        plan=plan,
        text=document(values, _comments(draft, plan, there), head),
        given=given,
        not_expressed=not_expressed,
        new=tuple(added(given, wanted)),
        skipped=tuple(_skipped(every)),
    )


def _draft(given: Mapping[str, Object], cohort: str | None) -> Draft:
    """Kueue's where there is something of it: it says more."""
    kinds = {body["kind"] for body in given.values()}
    if kinds & {"ClusterQueue", "Cohort"}:
        draft = kueue.read(given, cohort)
        kai.also(draft, given)
        return draft
    if "Queue" in kinds:
        return kai.read(given)
    raise NothingThere("there is no ClusterQueue, Cohort or KAI Queue to read an agreement from")


def _hold(draft: Draft, name: str, shape: Shape) -> None:
    """Whether nodes that a person names have what is guaranteed on them. Raises NothingThere."""
    owned = sum(team.shares[name].guaranteed for team in draft.teams.values())
    if owned > shape.nodes * shape.units:
        what = UNIT_WORDS[draft.flavors[name].unit][1]
        raise NothingThere(
            f"--nodes {name}={shape.nodes}x{shape.units}: the quotas add up to {owned} {what}, but {shape.nodes} nodes of "
            f"{shape.units} have only {shape.nodes * shape.units}"
        )


def _skipped(objects: Iterable[Object]) -> list[str]:
    return [reference(entry) for entry in objects if not is_read(entry) and not is_configuration(entry)]


def _comments(draft: Draft, plan: Plan, there: Mapping[str, Shape]) -> dict[tuple[str, ...], str]:
    """Beside each flavor what its number of nodes is from."""
    comments: dict[tuple[str, ...], str] = {}
    for flavor in plan.flavors:
        found = there.get(flavor.name)
        if found is None:
            comments["flavors", flavor.name] = (
                f"the quotas add up to {flavor.count(flavor.capacity)}; the number of nodes is a guess"
            )
        elif found.nodes * found.units != flavor.capacity:
            comments["flavors", flavor.name] = (
                f"the quotas add up to {flavor.count(flavor.capacity)}; the cluster has {found.nodes} nodes of {found.units}"
            )
    return comments
