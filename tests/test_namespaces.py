"""What a namespace gets: plainly, and as the template of the namespace operator, which must not fail for any label."""

from __future__ import annotations

from typing import Any

import yaml
from samples import ONE_FLAVOR, plan

from tenancy import access
from tenancy.access import Namespaces

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
    found = [it["metadata"] | {"kind": it["kind"]} for it in access.objects(plan(text), namespaces, **also)]
    return ["/".join(filter(None, (it["kind"], it.get("namespace"), it["name"]))) for it in found]


def queues(text: str) -> dict[str, Any]:
    """The ClusterQueue of each LocalQueue, where the agreement's namespaces are written plainly."""
    return {
        f"{it['metadata']['namespace']}/{it['metadata']['name']}": it["spec"]["clusterQueue"]
        for it in access.objects(plan(text), LISTED)
        if it["kind"] == "LocalQueue"
    }


def test_a_listed_namespace_gets_its_teams_label_and_queues() -> None:
    assert queues(TWO) == {
        "train-a/default": "training",
        "train-b/default": "training",
        "alice/default": "research",
        "alice/prod": "research-prod",
    }
    labels = {
        it["metadata"]["name"]: it["metadata"]["labels"]["tenancy.dev/team"]
        for it in access.objects(plan(TWO), LISTED)
        if it["kind"] == "Namespace"
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
        "Namespace/train-a",
        "Namespace/train-b",
        "Namespace/alice",
        "Profile/alice",
    ]


def test_an_agreement_without_namespaces_makes_nothing_plainly() -> None:
    assert names(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\n", LISTED) == []


def test_the_template_is_one_list() -> None:
    """Until it is expanded, what follows each branch is a YAML list of its own."""
    (config,) = access.cluster_objects(plan(TWO), OPERATOR)
    (template,) = config["spec"]["templates"]
    branches = [it for it in template["objectTemplate"].split("{{-") if it.strip()]
    lists = [yaml.safe_load(it.partition("}}\n")[2]) for it in branches]
    made = [[it["spec"]["clusterQueue"] for it in one] for one in lists if one]
    assert made == [["{{ $team }}"], ["{{ $team }}", "{{ $team }}-prod"]]
