"""Who may do what, as objects: what is written for whom, and names that would break out of YAML, CEL or a template."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from samples import ONE_FLAVOR, number, plan

from tenancy.objects import access
from tenancy.objects.access import Namespaces, jobs, quotas
from tenancy.objects.manifest import dump_all
from tenancy.verify.players import kai_objects
from tenancy.verify.players.kai_objects import Mark

LISTED, OPERATOR = Namespaces.LISTED, Namespaces.OPERATOR
HOSTILE = """it's "quoted" \\ {{ .Name }} ' || true || ' \N{GRINNING FACE}"""
TABLE = '[access]\nplatform_groups = ["gpu-platform"]\nexempt_namespaces = ["monitoring"]\n'
TEAMS = f"""
[priorities]
low = 10
prod-workload = 1000
[teams.ranking]
guaranteed = 16
prod = 8
members = ["ranking", {json.dumps(HOSTILE, ensure_ascii=False)}]
leads = ["ranking-leads"]
namespaces = ["ranking-dev"]
machines = {{ namespace = "ranking-vms", count = 3, vcpus = 1, memory = "1Gi" }}
[teams.asr]
guaranteed = 8
members = ["asr"]
namespaces = ["asr-dev"]
"""
AGREED = ONE_FLAVOR + TABLE + TEAMS
JOBS = "ValidatingAdmissionPolicy/tenancy-jobs"


def made(text: str, namespaces: Namespaces = LISTED, **also: bool) -> dict[str, Any]:
    """Every object by `Kind/[namespace/]name`."""
    found = {}
    for entry in access.objects(plan(text), namespaces, **also):
        where = entry["metadata"].get("namespace")
        found["/".join(filter(None, (entry["kind"], where, entry["metadata"]["name"])))] = entry
    return found


def expressions(one: dict[str, Any]) -> str:
    return json.dumps(one["spec"], ensure_ascii=False)


# --- what is written ---------------------------------------------------------------------------------------------------


def test_without_the_table_nobodys_rights_are_written_and_machines_still_have_a_quota() -> None:
    assert list(made(ONE_FLAVOR + TEAMS)) == [
        "Namespace/ranking-dev",
        "LocalQueue/ranking-dev/default",
        "LocalQueue/ranking-dev/prod",
        "Namespace/ranking-vms",
        "ResourceQuota/ranking-vms/tenancy-machines",
        "Namespace/asr-dev",
        "LocalQueue/asr-dev/default",
    ]


def test_a_team_reads_its_own_queues_by_name() -> None:
    (rule,) = made(AGREED)["ClusterRole/tenancy-queues-ranking"]["rules"]
    assert rule["resourceNames"] == ["ranking", "ranking-prod"]
    assert set(rule["verbs"]) == {"get", "list", "watch"}
    groups = [subject["name"] for subject in made(AGREED)["ClusterRoleBinding/tenancy-queues-ranking"]["subjects"]]
    assert groups == ["ranking", HOSTILE, "ranking-leads"]


def test_only_the_platform_groups_may_write_a_queue() -> None:
    writers = {
        name
        for name, value in made(AGREED).items()
        for rule in value.get("rules", ())
        if {"clusterqueues", "cohorts", "localqueues", "queues", "teams"} & set(rule["resources"])
        and set(rule["verbs"]) - {"get", "list", "watch"}
    }
    bound = {subject["name"] for subject in made(AGREED)["ClusterRoleBinding/tenancy-platform"]["subjects"]}
    assert (writers, bound) == ({"ClusterRole/tenancy-platform"}, {"gpu-platform"})


def test_no_role_adds_to_those_of_kubernetes() -> None:
    labels = [set(entry["metadata"]["labels"]) for entry in made(AGREED).values() if entry["kind"] == "ClusterRole"]
    assert all(label == {"tenancy.dev/agreement"} for label in labels)


def test_the_prod_priority_is_for_teams_that_may_name_it() -> None:
    policy = "MutatingAdmissionPolicy/tenancy-prod-priority"
    selector = made(AGREED)[policy]["spec"]["matchConstraints"]["namespaceSelector"]
    assert selector["matchExpressions"][0]["values"] == ["ranking"]
    below = AGREED.replace('namespaces = ["ranking-dev"]', 'namespaces = ["ranking-dev"]\nhighest_priority = "low"')
    assert policy not in made(below)
    assert policy not in made(AGREED, kueue=False)


def test_the_systems_namespaces_are_exempt_and_default_is_not() -> None:
    (names, *_) = made(AGREED)[JOBS]["spec"]["matchConditions"]
    assert '"kueue-system"' in names["expression"]
    assert '"monitoring"' in names["expression"]
    assert '"default"' not in names["expression"]


def test_kai_queues_are_named_where_it_is_written_for() -> None:
    text = AGREED.replace("guaranteed = 8", "guaranteed = 8\nlendable = 4")
    variables = {variable["name"]: variable["expression"] for variable in made(text)[JOBS]["spec"]["variables"]}
    assert '"asr": ["asr", "asr-reserved"]' in variables["kaiOf"]
    assert "kai-scheduler" not in expressions(made(text, kai=False)[JOBS]).replace('\\"kai-scheduler\\"', "", 1)


def test_the_copies_of_a_run_are_known_by_the_prefix_that_verify_gives() -> None:
    """What the policy lets pass in a run's namespace, and what a run is called there."""
    mark, team = Mark("1a2b3c", 7), "asr"
    space = kai_objects.namespace(plan(AGREED), mark, team)["metadata"]
    variables = {variable["name"]: variable["expression"] for variable in made(AGREED)[JOBS]["spec"]["variables"]}
    assert variables["copies"].startswith('request.namespace.startsWith(("verify-" + namespaceObject')
    assert space["labels"]["tenancy.dev/verify"] == "1a2b3c"
    for name in (space["name"], mark.name(team), mark.name("a" * 80)):
        assert name.startswith("verify-1a2b3c-")


# --- machines ----------------------------------------------------------------------------------------------------------


def test_a_machines_pod_asks_for_what_was_measured() -> None:
    assert quotas.launcher_memory(2**30, 1) == 1_412_828_864


@pytest.mark.parametrize(("memory", "page_tables"), [(3 * 2**30, 6_291_457), (2**30, 2_097_152), (1, 1)])
def test_page_tables_are_of_kilobytes_rounded_up(memory: int, page_tables: int) -> None:
    """A byte less, and the last machine of a quota would stay out."""
    rest = quotas.launcher_memory(memory, 1) - memory - (240 + 8 + 8 + 32) * 2**20 - 35_000_000
    assert rest == page_tables


def test_the_quota_is_exactly_the_machines() -> None:
    hard = made(AGREED)["ResourceQuota/ranking-vms/tenancy-machines"]["spec"]["hard"]
    assert number(hard.pop("requests.memory")) == 3 * 1_412_828_864
    assert hard == {
        "count/virtualmachines.kubevirt.io": "3",
        "count/virtualmachineinstances.kubevirt.io": "3",
        "requests.nvidia.com/gpu": "0",
    }


# --- hostile names -----------------------------------------------------------------------------------------------------


def test_a_hostile_group_comes_back_from_yaml_as_it_was() -> None:
    objects = access.objects(plan(AGREED), LISTED)
    assert list(yaml.safe_load_all(dump_all(objects))) == objects
    groups = [subject["name"] for subject in made(AGREED)["RoleBinding/ranking-dev/tenancy-member"]["subjects"]]
    assert groups == ["ranking", HOSTILE]


def test_a_hostile_group_is_text_in_the_template_too() -> None:
    """Its braces are no action of the template, and what the template leaves is the group again."""
    template = made(AGREED, OPERATOR)["NamespaceConfig/tenancy"]["spec"]["templates"][0]["objectTemplate"]
    branch = template.split("}}\n", 2)[2].split("\n{{-", 1)[0]
    there = yaml.safe_load(branch.replace("{{ .Name }}", "ranking-dev").replace("{{ $team }}", "ranking"))
    (binding,) = [entry for entry in there if entry["metadata"]["name"] == "tenancy-member"]
    assert binding["metadata"]["namespace"] == "ranking-dev"
    assert [subject["name"] for subject in binding["subjects"]] == ["ranking", HOSTILE]


def test_groups_do_not_reach_a_policy() -> None:
    """Whom a group's members are is RBAC's to know; a policy asks for a right."""
    policies = [entry for entry in made(AGREED).values() if entry["kind"].endswith("AdmissionPolicy")]
    assert len(policies) == 3
    assert not any("quoted" in expressions(policy) or "gpu-platform" in expressions(policy) for policy in policies)


@pytest.mark.parametrize("value", ["plain", 'a "b" \\ c', HOSTILE])
def test_text_is_one_literal_of_cel(value: str) -> None:
    """JSON reads it back, and what JSON knows and CEL does not (a pair of surrogates) is not in it."""
    assert json.loads(jobs.text(value)) == value
    assert "\\ud" not in jobs.text(value)
