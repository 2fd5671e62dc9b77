"""The quotas of a queue beside those that the agreement renders: row by row, by the names of flavor and resource.

Only here two things that are written otherwise can mean the same: no row and one of 0, no lendingLimit and one that holds
nothing back. The list is written whole, so what is not in the rendered one goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...objects.difference import quantity
from .objects import Object, spec_of
from .outcome import Difference, Outcome
from .quotas import Forest, Pair, raw_flavors, raw_rows

_FIELDS = ("nominalQuota", "borrowingLimit", "lendingLimit")
GROUPS = "spec.resourceGroups"


def quotas(name: str, given: Object, wanted: Object, trees: tuple[Forest, Forest]) -> Iterator[Difference]:
    there, made = spec_of(given), spec_of(wanted)
    rows, wanted_rows = raw_rows(there), raw_rows(made)
    flavors = {flavor for flavor, _ in wanted_rows}
    yield from _groups(name, given["kind"], there, made, flavors)
    gone = dict.fromkeys(flavor["name"] for flavor in raw_flavors(there) if flavor["name"] not in flavors)
    for flavor in gone:
        of_it = {resource: row for (value, resource), row in rows.items() if value == flavor}
        if given["kind"] == "ClusterQueue" or any(not _is_none(row) for row in of_it.values()):
            yield Difference(name, f"{GROUPS}.flavors[{flavor}]", _plain(of_it), Outcome.REMOVE)
    yield from _unknown(name, there)
    for pair in dict.fromkeys((*rows, *wanted_rows)):
        if pair[0] not in gone:
            yield from _row(name, given["kind"], pair, rows.get(pair), wanted_rows.get(pair), trees)


def _row(
    name: str,
    kind: str,
    pair: Pair,
    found: Mapping[str, Any] | None,
    wanted: Mapping[str, Any] | None,
    trees: tuple[Forest, Forest],
) -> Iterator[Difference]:
    path = f"{GROUPS}.flavors[{pair[0]}].resources[{pair[1]}]"
    if found is None:
        assert wanted is not None
        nobody_has = not trees[0].total(pair) and not trees[1].total(pair)
        unusable = not quantity(wanted["nominalQuota"]) and (nobody_has or quantity(wanted.get("borrowingLimit")) == 0)
        if not (unusable if kind == "ClusterQueue" else _is_none(wanted)):
            yield Difference(name, path, None, Outcome.ADD, _plain(wanted))
        return
    if wanted is None:
        if kind == "ClusterQueue" or not _is_none(found):
            yield Difference(name, path, _plain(found), Outcome.REMOVE)
        return
    for key in dict.fromkeys((*_FIELDS, *found)):
        if key == "name":
            continue
        one, other = found.get(key), wanted.get(key)
        if one is None and other is None:
            continue
        if one is None:
            if not _implied(name, key, pair, other, trees):
                yield Difference(name, f"{path}.{key}", None, Outcome.ADD, other)
        elif other is None:
            yield Difference(name, f"{path}.{key}", one, Outcome.REMOVE)
        elif quantity(one) is None or quantity(one) != quantity(other):
            yield Difference(name, f"{path}.{key}", one, Outcome.UPDATE, other)


def _implied(name: str, key: str, pair: Pair, wanted: Any, trees: tuple[Forest, Forest]) -> bool:
    """Whether saying nothing is the same: a nominalQuota of 0, and a lendingLimit that holds nothing back."""
    number = quantity(wanted)
    if key == "nominalQuota":
        return number == 0
    return key == "lendingLimit" and number is not None and number >= trees[1].nodes[name].subtree(pair)


def _is_none(row: Mapping[str, Any]) -> bool:
    """Whether a Cohort's row says no more than none would."""
    plain = {key: value for key, value in row.items() if key not in ("name", "nominalQuota")}
    return not plain and quantity(row.get("nominalQuota", 0)) == 0


def _groups(name: str, kind: str, there: Object, made: Object, flavors: Iterable[str]) -> Iterator[Difference]:
    """A flavor of each group is chosen for a job, in the order of the group. For a Cohort groups only hold the numbers."""
    before, after = _covered(there), _covered(made)
    covered, covers = set[str]().union(*before), set[str]().union(*after)
    for resource in sorted(covered - covers):
        path = f"{GROUPS}.coveredResources[{resource}]"
        why = "a job that requests it is no longer admitted" if kind == "ClusterQueue" else ""
        yield Difference(name, path, resource, Outcome.REMOVE, why=why)
    if kind != "ClusterQueue":
        return
    if len(before) > 1:
        why = "a job gets all its resources from one flavor"
        yield Difference(
            name, GROUPS, [sorted(entry) for entry in before], Outcome.UPDATE, [sorted(entry) for entry in after], why
        )
    owned = {value for (_, value), row in raw_rows(made).items() if quantity(row.get("nominalQuota"))}
    for resource in sorted((covers - covered) & owned):
        why = "until now a job could request any amount of it"
        yield Difference(name, f"{GROUPS}.coveredResources[{resource}]", None, Outcome.ADD, resource, why)
    order = [flavor["name"] for flavor in raw_flavors(there) if flavor["name"] in set(flavors)]
    wanted = [flavor["name"] for flavor in raw_flavors(made) if flavor["name"] in order]
    if order != wanted:
        why = "jobs try the flavors in this order"
        yield Difference(name, f"{GROUPS}.flavors", order, Outcome.UPDATE, wanted, why)


def _covered(spec: Object) -> list[set[str]]:
    groups = spec.get("resourceGroups")
    return [
        {str(resource) for resource in group["coveredResources"]}
        if isinstance(group.get("coveredResources"), list)
        else set()
        for group in (groups if isinstance(groups, list) else ())
        if isinstance(group, Mapping)
    ]


def _unknown(name: str, spec: Object) -> Iterator[Difference]:
    """What an API to come has, or a typing error: the list is written whole, so it goes."""
    groups = spec.get("resourceGroups")
    if groups is not None and not isinstance(groups, list):
        yield Difference(name, GROUPS, groups, Outcome.REMOVE)
        return
    for number, group in enumerate(groups or ()):
        path = f"{GROUPS}[{number}]"
        if not isinstance(group, Mapping):
            yield Difference(name, path, group, Outcome.REMOVE)
            continue
        for key in (key for key in group if key not in ("coveredResources", "flavors")):
            yield Difference(name, f"{path}.{key}", group[key], Outcome.REMOVE)
        if not isinstance(covered := group.get("coveredResources", []), list):
            yield Difference(name, f"{path}.coveredResources", covered, Outcome.REMOVE)
        yield from _odd(name, f"{path}.flavors", group.get("flavors"))
    seen: set[str] = set()
    for flavor in raw_flavors(spec):
        path = f"{GROUPS}.flavors[{flavor['name']}]"
        if flavor["name"] in seen:
            yield Difference(name, path, flavor, Outcome.REMOVE, why="the flavor is listed twice")
        seen.add(flavor["name"])
        for key in (key for key in flavor if key not in ("name", "resources")):
            yield Difference(name, f"{path}.{key}", flavor[key], Outcome.REMOVE)
        yield from _odd(name, f"{path}.resources", flavor.get("resources"))


def _odd(name: str, path: str, items: Any) -> Iterator[Difference]:
    """What is no list of things with names, each once."""
    if items is not None and not isinstance(items, list):
        yield Difference(name, path, items, Outcome.REMOVE)
        return
    seen: set[str] = set()
    for item in items or ():
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or item["name"] in seen:
            yield Difference(name, path, item, Outcome.REMOVE)
        else:
            seen.add(item["name"])


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "name"} or {}
