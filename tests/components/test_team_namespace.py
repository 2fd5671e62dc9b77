"""A team's namespace as a component: what is owned of it, what is replaced in it, and what is called how."""

from __future__ import annotations

from pathlib import Path

import pulumi
import pytest
from recorder import Registered, run

from components import TeamNamespace, TeamNamespaceArgs, TenancyAgreement, TenancyAgreementArgs
from tenancy.agreement import Agreement
from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.access import Namespaces
from tenancy.objects.loading import load, loads

FILE = Path(__file__).resolve().parents[1] / "agreements" / "namespaces.toml"
TEXT = FILE.read_text()


def agreement(text: str = TEXT) -> Agreement:
    found = loads(text).agreement
    assert found
    return found


def whole(text: str = TEXT, namespaces: Namespaces = Namespaces.LISTED) -> dict[str, Registered]:
    """What the agreement's component registers, by URN."""
    args = TenancyAgreementArgs(agreement=agreement(text), namespaces=namespaces)
    return {resource.urn: resource for resource in run(lambda: TenancyAgreement("a", args))}


def plan() -> Plan:
    loaded = load(FILE).agreement
    assert loaded
    return make_plan(loaded)


def of_kind(found: dict[str, Registered], kind: str) -> dict[str, Registered]:
    return {
        resource.name: resource for resource in found.values() if resource.is_object and resource.inputs["kind"] == kind
    }


def test_of_a_namespace_only_fields_are_owned() -> None:
    """As a patch: it makes the namespace where there is none, and takes the label off where it goes."""
    found = of_kind(whole(), "Namespace")
    assert {resource.type for resource in found.values()} == {"kubernetes:core/v1:NamespacePatch"}
    assert set(found) >= {"a-ranking", "a-ranking-tests", "a-embeddings", "a-alice"}
    assert not any(resource.retained for resource in found.values())


def test_a_local_queue_is_replaced_where_its_queue_changes() -> None:
    for entry in of_kind(whole(), "LocalQueue").values():
        assert entry.replace_on_changes == ("spec.clusterQueue",)
        assert entry.delete_before_replace
    assert {resource.replace_on_changes for resource in of_kind(whole(), "ClusterQueue").values()} == {()}


def test_local_queues_come_after_their_queues_and_their_namespace() -> None:
    found = whole()
    queues = [
        resource.urn
        for resource in found.values()
        if resource.is_object and resource.name in ("a-ranking", "a-ranking-prod")
    ]
    assert len(queues) == 4  # a Cohort, two ClusterQueues and a namespace
    for entry in of_kind(found, "LocalQueue").values():
        if entry.inputs["metadata"]["namespace"] == "ranking":
            assert set(queues) <= set(entry.depends_on)


def test_the_operator_hears_of_namespaces_after_all_queues() -> None:
    found = whole(namespaces=Namespaces.OPERATOR)
    (config,) = of_kind(found, "NamespaceConfig").values()
    assert {resource.urn for resource in of_kind(found, "ClusterQueue").values()} <= set(config.depends_on)
    assert of_kind(found, "LocalQueue") == {}


def test_names_have_nothing_of_the_team() -> None:
    """Otherwise a namespace that moves would be written under the new name, and then lose its label under the old."""
    moved = TEXT.replace('namespaces = ["ranking", "ranking-tests"]', 'namespaces = ["ranking"]').replace(
        'namespaces = ["embeddings"]', 'namespaces = ["embeddings", "ranking-tests"]'
    )
    renamed = TEXT.replace("[teams.ranking]", "[teams.rankers]")
    before = {urn for urn, resource in whole().items() if "TeamNamespace" in urn}
    assert {urn for urn in whole(renamed) if "TeamNamespace" in urn} == before
    gone = before - set(whole(moved))
    assert {urn.rpartition("::")[2] for urn in gone} == {"a-ranking-tests/prod", "a-ranking-tests/tenancy-member"}


def test_a_profile_stays_whatever_the_agreement_says() -> None:
    (profile,) = of_kind(whole(), "Profile").values()
    assert profile.retained


def test_alone_it_makes_what_the_agreement_would() -> None:
    """For a program of somebody's own, which may give a namespace that the agreement does not list."""
    args = TeamNamespaceArgs(agreement=plan(), team="ranking", namespace="nightly")
    (component, *made) = run(lambda: TeamNamespace("nightly", args))
    assert component.outputs["namespaceName"] == "nightly"
    queues = {
        resource.name: resource.inputs["spec"]["clusterQueue"]
        for resource in made
        if resource.inputs["kind"] == "LocalQueue"
    }
    assert queues == {"nightly/default": "ranking", "nightly/prod": "ranking-prod"}


def test_an_unknown_team_is_told_with_the_nearest() -> None:
    with pytest.raises(pulumi.RunError, match="there is no team 'rankng' in the agreement; did you mean 'ranking'"):
        run(lambda: TeamNamespace("x", TeamNamespaceArgs(agreement=plan(), team="rankng", namespace="x")))


def test_what_the_cluster_does_not_serve_is_left_out() -> None:
    text = TEXT + "[priorities]\nhigh = 1000\n"
    args = TenancyAgreementArgs(agreement=agreement(text))
    lacking = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    whole = {resource.inputs["kind"] for resource in run(lambda: TenancyAgreement("a", args)) if resource.is_object}
    assert set(lacking) <= whole
    some = TenancyAgreementArgs(agreement=agreement(text), without=lacking)
    made = {resource.inputs["kind"] for resource in run(lambda: TenancyAgreement("a", some)) if resource.is_object}
    assert made == {one["kind"] for one in some.objects()} == whole - set(lacking)
