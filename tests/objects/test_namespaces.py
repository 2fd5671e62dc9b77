"""What a namespace gets: plainly, and as the template of the namespace operator, which must not fail for any label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from go_template import expand
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import ONE_FLAVOR, PRODUCTION, plan

from tenancy.objects import access
from tenancy.objects.access import Namespaces
from tenancy.objects.access.namespaces import CONFIG_LABEL, _as_template, namespace_objects
from tenancy.objects.identity import RUN_LABEL

LISTED, OPERATOR = Namespaces.LISTED, Namespaces.OPERATOR
TWO = (
    ONE_FLAVOR
    + """
[teams.training]
guaranteed = 16
namespaces = ["train-a", "train-b"]
[teams.research]
guaranteed = 8
prod = 2
profiles = { alice = "alice@example.com" }
"""
)


def names(text: str, namespaces: Namespaces, **also: bool) -> list[str]:
    found = [entry["metadata"] | {"kind": entry["kind"]} for entry in access.objects(plan(text), namespaces, **also)]
    return ["/".join(filter(None, (entry["kind"], entry.get("namespace"), entry["name"]))) for entry in found]


def queues(text: str) -> dict[str, Any]:
    """The ClusterQueue of each LocalQueue, where the agreement's namespaces are written plainly."""
    return {
        f"{entry['metadata']['namespace']}/{entry['metadata']['name']}": entry["spec"]["clusterQueue"]
        for entry in access.objects(plan(text), LISTED)
        if entry["kind"] == "LocalQueue"
    }


def test_a_listed_namespace_gets_its_teams_label_and_queues() -> None:
    assert queues(TWO) == {
        "train-a/default": "training",
        "train-b/default": "training",
        "alice/default": "research",
        "alice/prod": "research-prod",
    }
    labels = {
        entry["metadata"]["name"]: entry["metadata"]["labels"]["tenancy.dev/team"]
        for entry in access.objects(plan(TWO), LISTED)
        if entry["kind"] == "Namespace"
    }
    assert labels == {"train-a": "training", "train-b": "training", "alice": "research"}


def test_without_kueue_there_are_no_queues() -> None:
    assert names(TWO, LISTED, kueue=False) == [
        "Namespace/train-a",
        "Namespace/train-b",
        "Namespace/alice",
        "Profile/alice",
    ]


def test_the_operators_namespaces_get_the_label_and_no_queues() -> None:
    assert names(TWO, OPERATOR) == [
        "NamespaceConfig/tenancy",
        "ValidatingAdmissionPolicy/tenancy-namespace-moves",
        "ValidatingAdmissionPolicyBinding/tenancy-namespace-moves",
        "Namespace/train-a",
        "Namespace/train-b",
        "Namespace/alice",
        "Profile/alice",
    ]


def test_an_agreement_without_namespaces_makes_nothing_plainly() -> None:
    assert names(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\n", LISTED) == []


# --- the template -------------------------------------------------------------------------------------------------------


def config_of(text: str) -> Any:
    (found,) = [entry for entry in access.objects(plan(text), OPERATOR) if entry["kind"] == "NamespaceConfig"]
    return found


def made_in(text: str, namespaces: Mapping[str, Mapping[str, str]]) -> dict[str, list[Any]]:
    """What the operator makes of the agreement's template in namespaces with these labels."""
    (template,) = config_of(text)["spec"]["templates"]
    return expand(template["objectTemplate"], namespaces)


def plainly(text: str, team: str, namespace: str) -> list[Any]:
    """What the same namespace gets where it is listed; the operator's objects are not ours, and say so."""
    the_plan = plan(text)
    found = list(namespace_objects(the_plan, the_plan.team[team], namespace))
    for one in found:
        one["metadata"]["labels"] = {CONFIG_LABEL: "tenancy"}
    return found


@pytest.mark.parametrize("text", [TWO, PRODUCTION.read_text()], ids=["two teams", "production"])
def test_the_operator_makes_what_is_written_plainly(text: str) -> None:
    teams = [team.name for team in plan(text).teams]
    label = plan(text).team_label
    found = made_in(text, {f"of-{team}": {label: team} for team in teams})
    assert found == {f"of-{team}": plainly(text, team, f"of-{team}") for team in teams}


def test_a_label_of_no_team_makes_nothing() -> None:
    """Blank output would fail, and a failure makes the operator delete all that the namespace has."""
    labels = ("nobody", "", "Training", "training-", "TRAINING", "default", "[]", "null", '"', "}}", "{{")
    assert set(
        map(
            str, made_in(TWO, {f"n{label}": {"tenancy.dev/team": value} for label, value in enumerate(labels)}).values()
        )
    ) == {"[]"}


@pytest.mark.parametrize("name", ["no", "on", "y", "1e3", "0x1f", "null", "true", "1", "007", "1.5", "a.b"])
def test_names_that_yaml_takes_for_something_else_stay_names(name: str) -> None:
    text = ONE_FLAVOR + f'[teams."{name}"]\nguaranteed = 8\nprod = 4\n'
    (first, second) = made_in(text, {"007": {"tenancy.dev/team": name}})["007"]
    assert [first["spec"]["clusterQueue"], second["spec"]["clusterQueue"]] == [name, f"{name}-prod"]
    assert first["metadata"]["namespace"] == second["metadata"]["namespace"] == "007"


def test_an_agreement_without_teams_makes_nothing() -> None:
    assert made_in(ONE_FLAVOR, {"a": {"tenancy.dev/team": "x"}}) == {"a": []}


@settings(max_examples=25, deadline=None)
@given(st.text(st.sampled_from("{}$.Name \\\"'a-#:%é🚀")))
def test_text_of_the_agreement_is_no_action(text: str) -> None:
    """The stand-ins are the only actions there are, whatever else an object says."""
    body = {
        "apiVersion": "v1",
        "kind": "X",
        "metadata": {"name": f"x{text}\x02", "namespace": "\x01"},
        "a": [text, {text: "{{"}],
    }
    (made,) = expand(f'{{{{$team := "T"}}}}{_as_template([body])}', {"n": {}})["n"]
    assert made == {
        "apiVersion": "v1",
        "kind": "X",
        "metadata": {"name": f"x{text}T", "namespace": "n"},
        "a": [text, {text: "{{"}],
    }


def test_the_operator_adds_nothing_to_our_object() -> None:
    """It would otherwise write its excluded paths in, in an order of its own."""
    (template,) = config_of(TWO)["spec"]["templates"]
    assert template["excludedPaths"] == [".metadata", ".status", ".spec.replicas"]


def test_namespaces_that_no_queue_is_for_are_left_out() -> None:
    machines = 'machines = { namespace = "vms", count = 2, vcpus = 4, memory = "8Gi" }\n'
    exempt = '[access]\nplatform_groups = ["p"]\nexempt_namespaces = ["monitoring"]\n'
    expressions = config_of(TWO + machines + exempt)["spec"]["labelSelector"]["matchExpressions"]
    (by_name,) = [expression for expression in expressions if expression["operator"] == "NotIn"]
    assert {"vms", "monitoring", "kueue-system", "default"} <= set(by_name["values"])
    assert {"key": RUN_LABEL, "operator": "DoesNotExist"} in expressions
    assert [name for name in names(TWO + machines, LISTED) if "vms" in name] == [
        "Namespace/vms",
        "ResourceQuota/vms/tenancy-machines",
    ]


def test_teams_that_get_the_same_share_a_branch() -> None:
    many = ONE_FLAVOR + "".join(f"[teams.t{number:03}]\nguaranteed = 0\n" for number in range(500))
    (template,) = config_of(many)["spec"]["templates"]
    assert template["objectTemplate"].count("LocalQueue") == 1
    assert len(template["objectTemplate"]) < 10_000
