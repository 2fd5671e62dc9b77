"""Every kind of object that an agreement becomes has its row in the table of kinds, and every row that says so is of a kind that is made.

What has no row is asked for nowhere: `preflight` does not look whether the cluster serves it or holds one already.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from model_keys import SAMPLE
from samples import ROOT
from strategies import as_agreement, full_agreements

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import access, kai, kueue
from tenancy.objects.access import Namespaces
from tenancy.objects.identity import kind_of
from tenancy.objects.kinds import KINDS
from tenancy.objects.loading import load

MADE = {name for name, row in KINDS.items() if row.part}

FILES = [
    SAMPLE,
    ROOT / "tenancy.toml",
    *(ROOT / "examples").glob("*.toml"),
    *(ROOT / "tests" / "agreements").glob("*.toml"),
]


def made(plan: Plan) -> Iterator[str]:
    """The kinds that all builders make of a plan, for either way to write namespaces."""
    groups = [kueue.files(plan), kai.files(plan), *(access.files(plan, namespaces) for namespaces in Namespaces)]
    for files in groups:
        for _, objects in files:
            yield from map(kind_of, objects)


def of_file(file: object) -> set[str]:
    agreement = load(str(file)).agreement
    assert agreement
    return set(made(make_plan(agreement)))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_the_agreements_of_this_repo_become(file: object) -> None:
    assert of_file(file) <= MADE


@given(values=full_agreements())
@settings(max_examples=40)
def test_what_any_agreement_becomes(values: dict[str, object]) -> None:
    assert set(made(make_plan(as_agreement(values)))) <= MADE


def test_no_row_is_of_a_kind_that_nobody_makes() -> None:
    assert MADE - set().union(*map(of_file, FILES)) == set()


def test_the_file_that_sets_every_key_is_one_of_them() -> None:
    assert tomllib.loads(SAMPLE.read_text("utf-8"))["cluster"]["name"] == "everything"
