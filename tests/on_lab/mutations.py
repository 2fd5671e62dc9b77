"""What can be wrong with the objects on a cluster, and which promise it breaks: for each kind of Kueue check at least one change of
applied objects on which the check must turn red.

`FIRST` and `FAIR` are agreements made for it: all flavors of `FIRST` are alike, so that changes of quota, each in a flavor of its
own, can be made at once and be told apart.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenancy.agreement.hardware import FLAVOR_LABEL
from tenancy.agreement.plan import Plan
from tenancy.lab import nodes
from tenancy.objects import kueue

Object = dict[str, Any]
Change = Callable[[Object], None]

GPU = "nvidia.com/gpu"
WITH_IT = (("cpu", 2, ""), ("memory", 4, "Gi"))
ALIKE = "abcdefghij"
FIRST = """
[cluster]
name = "first"
[priorities]
ordinary = 10
urgent = 100
[departments.left]
[departments.right]
""" + "".join(
    f"[flavors.{name}]\nnodes = 4\ngpus_per_node = 4\ncpu_per_gpu = 2\nmemory_per_gpu = '4Gi'\n" for name in ALIKE
)


def _team(name: str, department: str, **promises: int) -> str:
    tables = (
        f"{key} = {{ {', '.join(f'{flavor} = {promise}' for flavor in ALIKE)} }}\n" for key, promise in promises.items()
    )
    return f"[teams.{name}]\n{f'department = {department!r}' if department else ''}\n{''.join(tables)}"


FIRST += (
    _team("p", "left", guaranteed=4, prod=2)
    + _team("q", "left", guaranteed=4, borrowable=2)
    + _team("r", "right", guaranteed=4, lendable=2)
    + _team("u", "", guaranteed=2)
)
FAIR = """
[cluster]
name = "fair"
[sharing]
policy = "fair"
[topologies.racks]
levels = ["example.com/rack", "kubernetes.io/hostname"]
[flavors.whole]
nodes = 4
gpus_per_node = 4
cpu_per_gpu = 2
memory_per_gpu = "4Gi"
topology = "racks"
node_labels = { "example.com/pool" = "whole" }
[flavors.cut]
nodes = 1
gpus_per_node = 2
mig = { gpu = "A100-80GB", profile = "3g.40gb" }
topology = "racks"
cpu_per_slice = 2
memory_per_slice = "4Gi"
node_labels = { "example.com/pool" = "cut" }
[teams.v]
guaranteed = { whole = 4, cut = 2 }
weight = 3
[teams.w]
guaranteed = { whole = 4, cut = 2 }
borrowable = { cut = 0 }
"""


@dataclass(frozen=True)
class Mutation:
    """`changes` by object, `Kind/name`. `breaks` are the names of checks that must turn red, each for a reason in which `seen`
    stands; `keeps` are checks of what it does not touch, which must stay green."""

    says: str
    changes: Mapping[str, Sequence[Change]]
    breaks: tuple[str, ...]
    seen: str
    """What must be said; either of two where a `|` stands between them."""
    keeps: tuple[str, ...]

    @property
    def kinds(self) -> set[str]:
        return {name.split("/")[1] for name in self.breaks}


def objects(plan: Plan) -> dict[str, Object]:
    """What can be changed, by name: the agreement's objects, and the labels of the nodes."""
    labels = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {key: node["metadata"][key] for key in ("name", "labels")}}
        for node in nodes.nodes(plan)
    ]
    return {f"{entry['kind']}/{entry['metadata']['name']}": entry for entry in (*kueue.objects(plan), *labels)}


def mutated(plan: Plan, mutations: Sequence[Mutation]) -> list[Object]:
    """Those that the mutations change, with all of their changes."""
    every, changed = objects(plan), {}
    for mutation in mutations:
        for name, changes in mutation.changes.items():
            setdefault = changed.setdefault(name, copy.deepcopy(every[name]))
            for change in changes:
                change(setdefault)
    return list(changed.values())


# --- changes ------------------------------------------------------------------------------------------------------------


def quota(flavor: str, resource: str = GPU, **values: str | None) -> Change:
    """Sets `nominalQuota`, `lendingLimit` or `borrowingLimit`; None removes it."""

    def change(body: Object) -> None:
        (group,) = body["spec"]["resourceGroups"]
        row = next(row for row in group["flavors"] if row["name"] == flavor)
        cell = next(cell for cell in row["resources"] if cell["name"] == resource)
        for key, value in values.items():
            if value is None:
                del cell[key]
            else:
                cell[key] = value

    return change


def units(flavor: str, device: str = GPU, **amounts: int | None) -> list[Change]:
    """The same for the units, and for the CPUs and the memory that go with them."""
    return [_scaled(flavor, resource, each, suffix, amounts) for resource, each, suffix in ((device, 1, ""), *WITH_IT)]


def _scaled(flavor: str, resource: str, each: int, suffix: str, amounts: Mapping[str, int | None]) -> Change:
    values = {key: None if amount is None else f"{amount * each}{suffix}" for key, amount in amounts.items()}
    return quota(flavor, resource, **values)


def preemption(**policies: str) -> Change:
    def change(body: Object) -> None:
        body["spec"]["preemption"] |= policies

    return change


def spec(**fields: Any) -> Change:
    def change(body: Object) -> None:
        body["spec"] |= fields

    return change


def labels(values: Mapping[str, str]) -> Change:
    def change(body: Object) -> None:
        body["metadata"]["labels"] |= values

    return change


def value(number: int) -> Change:
    def change(body: Object) -> None:
        body["value"] = number

    return change


# --- what breaks what -------------------------------------------------------------------------------------------------

QUOTAS = (
    Mutation(
        "u's quota is given to the pool: it can borrow it, and has no claim to it",
        {
            "ClusterQueue/u": units("a", nominalQuota=0, lendingLimit=0),
            "Cohort/first": units("a", nominalQuota=4),
        },
        ("kueue/guarantee/u/a", "kueue/kept/u/a", "kueue/reclaim/u/a"),
        "u",
        ("kueue/reach/u/a", "kueue/pool/u/a", "kueue/whole/a"),
    ),
    Mutation(
        "r lends none of what it should lend",
        {"ClusterQueue/r": units("b", lendingLimit=0)},
        ("kueue/reach/u/b",),
        "u",
        ("kueue/pool/u/b", "kueue/whole/b"),
    ),
    Mutation(
        "r lends all",
        {"ClusterQueue/r": units("c", lendingLimit=4)},
        ("kueue/never-lent/r/c",),
        "r",
        ("kueue/guarantee/r/c", "kueue/pool/u/c"),
    ),
    Mutation(
        "q may borrow one more",
        {"ClusterQueue/q": units("d", borrowingLimit=3)},
        ("kueue/borrowable/q/d", "kueue/reach/q/d"),
        "one-more",
        ("kueue/guarantee/q/d", "kueue/whole/d"),
    ),
    Mutation(
        "p's prod queue may borrow",
        {"ClusterQueue/p-prod": units("e", borrowingLimit=None)},
        ("kueue/prod-slice/p/e",),
        "one-more",
        ("kueue/prod-kept/p/e", "kueue/guarantee/p/e"),
    ),
    Mutation(
        "p's prod slice stands on its regular queue, and the prod queue borrows it",
        {
            "ClusterQueue/p-prod": units("f", nominalQuota=0, borrowingLimit=None),
            "ClusterQueue/p": units("f", nominalQuota=2),
        },
        ("kueue/prod-kept/p/f",),
        "prod",
        ("kueue/reach/p/f", "kueue/kept/q/f"),
    ),
    Mutation(
        "the pool has more than there are nodes for",
        {"Cohort/first": units("g", nominalQuota=18)},
        ("kueue/gang/r/g",),
        "gang",
        ("kueue/borrowable/q/g", "kueue/prod-slice/p/g"),
    ),
    Mutation(
        "there is no pool",
        {"Cohort/first": units("h", nominalQuota=0)},
        ("kueue/pool/u/h", "kueue/pool/q/h"),
        "of-the-pool",
        ("kueue/reach/q/h", "kueue/prod-slice/p/h"),
    ),
    Mutation(
        "u has one more than it should",
        {"ClusterQueue/u": units("i", nominalQuota=3)},
        ("kueue/whole/i",),
        "more-",
        ("kueue/borrowable/q/i", "kueue/prod-back/p/i"),
    ),
    Mutation(
        "r lends all of its CPUs",
        {"ClusterQueue/r": [quota("j", "cpu", lendingLimit="8")]},
        ("kueue/ratio/r/j",),
        "cpu-",
        ("kueue/never-lent/r/j", "kueue/reclaim/r/j"),
    ),
)
QUEUES = (
    Mutation(
        "u takes nothing back",
        {"ClusterQueue/u": [preemption(reclaimWithinCohort="Never")]},
        ("kueue/reclaim/u/a", "kueue/guarantee/u/b"),
        "u",
        ("kueue/kept/u/c", "kueue/reach/u/d", "kueue/priority/u/a"),
    ),
    Mutation(
        "p's prod queue takes nothing back",
        {"ClusterQueue/p-prod": [preemption(reclaimWithinCohort="Never")]},
        ("kueue/prod-back/p/e",),
        "prod",
        ("kueue/prod-slice/p/f", "kueue/prod-kept/p/g"),
    ),
    Mutation(
        "r's jobs stop none of lower priority",
        {"ClusterQueue/r": [preemption(withinClusterQueue="Never")]},
        ("kueue/priority/r/a",),
        "urgent",
        ("kueue/reclaim/r/h", "kueue/own-namespaces/r/a"),
    ),
    Mutation(
        "q takes jobs from every namespace",
        {"ClusterQueue/q": [spec(namespaceSelector={})]},
        ("kueue/own-namespaces/q/a",),
        "runs on 1",
        ("kueue/gang/q/i", "kueue/own-namespaces/p/a"),
    ),
    Mutation(
        "q stands beside its department",
        {"ClusterQueue/q": [spec(cohortName="first")]},
        ("kueue/department/p/j",),
        "claimer",
        ("kueue/borrowable/q/j", "kueue/pool/q/j"),
    ),
)
STATES = (
    Mutation(
        "u is held",
        {"ClusterQueue/u": [spec(stopPolicy="Hold")]},
        ("kueue/reach/u/a",),
        "not active",
        ("kueue/borrowable/q/a",),
    ),
    Mutation(
        "urgent is no higher than ordinary",
        {"WorkloadPriorityClass/urgent": [value(10)]},
        ("kueue/priority/r/a",),
        "r's last wait|0 jobs of r's level-1 were stopped",
        ("kueue/reach/r/b",),
    ),
    Mutation(
        "the nodes of c are said to be those of d",
        {"ResourceFlavor/c": [spec(nodeLabels={FLAVOR_LABEL: "d"})]},
        ("kueue/reach/r/c",),
        "c",
        ("kueue/reach/r/d",),
    ),
)
SHARES = (
    Mutation(
        "v weighs no more than w",
        {"ClusterQueue/v": [spec(fairSharing={"weight": "1"})]},
        ("kueue/weights/v/whole",),
        "late",
        ("kueue/guarantee/v/whole", "kueue/reach/w/whole"),
    ),
    Mutation(
        "every node is a rack of its own",
        {f"Node/whole-{number}": [labels({"example.com/rack": str(number)})] for number in range(4)},
        ("kueue/topology/v/whole",),
        "in-one-rack",
        ("kueue/gang/v/whole", "kueue/guarantee/v/whole"),
    ),
    Mutation(
        "v has a slice less, and lends it less",
        {"ClusterQueue/v": units("cut", "nvidia.com/mig-3g.40gb", nominalQuota=1, lendingLimit=1)},
        ("kueue/slices/v/cut",),
        "maximum capacity (3)",
        ("kueue/reach/w/cut",),
    ),
)
BATCHES = {"quotas": (FIRST, QUOTAS), "queues": (FIRST, QUEUES), "states": (FIRST, STATES), "shares": (FAIR, SHARES)}
