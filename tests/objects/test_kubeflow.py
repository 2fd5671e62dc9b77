"""Profiles: the namespace of each is its owner's for Kubeflow, and its team's for the queues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import ONE_FLAVOR, PRODUCTION, ROOT, kueue_objects, plan

from tenancy.objects import access
from tenancy.objects.access import Namespaces
from tenancy.text.quantity import parse

TWO = (
    ONE_FLAVOR
    + """
[teams.training]
guaranteed = 16
namespaces = ["train"]
profiles = { alice = "alice@example.com", bob = "bob@example.com" }
[teams.research]
guaranteed = 8
prod = 2
profiles = { carol = "carol@example.com" }
"""
)
OWNERS = {"alice": "alice@example.com", "bob": "bob@example.com", "carol": "carol@example.com"}


def objects(kind: str, text: str = TWO) -> dict[str, dict[str, Any]]:
    made = access.objects(plan(text), Namespaces.LISTED)
    return {entry["metadata"]["name"]: entry for entry in made if entry["kind"] == kind}


def test_there_is_a_profile_for_each_with_its_owner() -> None:
    owners = {name: value["spec"]["owner"] for name, value in objects("Profile").items()}
    assert owners == {name: {"kind": "User", "name": owner} for name, owner in OWNERS.items()}


def test_the_controller_takes_the_namespace_for_the_profiles_own() -> None:
    """It asks for the annotation `owner` with the owner's name; a namespace of the team that is nobody's has none."""
    found = {
        name: value["metadata"].get("annotations", {}).get("owner") for name, value in objects("Namespace").items()
    }
    assert found == {**OWNERS, "train": None}


def test_the_namespace_is_taken_by_its_teams_queues_and_no_others() -> None:
    queues = {name: value for name, value in kueue_objects(TWO).items() if name.startswith("ClusterQueue/")}
    takes = {
        namespace: {
            name.removeprefix("ClusterQueue/")
            for name, queue in queues.items()
            if queue["spec"]["namespaceSelector"]["matchLabels"].items() <= value["metadata"]["labels"].items()
        }
        for namespace, value in objects("Namespace").items()
    }
    ranks = {"training"}, {"research", "research-prod"}
    assert takes == {"alice": ranks[0], "bob": ranks[0], "train": ranks[0], "carol": ranks[1]}


def test_the_namespace_comes_before_its_profile() -> None:
    """The other way round the controller would make the namespace, and would own it: with the Profile it would go."""
    order = [(entry["kind"], entry["metadata"]["name"]) for entry in access.objects(plan(TWO), Namespaces.LISTED)]
    assert all(order.index(("Namespace", name)) < order.index(("Profile", name)) for name in OWNERS)


def test_a_profile_counts_no_gpus() -> None:
    assert all("resourceQuotaSpec" not in entry["spec"] for entry in objects("Profile").values())


def test_profiles_are_there_where_the_operator_sees_to_the_rest() -> None:
    made = access.objects(plan(TWO), Namespaces.OPERATOR)
    assert {entry["metadata"]["name"] for entry in made if entry["kind"] == "Profile"} == set(OWNERS)


# --- examples/jobs are written for flavors of examples/production.toml -----------------------------------------------

JOBS = sorted((ROOT / "examples" / "jobs").glob("*.yaml"))


def values(of: Any, key: str) -> Iterator[Any]:
    """Everything that stands under a key, however deep."""
    if isinstance(of, dict):
        yield from (value for name, value in of.items() if name == key)
        of = list(of.values())
    if isinstance(of, list):
        for one in of:
            yield from values(one, key)


@pytest.mark.parametrize("path", JOBS, ids=lambda entry: entry.name)
def test_a_template_asks_in_the_ratio_of_the_flavor_that_it_names(path: Path) -> None:
    body = yaml.safe_load(path.read_text())
    production = plan(PRODUCTION.read_text())
    selectors = list(values(body, "nodeSelector"))
    (flavor,) = (flavor for flavor in production.flavors if flavor.node_labels == selectors[0])
    assert all(selector == selectors[0] for selector in selectors)
    asks = [value for value in values(body, "requests") if flavor.resource in value]
    assert asks
    for ask in asks:
        units = ask[flavor.resource]
        assert ask["cpu"] * 1000 == units * flavor.cpu
        assert parse(ask["memory"]) == units * flavor.memory


@pytest.mark.parametrize("path", JOBS, ids=lambda entry: entry.name)
def test_a_template_is_packed_by_a_level_that_there_is(path: Path) -> None:
    body = yaml.safe_load(path.read_text())
    levels = {level for topology in plan(PRODUCTION.read_text()).topologies for level in topology.levels}
    packed = [
        value for kind in ("required", "preferred") for value in values(body, f"kueue.x-k8s.io/podset-{kind}-topology")
    ]
    assert set(packed) <= levels
    assert packed or body["kind"] in ("Job", "Notebook", "RayJob")
