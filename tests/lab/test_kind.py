"""The lab on kind, as far as it goes without Docker: what it asks of kind, helm and kubectl, and what it says when they
are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from samples import LAB, ONE_FLAVOR, plan

from tenancy.lab import kind, lab
from tenancy.lab.folder import FOLDER_VARIABLE, LabError, folder

TAINTED = """
[cluster]
name = "lab"
[topologies.fabric]
levels = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
[flavors.gpu]
nodes = 2
gpus_per_node = 8
topology = "fabric"
node_labels = { "example.com/pool" = "gpu" }
taints = [{ key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" }]
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with docker, kind, helm and kubectl that only write down what they are asked."""
    asked = tmp_path / "asked"
    for program in ("docker", "kind", "helm", "kubectl"):
        path = tmp_path / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'#!/bin/sh\necho "{program} $*" >>"{asked}"\n[ "$FAILS" != {program}-$1 ] || {{ echo it broke >&2; exit 7; }}\n'
        )
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("TENANCY_TOOL_KUBECTL", str(tmp_path / "bin" / "kubectl"))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "labs"))
    return asked


def _asked(asked: Path, program: str) -> list[str]:
    return [
        line.removeprefix(f"{program} ") for line in asked.read_text().splitlines() if line.startswith(f"{program} ")
    ]


def test_a_control_plane_and_a_worker_for_each_node() -> None:
    config = kind.configuration(plan(LAB), "lab")
    assert [node["role"] for node in config["nodes"]] == ["control-plane"] + ["worker"] * 4
    assert all(node["labels"]["run.ai/simulated-gpu-node-pool"] == "gpu" for node in config["nodes"][1:])
    assert config["networking"]["apiServerAddress"] == "127.0.0.1"


def test_what_a_kubelet_may_not_say_of_itself_is_set_from_outside() -> None:
    config, patches = kind.configuration(plan(TAINTED), "x"), kind.patches(plan(TAINTED), "x")
    assert not [label for node in config["nodes"][1:] for label in node["labels"] if "kubernetes.io/" in label]
    assert config["nodes"][1]["labels"]["example.com/pool"] == "gpu"
    assert [patch["metadata"]["name"] for patch in patches] == ["tenancy-x-worker", "tenancy-x-worker2"]
    assert patches[0]["metadata"]["labels"] == {"topology.kubernetes.io/zone": "gpu-zone-0"}
    assert patches[0]["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def test_more_nodes_than_a_machine_holds_are_refused() -> None:
    with pytest.raises(LabError, match="the agreement has 133 nodes, but kind runs each node as a container"):
        kind.configuration(plan(ONE_FLAVOR.replace("nodes = 4", "nodes = 133")), "lab")


def test_the_cluster_then_the_charts(programs: Path) -> None:
    folder = kind.up(plan(LAB), "lab", ("kai",))
    created = _asked(programs, "kind")[1]
    assert created.startswith(f"create cluster --name tenancy-lab --kubeconfig {folder.kubeconfig} --config")
    releases = [line.split() for line in _asked(programs, "helm")]
    assert [words[:3] for words in releases] == [
        ["upgrade", "--install", "gpu-operator"],
        ["upgrade", "--install", "kueue"],
        ["upgrade", "--install", "kai-scheduler"],
    ]
    values = json.loads((folder.path / "gpu-operator.json").read_text())
    assert values["topology"]["nodePools"]["gpu"]["gpuCount"] == 8
    marks = "tenancy.dev/lab=lab tenancy.dev/verify-allowed=true"
    assert f"label namespace kube-system {marks} --overwrite" in _asked(programs, "kubectl")[-1]
    assert lab.down("lab") and _asked(programs, "kind")[-1].startswith("delete cluster --name tenancy-lab")
    assert not folder.path.exists()


def test_kubevirt_is_its_operator_and_the_object_that_it_acts_on(programs: Path) -> None:
    folder = kind.up(plan(LAB), "lab", ("kubevirt",))
    said = _asked(programs, "kubectl")
    places = [
        next(n for n, line in enumerate(said) if words in line) for words in ("kubevirt-operator.yaml", "Available")
    ]
    assert places == sorted(places)
    state = folder.state()
    assert state and state.controllers == ["kueue", "kai", "kubevirt"]
    kind.up(plan(LAB), "lab")
    assert folder.state() == state, "what a lab has, it keeps"


@pytest.mark.parametrize("fails", ["kind-create", "helm-upgrade"])
def test_a_failure_says_what_was_said_and_leaves_nothing(
    programs: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    monkeypatch.setenv("FAILS", fails)
    with pytest.raises(LabError, match=r"(?s)failed with exit code 7\. It said:\n  it broke"):
        kind.up(plan(LAB), "lab")
    assert _asked(programs, "kind")[-1].startswith("delete cluster --name tenancy-lab")
    assert not folder("lab").path.exists()


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "labs"))
    with pytest.raises(
        LabError, match=r"docker, kind, helm are not there\. Without --on kind the lab needs none of them"
    ):
        kind.up(plan(LAB), "lab")
    assert not (tmp_path / "labs").exists()


def test_a_docker_that_does_not_answer(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILS", "docker-info")
    with pytest.raises(LabError, match="Docker does not answer"):
        kind.up(plan(LAB), "lab")


def test_other_controllers_are_not_on_kind(programs: Path) -> None:
    with pytest.raises(LabError, match="but not namespace-configuration-operator"):
        kind.up(plan(LAB), "lab", ("namespace-configuration-operator",))
