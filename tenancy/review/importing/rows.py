"""The quotas of a queue beside those that the agreement renders: row by row, by the names of flavor and resource.

Only here two things that are written otherwise can mean the same: no row and one of 0, no lendingLimit and one that holds
nothing back. The list is written whole, so what is not in the rendered one goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...objects.difference import quantity
from .objects import Object, spec_of
from .outcome import Difference, Fate
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
            yield Difference(name, f"{GROUPS}.flavors[{flavor}]", _plain(of_it), Fate.DROPPED)
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
            yield Difference(name, path, None, Fate.ADDED, _plain(wanted))
        return
    if wanted is None:
        if kind == "ClusterQueue" or not _is_none(found):
            yield Difference(name, path, _plain(found), Fate.DROPPED)
        return
    for key in dict.fromkeys((*_FIELDS, *found)):
        if key == "name":
            continue
        one, other = found.get(key), wanted.get(key)
        if one is None and other is None:
            continue
        if one is None:
            if not _implied(name, key, pair, other, trees):
                yield Difference(name, f"{path}.{key}", None, Fate.ADDED, other)
        elif other is None:
            yield Difference(name, f"{path}.{key}", one, Fate.DROPPED)
        elif quantity(one) is None or quantity(one) != quantity(other):
            yield Difference(name, f"{path}.{key}", one, Fate.CHANGED, other)


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
        why = "a job that asks for it is admitted no more" if kind == "ClusterQueue" else ""
        yield Difference(name, path, resource, Fate.DROPPED, why=why)
    if kind != "ClusterQueue":
        return
    if len(before) > 1:
        why = "one flavor gives a job all it asks for"
        yield Difference(
            name, GROUPS, [sorted(entry) for entry in before], Fate.CHANGED, [sorted(entry) for entry in after], why
        )
    owned = {value for (_, value), row in raw_rows(made).items() if quantity(row.get("nominalQuota"))}
    for resource in sorted((covers - covered) & owned):
        why = "until then a job could ask for any amount of it"
        yield Difference(name, f"{GROUPS}.coveredResources[{resource}]", None, Fate.ADDED, resource, why)
    order = [flavor["name"] for flavor in raw_flavors(there) if flavor["name"] in set(flavors)]
    wanted = [flavor["name"] for flavor in raw_flavors(made) if flavor["name"] in order]
    if order != wanted:
        why = "the order in which a job tries them"
        yield Difference(name, f"{GROUPS}.flavors", order, Fate.CHANGED, wanted, why)


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
        yield Difference(name, GROUPS, groups, Fate.DROPPED)
        return
    for number, group in enumerate(groups or ()):
        path = f"{GROUPS}[{number}]"
        if not isinstance(group, Mapping):
            yield Difference(name, path, group, Fate.DROPPED)
            continue
        for key in group.keys() - {"coveredResources", "flavors"}:
            yield Difference(name, f"{path}.{key}", group[key], Fate.DROPPED)
        if not isinstance(covered := group.get("coveredResources", []), list):
            yield Difference(name, f"{path}.coveredResources", covered, Fate.DROPPED)
        yield from _odd(name, f"{path}.flavors", group.get("flavors"))
    seen: set[str] = set()
    for flavor in raw_flavors(spec):
        path = f"{GROUPS}.flavors[{flavor['name']}]"
        if flavor["name"] in seen:
            yield Difference(name, path, flavor, Fate.DROPPED, why="it stands there twice")
        seen.add(flavor["name"])
        for key in flavor.keys() - {"name", "resources"}:
            yield Difference(name, f"{path}.{key}", flavor[key], Fate.DROPPED)
        yield from _odd(name, f"{path}.resources", flavor.get("resources"))


def _odd(name: str, path: str, items: Any) -> Iterator[Difference]:
    """What is no list of things with names, each once."""
    if items is not None and not isinstance(items, list):
        yield Difference(name, path, items, Fate.DROPPED)
        return
    seen: set[str] = set()
    for item in items or ():
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or item["name"] in seen:
            yield Difference(name, path, item, Fate.DROPPED)
        else:
            seen.add(item["name"])


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "name"} or {}
