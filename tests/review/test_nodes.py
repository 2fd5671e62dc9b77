"""The agreement against made nodes: what is not as agreed is named, with its nodes, and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import plan
from strategies import agreements, as_agreement

from tenancy.agreement.findings import Severity
from tenancy.agreement.plan import Plan, make_plan
from tenancy.cluster.nodes import Node, NodeTaint
from tenancy.cluster.read_nodes import described
from tenancy.lab.nodes import nodes as lab_nodes
from tenancy.review.nodes import Report, compare
from tenancy.review.nodes.problems import Kind, folded

AGREEMENT = """
[cluster]
name = "c"
[topologies.zonal]
levels = ["example.com/zone", "kubernetes.io/hostname"]
[flavors.gpu]
nodes = 4
gpus_per_node = 8
cpu_per_gpu = 8
memory_per_gpu = "64Gi"
topology = "zonal"
node_labels = { "nvidia.com/gpu.product" = "A100", "example.com/pool" = "big" }
taints = [{ key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" }]
[flavors.slices]
nodes = 2
gpus_per_node = 2
mig = { gpu = "A100-80GB", profile = "1g.10gb" }
[flavors.plain]
nodes = 12
cpu_per_node = 16
memory_per_node = "64Gi"
node_labels = { "example.com/kind" = "plain" }
[teams.training]
guaranteed = { gpu = 16, slices = 14 }
prod = { gpu = 8 }
[teams.research]
guaranteed = { gpu = 8, slices = 14 }
"""
PLAN = plan(AGREEMENT)
GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
Change = Callable[[Node], Node]


def as_agreed(of: Plan = PLAN) -> dict[str, Node]:
    """The nodes of the lab for a plan: exactly what is agreed."""
    return {entry.name: replace(entry, ready=True) for entry in (described(node) for node in lab_nodes(of))}


def after(change: Change, *names: str) -> Report:
    """The report when some nodes are changed."""
    nodes = as_agreed() | {name: change(as_agreed()[name]) for name in names}
    return compare(PLAN, nodes.values())


def named(report: Report) -> dict[Kind, tuple[str, tuple[str, ...]]]:
    """What is named: kind → flavor and nodes; each kind once."""
    assert len({problem.kind for problem in report.problems}) == len(report.problems)
    return {problem.kind: (problem.flavor, problem.nodes) for problem in report.problems}


def said(report: Report) -> str:
    return "\n".join(str(problem.finding) for problem in report.problems)


def usable(report: Report) -> dict[str, int]:
    return {supply.flavor.name: supply.promises.usable for supply in report.flavors}


def labelled(node: Node, **labels: str | None) -> Node:
    """With these labels (`_` for the sign of their keys that Python has none for); None takes one off."""
    keys = {"pool": "example.com/pool", "zone": "example.com/zone", "kind": "example.com/kind"}
    keys |= {"product": "nvidia.com/gpu.product", "flavor": "tenancy.dev/flavor"}
    changed = {**node.labels, **{keys[key]: value for key, value in labels.items()}}
    return replace(node, labels={key: value for key, value in changed.items() if value is not None})


def offering(node: Node, **amounts: int) -> Node:
    keys = {"gpu": GPU, "mig": MIG, "other": "nvidia.com/mig-2g.20gb", "network": "nvidia.com/hostdev"}
    return replace(
        node, allocatable={**node.allocatable, **{keys.get(key, key): amount for key, amount in amounts.items()}}
    )


def tainted(node: Node, *taints: tuple[str, str, str], keep: bool = True) -> Node:
    return replace(node, taints=(*(node.taints if keep else ()), *(NodeTaint(*taint) for taint in taints)))


def test_what_is_as_agreed_is_said_to_be() -> None:
    report = compare(PLAN, as_agreed().values())
    assert report.as_agreed and (report.problems, report.promises) == ((), ())
    assert usable(report) == {"gpu": 32, "slices": 28, "plain": 192}


# A change of nodes → the kind of problem, its flavor, and the GPUs (or slices, or CPUs) that are still usable.
CASES: dict[str, tuple[Change, tuple[str, ...], Kind, str, int]] = {
    "not Ready": (lambda node: replace(node, ready=False), ("gpu-1", "gpu-3"), Kind.NOT_READY, "gpu", 16),
    "cordoned": (lambda node: replace(node, cordoned=True), ("slices-0",), Kind.CORDONED, "slices", 14),
    "no label of a level": (partial(labelled, zone=None), ("gpu-0",), Kind.LABELS, "gpu", 24),
    "a taint nobody named": (
        lambda node: tainted(node, ("maintenance", "", "NoExecute")),
        ("slices-1",),
        Kind.TAINTED,
        "slices",
        14,
    ),
    "another value of a taint": (
        lambda node: tainted(node, (GPU, "true", "NoSchedule"), keep=False),
        ("gpu-2",),
        Kind.TAINTED,
        "gpu",
        24,
    ),
    "a taint of the node's own": (
        lambda node: tainted(node, ("node.kubernetes.io/disk-pressure", "", "NoSchedule")),
        ("gpu-2",),
        Kind.TAINTED,
        "gpu",
        24,
    ),
    "no taint": (lambda node: tainted(node, keep=False), ("gpu-2",), Kind.UNTAINTED, "gpu", 32),
    "fewer devices": (partial(offering, gpu=7), ("gpu-0",), Kind.BELOW, "gpu", 31),
    "no device": (partial(offering, mig=0), ("slices-0",), Kind.BELOW, "slices", 14),
    "less cpu": (partial(offering, cpu=63_999), ("gpu-0", "gpu-1"), Kind.BELOW, "gpu", 30),
    "less memory": (partial(offering, memory=8 * 64 * 2**30 - 1), ("gpu-0",), Kind.BELOW, "gpu", 31),
    "fewer CPUs": (partial(offering, cpu=15_500), ("plain-11",), Kind.BELOW, "plain", 191),
    "slices of another profile too": (partial(offering, other=1), ("slices-0",), Kind.DEVICES, "slices", 28),
    "GPUs on a node of CPUs": (partial(offering, gpu=8), ("plain-0",), Kind.DEVICES, "plain", 192),
    "two flavors, nothing of one": (
        partial(labelled, kind="plain", pool="big"),
        ("slices-0",),
        Kind.DOUBLE,
        "slices",
        28,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_named_and_counted(case: str) -> None:
    change, names, kind, flavor, left = CASES[case]
    report = after(change, *names)
    assert named(report) == {kind: (flavor, names)}
    assert usable(report)[flavor] == left
    assert folded(names) in said(report)


def test_a_node_without_a_label_of_its_flavor_is_one_less_and_is_recognized() -> None:
    report = after(partial(labelled, pool=None), "gpu-3")
    assert named(report) == {Kind.FEWER: ("gpu", ()), Kind.LABELS: ("gpu", ("gpu-3",))}
    assert "4 nodes are agreed, 3 carry" in said(report) and "kubectl label node gpu-3 example.com/pool=big" in said(
        report
    )
    assert usable(report)["gpu"] == 24


def test_a_node_with_another_value_of_a_label_is_recognized() -> None:
    assert "(it has example.com/pool=small)" in said(after(partial(labelled, pool="small"), "gpu-3"))


def test_a_node_is_recognized_by_the_product_of_the_flavors_other_nodes() -> None:
    """The flavor has no label but our own, and the other one's slices are named alike."""
    text = AGREEMENT.replace(
        "[flavors.plain]",
        '[flavors.others]\nnodes = 1\ngpus_per_node = 2\nmig = { gpu = "H100-80GB", profile = "1g.10gb" }\n[flavors.plain]',
    )
    two = plan(text)
    nodes = as_agreed(two)
    nodes["slices-1"] = labelled(nodes["slices-1"], flavor=None)
    assert named(compare(two, nodes.values())) == {Kind.FEWER: ("slices", ()), Kind.LABELS: ("slices", ("slices-1",))}


def test_a_node_is_recognized_by_the_other_labels_of_its_flavor() -> None:
    """Two flavors count whole GPUs, and the node does not say its product."""
    both = plan(
        AGREEMENT.replace(
            "[flavors.slices]",
            '[flavors.other]\nnodes = 1\ngpus_per_node = 8\ntopology = "zonal"\n'
            'node_labels = { "nvidia.com/gpu.product" = "H100" }\n[flavors.slices]',
        )
    )
    nodes = as_agreed(both)
    nodes["gpu-3"] = labelled(nodes["gpu-3"], product=None)
    assert named(compare(both, nodes.values())) == {Kind.FEWER: ("gpu", ()), Kind.LABELS: ("gpu", ("gpu-3",))}
    nodes["gpu-3"] = labelled(nodes["gpu-3"], product=None, pool=None)
    assert named(compare(both, nodes.values())) == {Kind.FEWER: ("gpu", ()), Kind.STRAY: ("", ("gpu-3",))}


def test_gpus_in_no_flavor_are_named_by_what_they_are() -> None:
    stranger = Node("l40s-0", {"nvidia.com/gpu.product": "L40S"}, {"cpu": 8000, GPU: 4})
    report = compare(
        PLAN, [*as_agreed().values(), stranger, replace(stranger, name="l40s-10"), replace(stranger, name="l40s-9")]
    )
    assert named(report) == {Kind.STRAY: ("", ("l40s-0", "l40s-9", "l40s-10"))}
    assert "4 nvidia.com/gpu (L40S) each, in no flavor" in said(report)
    assert usable(report) == usable(compare(PLAN, as_agreed().values()))


def test_a_gpu_node_whose_device_plugin_is_broken_is_not_overlooked() -> None:
    silent = Node("x-0", {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "L40S"}, {"cpu": 8000})
    assert named(compare(PLAN, [*as_agreed().values(), silent])) == {Kind.STRAY: ("", ("x-0",))}


def test_a_node_without_gpus_in_no_flavor_is_nobodys_business() -> None:
    assert compare(PLAN, [*as_agreed().values(), Node("control-plane", {}, {"cpu": 8000})]).as_agreed


def test_more_nodes_than_agreed() -> None:
    more = replace(as_agreed()["slices-0"], name="slices-2")
    report = compare(PLAN, [*as_agreed().values(), more])
    assert named(report) == {Kind.MORE: ("slices", ())}
    assert report.problems[0].finding.severity is Severity.ADVICE
    assert "write nodes = 3" in said(report)


def test_a_flavor_without_any_node() -> None:
    report = compare(PLAN, [node for node in as_agreed().values() if not node.name.startswith("slices")])
    assert named(report) == {Kind.FEWER: ("slices", ())}
    assert "2 nodes are agreed, none carries tenancy.dev/flavor=slices" in said(report)


def test_a_cordoned_node_that_is_not_ready_is_both_and_counts_once() -> None:
    report = after(
        lambda node: tainted(
            replace(node, ready=False, cordoned=True),
            ("node.kubernetes.io/unschedulable", "", "NoSchedule"),
            ("node.kubernetes.io/not-ready", "", "NoExecute"),
        ),
        "gpu-0",
    )
    assert named(report) == {Kind.NOT_READY: ("gpu", ("gpu-0",)), Kind.CORDONED: ("gpu", ("gpu-0",))}
    assert usable(report)["gpu"] == 24


def test_prefer_no_schedule_keeps_nobody_out() -> None:
    assert after(lambda node: tainted(node, ("slow", "", "PreferNoSchedule")), "gpu-0").as_agreed


def test_a_network_device_is_no_gpu() -> None:
    assert after(partial(offering, network=4), "gpu-0", "plain-0").as_agreed


def test_gpus_cut_by_strategy_single_are_seen_by_their_product() -> None:
    report = after(lambda node: offering(labelled(node, product="A100-MIG-1g.10gb"), gpu=56), "slices-0")
    assert Kind.DEVICES in {problem.kind for problem in report.problems}
    text = '[cluster]\nname = "c"\n[flavors.whole]\nnodes = 1\ngpus_per_node = 8\n'
    whole = plan(text)
    nodes = [labelled(node, product="H100-MIG-1g.10gb") for node in as_agreed(whole).values()]
    assert "cut into 1g.10gb, and the flavor counts whole GPUs" in said(compare(whole, nodes))


TWINS = """
[cluster]
name = "c"
[flavors.one]
nodes = 2
gpus_per_node = 8
node_labels = { "example.com/a" = "x" }
[flavors.two]
nodes = 2
gpus_per_node = 8
node_labels = { "example.com/b" = "x" }
[teams.t]
guaranteed = { one = 8, two = 16 }
"""


def test_a_node_in_two_flavors_counts_once_where_it_is_needed_most() -> None:
    """one is guaranteed 8 and two 16; of three nodes one is in both, and only so can all be kept."""
    twins = plan(TWINS)
    nodes = as_agreed(twins)
    del nodes["two-1"]
    nodes["one-1"] = replace(nodes["one-1"], labels={**nodes["one-1"].labels, "example.com/b": "x"})
    report = compare(twins, nodes.values())
    assert usable(report) == {"one": 8, "two": 16}
    (double,) = [problem for problem in report.problems if problem.kind is Kind.DOUBLE]
    assert (double.flavor, double.nodes) == ("two", ("one-1",))
    assert "one-1: also in one, whose quota counts on it too; here it counts for two" in str(double.finding)


def test_a_node_in_two_flavors_counts_for_the_one_whose_devices_it_has() -> None:
    """Also when that one lacks nothing: GPUs cut by strategy mixed keep the product label of whole ones."""
    mixed = plan(
        '[cluster]\nname = "c"\n[flavors.whole]\nnodes = 1\ngpus_per_node = 8\n'
        'node_labels = { "nvidia.com/gpu.product" = "A100" }\n'
        '[flavors.cut]\nnodes = 2\ngpus_per_node = 2\nmig = { gpu = "A100-80GB", profile = "1g.10gb" }\n'
        "[teams.a]\nguaranteed = { whole = 8 }\n"
    )
    nodes = as_agreed(mixed)
    nodes["cut-0"] = labelled(nodes["cut-0"], product="A100")
    report = compare(mixed, nodes.values())
    assert named(report) == {Kind.DOUBLE: ("cut", ("cut-0",))} and usable(report) == {"whole": 8, "cut": 28}
    assert "cut-0: also carries the labels of whole, and has nothing of what that counts" in said(report)


def test_the_teams_that_are_short_are_named_with_how_much() -> None:
    """24 of 32 GPUs are guaranteed; with two of four nodes gone 8 of them cannot be kept."""
    report = after(lambda node: replace(node, cordoned=True), "gpu-0", "gpu-1")
    assert [str(finding) for _, _, finding in report.promises] == [
        "flavors.gpu.nodes: 8 of 24 GPUs guaranteed cannot be kept at once: 16 are usable; fix the problems above, or agree on less",
        "teams.training.guaranteed.gpu: short by up to 8 of 16 GPUs: 8 are left when all others use theirs, enough for its prod slice of 8 if its other jobs make room",
        "teams.research.guaranteed.gpu: short by up to 8 of 8 GPUs: nothing is left when all others use theirs",
    ]


def test_while_only_the_free_pool_is_gone_no_team_is_short() -> None:
    """Kueue counts the nodes itself where some flavor has a topology, and takes back what is lent."""
    report = after(lambda node: replace(node, cordoned=True), "gpu-0")
    ((_, team, finding),) = report.promises
    assert team is None and finding.severity is Severity.ADVICE
    assert finding.message == "every guarantee can be kept, the free pool is 0 instead of 8: 24 are usable"


def test_a_flavor_beside_one_with_a_topology_is_counted_as_well() -> None:
    ((_, team, finding),) = after(lambda node: replace(node, cordoned=True), "plain-0").promises
    assert team is None and finding.severity is Severity.ADVICE


def test_without_a_topology_quota_lends_what_is_not_there() -> None:
    flat = plan(AGREEMENT.replace('topology = "zonal"', ""))
    nodes = as_agreed(flat)
    del nodes["gpu-0"]
    ((_, team, finding),) = compare(flat, nodes.values()).promises
    assert team is None and finding.severity is Severity.ERROR
    assert finding.message.endswith("but quota lends 8 that are not there, and a team can miss as many of its own")
    assert finding.remedy == "fix the problems above, or write nodes = 3 until then"
    del nodes["gpu-1"]
    assert (
        "8 of 24 GPUs guaranteed cannot be kept at once: 16 are usable; 8 more while quota lends units that are not there"
        in [finding.message for _, team, finding in compare(flat, nodes.values()).promises if not team]
    )


def test_devices_without_their_cpu_are_told_apart() -> None:
    report = after(partial(offering, cpu=16_000), "gpu-0", "gpu-1", "gpu-2", "gpu-3")
    assert "8 are usable with the CPU and memory agreed for each, 32 without" in str(report.promises[0][2])


def test_what_is_short_comes_first() -> None:
    nodes = as_agreed()
    nodes["gpu-0"] = replace(nodes["gpu-0"], cordoned=True)  # takes the free pool only
    nodes["slices-1"] = replace(nodes["slices-1"], cordoned=True)  # 14 slices that are guaranteed
    report = compare(PLAN, nodes.values())
    assert [supply.flavor.name for supply in report.flavors] == ["slices", "gpu", "plain"]
    assert [problem.flavor for problem in report.problems] == ["slices", "gpu"]
    assert {problem.finding.severity for problem in report.problems} == {Severity.ERROR}


def test_of_a_flavor_what_takes_from_promises_comes_first() -> None:
    more = replace(as_agreed()["slices-0"], name="slices-2", cordoned=True)
    report = compare(PLAN, [*as_agreed().values(), more])
    assert [problem.kind for problem in report.problems] == [Kind.CORDONED, Kind.MORE]


def test_many_names_are_folded_and_all_are_in_the_json() -> None:
    names = tuple(f"plain-{number}" for number in range(12))
    report = after(lambda node: replace(node, ready=False), *names)
    assert "plain-0, plain-1, plain-2 and 9 more (192 CPUs): not Ready" in said(report)
    assert report.problems[0].as_json()["nodes"] == list(names)


@pytest.mark.parametrize(
    ("names", "text"),
    [("a", "a"), ("ab", "a and b"), ("abcd", "a, b, c and d"), ("abcde", "a, b, c and 2 more"), ("", "")],
)
def test_folded(names: str, text: str) -> None:
    assert folded(tuple(names)) == text


@settings(max_examples=50)
@given(agreements(), st.data())
def test_the_lab_is_as_agreed_and_what_breaks_is_counted(values: dict[str, Any], data: st.DataObject) -> None:
    """For any agreement: its own nodes are all there, and without some of them just their units are."""
    of = make_plan(as_agreement(values))
    nodes = as_agreed(of)
    assert compare(of, nodes.values()).as_agreed
    broken = data.draw(st.sets(st.sampled_from(sorted(nodes))))
    how = [partial(replace, ready=False), partial(replace, cordoned=True), partial(replace, labels={}), None]
    left: list[Node] = []
    for name, node in nodes.items():
        change = data.draw(st.sampled_from(how)) if name in broken else replace
        left += [change(node)] if change else []
    report = compare(of, left)
    for supply in report.flavors:
        lost = sum(name.rpartition("-")[0] == supply.flavor.name for name in broken)
        assert supply.promises.usable == supply.flavor.capacity - lost * supply.flavor.units_per_node
        assert supply.promises.short == max(0, supply.promises.guaranteed - supply.promises.usable)
    assert report.as_agreed == (not broken)
