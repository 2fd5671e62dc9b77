"""`check` on who belongs where, and on sharing: namespaces, groups, priorities, machines, weights."""

from __future__ import annotations

import pytest
from samples import ONE_FLAVOR, findings, plan

from tenancy.objects.loading import load

TEAM = "[teams.a]\nguaranteed = 8\n"
ACCESS = '[access]\nplatform_groups = ["gpu-platform"]\n'
PRIORITIES = "[priorities]\nlow = 10\nprod-workload = 1000\n"

# What an agreement adds to one flavor of 4 nodes with 8 GPUs → what `check` says. One row is one rule.
CASES: dict[str, tuple[str, list[str]]] = {
    "a priority that is not there": (
        f'{ACCESS}{TEAM}highest_priority = "lo"\n{PRIORITIES}',
        ["teams.a.highest_priority: 'lo' is not a priority of this agreement; did you mean 'low'?"],
    ),
    "a namespace with a dot": (
        f'{TEAM}namespaces = ["a.b"]',
        [
            (
                "teams.a.namespaces[0]: 'a.b' is not a name that a cluster accepts; use lower-case letters, digits and '-', "
                "a letter or digit at both ends"
            )
        ],
    ),
    "a namespace of the system": (
        f'{TEAM}namespaces = ["kube-system"]',
        [
            "teams.a.namespaces[0]: namespace 'kube-system' is the system's own; name a namespace that only this team uses"
        ],
    ),
    "a namespace that is exempt": (
        f'{ACCESS}exempt_namespaces = ["x"]\n{TEAM}namespaces = ["x"]',
        [
            "teams.a.namespaces[0]: namespace 'x' is in access.exempt_namespaces; name a namespace that only this team uses"
        ],
    ),
    "a namespace of two teams": (
        f'{TEAM}namespaces = ["x"]\n[teams.b]\nprofiles = {{ x = "x@example.com" }}',
        [
            (
                "teams.b.profiles.x: namespace 'x' is also named at teams.a.namespaces[0]; "
                "a namespace belongs to one team and has one use: name it once"
            )
        ],
    ),
    "machines where jobs are": (
        f'{TEAM}namespaces = ["x"]\nmachines = {{ namespace = "x", count = 1, vcpus = 1, memory = "1Gi" }}',
        [
            (
                "teams.a.machines.namespace: namespace 'x' is also named at teams.a.namespaces[0]; "
                "a namespace belongs to one team and has one use: name it once"
            )
        ],
    ),
    "machines without memory": (
        f'{TEAM}machines = {{ namespace = "x", count = 1, vcpus = 1 }}',
        ["teams.a.machines.memory: is missing; add it"],
    ),
    "more memory than a quantity holds": (
        f'{TEAM}machines = {{ namespace = "x", count = 9, vcpus = 1, memory = "1Ei" }}',
        ["teams.a.machines: need more memory in all than a quantity can hold (2^63 - 1 bytes); lower count or memory"],
    ),
    "everyone as a member": (
        f'{ACCESS}{TEAM}members = ["system:authenticated"]',
        [
            (
                "teams.a.members[0]: 'system:authenticated' is one of Kubernetes' own groups, which has members outside the team; "
                "name a group that only the team is in"
            )
        ],
    ),
    "a group without a name": (
        f'{ACCESS}{TEAM}leads = [" "]',
        ["teams.a.leads[0]: is empty; name a group as the cluster's OIDC provider does"],
    ),
    "nobody on the platform": (
        f"[access]\nplatform_groups = []\n{TEAM}",
        ['access.platform_groups: names no group, so nobody could change a queue; write one such as ["gpu-platform"]'],
    ),
    "a weight that nothing reads": (
        f"{TEAM}weight = 2",
        [
            (
                'advice: teams.a.weight: Kueue uses weights only with [sharing] policy = "fair"; KAI uses them always; '
                'write policy = "fair" in [sharing] if Kueue should use them too'
            )
        ],
    ),
    "a weight below zero": (f"{TEAM}weight = -1", ["teams.a.weight: -1 is negative; write 0 or more"]),
    "a weight finer than Kueue's": (
        f"{TEAM}weight = 0.0001",
        ["teams.a.weight: 0.0001 is finer than 0.001; write a number such as 1, 2 or 0.5"],
    ),
    "strategies in an order Kueue refuses": (
        (
            f'[sharing]\npolicy = "fair"\npreemption_strategies = ["LessThanInitialShare", '
            f'"LessThanOrEqualToFinalShare"]\n{TEAM}'
        ),
        [
            (
                "sharing.preemption_strategies: is not a list that Kueue accepts; write "
                '["LessThanOrEqualToFinalShare", "LessThanInitialShare"] or ["LessThanOrEqualToFinalShare"] or '
                '["LessThanInitialShare"]'
            )
        ],
    ),
    "strategies that nothing reads": (
        f'[sharing]\npreemption_strategies = ["LessThanInitialShare"]\n{TEAM}',
        [
            'sharing.preemption_strategies: has an effect only with policy "fair"; write policy = "fair", or leave it out'
        ],
    ),
    "a half-life of nothing": (
        f'[sharing.usage]\nhalf_life = "0s"\n{TEAM}',
        ['sharing.usage.half_life: is zero; write a time such as "5m"'],
    ),
    "a time that is none": (
        f'[sharing]\nreclaim_min_runtime = "5 minutes"\n{TEAM}',
        [
            (
                "sharing.reclaim_min_runtime: '5 minutes' is not a duration; "
                'write one such as "90s", "5m", "1h30m" or "7d"'
            )
        ],
    ),
    "a platform of everybody": (
        f'[access]\nplatform_groups = ["p", "system:authenticated"]\n{TEAM}',
        [
            (
                "access.platform_groups[1]: 'system:authenticated' includes every user, so everybody could change every queue; "
                "name a group of platform engineers"
            )
        ],
    ),
    "rights that nothing writes": (
        f'{TEAM}members = ["a"]\n[teams.b]\nhighest_priority = "low"\n{PRIORITIES}',
        [
            "advice: teams.a.members: has no effect without [access]; add [access] with platform_groups, or leave this out",
            "advice: teams.b.highest_priority: has no effect without [access]; add [access] with platform_groups, or leave this out",
        ],
    ),
    "a resource that nobody has": (
        f'[sharing.usage]\nresource_weights = {{ "nvidia.com/gp" = 1 }}\n{TEAM}',
        [
            (
                "sharing.usage.resource_weights.\"nvidia.com/gp\": 'nvidia.com/gp' is not a resource of this agreement's "
                "flavors; did you mean 'nvidia.com/gpu'?"
            )
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str) -> None:
    text, expected = CASES[case]
    assert findings(ONE_FLAVOR + text) == expected


def test_a_prod_priority_that_is_not_there_is_said() -> None:
    wrong = ONE_FLAVOR.replace("[cluster]", "[cluster]\nprod_priority = 'x'") + TEAM + PRIORITIES
    assert findings(wrong) == [
        "cluster.prod_priority: 'x' is not a priority of this agreement; known are low, prod-workload"
    ]


@pytest.mark.parametrize("label", ["tenancy.dev/agreement", "kubernetes.io/metadata.name"])
def test_a_team_label_with_a_meaning_of_its_own_is_said(label: str) -> None:
    wrong = ONE_FLAVOR.replace("[cluster]", f"[cluster]\nteam_label = '{label}'") + TEAM
    assert findings(wrong) == [
        f"cluster.team_label: '{label}' is a namespace label that already has another meaning; use one such as tenancy.dev/team"
    ]


def test_a_team_without_prod_stays_below_the_prod_priority() -> None:
    result = plan(f"{ONE_FLAVOR}{PRIORITIES}{TEAM}prod = 4\n[teams.b]\n[teams.c]\nhighest_priority = 'low'\n")
    assert result.prod_priority == "prod-workload"
    assert {name: team.highest_priority for name, team in result.team.items()} == {"a": None, "b": 999, "c": 10}


def test_weights_are_thousandths_and_durations_seconds() -> None:
    result = plan(f"{ONE_FLAVOR}[sharing]\nreclaim_min_runtime = '1h30m'\n{TEAM}weight = 0.5\n")
    assert (result.sharing.reclaim_min_runtime, result.team["a"].weight) == (5400, 500)


def test_profiles_are_namespaces_of_the_team() -> None:
    result = plan(f"{ONE_FLAVOR}{TEAM}namespaces = ['x']\nprofiles = {{ alice = 'alice@example.com' }}\n")
    assert result.team["a"].namespaces == ("x", "alice")


def test_of_a_broken_access_table_the_rest_is_still_checked(tmp_path: object) -> None:
    file = f"{tmp_path}/tenancy.toml"
    with open(file, "w") as out:
        out.write(f"{ONE_FLAVOR}[access]\nplatform_groups = 8\n[teams.a]\nguaranteed = 99\n")
    assert len(load(file).findings) == 2
