"""No key of an agreement changes behind the back of `tenancy diff`.

Each key that the model knows is changed in a file that sets them all. The difference must say so in the words of the agreement:
that some object has another field is not enough for who reviews a change. A key that is new in the model fails here until it has a
row in CHANGED, and tenancy/review/diff/facts.py or numbers.py a line.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from model_keys import SAMPLE, dotted, keys, value_at

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.loading import validate
from tenancy.review.diff import compare
from tenancy.review.diff.data import as_json
from tenancy.review.diff.text import text

CHANGED: Mapping[str, Any] = {
    "cluster.name": "another",
    "cluster.team_label": "example.com/group",
    "cluster.guarantee_on": "cohort",
    "cluster.prod_priority": "batch",
    "topologies.racks.levels": ["example.com/row", "kubernetes.io/hostname"],
    "flavors.gpu.nodes": 9,
    "flavors.gpu.gpus_per_node": 4,
    "flavors.cpu.cpu_per_node": 32,
    "flavors.cpu.memory_per_node": "128Gi",
    "flavors.gpu.cpu_per_gpu": 10,
    "flavors.gpu.memory_per_gpu": "90Gi",
    "flavors.slices.cpu_per_slice": 1,
    "flavors.slices.memory_per_slice": "10Gi",
    "flavors.slices.mig.gpu": "H100-80GB",
    "flavors.slices.mig.profile": "1g.20gb",
    "flavors.slices.mig.strategy": "single",
    "flavors.slices.mig.slices": 3,
    "flavors.gpu.node_labels": {"example.com/pool": "gpus"},
    "flavors.gpu.taints.0.key": "example.com/gpu",
    "flavors.gpu.taints.0.value": "yes",
    "flavors.gpu.taints.0.effect": "NoExecute",
    "flavors.gpu.topology": None,
    "priorities": {"batch": 200, "serving": 1000},
    "sharing.policy": "first",
    "sharing.preemption_strategies": ["LessThanInitialShare"],
    "sharing.usage.half_life": "3d",
    "sharing.usage.sampling_interval": "20m",
    "sharing.usage.resource_weights": {"nvidia.com/gpu": 3},
    "sharing.preempt_min_runtime": "6m",
    "sharing.reclaim_min_runtime": "2m",
    "access.platform_groups": ["others"],
    "access.exempt_namespaces": ["logging"],
    "access.default_cpu": 2,
    "access.default_memory": "3Gi",
    "departments.search.display_name": "Find",
    "departments.search.weight": 4,
    "teams.ranking.display_name": "Ranks",
    "teams.ranking.department": "speech",
    "teams.ranking.guaranteed": {"cpu": "64 cpu", "gpu": 24, "slices": 16},
    "teams.ranking.lendable": {"gpu": 11},
    "teams.ranking.borrowable": {"gpu": 9},
    "teams.ranking.prod": {"gpu": 6},
    "teams.ranking.weight": 5,
    "teams.ranking.highest_priority": "batch",
    "teams.ranking.members": ["rankers"],
    "teams.ranking.leads": ["ranking-heads"],
    "teams.ranking.namespaces": ["ranking", "ranking-two"],
    "teams.ranking.profiles": {"alice": "alice@example.org"},
    "teams.ranking.machines.namespace": "ranking-vms",
    "teams.ranking.machines.count": 5,
    "teams.ranking.machines.vcpus": 2,
    "teams.ranking.machines.memory": "4Gi",
}
"""By the place in the file that sets every key: another value; None takes the key out."""

WITHOUT_EFFECT: Mapping[str, str] = {
    "flavors.slices.mig.gpu": "it says only how many slices fit; a product that fits another number changes `units per node`",
}
"""A key that may change and leave everything as it is, and why that is right."""

NAMED = {"topologies", "flavors", "departments", "teams"}
BEFORE = tomllib.loads(SAMPLE.read_text("utf-8"))


def as_key(place: str) -> tuple[str, ...]:
    """`teams.ranking.lendable` is the key `teams.*.lendable`, `taints.0.key` the key `taints.*.key`."""
    parts = place.split(".")
    named = parts[0] in NAMED
    return tuple("*" if part.isdigit() or (named and at == 1) else part for at, part in enumerate(parts))


def plan(values: dict[str, Any]) -> Plan:
    agreement, findings = validate(values)
    assert agreement, "\n".join(map(str, findings))
    return make_plan(agreement)


def changed(place: str) -> dict[str, Any]:
    values = copy.deepcopy(BEFORE)
    *path, last = (int(part) if part.isdigit() else part for part in place.split("."))
    table = value_at(values, tuple(path))
    assert last in table, f"the file that sets every key does not set {place}"
    if CHANGED[place] is None:
        del table[last]
    else:
        assert table[last] != CHANGED[place]
        table[last] = CHANGED[place]
    return values


def test_every_key_of_the_model_is_changed_here() -> None:
    assert {dotted(as_key(place)) for place in CHANGED} == {dotted(key) for key in keys()}


@pytest.mark.parametrize("place", [place for place in CHANGED if place not in WITHOUT_EFFECT])
def test_a_change_of_it_is_in_the_difference(place: str) -> None:
    difference = compare(plan(BEFORE), plan(changed(place)))
    assert difference.facts or difference.rows, "only objects differ, and nobody is told of what"
    assert text(difference, 120) != text(compare(plan(BEFORE), plan(BEFORE)), 120)
    data = as_json(difference)
    assert data["changes"] and (data["facts"] or data["numbers"])


@pytest.mark.parametrize("place", WITHOUT_EFFECT)
def test_what_is_listed_as_without_effect_has_none(place: str) -> None:
    """Otherwise the reason in the list is no longer true."""
    assert compare(plan(BEFORE), plan(changed(place))).is_empty
