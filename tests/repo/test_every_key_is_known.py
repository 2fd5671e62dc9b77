"""Every key of the model has its place in the reference, in a page, in the strategies of tests, and in `tenancy import`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from imports import read
from model_keys import SAMPLE, Key, dotted, keys, places, value_at
from samples import ROOT
from strategies import full_agreements

from tenancy.agreement import Access, Agreement, Machines
from tenancy.agreement.findings import errors
from tenancy.agreement.plan import make_plan
from tenancy.objects import access, kai, kueue
from tenancy.objects.access import Namespaces
from tenancy.objects.configuration import chart_values
from tenancy.objects.loading import load, validate
from tenancy.review import importing
from tenancy.review.importing import Shape

KEYS = list(keys())
PAGES = [page for page in (ROOT / "docs").glob("*.md") if page.name != "reference.md"]
SETTINGS = settings(max_examples=100, derandomize=True, database=None, phases=[Phase.generate])

RIGHTS = "rights and policies are not read: only queues, flavors, priorities and namespaces are"
MACHINES = "machines have a quota and no queue, and no agreement is read from quotas of namespaces"
NOT_IMPORTED: Mapping[str, str] = {
    "flavors.*.mig.strategy": "slices of strategy `single` are asked for as GPUs, and so they are read as GPUs",
    "cluster.prod_priority": RIGHTS,
    **dict.fromkeys((f"access.{key}" for key in Access.model_fields), RIGHTS),
    **dict.fromkeys((f"teams.*.{key}" for key in ("highest_priority", "members", "leads")), RIGHTS),
    **dict.fromkeys((f"teams.*.machines.{key}" for key in Machines.model_fields), MACHINES),
    "teams.*.profiles": "the namespace of a Profile comes back among `namespaces`; who owns it is not read",
}
"""A key that `tenancy import` does not read back from what it became, and why."""


# --- documentation


@pytest.mark.parametrize("key", KEYS, ids=dotted)
def test_a_page_says_what_to_think_about(key: Key) -> None:
    """The reference is made from the model; a page for people names the key too, in code."""
    word = re.compile(rf"`[^`\n]*\b{re.escape(key[-1])}\b[^`\n]*`|^\s*{re.escape(key[-1])}\s*=", re.MULTILINE)
    assert [page.name for page in PAGES if word.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("key", KEYS, ids=dotted)
def test_the_reference_has_a_row_for_it(key: Key) -> None:
    assert f"| `{key[-1]}` |" in (ROOT / "docs" / "reference.md").read_text("utf-8")


# --- tests


def test_the_sample_sets_every_key() -> None:
    values = tomllib.loads(SAMPLE.read_text("utf-8"))
    assert [dotted(key) for key in KEYS if not any(places(values, key))] == []


def test_no_key_has_only_its_default_there() -> None:
    """A default that comes back from anywhere is no proof that somebody read the key."""
    said = sample().model_dump(exclude_defaults=True, warnings=False)
    assert [dotted(key) for key in KEYS if not any(places(said, key))] == []


def test_the_strategies_may_set_every_key() -> None:
    found: set[Key] = set()

    @given(values=full_agreements())
    @SETTINGS
    def draw(values: dict[str, Any]) -> None:
        _, findings = validate(values)
        assert not errors(findings)
        found.update(key for key in KEYS if any(places(values, key)))

    draw()
    assert [dotted(key) for key in KEYS if key not in found] == []


# --- import


def sample() -> Agreement:
    agreement = load(str(SAMPLE)).agreement
    assert agreement
    return agreement


def imported(agreement: Agreement) -> Agreement:
    """The agreement as `tenancy import` reads it back from all that it became."""
    plan = make_plan(agreement)
    objects = [*kueue.objects(plan), *kai.objects(plan)]
    objects += [one for _, group in access.files(plan, Namespaces.LISTED) for one in group]
    configuration = importing.parse(chart_values(plan) or "", "kueue-values.yaml")
    shapes = {flavor.name: Shape(flavor.nodes, flavor.units_per_node, exact=True) for flavor in plan.flavors}
    return read([*objects, *configuration], shapes=shapes).agreement


def test_import_reads_every_key_back_or_says_why_not() -> None:
    agreement = sample()
    before = agreement.model_dump(exclude_defaults=True, warnings=False)
    after = imported(agreement).model_dump(exclude_defaults=True, warnings=False)
    lost = [key for key in KEYS if not any(_is_there(before, after, place) for place in places(before, key))]
    assert {dotted(key) for key in lost} == set(NOT_IMPORTED)


def _is_there(before: Any, after: Any, place: tuple[str | int, ...]) -> bool:
    """Whether the same value is read back at a place."""
    try:
        return bool(value_at(after, place) == value_at(before, place))
    except (KeyError, IndexError, TypeError):
        return False
