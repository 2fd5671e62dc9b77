"""An agreement read from objects: ours come back whole, and whatever is said otherwise is in the list."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imports import by_reference, read
from samples import LAB, PRODUCTION, ROOT, number, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import kai, kueue
from tenancy.objects.access import namespaces as access
from tenancy.objects.configuration import chart_values
from tenancy.objects.identity import reference
from tenancy.objects.loading import load
from tenancy.review import importing
from tenancy.review.importing import NothingThere

SLOW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


# --- our own objects come back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("builders", [(kueue,), (kai,), (kueue, kai)], ids=["kueue", "kai", "both"])
@given(values=agreements())
@SLOW
def test_what_an_agreement_renders_is_read_as_it(builders: tuple[Any, ...], values: dict[str, Any]) -> None:
    made = make_plan(as_agreement(values))
    objects = [one for builder in builders for one in builder.objects(made)]
    if not objects:  # KAI gets none for this agreement
        return
    found = read(objects)
    assert found.not_expressed == () and found.new == ()
    again = [one for builder in builders for one in builder.objects(found.plan)]
    assert by_reference(again) == by_reference(objects)


@pytest.mark.parametrize(
    "file", ["tenancy.toml", *(f"examples/{path.name}" for path in (ROOT / "examples").glob("*.toml"))]
)
@pytest.mark.parametrize("builder", [kueue, kai])
def test_the_examples_are_read_as_they_are(file: str, builder: Any) -> None:
    agreement = load(ROOT / file).agreement
    assert agreement
    objects = list(builder.objects(make_plan(agreement)))
    found = read(objects)
    assert found.not_expressed == ()
    assert by_reference(builder.objects(found.plan)) == by_reference(objects)


FAIR = (
    LAB.replace("[flavors.gpu]", '[sharing]\npolicy = "fair"\nusage = { half_life = "2d" }\n[flavors.gpu]')
    .replace("[teams.training]", "[teams.training]\nweight = 2.5")
    .replace("[teams.research]", '[teams.research]\nnamespaces = ["lab-a", "lab-b"]\ndisplay_name = "Research & more"')
)


def test_sharing_namespaces_and_names_to_show_come_back() -> None:
    made = plan(FAIR)
    research = made.team["research"]
    objects = [
        *kueue.objects(made),
        *(one for namespace in research.namespaces for one in access.local_queues(made, research, namespace)),
    ]
    values = chart_values(made)
    assert values
    found = read([*objects, *importing.parse(values, "kueue-values.yaml")])
    assert found.not_expressed == ()
    sharing = found.agreement.sharing
    assert sharing.policy == "fair" and sharing.usage and sharing.usage.half_life == 2 * 86400
    assert found.plan.team["training"].weight == 2500
    assert found.plan.team["research"] == research


def test_priorities_times_and_the_topology_of_hosts_come_back() -> None:
    text = PRODUCTION.read_text("utf-8").replace("[access]", '[sharing]\nreclaim_min_runtime = "1m"\n[access]')
    for flavor in ("a100-40g", "h100"):
        text = text.replace(f"[flavors.{flavor}]", f"[flavors.{flavor}]\n#", 1)
    made = plan(text)
    found = read([*kueue.objects(made), *kai.objects(made)])
    assert found.not_expressed == ()
    assert found.plan.priorities == made.priorities and found.plan.topologies == made.topologies
    assert found.agreement.sharing.reclaim_min_runtime == 60
    assert [flavor.topology for flavor in found.plan.flavors] == [flavor.topology for flavor in made.flavors]
    assert [flavor.profile for flavor in found.plan.flavors] == [flavor.profile for flavor in made.flavors]


# --- nothing is lost ------------------------------------------------------------------------------------------------

Path = tuple[str | int, ...]
VALUES: tuple[Any, ...] = (
    "x",
    "7",
    3,
    0,
    -1,
    2.5,
    "1500m",
    "0",
    True,
    None,
    {},
    [],
    {"x": "y"},
    ["x"],
    [{"name": "x"}],
)
FIELDS: Mapping[str, Any] = {
    "stopPolicy": "Hold",
    "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"},
    "admissionChecksStrategy": {"admissionChecks": [{"name": "cost"}]},
    "nodeTaints": [{"key": "spot", "effect": "NoSchedule"}],
    "tolerations": [{"operator": "Exists"}],
    "fairSharing": {"weight": "3"},
    "lendingLimit": "1",
    "borrowingLimit": "0",
    "priority": 7,
    "extra": "x",
}
NOTHING = (None, {}, [])
OUR_LABEL = {"tenancy.dev/agreement": "c"}
DEFAULTS = {
    "queueingStrategy": "BestEffortFIFO",
    "stopPolicy": "None",
    "policy": "Never",
    "weight": 1,
}


def places(value: Any, path: Path = ()) -> list[Path]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, item in items for inner in places(item, (*path, key)))]


def at(value: Any, path: Path) -> Any:
    """What stands there, None where nothing does."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


@st.composite
def injured(draw: st.DrawFn) -> tuple[list[Any], int, Path]:
    """Rendered objects of which one has a field changed, taken away or added; the object, and where."""
    made = make_plan(as_agreement(draw(agreements(2))))
    builder: Callable[[Plan], Any] = draw(st.sampled_from([kueue.objects, kueue.objects, kai.objects]))
    objects = copy.deepcopy(list(builder(made) or kueue.objects(made)))
    one = draw(st.sampled_from(objects))
    part = draw(st.sampled_from([entry for entry in one if entry not in ("apiVersion", "kind")]))
    path = draw(st.sampled_from([place for place in places(one) if place and place[0] == part]))
    parent, key = at(one, path[:-1]), path[-1]
    match draw(st.sampled_from(["change", "change", "take", "add"])):
        case "change":
            parent[key] = draw(st.sampled_from(VALUES))
        case "take":
            del parent[key]
        case "add":
            inner = at(one, path)
            if isinstance(inner, dict):
                name = draw(st.sampled_from(sorted(FIELDS)))
                inner[name], path = FIELDS[name], (*path, name)
            elif isinstance(inner, list):
                inner.append(draw(st.sampled_from(VALUES)))
                path = (*path, len(inner) - 1)
            else:
                parent[key] = draw(st.sampled_from(VALUES))
    return objects, objects.index(one), path


@given(injured())
@settings(SLOW, max_examples=150)
def test_whatever_is_changed_is_rendered_or_listed(case: tuple[list[Any], int, Path]) -> None:
    objects, place, path = case
    try:
        found = read([entry for one in objects for entry in importing.parse(json.dumps(one), "a file")])
    except (NothingThere, importing.NotObjects):
        return  # in words, and nothing is written
    one, name = objects[place], reference(objects[place])
    made = by_reference([*kueue.objects(found.plan), *kai.objects(found.plan)])
    paths = [difference.path for difference in found.not_expressed if difference.reference == name]
    if "" in paths:
        return
    whole = path == ("spec",)
    if one["kind"] in ("Cohort", "ClusterQueue") and (whole or path[1] == "resourceGroups"):
        assert_quotas(one, made[name], paths)
    for item in (
        [("spec", key) for key in {**(one.get("spec") or {}), **made[name].get("spec", {})}] if whole else [path]
    ):
        where = written(item)
        if not (where.startswith("spec.resourceGroups") or says(made[name], one, item)):
            assert any(path.startswith(where) or where.startswith(path) for path in paths), (
                f"{where} of {one}: only {paths}"
            )


def says(made: Any, one: Any, path: Path) -> bool:
    """Whether the rendered object has, where something was changed, what the given one has."""
    there, here = at(one, path), at(made, path)
    if there in NOTHING or here in NOTHING:
        left = here if there in NOTHING else there
        return left in NOTHING or equal(left, DEFAULTS.get(str(path[-1]))) or left == OUR_LABEL or path[-1] in OUR_LABEL
    return equal(there, here)


def assert_quotas(one: Any, made: Any, paths: list[str]) -> None:
    """Every number of every row is the same, or listed, or means the same as none."""
    rows, rendered = rows_of(one), rows_of(made)
    for pair in {**rows, **rendered}:
        where = f"spec.resourceGroups.flavors[{pair[0]}].resources[{pair[1]}]"
        row, other = rows.get(pair), rendered.get(pair, {})
        if any(where.startswith(path) for path in paths) or (row is None and unusable(one["kind"], other)):
            continue
        if not other and one["kind"] == "Cohort" and unusable("Cohort", row):
            continue
        assert row is not None, f"{where}: only {paths}"
        for key in {**row, **other}:
            if f"{where}.{key}" not in paths and not equal(row.get(key), other.get(key)):
                nothing = other.get("nominalQuota") if one["kind"] == "ClusterQueue" else None
                implied = {"lendingLimit": nothing, "nominalQuota": "0"}
                assert row.get(key) is None and (equal(other[key], implied[key]) or one["kind"] == "Cohort"), (
                    where,
                    key,
                    paths,
                )
    covered, covers = (
        {str(entry) for group in groups(body) for entry in listed_in(group, "coveredResources")} for body in (one, made)
    )
    for resource in covered - covers:
        assert f"spec.resourceGroups.coveredResources[{resource}]" in paths
    for place, group in enumerate(groups(one)):
        for key in group.keys() - {"coveredResources", "flavors"}:
            assert f"spec.resourceGroups[{place}].{key}" in paths


def rows_of(body: Any) -> dict[tuple[str, str], Any]:
    return {
        (flavor["name"], row["name"]): row
        for group in groups(body)
        for flavor in with_names(group.get("flavors"))
        for row in with_names(flavor.get("resources"))
    }


def groups(body: Any) -> list[Any]:
    found = (body.get("spec") or {}).get("resourceGroups")
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def listed_in(group: Any, key: str) -> list[Any]:
    return group[key] if isinstance(group.get(key), list) else []


def with_names(items: Any) -> list[Any]:
    found = items if isinstance(items, list) else []
    return [entry for entry in found if isinstance(entry, dict) and isinstance(entry.get("name"), str)]


def unusable(kind: str, row: Any) -> bool:
    """Whether a row means what none does."""
    limits = {key: value for key, value in row.items() if key in ("borrowingLimit", "lendingLimit")}
    nothing = equal(row.get("nominalQuota", "0"), "0")
    return nothing and (not limits if kind == "Cohort" else equal(row.get("borrowingLimit"), "0"))


def equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other) or number(str(one)) == number(str(other))
    except (ValueError, KeyError):
        return False


def written(path: Path) -> str:
    """A path as the list writes it."""
    text = ""
    for place, step in enumerate(path):
        keyed = isinstance(step, int) or (place and path[place - 1] in ("labels", "annotations"))
        text += f"[{step}]" if keyed else f".{step}"
    return text.removeprefix(".")
