"""One comparison of objects: what is a difference, what the API server makes of an object is none, and what each way of lists finds."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import LAB, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import make_plan
from tenancy.objects import kai, kueue
from tenancy.objects.difference import (
    DEFAULTS,
    ORDER,
    Change,
    Item,
    Lists,
    covers,
    differences,
    spoken_of,
)
from tenancy.objects.identity import kind_of

ROWS = [{"name": "x", "value": 1}, {"name": "y", "value": 2}]


def found(before: Any, after: Any, lists: Lists = Lists.BY_NAME, kind: str = "") -> list[tuple[str, Any, Any]]:
    return [(change.path, change.before, change.after) for change in differences(before, after, lists, kind)]


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [1], False),
        ([1, 2], (1, 2), True),
        ([1, 3], (1, 2), False),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        ([{"a": 1, "b": 2}], ({"a": 1},), True),
        ([{"name": "x"}, {"name": "y"}], [{"name": "y"}, {"name": "x"}], False),
        (None, {"a": 1}, False),
        (1000.0, 1000, True),
        ({"resourceGroups": [{"a": 1, "limit": 2}]}, {"resourceGroups": [{"a": 1}]}, False),
    ],
)
def test_what_the_cluster_adds_is_no_difference_but_in_quotas(live: object, wanted: object, expected: bool) -> None:
    assert covers(live, wanted) is expected


def test_items_are_compared_by_their_names() -> None:
    after = [{"name": "y", "value": 3}, {"name": "x", "value": 1}, {"name": "z"}]
    assert found({"rows": ROWS}, {"rows": after}) == [
        ("rows.y.value", 2, 3),
        ("rows.z", None, {}),
        (f"rows.{ORDER}", ["x", "y"], ["y", "x"]),
    ]


def test_aligned_lists_are_compared_item_by_item_and_others_whole() -> None:
    after = deepcopy(ROWS)
    after[1]["value"] = 3
    assert found(ROWS, after, Lists.ALIGNED) == [("y.value", 2, 3)]
    assert found(ROWS, after[::-1], Lists.ALIGNED) == [("", ROWS, after[::-1])]
    assert found(ROWS, after, Lists.WHOLE) == [("", ROWS, after)]


def test_an_item_is_told_from_a_key_of_the_same_name() -> None:
    (change,) = differences({"a": [{"name": "a", "v": 1}]}, {"a": [{"name": "a", "v": 2}]}, Lists.BY_NAME)
    assert [isinstance(step, Item) for step in change.steps] == [False, True, False]


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        *((kind, {}, path) for kind, path in DEFAULTS),
        ("ClusterQueue", {"spec": {"x": 1000}}, {"spec": {"x": "1k"}}),
        ("ClusterQueue", {"spec": {"x": "0.5"}}, {"spec": {"x": 0.5}}),
        ("ClusterQueue", {"spec": {"labels": {}, "list": []}}, {}),
        ("ResourceFlavor", {"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": [{"key": "a", "operator": "Equal"}]}}),
    ],
)  # fmt: skip
def test_what_means_the_same_to_the_api_server_is_no_difference(kind: str, one: Any, other: Any) -> None:
    if isinstance(other, str):
        *tables, last = other.split(".")
        body: Any = {last: DEFAULTS[kind, other]}
        for table in reversed(tables):
            body = {table: body}
        other = body
    assert found(one, other, Lists.WHOLE, kind) == []
    assert found(other, one, Lists.WHOLE, kind) == []
    assert found(one, other, Lists.WHOLE), "without the kind nothing is known of it"


def test_an_absent_field_is_a_difference_where_it_is_not_the_default() -> None:
    held = {"spec": {"stopPolicy": "Hold"}}
    assert found({}, held, Lists.WHOLE, "ClusterQueue") == [("spec.stopPolicy", None, "Hold")]


# --- of any object


def leaves(value: Any, steps: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [one for key, part in value.items() for one in leaves(part, (*steps, key))]
    if isinstance(value, list):
        return [one for place, part in enumerate(value) for one in leaves(part, (*steps, place))]
    return [steps]


def parent_of(body: Any, steps: tuple[Any, ...]) -> Any:
    for step in steps[:-1]:
        body = body[step]
    return body


@settings(max_examples=60, deadline=None)
@given(values=agreements(), data=st.data())
def test_every_leaf_that_is_changed_is_found_and_put_back(values: dict[str, Any], data: st.DataObject) -> None:
    the_plan = make_plan(as_agreement(values))
    body = data.draw(st.sampled_from([*kueue.objects(the_plan), *kai.objects(the_plan)]))
    assert not found(body, body) and covers(body, body)
    other, steps = deepcopy(body), data.draw(st.sampled_from(leaves(body)))
    parent_of(other, steps)[steps[-1]] = "something else"
    for lists in Lists:
        changes = list(differences(body, other, lists))
        assert changes
        assert [
            Change(change.steps, change.after, change.before) for change in differences(other, body, lists)
        ] == changes or (
            lists is Lists.BY_NAME and "name" in steps  # another item is another item first
        )
    assert not covers(other, body)
    assert list(differences(body, other, Lists.WHOLE, kind_of(body)))


@settings(max_examples=60, deadline=None)
@given(values=agreements(), data=st.data())
def test_what_is_added_beside_ours_is_not_spoken_of(values: dict[str, Any], data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(kueue.objects(make_plan(as_agreement(values)))))
    live, steps = deepcopy(body), data.draw(st.sampled_from(leaves(body)))
    table = parent_of(live, steps)
    if isinstance(table, dict):
        table["ours-not"] = 1
        assert covers(live, body) is ("resourceGroups" not in steps)
        assert (spoken_of(live, body) == body) is ("resourceGroups" not in steps)


def test_the_example_is_compared_with_itself() -> None:
    one, other = kueue.objects(plan(LAB)), kueue.objects(plan(LAB.replace("guaranteed = 16", "guaranteed = 12", 1)))
    assert any(found(*pair) for pair in zip(one, other, strict=True))
