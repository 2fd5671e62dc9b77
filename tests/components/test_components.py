"""What the components register: names, order, options, outputs."""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from recorder import Registered, run
from samples import LAB, ONE_FLAVOR

from components import (
    GpuFlavor,
    GpuFlavorArgs,
    TeamQuota,
    TeamQuotaArgs,
    TenancyAgreement,
    TenancyAgreementArgs,
    TopologyTree,
    TopologyTreeArgs,
    cluster_provider,
)
from components.objects import written
from components.order import put_back
from tenancy.agreement import Agreement
from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import kueue
from tenancy.objects.loading import loads
from tenancy.objects.schedulers import Scheduler

BOTH = (Scheduler.KUEUE, Scheduler.KAI)
TEXT = """
    [cluster]
    name = "lab"
    [topologies.zonal]
    levels = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    [flavors.gpu]
    nodes = 4
    gpus_per_node = 8
    topology = "zonal"
    [priorities]
    high = 1000
    [departments.search]
    [teams.ranking]
    department = "search"
    guaranteed = 16
    lendable = 12
    prod = 8
    [teams.embeddings]
    guaranteed = 8
"""


def agreement(text: str = TEXT) -> Agreement:
    loaded = loads(textwrap.dedent(text))
    assert loaded.agreement, loaded.findings
    return loaded.agreement


def plan() -> Plan:
    return make_plan(agreement())


def registered(
    *schedulers: Scheduler, opts: Callable[[], pulumi.ResourceOptions | None] = lambda: None
) -> dict[str, Registered]:
    """A whole agreement's registrations by type and name, `ClusterQueue/a-ranking`; components by their type's last part."""
    args = TenancyAgreementArgs(agreement=agreement(), schedulers=schedulers or (Scheduler.KUEUE,))
    made = run(lambda: TenancyAgreement("a", args, opts()))
    return {f"{_kind(resource.type)}/{resource.name}": resource for resource in made}


def _kind(type_: str) -> str:
    """KAI's Topology beside Kueue's, as `identity.kind_of` calls it."""
    kind = type_.rpartition(":")[2]
    return f"{kind}.kai.scheduler" if kind == "Topology" and "kai.scheduler" in type_ else kind


def names(urns: tuple[str, ...] | list[str]) -> set[str]:
    return {f"{urn.split('::')[2].rpartition(':')[2]}/{urn.rpartition('::')[2]}" for urn in urns}


def test_every_name_says_whose_child_it_is() -> None:
    made = registered(*BOTH)
    urns = {resource.urn: resource.name for resource in made.values()}
    children = [resource for resource in made.values() if resource.parent in urns]
    assert len(children) == len(made) - 1
    assert [resource.name for resource in children if not resource.name.startswith(urns[resource.parent])] == []


def test_the_engine_of_the_tests_refuses_a_name_twice() -> None:
    def twice() -> None:
        for _ in range(2):
            TeamQuota("ranking", TeamQuotaArgs(agreement=plan(), team="ranking"))

    with pytest.raises(AssertionError, match="Duplicate resource URN"):
        run(twice)


def test_no_name_depends_on_department_or_prod() -> None:
    """Under two names Pulumi would make an object, and then delete it under the old one."""
    before = registered(*BOTH)
    moved = TEXT.replace('    department = "search"\n', "").replace("    prod = 8\n", "")
    after = run(lambda: TenancyAgreement("a", TenancyAgreementArgs(agreement=agreement(moved), schedulers=BOTH)))
    by_urn = {
        resource.urn: (resource.type, resource.inputs.get("metadata", {}).get("name")) for resource in before.values()
    }
    kept = [
        resource
        for resource in after
        if resource.is_object and resource.inputs["metadata"]["name"] in ("ranking", "ranking-reserved")
    ]
    assert {resource.urn for resource in kept} <= set(by_urn)
    assert len(kept) == 3


def test_every_object_itself_depends_on_what_it_stands_on() -> None:
    """On the components alone would do for making them. An object deleted while its component stays has only its own."""
    made = registered(*BOTH)
    stands_on = {name: names(resource.depends_on) for name, resource in made.items() if resource.is_object}
    assert stands_on == {
        "Topology/a-zonal": set(),
        "ResourceFlavor/a-gpu": {"Topology/a-zonal"},
        "WorkloadPriorityClass/a-high": set(),
        "Cohort/a-lab": {"ResourceFlavor/a-gpu"},
        "Cohort/a-search": {"Cohort/a-lab"},
        "Cohort/a-ranking": {"Cohort/a-search", "Queue/a-search"},
        "ClusterQueue/a-ranking": {"Cohort/a-ranking"},
        "ClusterQueue/a-ranking-prod": {"Cohort/a-ranking"},
        "ClusterQueue/a-embeddings": {"Cohort/a-lab", "Queue/a-shared"},
        "Topology.kai.scheduler/a-zonal": set(),
        "PriorityClass/a-high": set(),
        "Queue/a-shared": set(),
        "Queue/a-search": {"Queue/a-shared"},
        "Queue/a-ranking-shared": {"Cohort/a-search", "Queue/a-search"},
        "Queue/a-ranking": {"Queue/a-ranking-shared"},
        "Queue/a-ranking-prod": {"Queue/a-ranking-shared"},
        "Queue/a-ranking-never-lent": {"Cohort/a-search", "Queue/a-search"},
        "Queue/a-ranking-reserved": {"Queue/a-ranking-never-lent"},
        "Queue/a-embeddings": {"Cohort/a-lab", "Queue/a-shared"},
    }


def test_a_team_waits_for_no_other_team() -> None:
    made = registered(*BOTH)
    assert not any("ranking" in name for name in names(made["ClusterQueue/a-embeddings"].depends_on))
    assert not any("embeddings" in name for name in names(made["Cohort/a-ranking"].depends_on))


def test_protection_and_timeouts_reach_every_object() -> None:
    timeouts = pulumi.CustomTimeouts(create="1m", update="2m", delete="3m")
    made = registered(*BOTH, opts=lambda: pulumi.ResourceOptions(protect=True, custom_timeouts=timeouts))
    objects = [resource for resource in made.values() if resource.is_object]
    assert {resource.protect for resource in objects} == {True}
    assert {resource.timeouts for resource in objects} == {("1m", "2m", "3m")}


IN_NAMESPACES = """
    [access]
    platform_groups = ["gpu-platform"]
    [teams.asr]
    namespaces = ["asr"]
    members = ["asr"]
"""


def test_what_jobs_stand_on_is_kept_and_a_right_is_not() -> None:
    """`retain` must leave no right behind that was taken away, and `protect` no namespace in the way of a move."""
    args = TenancyAgreementArgs(agreement=agreement(TEXT + IN_NAMESPACES), schedulers=BOTH)
    kept = pulumi.ResourceOptions(protect=True, retain_on_delete=True)
    made = [resource for resource in run(lambda: TenancyAgreement("a", args, kept)) if resource.is_object]
    by_kind = {
        kind: [resource for resource in made if resource.type.endswith(f":{kind}")]
        for kind in {_kind(resource.type) for resource in made}
    }
    assert all(
        resource.retained is None and resource.protect
        for kind in ("Cohort", "ClusterQueue", "Queue")
        for resource in by_kind[kind]
    )
    rights = [resource for resource in made if "rbac.authorization.k8s.io" in resource.type]
    assert rights and {resource.retained for resource in rights} == {False}
    inside = [
        resource
        for resource in made
        if "namespace" in resource.inputs["metadata"] or resource.type.startswith("kubernetes:core/v1:Namespace")
    ]
    assert {_kind(resource.type) for resource in inside} >= {"LocalQueue", "RoleBinding"}
    assert {(resource.retained, resource.protect) for resource in inside} == {(False, False)}


def test_a_replacement_deletes_first() -> None:
    """The name stays, so the new object is the old one: deleting the old one afterwards would delete it."""
    assert {resource.delete_before_replace for resource in registered(*BOTH).values() if resource.is_object} == {True}


def test_the_provider_stays_when_the_kubeconfig_or_the_name_of_the_cluster_changes() -> None:
    """Another provider would mean other objects."""
    identifiers = set()
    for kubeconfig in ("here", "there"):
        (made,) = run(lambda path=kubeconfig: cluster_provider("cluster", kubeconfig=path))
        identifiers.add(made.inputs["clusterIdentifier"])
    assert identifiers == {"tenancy/test"}


def test_without_options_nothing_is_protected() -> None:
    assert {resource.protect for resource in registered(*BOTH).values()} == {False}


def test_the_provider_reaches_every_object() -> None:
    class Provider(pulumi.ProviderResource):
        def __init__(self) -> None:
            super().__init__("kubernetes", "mine")

    made = registered(*BOTH, opts=lambda: pulumi.ResourceOptions(provider=Provider()))
    providers = {resource.provider.split("::")[-2] for resource in made.values() if resource.is_object}
    assert providers == {"mine"}


def test_every_component_registers_its_outputs() -> None:
    made = registered(*BOTH)
    components = [resource for resource in made.values() if resource.type.startswith("tenancy:")]
    assert len(components) == 5
    assert [resource.name for resource in components if "_registered" not in resource.outputs] == []


def test_a_team_names_its_queues() -> None:
    outputs = registered(*BOTH)["TeamQuota/a-ranking"].outputs
    assert outputs["queueName"] == "ranking"
    assert outputs["prodQueueName"] == "ranking-prod"
    assert outputs["reservedQueueName"] == "ranking-reserved"


def test_a_team_without_prod_names_no_prod_queue() -> None:
    assert set(registered()["TeamQuota/a-embeddings"].outputs) == {"queueName", "_registered"}


def test_a_team_has_its_name_as_queue_in_kai_alone() -> None:
    assert registered(Scheduler.KAI)["TeamQuota/a-ranking"].outputs["queueName"] == "ranking"


def test_the_agreement_names_the_queue_of_every_team() -> None:
    assert registered()["TenancyAgreement/a"].outputs["queues"] == {"ranking": "ranking", "embeddings": "embeddings"}


def test_parts_stand_alone() -> None:
    def program() -> None:
        topology = TopologyTree("tree", TopologyTreeArgs(agreement=plan(), topology="zonal"))
        opts = pulumi.ResourceOptions(depends_on=[topology])
        GpuFlavor("hardware", GpuFlavorArgs(agreement=plan(), flavor="gpu"), opts)
        TeamQuota("quota", TeamQuotaArgs(agreement=plan(), team="ranking"))

    made = {resource.name: resource for resource in run(program) if resource.is_object}
    assert set(made) == {"tree", "hardware", "quota", "quota-prod"}


@pytest.mark.parametrize(("part", "name"), [("team", "rankin"), ("flavor", "gpus"), ("topology", "zone")])
def test_a_part_that_is_not_in_the_agreement_is_refused_with_the_nearest(part: str, name: str) -> None:
    parts: dict[str, Callable[[], object]] = {
        "team": lambda: TeamQuota("x", TeamQuotaArgs(agreement=plan(), team=name)),
        "flavor": lambda: GpuFlavor("x", GpuFlavorArgs(agreement=plan(), flavor=name)),
        "topology": lambda: TopologyTree("x", TopologyTreeArgs(agreement=plan(), topology=name)),
    }
    near = {"team": "ranking", "flavor": "gpu", "topology": "zonal"}[part]
    with pytest.raises(pulumi.RunError, match=f"no {part} '{name}' in the agreement; did you mean '{near}'"):
        run(parts[part])


def test_an_agreement_with_errors_is_refused_with_all_of_them() -> None:
    wrong = Agreement.model_validate(
        {
            "cluster": {"name": "lab"},
            "flavors": {"gpu": {"nodes": 1, "gpus_per_node": 8}},
            "teams": {"a": {"guaranteed": 8, "lendable": 9}, "b": {"guaranteed": 8}},
        }
    )
    with pytest.raises(pulumi.RunError) as refused:
        TenancyAgreementArgs(agreement=wrong)
    said = str(refused.value).splitlines()
    assert len(said) == 2
    assert any(line.startswith("teams.a.lendable: 9 is more than guaranteed (8)") for line in said)


def test_an_agreement_that_kai_would_mix_up_is_refused_with_the_reason() -> None:
    labels = "node_labels = {{ 'kai.scheduler/node-pool' = 'one', a = '{}' }}\n"
    other = "[flavors.other]\nnodes = 1\ngpus_per_node = 8\n" + labels.format("other")
    agreed = agreement(ONE_FLAVOR + labels.format("gpu") + other + "[teams.a]\n")
    assert TenancyAgreementArgs(agreement=agreed)
    with pytest.raises(
        pulumi.RunError, match=r"KAI gets no queues for this agreement: flavors gpu, other are one node"
    ):
        TenancyAgreementArgs(agreement=agreed, schedulers=(Scheduler.KAI,))


def test_an_agreement_built_in_python_is_held_to_the_names_of_its_objects() -> None:
    agreed = agreement(LAB)
    agreed = agreed.model_copy(update={"teams": {**agreed.teams, "training-reserved": agreed.teams["research"]}})
    with pytest.raises(
        pulumi.RunError, match=r"teams.training-reserved: its KAI Queue 'training-reserved' is also made"
    ):
        TenancyAgreementArgs(agreement=agreed)


def test_on_kai_a_team_stands_in_the_tree_of_each_flavor_and_each_tree_on_its_shard() -> None:
    made = run(
        lambda: TenancyAgreement(
            "a", TenancyAgreementArgs(agreement=agreement(TWO_FLAVORS), schedulers=(Scheduler.KAI,))
        )
    )
    stands_on = {
        f"{_kind(resource.type)}/{resource.name}": names(resource.depends_on) for resource in made if resource.is_object
    }
    assert stands_on == {
        "SchedulingShard/a-gpu": set(),
        "SchedulingShard/a-slow": set(),
        "Queue/a-shared-gpu": {"SchedulingShard/a-gpu"},
        "Queue/a-shared-slow": {"SchedulingShard/a-slow"},
        "Queue/a-a-gpu": {"Queue/a-shared-gpu", "Queue/a-shared-slow"},
        "Queue/a-a-slow": {"Queue/a-shared-gpu", "Queue/a-shared-slow"},
    }


def test_a_team_says_which_kai_queues_its_jobs_may_name() -> None:
    quota: list[TeamQuota] = []
    cut = TWO_FLAVORS.replace(
        "guaranteed = { gpu = 8 }", "guaranteed = { slow = 8 }\n    lendable = { slow = 4 }\n    prod = { slow = 2 }"
    )
    args = TeamQuotaArgs(agreement=make_plan(agreement(cut)), team="a", schedulers=(Scheduler.KAI,))
    run(lambda: quota.append(TeamQuota("a", args)))
    found = {
        flavor: {use: kubernetes_object.name for use, kubernetes_object in uses.items()}
        for flavor, uses in quota[0].kai_queues.items()
    }
    assert found == {
        "gpu": {"regular": "a-gpu"},
        "slow": {"regular": "a-slow", "reserved": "a-reserved-slow", "prod": "a-prod-slow"},
    }
    assert quota[0].queue.name == "a-gpu"
    assert quota[0].reserved_queue and quota[0].reserved_queue.name == "a-reserved-slow"
    assert quota[0].prod_queue and quota[0].prod_queue.name == "a-prod-slow"


TWO_FLAVORS = """
    [cluster]
    name = "lab"
    [flavors.gpu]
    nodes = 1
    gpus_per_node = 8
    [flavors.slow]
    nodes = 1
    gpus_per_node = 8
    [teams.a]
    guaranteed = { gpu = 8 }
"""


def test_what_is_not_kept_exactly_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        registered(Scheduler.KAI)
    assert "kai keeps 'guaranteed' approximate for ranking: exact in counts, in two queues" in caplog.text


# --- the order of a change ----------------------------------------------------------------------------------------------


def moved(more: int, less: int, prod: int, *, new: bool) -> Agreement:
    """32 GPUs, of which `same` always has 4."""
    return agreement(f"""
        [cluster]
        name = "lab"
        [flavors.gpu]
        nodes = 4
        gpus_per_node = 8
        {"[teams.new]" if new else ""}
        {"guaranteed = 8" if new else ""}
        [teams.more]
        guaranteed = {more}
        [teams.same]
        guaranteed = 4
        [teams.less]
        guaranteed = {less}
        prod = {prod}
    """)


def waits(now: Agreement, before: Agreement) -> dict[str, set[str]]:
    """What each team's component waits for."""
    record = {f"{entry['kind']}/{entry['metadata']['name']}": entry for entry in kueue.objects(make_plan(before))}
    args = TenancyAgreementArgs(agreement=now, before=record)
    made = run(lambda: TenancyAgreement("a", args))
    return {resource.name: names(resource.depends_on) for resource in made if resource.type.endswith(":TeamQuota")}


def test_what_is_put_back_is_lowered_before_anything_is_raised() -> None:
    """By hand 8 GPUs went from `low` to `high`; written as the provider would, `high` first."""

    def queue(name: str, gpus: str) -> dict[str, Any]:
        resources = [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]
        groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "gpu", "resources": resources}]}]
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {"resourceGroups": groups},
        }

    there = {"ClusterQueue/low": queue("low", "8"), "ClusterQueue/high": queue("high", "24")}
    wanted = [queue("low", "16"), queue("high", "16")]
    assert put_back(there, wanted) == [written(wanted[1]), written(wanted[0])]


def test_who_gets_more_waits_for_all_who_give() -> None:
    """`less` gives 16 GPUs, 8 each to `new` and `more`. Until it has given, 48 would be promised of 32."""
    found = waits(moved(16, 4, 2, new=True), moved(8, 20, 2, new=False))
    given = {"Cohort/a-less", "ClusterQueue/a-less", "ClusterQueue/a-less-prod"}
    assert found["a-new"] == {"Cohort/a-lab", *given}
    assert found["a-more"] == {"Cohort/a-lab", "ClusterQueue/a-new"}
    assert found["a-less"] == found["a-same"] == {"Cohort/a-lab"}


def test_a_prod_slice_that_grows_inside_its_team_waits_for_no_other_team() -> None:
    found = waits(moved(8, 20, 8, new=False), moved(8, 20, 2, new=False))
    assert set(map(frozenset, found.values())) == {frozenset({"Cohort/a-lab"})}


def test_without_a_change_nobody_waits() -> None:
    same = moved(8, 20, 2, new=False)
    assert set(map(frozenset, waits(same, same).values())) == {frozenset({"Cohort/a-lab"})}
