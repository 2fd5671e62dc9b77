"""A new scheduler has to be answered everywhere: its field makes the type checker point at each table, and this at the field."""

from __future__ import annotations

import ast
from dataclasses import fields

from samples import LAB, ROOT, plan

from tenancy.objects.kinds import Part, versions
from tenancy.objects.registry import OBJECTS, refusals
from tenancy.objects.schedulers import TITLES, PerScheduler, Scheduler, chosen


def test_a_table_has_a_field_for_each_scheduler() -> None:
    assert [field.name for field in fields(PerScheduler)] == [str(scheduler) for scheduler in Scheduler]
    assert all(TITLES[scheduler] and versions(Part.QUOTAS, scheduler) and OBJECTS[scheduler] for scheduler in Scheduler)


def test_those_that_are_asked_for_come_in_our_order() -> None:
    assert chosen(None) == chosen([]) == chosen([Scheduler.KAI, Scheduler.KUEUE]) == list(Scheduler)
    assert chosen([Scheduler.KAI, Scheduler.KAI]) == [Scheduler.KAI]


def test_no_new_table_is_a_dict_by_name() -> None:
    """A dict keyed by scheduler says nothing when a scheduler is added; a `PerScheduler` does."""
    names = {str(scheduler) for scheduler in Scheduler}
    found = set()
    for folder in ("tenancy", "components", "provider", "policy"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                keys = node.keys if isinstance(node, ast.Dict) else []
                if names <= {key_of(key) for key in keys}:
                    found.add(str(file.relative_to(ROOT)))
    assert not found


def key_of(key: ast.expr | None) -> str:
    """`"kai"` and `Scheduler.KAI` alike."""
    match key:
        case ast.Constant(str(value)):
            return value
        case ast.Attribute(ast.Name("Scheduler"), member):
            return member.lower()
    return ""


def test_kueue_takes_every_agreement() -> None:
    assert refusals(plan(LAB)) == {}
