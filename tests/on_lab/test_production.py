"""The production agreement, whole, on 161 simulated nodes with a real Kueue: flavors and slices, queues, topology.

The stack writes it by `pulumi up`; real jobs then ask for each part of it. What must come of a job follows from the plan.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lightkube.resources.core_v1 import Node

from tenancy.agreement.mig import slices_per_gpu
from tenancy.agreement.plan import GuaranteeOn, Plan
from tenancy.cluster.clients import ClusterQueue, ResourceFlavor, connect
from tenancy.lab import lab, nodes
from tenancy.lab.cluster import apply
from tenancy.objects import kueue
from tenancy.quota.reach import reach
from tenancy.text.quantity import milli_text

from .conftest import plan_of
from .stacks import ROOT, Project
from .teams import PREFERRED, REQUIRED, Ask, Teams, condition

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

AGREEMENT = ROOT / "examples" / "production.toml"
UNIT, ZONE = "network.example.com/scalable-unit", "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(AGREEMENT.read_text())


@pytest.fixture(scope="module")
def stack(labs: Path, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A lab of the whole cluster, and a stack that has not been updated yet."""
    kubeconfig = lab.up(plan, "production").kubeconfig
    project = Project(tmp_path_factory.mktemp("production"), kubeconfig)
    project.agree(AGREEMENT.read_text())
    yield project
    lab.down("production")


@pytest.fixture(scope="module")
def written(stack: Project) -> float:
    """The agreement is on the cluster: seconds that `pulumi up` took."""
    started = time.monotonic()
    stack.up().ok()
    return time.monotonic() - started


@pytest.fixture(scope="module")
def cluster(stack: Project, written: float, plan: Plan) -> Teams:
    teams = Teams(connect(str(stack.kubeconfig)), plan)
    teams.settle()
    return teams


@pytest.fixture
def idle(cluster: Teams) -> Teams:
    """The teams, with nothing running."""
    cluster.clear()
    return cluster


def test_a_second_run_has_nothing_to_change(
    stack: Project, written: float, plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    stack.preview("--refresh", "--expect-no-changes").ok()
    looked = time.monotonic() - started
    there = stack.on_cluster()
    assert sorted(there) == sorted(f"{entry['kind']}/{entry['metadata']['name']}" for entry in kueue.objects(plan))
    with capsys.disabled():
        print(f"\npulumi up of {len(there)} objects: {written:.1f} s; preview of no change: {looked:.1f} s")


def test_every_queue_is_active(cluster: Teams) -> None:
    def inactive() -> list[str]:
        queues = [dict(queue) for queue in cluster.client.list(ClusterQueue)]
        return [queue["metadata"]["name"] for queue in queues if condition(queue, "Active").get("status") != "True"]

    cluster.until(lambda: not inactive(), lambda: f"not Active: {inactive()}")


def test_the_nodes_of_a_flavor_have_its_capacity_and_no_node_is_in_two(cluster: Teams, plan: Plan) -> None:
    """Counted as Kueue does it: the nodes that carry the labels of the ResourceFlavor on the cluster."""
    flavors = {flavor.metadata.name: flavor["spec"]["nodeLabels"] for flavor in cluster.client.list(ResourceFlavor)}
    counted: Counter[str] = Counter()
    belongs: Counter[str] = Counter()
    for node in cluster.client.list(Node):
        assert node.metadata and node.status and node.status.allocatable
        labels = node.metadata.labels or {}
        for name in (name for name, own in flavors.items() if own.items() <= labels.items()):
            counted[name] += int(node.status.allocatable[plan.flavor[name].resource])
            belongs[str(node.metadata.name)] += 1
    assert counted == {flavor.name: flavor.capacity for flavor in plan.flavors}
    assert set(belongs.values()) == {1} and len(belongs) == sum(flavor.nodes for flavor in plan.flavors)


def test_slices_are_as_many_as_a_gpu_is_cut_into(plan: Plan) -> None:
    gpus = {"a100": "A100-80GB", "h100": "H100-80GB"}
    cut = [flavor for flavor in plan.flavors if flavor.profile]
    assert len(cut) == 6
    for flavor in cut:
        per_gpu = slices_per_gpu(gpus[flavor.name[:4]], str(flavor.profile))
        assert flavor.capacity == flavor.nodes * flavor.gpus_per_node * (per_gpu or 0) > 0


# --- which flavor a job gets --------------------------------------------------------------------------------------------


def test_a_job_that_names_a_flavor_gets_it_and_runs_on_its_nodes(idle: Teams, plan: Plan) -> None:
    """No annotation, no toleration: a plain job. Slices are counted apart, as a resource of their own (strategy mixed)."""
    for flavor in plan.flavors:
        idle.submit("platform", flavor.name, Ask(flavor, units=1))
    on = {flavor.name: idle.runs(f"platform/{flavor.name}") for flavor in plan.flavors}
    assert idle.flavors() == {f"platform/{flavor.name}": flavor.name for flavor in plan.flavors}
    labels = idle.nodes()
    for flavor in plan.flavors:
        (node,) = on[flavor.name]
        assert flavor.node_labels.items() <= labels[node].items(), f"{flavor.name} on {node}"


def test_a_job_that_names_none_gets_the_first_that_fits(idle: Teams, plan: Plan) -> None:
    """In the file's order, by what it asks for: CPUs, whole GPUs, slices. Nobody is stopped for it: a flavor without free
    quota is passed over, and so is one that has it (72 GPUs here) on no node with room for a pod."""
    first, second = (flavor for flavor in plan.flavors if flavor.unit == "gpu" and flavor.name.startswith("a100"))
    small, other = (flavor for flavor in plan.flavors if flavor.profile == "1g.10gb")
    idle.submit("platform", "cpu", Ask(plan.flavor["standart"], units=4, named=False))
    idle.submit("platform", "slices", Ask(small, units=small.units_per_node, pods=small.nodes, named=False))
    idle.submit("platform", "gpus", Ask(first, units=5, pods=first.nodes, named=False))
    idle.runs("platform/cpu")
    idle.runs("platform/slices", small.nodes)
    idle.runs("platform/gpus", first.nodes)
    idle.submit("tts", "gpu", Ask(second, units=8, named=False))
    idle.submit("embeddings", "slice", Ask(small, units=1, named=False))
    idle.runs("tts/gpu")
    idle.runs("embeddings/slice")
    assert idle.flavors() == {
        "platform/cpu": "standart",
        "platform/slices": small.name,
        "platform/gpus": first.name,
        "tts/gpu": second.name,
        "embeddings/slice": other.name,
    }
    assert not idle.preempted()
    idle.submit("embeddings", "named", Ask(first, units=8))
    idle.runs("embeddings/named")
    assert idle.flavors()["embeddings/named"] == first.name
    assert list(idle.preempted()) == ["platform/gpus"]
    idle.runs("platform/gpus", first.nodes)  # again, where so many nodes have room for its pods
    assert idle.flavors()["platform/gpus"] == "hgx-h100"


# --- prod ---------------------------------------------------------------------------------------------------------------


def test_a_prod_queue_has_its_slice_in_the_flavors_ratio_and_never_borrows(idle: Teams, plan: Plan) -> None:
    """The whole cluster is idle, and yet more than the slice waits, of GPUs as of CPUs."""
    h100 = plan.flavor["h100"]
    own = plan.team["tts"].shares["h100"].prod
    cpus = milli_text(own * h100.cpu)
    idle.submit("tts", "more", Ask(h100, units=1, pods=own + 1), queue="prod")
    idle.submit("tts", "cpus", Ask(h100, units=own, cpu=h100.cpu + 1), queue="prod")
    idle.waits("tts/more", "insufficient quota for nvidia.com/gpu in flavor h100")
    idle.waits("tts/more", f"> maximum capacity ({own})")
    idle.waits("tts/cpus", "insufficient quota for cpu in flavor h100")
    idle.waits("tts/cpus", f"> maximum capacity ({cpus})")
    idle.submit("tts", "all", Ask(h100, units=own, priority="prod-workload"), queue="prod")
    idle.runs("tts/all")
    assert idle.workloads()["tts/all"]["spec"]["priority"] == plan.priorities["prod-workload"] == 1000


def test_prod_takes_back_at_once(idle: Teams, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    """A team borrows all that it can reach of a flavor; of it a prod slice's worth is stopped, and no more."""
    hgx, size = plan.flavor["hgx-h100"], 4
    slice_ = plan.team["ranking"].shares[hgx.name].prod
    assert slice_ == size * hgx.units_per_node
    jobs = reach(plan, plan.team["platform"], hgx.name) // slice_
    for number in range(jobs):
        idle.submit("platform", f"borrows-{number}", Ask(hgx, units=8, pods=size))
    for number in range(jobs):
        idle.runs(f"platform/borrows-{number}", size)
    started = time.monotonic()
    idle.submit("ranking", "prod", Ask(hgx, units=8, pods=size), queue="prod")
    idle.runs("ranking/prod", size)
    took = time.monotonic() - started
    assert list(idle.preempted().values()) == ["InCohortReclamation"]
    with capsys.disabled():
        print(f"\nprod took back {slice_} of {jobs * slice_} borrowed GPUs in {took:.1f} s")


# --- topology -----------------------------------------------------------------------------------------------------------


def test_jobs_are_packed_by_the_levels_of_their_flavor(idle: Teams, plan: Plan) -> None:
    hgx, a100, h100 = (plan.flavor[name] for name in ("hgx-h100", "a100-80g", "h100"))
    labels = idle.nodes()
    units = Counter(label[UNIT] for label in labels.values() if UNIT in label)
    assert sum(units.values()) == hgx.nodes
    most = max(units.values())
    within_unit, near = {REQUIRED: UNIT}, {PREFERRED: ZONE}
    idle.submit("ranking", "gang", Ask(hgx, pods=16, named=False, annotations=within_unit, units=8))
    idle.submit("platform", "large", Ask(hgx, pods=most + 1, annotations=within_unit, units=8))
    idle.submit("embeddings", "zonal", Ask(a100, pods=6, annotations=near, units=8))
    idle.submit("platform", "zonal", Ask(a100, pods=6, annotations=near, units=8))
    idle.submit("asr", "small", Ask(h100, units=1, pods=8))

    assert len({labels[node][UNIT] for node in idle.runs("ranking/gang", 16)}) == 1
    assert idle.flavors()["ranking/gang"] == hgx.name  # the only one with such a level
    idle.waits("platform/large", f'topology "infiniband" allows to fit only {most} out of {most + 1} pod(s)')
    for team in ("embeddings", "platform"):
        assert len({labels[node][ZONE] for node in idle.runs(f"{team}/zonal", 6)}) == 1
    assert len(set(idle.runs("asr/small", 8))) == 1  # one host has room for all


# --- where a guarantee stands -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "hit"), [("queue", ["tts/borrows"]), ("cohort", ["asr/newest", "tts/borrows"])], ids=["queue", "cohort"]
)
def test_whose_jobs_are_stopped_when_prod_takes_back(
    idle: Teams, plan: Plan, stack: Project, layout: GuaranteeOn, hit: list[str]
) -> None:
    """All of a flavor is used: by tts on what asr does not use, by asr's newest job on the rest of its guarantee. Then asr's
    prod slice is asked for."""
    apply(stack.kubeconfig, kueue.objects(replace(plan, guarantee_on=layout)))
    flavor = plan.flavor["h100"]
    asr, tts = (plan.team[name].shares[flavor.name] for name in ("asr", "tts"))
    assert asr.guaranteed + tts.guaranteed == flavor.capacity
    asks = {
        "tts/own": tts.regular,
        "tts/borrows": tts.prod + asr.prod,
        "asr/newest": asr.regular,
    }
    for job, units in asks.items():
        idle.submit(*job.split("/"), Ask(flavor, units=8, pods=units // 8))
        idle.runs(job, units // 8)
    idle.submit("asr", "prod", Ask(flavor, units=8, pods=asr.prod // 8), queue="prod")
    idle.runs("asr/prod", asr.prod // 8)
    idle.runs("asr/newest", asr.regular // 8)
    assert sorted(idle.preempted()) == hit
    assert idle.preempted()["tts/borrows"] == "InCohortReclamation"


# --- slices that go by a GPU's name -------------------------------------------------------------------------------------

SINGLE = """
[cluster]
name = "cut"
team_label = "example.com/team"
[flavors.whole]
nodes = 1
gpus_per_node = 8
node_labels = { "nvidia.com/gpu.product" = "NVIDIA-H200" }
[flavors.cut]
nodes = 1
gpus_per_node = 8
mig = { gpu = "H100-80GB", profile = "1g.10gb", strategy = "single" }
node_labels = { "nvidia.com/gpu.product" = "NVIDIA-H100-NVL-MIG-1g.10gb" }
[teams.cutters]
guaranteed = { whole = 8, cut = 56 }
"""


def test_slices_of_strategy_single_are_a_flavor_that_jobs_name_by_product(cluster: Teams, stack: Project) -> None:
    """Both flavors have `nvidia.com/gpu`; only the product tells a slice from a whole GPU. An agreement of its own beside
    the other, whose policies keep GPUs for namespaces of its teams."""
    plan = plan_of(SINGLE)
    apply(stack.kubeconfig, [*nodes.nodes(plan), *kueue.objects(plan)])
    teams = Teams(cluster.client, plan)
    teams.settle({cluster.plan.team_label: "platform"})
    cut = plan.flavor["cut"]
    teams.submit("cutters", "slices", Ask(cut, units=1, pods=cut.capacity))
    teams.submit("cutters", "first", Ask(cut, units=1, named=False))
    on = {job: set(teams.runs(f"cutters/{job}", pods)) for job, pods in (("slices", cut.capacity), ("first", 1))}
    assert on == {"slices": {"cut-0"}, "first": {"whole-0"}}
    assert teams.flavors() == {
        "cutters/slices": "cut",
        "cutters/first": "whole",
    }
    node = teams.nodes()["cut-0"]
    assert node["nvidia.com/gpu.product"].endswith("-MIG-1g.10gb") and node["nvidia.com/mig.strategy"] == "single"
    teams.clear()
