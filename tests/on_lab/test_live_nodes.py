"""`check --live` on a real control plane: what breaks is named, with the node and the team that is short."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.generic_resource import create_global_resource
from lightkube.resources.core_v1 import Node
from lightkube.types import PatchType
from typer.testing import CliRunner

from tenancy.cli import app
from tenancy.cluster.clients import connect
from tenancy.lab import lab

from .conftest import plan_of

pytestmark = pytest.mark.timeout(600)

AGREEMENT = """
[cluster]
name = "live"
[topologies.zonal]
levels = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
[flavors.gpu]
nodes = 3
gpus_per_node = 8
topology = "zonal"
node_labels = { "nvidia.com/gpu.product" = "NVIDIA-A100-SXM4-80GB" }
taints = [{ key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" }]
[flavors.slices]
nodes = 2
gpus_per_node = 2
mig = { gpu = "A100-80GB", profile = "1g.10gb" }
node_labels = { "node.example.com/pool" = "slices" }
topology = "zonal"
[flavors.plain]
nodes = 2
cpu_per_node = 16
memory_per_node = "64Gi"
node_labels = { "node.example.com/kind" = "plain" }
topology = "zonal"
[teams.training]
guaranteed = { gpu = 16, plain = "32 cpu" }
prod = { gpu = 8 }
[teams.research]
guaranteed = { gpu = 8, slices = 28 }
"""
GPU = "nvidia.com/gpu"
BROKEN = "tenancy.dev/broken"  # annotation on a node that kwok is to leave as it is
STAGE = create_global_resource("kwok.x-k8s.io", "v1alpha1", "Stage", "stages")

Patch = dict[str, Any]
Short = set[tuple[str, str, int]]


@pytest.fixture(scope="module")
def kubeconfig(labs: Path) -> Iterator[Path]:
    """A lab whose nodes may be NotReady: as it comes, kwok makes each Ready again at once."""
    folder = lab.up(plan_of(AGREEMENT), "live")
    but = {"key": f'.metadata.annotations["{BROKEN}"]', "operator": "DoesNotExist"}
    change = [{"op": "add", "path": "/spec/selector/matchExpressions/-", "value": but}]
    connect(str(folder.kubeconfig)).patch(STAGE, "node-initialize", change, patch_type=PatchType.JSON)
    yield folder.kubeconfig
    lab.down("live")


@pytest.fixture(scope="module")
def client(kubeconfig: Path) -> Client:
    return connect(str(kubeconfig))


@pytest.fixture
def agreement(tmp_path: Path) -> Path:
    file = tmp_path / "live.toml"
    file.write_text(AGREEMENT)
    return file


def check(file: Path, kubeconfig: Path, *more: str) -> tuple[int, str]:
    arguments = ["check", str(file), "--live", "--kubeconfig", str(kubeconfig), *more]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return done.exit_code, done.stdout


@contextmanager
def patched(client: Client, name: str, patch: Patch, back: Patch, kind: Any = Node) -> Iterator[None]:
    client.patch(kind, name, patch)
    try:
        yield
    finally:
        client.patch(kind, name, back)


def label(key: str, value: str | None) -> Patch:
    return {"metadata": {"labels": {key: value}}}


@contextmanager
def cordoned(client: Client) -> Iterator[None]:
    with patched(client, "gpu-1", {"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}}):
        yield


@contextmanager
def not_ready(client: Client) -> Iterator[None]:
    """As its kubelet would report it; the annotation keeps kwok from mending it."""
    condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "made by a test"}
    with (
        patched(
            client,
            "slices-0",
            {"metadata": {"annotations": {BROKEN: "yes"}}},
            {"metadata": {"annotations": {BROKEN: None}}},
        ),
        patched(client, "slices-0", {"status": {"conditions": [condition]}}, {}, Node.Status),
    ):
        yield


@contextmanager
def without_its_label(client: Client) -> Iterator[None]:
    key = "node.example.com/pool"
    with patched(client, "slices-1", label(key, None), label(key, "slices")):
        yield


@contextmanager
def without_its_zone(client: Client) -> Iterator[None]:
    key = "topology.kubernetes.io/zone"
    with patched(client, "plain-0", label(key, None), label(key, "plain-zone-0")):
        yield


@contextmanager
def with_less(client: Client) -> Iterator[None]:
    def allocatable(gpus: str) -> Patch:
        return {"status": {"allocatable": {GPU: gpus}}}

    with patched(client, "gpu-0", allocatable("5"), allocatable("8"), Node.Status):
        yield


@contextmanager
def in_two_flavors(client: Client) -> Iterator[None]:
    key = "node.example.com/kind"
    with patched(client, "gpu-2", label(key, "plain"), label(key, None)):
        yield


@contextmanager
def tainted(client: Client) -> Iterator[None]:
    own = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
    more = [*own, {"key": "maintenance", "value": "yes", "effect": "NoExecute"}]
    with patched(client, "gpu-2", {"spec": {"taints": more}}, {"spec": {"taints": own}}):
        yield


@contextmanager
def a_stranger(client: Client) -> Iterator[None]:
    amounts = {"cpu": "8", "memory": "64Gi", GPU: "4", "pods": "110"}
    node = {
        "metadata": {"name": "l40s-0", "labels": {"nvidia.com/gpu.product": "NVIDIA-L40S"}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    client.create(Node.from_dict(node))
    try:
        yield
    finally:
        client.delete(Node, "l40s-0")


# What is done → the problem (kind, flavor, nodes), and the teams that are short: flavor, at most how much.
CASES: dict[str, tuple[Callable[[Client], Any], list[tuple[str, str, str]], Short]] = {
    "cordoned": (cordoned, [("cordoned", "gpu", "gpu-1")], {("training", "gpu", 8), ("research", "gpu", 8)}),
    "not ready": (not_ready, [("not ready", "slices", "slices-0")], {("research", "slices", 14)}),
    "label": (
        without_its_label,
        [("fewer nodes", "slices", ""), ("missing labels", "slices", "slices-1")],
        {("research", "slices", 14)},
    ),
    "level": (without_its_zone, [("missing labels", "plain", "plain-0")], {("training", "plain", 16)}),
    "allocatable": (
        with_less,
        [("allocatable below the agreement", "gpu", "gpu-0")],
        {("training", "gpu", 3), ("research", "gpu", 3)},
    ),
    "taint": (
        tainted,
        [("unexpected taint", "gpu", "gpu-2")],
        {("training", "gpu", 8), ("research", "gpu", 8)},
    ),
    "two flavors": (in_two_flavors, [("in two flavors", "gpu", "gpu-2")], set()),
    "no flavor": (a_stranger, [("GPUs in no flavor", "", "l40s-0")], set()),
}


def test_the_lab_is_as_agreed(agreement: Path, kubeconfig: Path) -> None:
    code, out = check(agreement, kubeconfig)
    assert code == 0 and out.splitlines()[-1] == "all is as agreed on the 7 nodes of the cluster"
    code, out = check(agreement, kubeconfig, "--json")
    assert (code, json.loads(out)["as_agreed"]) == (0, True)


@pytest.mark.parametrize("case", CASES)
def test_what_breaks_is_named_with_who_is_short(case: str, agreement: Path, kubeconfig: Path, client: Client) -> None:
    do, problems, short = CASES[case]
    with do(client):
        code, out = check(agreement, kubeconfig, "--json")
    found = json.loads(out)
    assert code == 1
    assert [
        (problem["kind"], problem["flavor"], ", ".join(problem["nodes"])) for problem in found["problems"]
    ] == problems
    assert {(team["team"], team["flavor"], team["at_most"]) for team in found["teams"]} == short


def test_it_says_so_in_lines_with_the_place_in_the_agreement(agreement: Path, kubeconfig: Path, client: Client) -> None:
    with cordoned(client):
        code, out = check(agreement, kubeconfig)
    lines = {
        place: AGREEMENT[: AGREEMENT.index(place)].count("\n") + 1 for place in ("nodes = 3", "guaranteed = { gpu = 16")
    }
    assert code == 1
    assert f"{agreement}:{lines['nodes = 3']}:9: flavors.gpu.nodes: gpu-1 (8 GPUs): cordoned; " in out
    assert (
        f"{agreement}:{lines['guaranteed = { gpu = 16']}:22: teams.training.guaranteed.gpu: short by up to 8 of 16 GPUs: "
        "8 are left when all others use theirs, enough for its prod slice of 8 if its other jobs make room"
    ) in out


def test_all_is_mended_again(agreement: Path, kubeconfig: Path) -> None:
    """Also what each test above relies on: that the one before it left nothing."""
    assert check(agreement, kubeconfig)[0] == 0
