"""The table of kinds says what objects say. That every kind has a row: tests/repo/test_every_kind_is_in_the_table.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_keys import SAMPLE
from samples import LAB, ROOT, plan

from tenancy.agreement.plan import Plan
from tenancy.objects import access, kai, kueue
from tenancy.objects.access import Namespaces
from tenancy.objects.identity import kind_of
from tenancy.objects.kinds import KINDS, Part, versions
from tenancy.objects.schedulers import Scheduler

EXAMPLES = [SAMPLE, *sorted((ROOT / "examples").glob("*.toml"))]


def made(plan: Plan) -> list[dict[str, object]]:
    listed, by_operator = (access.objects(plan, namespaces) for namespaces in Namespaces)
    return [*kueue.objects(plan), *kai.objects(plan), *listed, *by_operator]


def without_a_row(plan: Plan) -> set[str]:
    rows = {(row.kind, row.api_version) for row in KINDS.values() if row.part}
    return {kind_of(body) for body in made(plan) if (body["kind"], body["apiVersion"]) not in rows}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda entry: entry.stem)
def test_every_object_has_the_api_version_of_its_row(path: Path) -> None:
    assert not without_a_row(plan(path.read_text()))


def test_an_object_has_a_namespace_where_its_kind_has() -> None:
    for path in EXAMPLES:
        for body in made(plan(path.read_text())):
            metadata = body["metadata"]
            assert isinstance(metadata, dict)
            assert ("namespace" in metadata) is KINDS[kind_of(body)].namespaced, kind_of(body)


def test_a_kind_goes_by_the_name_that_the_table_has_for_it() -> None:
    for name, row in KINDS.items():
        assert kind_of({"kind": row.kind, "apiVersion": row.api_version}) == name
    assert {"Topology", "Topology.kai.scheduler"} <= KINDS.keys()


def test_the_preflight_asks_of_a_scheduler_about_its_own_kinds_only() -> None:
    of_kueue, of_kai = (versions(Part.QUOTAS, scheduler).keys() for scheduler in Scheduler)
    assert {kind_of(body) for body in kueue.objects(plan(LAB))} <= of_kueue
    assert {kind_of(body) for body in kai.objects(plan(LAB))} <= of_kai
    assert not of_kueue & of_kai


def test_a_path_is_that_of_the_api() -> None:
    assert KINDS["Pod"].path() == "/api/v1/pods"
    assert KINDS["LocalQueue"].path("a", "default") == "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/localqueues/default"
