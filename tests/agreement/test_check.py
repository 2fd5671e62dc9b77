"""`check` finds each way an agreement can be wrong, says where, and what would be right."""

from __future__ import annotations

import pytest
from samples import LAB, ONE_FLAVOR, PRODUCTION, ROOT, SHARED, findings

from tenancy.agreement import Severity
from tenancy.agreement.model import Agreement, Cluster, Flavor, Team
from tenancy.objects.loading import check, load, loads

LAYOUT = ("cluster", "guarantee_on")  # advised on wherever a team has prod
TEAM = "[teams.a]\nguaranteed = 8\n"
TEAM_OF_GPU = "[teams.a]\nguaranteed = { gpu = 8 }\n"
OTHER_FLAVOR = "[flavors.other]\nnodes = 1\ngpus_per_node = 8\n"


@pytest.mark.parametrize("name", ["lab.toml", "production.toml"])
def test_the_examples_of_the_format_are_fine(name: str) -> None:
    if not SHARED.exists():
        pytest.skip(f"the examples are not here: {SHARED}")
    assert [finding for finding in load(SHARED / name).findings if finding.path != LAYOUT] == []


@pytest.mark.parametrize("file", [ROOT / "tenancy.toml", PRODUCTION], ids=lambda file: file.name)
def test_our_own_agreements_are_fine(file: object) -> None:
    assert [finding for finding in load(str(file)).findings if finding.path != LAYOUT] == []


# What an agreement adds to one flavor of 4 nodes with 8 GPUs → what `check` says. One row is one rule.
SINGLE: dict[str, tuple[str, list[str]]] = {
    "guarantees above capacity": (
        "[teams.a]\nguaranteed = 24\n[teams.b]\nguaranteed = 16",
        [
            (
                "flavors.gpu: teams are guaranteed 40 GPUs (a 24 + b 16), but 4 nodes of 8 have 32; "
                "lower guarantees by 8, or add nodes"
            )
        ],
    ),
    "lendable above guaranteed": (
        "[teams.a]\nguaranteed = 8\nlendable = 12",
        ["teams.a.lendable: 12 is more than guaranteed (8); write at most 8, or raise guaranteed"],
    ),
    "prod above guaranteed": (
        "[teams.a]\nguaranteed = 8\nprod = 9",
        ["teams.a.prod: 9 is more than guaranteed (8); write at most 8, or raise guaranteed"],
    ),
    "lendable of nothing": (
        "[teams.a]\nlendable = 1",
        ["teams.a.lendable: 1 is more than guaranteed (0); write at most 0, or raise guaranteed"],
    ),
    "a name with capitals": (
        "[teams.Research]\nguaranteed = 8",
        [
            (
                "teams.Research: 'Research' is not a name that a cluster accepts; use lower-case letters, digits, '-' and '.', "
                "a letter or digit at both ends, for instance 'research'"
            )
        ],
    ),
    "a name with an underscore": (
        "[departments.deep_learning]\n[teams.a]\nguaranteed = 8\ndepartment = 'deep_learning'",
        [
            (
                "departments.deep_learning: 'deep_learning' is not a name that a cluster accepts; use lower-case letters, digits, "
                "'-' and '.', a letter or digit at both ends, for instance 'deep-learning'"
            )
        ],
    ),
    "a name of 64 characters": (
        f"[teams.{'a' * 64}]\nguaranteed = 8",
        [f"teams.{'a' * 64}: '{'a' * 20}…' has 64 characters; at most 63 are allowed"],
    ),
    "a name whose reserved queue is too long": (
        f"[teams.{'a' * 60}]\nguaranteed = 8\nlendable = 0",
        [f"teams.{'a' * 60}: its KAI Queue '{'a' * 20}…' has 69 characters; at most 63 are allowed"],
    ),
    "a priority with a bad name": (
        f"{TEAM}[priorities]\nPROD = 1",
        [
            (
                "priorities.PROD: 'PROD' is not a name that a cluster accepts; use lower-case letters, digits, '-' and '.', "
                "a letter or digit at both ends, for instance 'prod'"
            )
        ],
    ),
    "a department called like the cluster": (
        "[departments.lab]\n[teams.a]\nguaranteed = 8\ndepartment = 'lab'",
        ["departments.lab: its Cohort 'lab' is also made by cluster.name; give one of them another name"],
    ),
    "a topology called like the one of hosts": (
        f'topology = "lab-hosts"\n[topologies.lab-hosts]\nlevels = ["a"]\n{OTHER_FLAVOR}{TEAM_OF_GPU}',
        ["topologies.lab-hosts: its Topology 'lab-hosts' is also made by cluster.name; give one of them another name"],
    ),
    "a team called like a prod queue": (
        "[teams.a]\nguaranteed = 8\nprod = 8\n[teams.a-prod]\nguaranteed = 8",
        ["teams.a-prod: its ClusterQueue 'a-prod' is also made by teams.a; give one of them another name"],
    ),
    "a team called like a reserved queue": (
        "[teams.a]\nguaranteed = 8\nlendable = 0\n[teams.a-reserved]\nguaranteed = 8",
        ["teams.a-reserved: its KAI Queue 'a-reserved' is also made by teams.a; give one of them another name"],
    ),
    "a team in a department of its name, which would be its own parent": (
        "[departments.a]\n[teams.a]\nguaranteed = 8\ndepartment = 'a'",
        ["teams.a: its KAI Queue 'a' is also made by departments.a; give one of them another name"],
    ),
    "a team called like KAI's root": (
        "[teams.shared]\nguaranteed = 8",
        ["teams.shared: its KAI Queue 'shared' is also made by the agreement itself; give one of them another name"],
    ),
    "a team called like the parent of another's queues": (
        "[teams.a]\nguaranteed = 8\nlendable = 8\nprod = 4\n[teams.a-shared]\nguaranteed = 8",
        ["teams.a-shared: its KAI Queue 'a-shared' is also made by teams.a; give one of them another name"],
    ),
    "a team called like the root of another's reserved part": (
        "[teams.a]\nguaranteed = 8\nlendable = 0\n[teams.a-never-lent]\nguaranteed = 8",
        ["teams.a-never-lent: its KAI Queue 'a-never-lent' is also made by teams.a; give one of them another name"],
    ),
    "a name to show of two lines": (
        "[teams.a]\nguaranteed = 8\ndisplay_name = 'The A\\nTeam'".replace("'", '"'),
        ["teams.a.display_name: contains the control character U+000A; write it as one line of plain text"],
    ),
    "a team called like the queue of jobs without one": (
        "[teams.default-queue]\nguaranteed = 8",
        [
            "teams.default-queue: its KAI Queue 'default-queue' is also made by KAI's own chart; give one of them another name"
        ],
    ),
    "an unknown department": (
        "[departments.speech]\n[teams.a]\nguaranteed = 8\ndepartment = 'spech'\n[teams.b]\ndepartment = 'speech'",
        ["teams.a.department: 'spech' is not a department of this agreement; did you mean 'speech'?"],
    ),
    "an unknown flavor": (
        "[teams.a]\nguaranteed = { gpus = 8 }",
        ["teams.a.guaranteed.gpus: 'gpus' is not a flavor of this agreement; did you mean 'gpu'?"],
    ),
    "an unknown flavor like no other": (
        "[teams.a]\nguaranteed = { tpu-v5 = 8 }",
        ["teams.a.guaranteed.tpu-v5: 'tpu-v5' is not a flavor of this agreement; known are gpu"],
    ),
    "CPUs of a GPU flavor": (
        "[teams.a]\nguaranteed = '8 cpu'",
        ["teams.a.guaranteed: is in CPUs, but flavor 'gpu' is counted in GPUs; write 8"],
    ),
    "half a GPU": (
        "[teams.a]\nguaranteed = 7.5",
        [
            (
                "teams.a.guaranteed: 7.5 is not a whole number of GPUs, slices or CPUs; "
                'write a whole number such as 8, or "640 cpu"'
            )
        ],
    ),
    "a whole GPU with a point": (
        "[teams.a]\nguaranteed = 8.0",
        ["teams.a.guaranteed: 8.0 is not a whole number of GPUs, slices or CPUs; write 8"],
    ),
    "a word for a number": (
        "[teams.a]\nguaranteed = 'eight'",
        [
            (
                "teams.a.guaranteed: 'eight' is not a quantity of GPUs, slices or CPUs; "
                'write a whole number such as 8, or "640 cpu"'
            )
        ],
    ),
    "less than nothing": ("[teams.a]\nguaranteed = -8", ["teams.a.guaranteed: -8 is negative; write 0 or more"]),
    "too many to be true": (
        "[teams.a]\nborrowable = 10000000000",
        ["teams.a.borrowable: 10000000000 is too large; at most 1000000000 is possible"],
    ),
    "a key that is not known": (
        "[teams.a]\nguarantied = 8",
        ["teams.a.guarantied: is not a known key; did you mean 'guaranteed'?"],
    ),
    "a key like no other": (
        "[teams.a]\nx = 8",
        [
            (
                "teams.a.x: is not a known key; known keys are display_name, department, guaranteed, lendable, borrowable, "
                "prod, weight, highest_priority, members, leads, namespaces, profiles, machines"
            )
        ],
    ),
    "a priority beyond an int32": (
        f"{TEAM}[priorities]\nprod = 2147483648",
        ["priorities.prod: 2147483648 is out of range; write at most 2147483647"],
    ),
    "a guarantee that no nodes serve whole": (
        "[teams.a]\nguaranteed = 12",
        [
            (
                "advice: teams.a.guaranteed: 12 GPUs is not a multiple of the node size (8), so jobs that request whole nodes "
                "can use only 8 of them; 8 or 16 would be whole nodes"
            )
        ],
    ),
    "a guarantee of less than a node": (
        "[teams.a]\nguaranteed = 1",
        [
            (
                "advice: teams.a.guaranteed: 1 GPU is not a multiple of the node size (8), so jobs that request whole nodes can use only 0 of them; "
                "8 would be a whole node"
            )
        ],
    ),
    "no team": ("", ["advice: teams: has no teams; add a table such as [teams.research]"]),
    "a team that can run nothing": (
        "[teams.a]\nborrowable = 0",
        [
            (
                "advice: teams.a: is guaranteed nothing and may borrow nothing, so none of its jobs will ever start; "
                "give it guaranteed or borrowable"
            )
        ],
    ),
    "a department without teams": (
        f"{TEAM}[departments.b]",
        ["advice: departments.b: has no team; name it in a team's department, or remove it"],
    ),
}


@pytest.mark.parametrize("case", SINGLE)
def test_what_is_wrong_with_a_team_is_said(case: str) -> None:
    text, expected = SINGLE[case]
    assert [
        finding for finding in findings(ONE_FLAVOR + text) if not finding.startswith(f"advice: {'.'.join(LAYOUT)}")
    ] == expected


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (
            "cohort",
            [
                "reclaiming prod may first preempt the team's own regular job",
                "which then preempts a borrower",
                'guarantee_on = "queue"',
            ],
        ),
        ("queue", ["a job that borrows, or a job of the same team beyond guaranteed - prod"]),
    ],
)
def test_whose_jobs_prod_stops_first_is_said_where_a_team_has_prod(layout: str, says: list[str]) -> None:
    """tests/on_lab/test_production.py shows that it is so."""
    text = ONE_FLAVOR.replace("[flavors", f'guarantee_on = "{layout}"\n[flavors', 1) + TEAM
    assert findings(text) == []
    (advice,) = findings(text + "prod = 8")
    assert advice.startswith("advice: cluster.guarantee_on: ")
    assert all(sentence in advice for sentence in says)


FLAVOR = '[cluster]\nname = "lab"\n[teams.a]\n[flavors.gpu]\nnodes = 4\n'
GPUS = FLAVOR + "gpus_per_node = 8\n"
MIG = FLAVOR + "gpus_per_node = 1\nmig = "

# A whole agreement → what `check` says of its flavors and topologies.
FLAVORS: dict[str, tuple[str, list[str]]] = {
    "no flavor": (
        '[cluster]\nname = "lab"\n[flavors]\n[teams.a]',
        ["flavors: has no flavors; add a table such as [flavors.gpu] with nodes and gpus_per_node"],
    ),
    "no nodes": (
        FLAVOR.replace("4", "0") + "gpus_per_node = 8",
        ["flavors.gpu.nodes: has no capacity: 0 nodes; give it nodes, or remove the flavor"],
    ),
    "nothing on a node": (
        FLAVOR,
        ["flavors.gpu: has no capacity: neither gpus_per_node nor cpu_per_node; give it one of them"],
    ),
    "no GPU to cut": (
        FLAVOR + 'mig = { gpu = "A100-80GB", profile = "1g.10gb" }',
        [
            "flavors.gpu: has no capacity: mig without gpus_per_node; set gpus_per_node to the number of GPUs that are cut"
        ],
    ),
    "half a CPU": (
        FLAVOR + 'cpu_per_node = "500m"\nmemory_per_node = "4Gi"',
        ["flavors.gpu.cpu_per_node: has no capacity: less than one CPU per node; CPU flavors count whole CPUs"],
    ),
    "CPUs without memory": (
        FLAVOR + "cpu_per_node = 64",
        ['flavors.gpu: has CPUs but no memory; add memory_per_node, such as "256Gi"'],
    ),
    "a GPU that is not in the table": (
        MIG + '{ gpu = "A100-80G", profile = "1g.10gb" }',
        ["flavors.gpu.mig.gpu: 'A100-80G' is not in the MIG table; did you mean 'A100-80GB'?"],
    ),
    "a profile the GPU cannot be cut into": (
        MIG + '{ gpu = "A100-40GB", profile = "1g.10gb" }',
        [
            (
                "flavors.gpu.mig.profile: an A100-40GB cannot be cut into '1g.10gb'; "
                "it can be cut into 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
            )
        ],
    ),
    "more slices than fit": (
        MIG + '{ gpu = "A100-80GB", profile = "3g.40gb", slices = 3 }',
        ["flavors.gpu.mig.slices: 3 slices of 3g.40gb do not fit an A100-80GB; at most 2 do"],
    ),
    "more slices guaranteed than there are": (
        MIG.replace("[teams.a]", "[teams.a]\nguaranteed = 30") + '{ gpu = "A100-80GB", profile = "1g.10gb" }',
        [
            (
                "flavors.gpu: teams are guaranteed 30 slices (a 30), but 4 nodes of 7 have 28; "
                "lower guarantees by 2, or add nodes"
            )
        ],
    ),
    "slices of single strategy on whole GPUs' product": (
        MIG + '{ gpu = "A100-80GB", profile = "1g.10gb", strategy = "single" }\n'
        'node_labels = { "nvidia.com/gpu.product" = "NVIDIA-A100-SXM4-80GB" }',
        [
            (
                "flavors.gpu.node_labels.\"nvidia.com/gpu.product\": 'NVIDIA-A100-SXM4-80GB' is not a product name of GPUs cut with "
                'strategy "single"; its name must end in -MIG-1g.10gb'
            )
        ],
    ),
    "slices that a job cannot tell from GPUs": (
        MIG + '{ gpu = "A100-80GB", profile = "1g.10gb", strategy = "single" }\n'
        "[flavors.whole]\nnodes = 1\ngpus_per_node = 8",
        [
            (
                "advice: flavors.gpu.mig.strategy: jobs request these slices as nvidia.com/gpu, the same name as whole GPUs of whole"
                '; a job that needs one of the two must select its nodes; strategy = "mixed" gives slices a name of their own'
            )
        ],
    ),
    "the same flavor twice under two names": (
        GPUS
        + 'node_labels = { pool = "a" }\n[flavors.again]\nnodes = 1\ngpus_per_node = 8\nnode_labels = { pool = "a" }',
        [
            (
                "flavors.again.node_labels: selects the same nodes as flavor 'gpu', so a node would count in both; "
                "give each flavor a label value of its own"
            )
        ],
    ),
    "a flavor within another": (
        GPUS + 'node_labels = { pool = "a" }\n'
        '[flavors.part]\nnodes = 1\ngpus_per_node = 8\nnode_labels = { pool = "a", zone = "b" }',
        [
            (
                "flavors.part.node_labels: selects nodes that are also in flavor 'gpu', so a node would count in both; "
                "give each flavor a label value of its own"
            )
        ],
    ),
    "flavors that one node could be in": (
        GPUS + 'node_labels = { pool = "a", x = "1" }\n'
        '[flavors.other]\nnodes = 1\ngpus_per_node = 8\nnode_labels = { pool = "a", y = "1" }',
        [
            (
                "advice: flavors.other.node_labels: a node can match these labels and those of flavor 'gpu', and would then count in both; "
                "give the two one label with different values"
            )
        ],
    ),
    "flavors of one device that no label tells apart": (
        GPUS + 'node_labels = { product = "a" }\n'
        '[flavors.other]\nnodes = 1\ngpus_per_node = 8\nnode_labels = { pool = "b" }',
        [
            (
                "advice: flavors.other.node_labels: shares no label key with flavor 'gpu', so a job cannot choose one of "
                "the two: Kueue compares only a flavor's own label keys with a job's, and both flavors have nvidia.com/gpu; "
                "give the two one label with different values"
            )
        ],
    ),
    "one host for four nodes": (
        GPUS + 'node_labels = { "kubernetes.io/hostname" = "n1" }',
        [
            (
                'flavors.gpu.node_labels."kubernetes.io/hostname": names one host, and the flavor has 4 nodes; '
                "take a label that all of them carry"
            )
        ],
    ),
    "a label value with a space": (
        GPUS + 'node_labels = { pool = "a b" }',
        [
            (
                "flavors.gpu.node_labels.pool: 'a b' is not a name that a cluster accepts; use letters, digits, '-', '_' and '.', "
                "a letter or digit at both ends, for instance 'a-b'"
            )
        ],
    ),
    "a label key with two slashes": (
        GPUS + 'node_labels = { "a/b/c" = "x" }',
        [
            (
                "flavors.gpu.node_labels.\"a/b/c\": 'a/b/c' has no DNS name before its '/'; use lower-case letters, digits, "
                "'-' and '.', a letter or digit at both ends, for instance 'a-b'"
            )
        ],
    ),
    "a taint twice": (
        GPUS + 'taints = [{ key = "a", effect = "NoSchedule" }, { key = "a", value = "b", effect = "NoSchedule" }]',
        ["flavors.gpu.taints[1]: 'a' with effect NoSchedule is listed twice; name each key and effect once"],
    ),
    "a taint of an effect that does not exist": (
        GPUS + 'taints = [{ key = "a", effect = "No" }]',
        ["flavors.gpu.taints[0].effect: 'No' is not possible; write 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'"],
    ),
    "a topology that is not there": (
        GPUS + 'topology = "zonal"\n[topologies.zone]\nlevels = ["kubernetes.io/hostname"]',
        ["flavors.gpu.topology: 'zonal' is not a topology of this agreement; did you mean 'zone'?"],
    ),
    "hosts above zones": (
        GPUS + '[topologies.t]\nlevels = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]',
        [
            "topologies.t.levels: 'kubernetes.io/hostname' is not the last level; a host holds nothing narrower: put it last"
        ],
    ),
    "zones above regions": (
        GPUS + '[topologies.t]\nlevels = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"]',
        [
            (
                "topologies.t.levels: 'topology.kubernetes.io/zone' is listed before 'topology.kubernetes.io/region', which is wider; "
                "order the levels from widest to narrowest"
            )
        ],
    ),
    "a level twice": (
        GPUS + '[topologies.t]\nlevels = ["a", "a"]',
        ["topologies.t.levels[1]: 'a' is listed twice; name each level once"],
    ),
    "no level": (GPUS + "[topologies.t]\nlevels = []", ["topologies.t.levels: has 0 levels; 1 to 16 are possible"]),
    "the other unit's ratio": (
        GPUS + "cpu_per_slice = 2",
        ["flavors.gpu.cpu_per_slice: does not apply: the flavor is counted in gpus; write cpu_per_gpu"],
    ),
    "a ratio that the node does not have": (
        GPUS + "cpu_per_node = 64\ncpu_per_gpu = 10",
        [
            (
                "advice: flavors.gpu.cpu_per_gpu: 8 gpus of a node need more cpu than cpu_per_node; "
                "at this ratio no node can use all its gpus: lower the ratio"
            )
        ],
    ),
    "memory without a unit": (
        GPUS + "memory_per_gpu = 120",
        ['flavors.gpu.memory_per_gpu: 120 has no unit and would mean bytes; write one such as "120Gi"'],
    ),
    "memory that is no quantity": (
        GPUS + 'memory_per_gpu = "120 GB"',
        ["flavors.gpu.memory_per_gpu: '120 GB' is not a quantity; write one such as \"120Gi\""],
    ),
    "no CPU at all": (
        GPUS + "cpu_per_gpu = 0",
        [
            (
                "flavors.gpu.cpu_per_gpu: 0 is zero, and Kueue could never admit a job then; "
                'write one such as 14 or "1500m"'
            )
        ],
    ),
    "CPUs without their unit": (
        FLAVOR.replace("[teams.a]", "[teams.a]\nguaranteed = 64") + 'cpu_per_node = 64\nmemory_per_node = "256Gi"',
        ["teams.a.guaranteed: has no unit, but flavor 'gpu' is counted in CPUs; write \"64 cpu\""],
    ),
    "a bare number of two flavors": (
        GPUS.replace("[teams.a]", "[teams.a]\nguaranteed = 8") + "[flavors.other]\nnodes = 1\ngpus_per_node = 8",
        ["teams.a.guaranteed: does not say which of the 2 flavors it counts; write a table such as { gpu = 8 }"],
    ),
}


@pytest.mark.parametrize("case", FLAVORS)
def test_what_is_wrong_with_a_flavor_is_said(case: str) -> None:
    text, expected = FLAVORS[case]
    assert findings(text) == expected


def test_a_cluster_must_be_named() -> None:
    assert findings("[flavors.gpu]\nnodes = 1\ngpus_per_node = 8\n[teams.a]") == [
        'cluster: is missing; begin with [cluster] and name = "…"'
    ]


def test_a_flavor_must_say_its_nodes() -> None:
    assert findings('[cluster]\nname = "lab"\n[flavors.gpu]\ngpus_per_node = 8\n[teams.a]') == [
        "flavors.gpu.nodes: is missing; say how many nodes the flavor has, such as nodes = 4"
    ]


def test_a_department_and_a_team_of_one_name_are_one_object_with_several_flavors_too() -> None:
    """KAI then has a tree for each flavor; two teams, or two flavors, of one fault are named once each."""
    two = "[flavors.other]\nnodes = 1\ngpus_per_node = 8\n[departments.a]\n[teams.a]\ndepartment = 'a'"
    expected = "teams.a: its KAI Queue 'a-gpu' is also made by departments.a; give one of them another name"
    assert findings(ONE_FLAVOR + two) == [expected]


# --- all problems at once -------------------------------------------------------------------------------------------


def test_every_problem_is_said_at_once() -> None:
    text = ONE_FLAVOR + (
        "[teams.a]\nguaranteed = 'x'\n"
        "[teams.b]\nguaranteed = 8\nlendable = 9\n"
        "[teams.c]\nguarantee = 8\n"
        "[teams.d]\nguaranteed = 40\n"
    )
    assert [finding.split(":")[0] for finding in findings(text)] == [
        "flavors.gpu",
        "teams.a.guaranteed",
        "teams.b.lendable",
        "teams.c.guarantee",
    ]


def test_a_broken_flavor_is_no_unknown_flavor() -> None:
    text = (
        LAB.replace("guaranteed = 16\nlendable = 8", "guaranteed = { gpu = 16, big = 1 }")
        + "[flavors.big]\nnodes = 'x'"
    )
    assert findings(text) == ["flavors.big.nodes: 'x' is not a whole number; write one such as 8"]


def test_of_a_file_wrong_all_over_the_first_problems_are_said() -> None:
    text = ONE_FLAVOR + "[teams.a]\n" + "".join(f"x{number} = 1\n" for number in range(3000))
    found = loads(text).findings
    assert len(found) == 1001
    assert found[-1].message == "has more problems than are listed here"


def test_a_thousand_times_advice_is_still_advice() -> None:
    teams = "".join(f"[teams.t{number}]\nguaranteed = 1\n" for number in range(1500))
    loaded = loads(ONE_FLAVOR.replace("nodes = 4", "nodes = 400") + teams)
    assert loaded.ok and {finding.severity for finding in loaded.findings} == {Severity.ADVICE}


# --- limits of the API ----------------------------------------------------------------------------------------------


def flavors(count: int, more: str = "") -> str:
    rows = (f"[flavors.f{number}]\nnodes = 1\ngpus_per_node = 7\n{more}\n" for number in range(count))
    return '[cluster]\nname = "lab"\n[teams.a]\n' + "".join(rows)


def test_64_flavors_fit_a_resource_group_and_65_do_not() -> None:
    assert findings(flavors(64)) == []
    assert findings(flavors(65)) == ["flavors: 65 flavors are too many for one resource group; Kueue allows at most 64"]


def test_512_pairs_fit_a_resource_group_and_more_do_not() -> None:
    profiles = ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"]

    def mig(count: int) -> str:
        rows = (
            f'[flavors.f{number}]\nnodes = 1\ngpus_per_node = 1\nmig = {{ gpu = "A100-80GB", profile = "{profile}" }}\n'
            for number, profile in zip(range(count), profiles * 20, strict=False)
        )
        return '[cluster]\nname = "lab"\n[teams.a]\n[flavors.whole]\nnodes = 1\ngpus_per_node = 1\n' + "".join(rows)

    assert findings(mig(55)) == []  # 56 flavors × (cpu, memory, GPUs and 6 profiles) = 504
    assert findings(mig(56)) == [
        "flavors: 513 flavor × resource pairs are too many for one resource group; Kueue allows at most 512"
    ]


@pytest.mark.parametrize(("count", "fine"), [(8, True), (9, False)])
def test_a_flavor_has_at_most_8_node_labels(count: int, fine: bool) -> None:
    labels = ", ".join(f'l{number} = "x"' for number in range(count))
    expected = "flavors.gpu.node_labels: 9 node_labels are too many for one ResourceFlavor; Kueue allows at most 8"
    assert findings(GPUS + f"node_labels = {{ {labels} }}") == ([] if fine else [expected])


@pytest.mark.parametrize(("count", "fine"), [(8, True), (9, False)])
def test_a_flavor_has_at_most_8_taints(count: int, fine: bool) -> None:
    taints = ", ".join(f'{{ key = "t{number}", effect = "NoSchedule" }}' for number in range(count))
    expected = "flavors.gpu.taints: 9 taints are too many for one ResourceFlavor; Kueue allows at most 8"
    assert findings(GPUS + f"taints = [{taints}]") == ([] if fine else [expected])


@pytest.mark.parametrize(("count", "fine"), [(16, True), (17, False)])
def test_a_topology_has_at_most_16_levels(count: int, fine: bool) -> None:
    levels = ", ".join(f'"l{number}"' for number in range(count))
    expected = "topologies.t.levels: has 17 levels; 1 to 16 are possible"
    assert findings(GPUS + f"[topologies.t]\nlevels = [{levels}]") == ([] if fine else [expected])


def test_a_level_has_at_most_316_characters() -> None:
    prefix = ".".join(["a" * 63] * 3 + ["a" * 61])
    level = f"{prefix}/{'b' * 63}"
    assert findings(GPUS + f'[topologies.t]\nlevels = ["{level}"]') == [
        "topologies.t.levels[0]: has 317 characters; at most 316 are allowed"
    ]


def test_a_flavor_named_by_a_label_of_its_own_has_a_name_that_a_label_holds() -> None:
    long = "a" * 64
    assert findings(FLAVOR.replace("gpu", long) + "gpus_per_node = 8") == [
        f"flavors.{long}: '{'a' * 20}…' has 64 characters; at most 63 are allowed"
    ]
    assert findings(FLAVOR.replace("gpu", long) + 'gpus_per_node = 8\nnode_labels = { pool = "a" }') == []


def test_a_quota_fits_an_int64() -> None:
    assert findings(GPUS.replace("4", "1000") + 'memory_per_gpu = "1Pi"') == []  # 8,000 Pi = 2^62.97 bytes
    assert findings(GPUS.replace("4", "1024") + 'memory_per_gpu = "1Pi"') == [
        "flavors.gpu: its capacity is larger than a quantity can hold (2^63 - 1 bytes); lower nodes, or memory per GPU"
    ]


def test_a_borrowing_limit_fits_an_int64_beside_what_is_there() -> None:
    assert findings(GPUS.replace("[teams.a]", "[teams.a]\nborrowable = 200000000")) == [
        (
            "teams.a.borrowable: 200000000 units and their memory are more than a quantity can hold (2^63 - 1 bytes); "
            "leave it out for no limit"
        )
    ]


# --- built in Python ------------------------------------------------------------------------------------------------


def test_an_agreement_built_in_python_is_checked_alike() -> None:
    agreement = Agreement(
        cluster=Cluster(name="lab"),
        flavors={"gpu": Flavor(nodes=4, gpus_per_node=8)},
        teams={"a": Team.model_validate({"guaranteed": 8, "lendable": 9})},
    )
    assert [str(finding) for finding in check(agreement)] == [
        "teams.a.lendable: 9 is more than guaranteed (8); write at most 8, or raise guaranteed"
    ]
