"""`tenancy schema` describes the file for editors: it takes what the loader takes, and refuses what is of another shape."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from samples import LAB, PRODUCTION, ROOT, SHARED
from strategies import agreements, paths

from tenancy.agreement import Agreement, errors
from tenancy.objects.loading import validate

SCHEMA = Agreement.model_json_schema(mode="validation")
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
FILES = [ROOT / "tenancy.toml", *sorted((ROOT / "examples").glob("*.toml")), *sorted(SHARED.glob("*.toml"))]


def changed(values: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    values = copy.deepcopy(values)
    inner: Any = values
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return values


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_right_file_is_right_by_the_schema(file: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(tomllib.loads(file.read_text()))] == []


# A damage to the lab's file that is one of shape → where the schema sees it.
SHAPES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "text for a number": (("flavors", "gpu", "nodes"), "4"),
    "half a node": (("flavors", "gpu", "nodes"), 4.5),
    "less than no node": (("flavors", "gpu", "nodes"), -1),
    "an unknown key": (("teams", "training", "guarantee"), 8),
    "an unknown table": (("team",), {}),
    "an amount that is none": (("teams", "training", "guaranteed"), "many"),
    "an amount below zero": (("teams", "training", "guaranteed"), -8),
    "an amount in a unit that is none": (("teams", "training", "guaranteed"), "8 cows"),
    "a list for an amount": (("teams", "training", "guaranteed"), [8]),
    "a yes for an amount": (("teams", "training", "guaranteed"), True),
    "memory without a unit": (("flavors", "gpu", "memory_per_gpu"), "120"),
    "a number for memory": (("flavors", "gpu", "memory_per_gpu"), 120),
    "CPUs that are no quantity": (("flavors", "gpu", "cpu_per_gpu"), "many"),
    "a number for a name": (("cluster", "name"), 5),
    "a place that is none": (("cluster", "guarantee_on"), "team"),
    "a taint without an effect": (("flavors", "gpu", "taints"), [{"key": "a"}]),
    "a priority beyond an int32": (("priorities",), {"prod": 2**31}),
    "a strategy that is none": (("flavors", "gpu", "mig"), {"gpu": "a", "profile": "b", "strategy": "both"}),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_wrong_shape_is_wrong_by_the_schema_and_by_the_loader_at_the_same_place(case: str) -> None:
    path, value = SHAPES[case]
    values = changed(tomllib.loads(LAB), path, value)
    by_loader = {finding.path for finding in errors(validate(values)[1])}
    assert not VALIDATOR.is_valid(values)
    assert any(found[: len(path)] == path for found in by_loader)


VALUES: tuple[Any, ...] = (
    *(True, 0, -1, 8, 2**31, 10**10, 2**64, 1.5, 8.0, "", "x", "8", "8 gpu", "8 gpus", "640 cpu", "120Gi", "1500m"),
    *([], ["a"], {}, {"gpu": 8}, {"a": {}}, {"x": "y"}, None),
)


@pytest.mark.parametrize("text", [LAB, PRODUCTION.read_text()], ids=["lab", "production"])
def test_what_the_schema_refuses_the_loader_refuses(text: str) -> None:
    """The other way round does not hold: sums and names that refer to each other are beyond a schema."""
    values = tomllib.loads(text)
    for number, path in enumerate(paths(values)[1:]):
        for value in VALUES[number % 3 :: 3]:
            damaged = changed(values, path, value)
            refused = bool(errors(validate(damaged)[1]))
            assert VALIDATOR.is_valid(damaged) or refused, f"only the schema refuses {path} = {value!r}"


def test_what_only_the_loader_refuses_is_not_of_shape() -> None:
    """On the lab, each value that only the loader refuses is one of meaning, not of type (but for 8.0, an integer to JSON)."""
    values = tomllib.loads(LAB)
    unseen = [
        (path, value)
        for path in paths(values)[1:]
        for value in VALUES
        if not isinstance(value, float)
        and VALIDATOR.is_valid(damaged := changed(values, path, value))
        and validate(damaged)[0] is None
    ]
    assert unseen == []


@settings(max_examples=100, deadline=None)
@given(values=agreements())
def test_a_right_agreement_is_right_by_the_schema(values: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(values)


def test_every_key_of_the_schema_says_what_it_is() -> None:
    tables = {"Agreement": SCHEMA, **SCHEMA["$defs"]}
    silent = [
        f"{table}.{key}"
        for table, value in tables.items()
        for key, said in value["properties"].items()
        if "description" not in said
    ]
    assert silent == []
