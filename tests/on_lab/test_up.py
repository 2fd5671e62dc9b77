"""A lab comes up whole or not at all, says what failed, and goes without a trace."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import ConfigMap, Namespace, Node

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import ClusterQueue, connect
from tenancy.lab import controllers, lab
from tenancy.lab.controlplane import COMPONENTS
from tenancy.lab.folder import Folder, LabError, folder
from tenancy.lab.processes import running, stop

from .conftest import AGREEMENT, plan_of, processes_under

# No flag of it says on which address it listens (tenancy/lab/controllers.py).
ON_EVERY_ADDRESS = {"kai-admission"}


def test_the_lab_says_that_it_is_one(client: Client) -> None:
    labels = client.get(Namespace, "kube-system").metadata.labels
    assert labels["tenancy.dev/lab"] == "shared"


def test_nodes_are_the_agreements(client: Client, shared: Folder) -> None:
    nodes = {node.metadata.name: node for node in client.list(Node)}
    assert sorted(nodes) == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
    for node in nodes.values():
        assert node.status.allocatable == {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
        assert node.metadata.labels["tenancy.dev/flavor"] == "gpu"
        assert [condition.status for condition in node.status.conditions if condition.type == "Ready"] == ["True"]


def test_kueues_own_webhook_refuses_what_kueue_forbids(client: Client, shared: Folder) -> None:
    lends_more_than_it_has = {"name": "nvidia.com/gpu", "nominalQuota": "1", "lendingLimit": "2"}
    group = {
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": "gpu", "resources": [lends_more_than_it_has]}],
    }
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "wrong"},
        "spec": {"cohortName": "lab", "resourceGroups": [group]},
    }
    with pytest.raises(ApiError, match=r"admission webhook .*kb\.io.* denied the request"):
        client.create(ClusterQueue.from_dict(queue))


def test_everything_listens_on_loopback(shared: Folder) -> None:
    listening = {
        name: {
            connection.laddr.ip
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }
        for name, process in running(shared).items()
    }
    assert set(listening) > set(COMPONENTS)
    others = {name for name, addresses in listening.items() if addresses - {"127.0.0.1", "::1"}}
    assert others <= ON_EVERY_ADDRESS


def test_a_second_up_changes_nothing_and_is_at_once(shared: Folder, plan: Plan) -> None:
    before = {name: process.pid for name, process in running(shared).items()}
    # Of this process: another lab that starts beside it may hold the lock for half a minute.
    began = time.process_time()
    lab.up(plan, "shared")
    assert time.process_time() - began < 5
    assert {name: process.pid for name, process in running(shared).items()} == before


def test_up_adds_the_nodes_of_a_changed_agreement(shared: Folder, client: Client, plan: Plan) -> None:
    larger = plan_of(AGREEMENT.replace("nodes = 4", "nodes = 5"))
    lab.up(larger, "shared")
    assert len(list(client.list(Node))) == 5
    lab.up(plan, "shared")
    assert len(list(client.list(Node))) == 4


def test_up_mends_a_controller_that_was_killed(shared: Folder, plan: Plan) -> None:
    before = running(shared)
    before["kueue"].kill()
    before["kueue"].wait(5)
    found = lab.status("shared")
    assert found is not None and found.stopped == ("kueue",) and not found.fine
    lab.up(plan, "shared")
    after = running(shared)
    assert after["kueue"].pid != before["kueue"].pid
    assert after["etcd"].pid == before["etcd"].pid
    assert lab.status("shared").fine


def test_up_brings_back_a_lab_after_a_reboot(labs: Path, plan: Plan) -> None:
    """Every process is gone, what the API server held is not, and an old number is somebody else's by now."""
    folder = lab.up(plan, "rebooted")
    connect(str(folder.kubeconfig)).create(Namespace.from_dict({"metadata": {"name": "kept"}}))
    for process in running(folder).values():
        process.kill()
        process.wait(5)
    (folder.kwok / "clusters" / "rebooted" / "pids" / "etcd.pid").write_text(str(os.getpid()))
    lab.up(plan, "rebooted")
    client = connect(str(folder.kubeconfig))
    assert client.get(Namespace, "kept") and len(list(client.list(Node))) == 4
    assert lab.status("rebooted").fine
    assert lab.down("rebooted")


def test_a_controller_that_the_user_brings_is_run(
    shared: Folder, plan: Plan, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stand-ins for fake-gpu-operator's programs, which are in no package registry."""
    programs = tmp_path / "fake-gpu-operator" / "bin"
    programs.mkdir(parents=True)
    for name in ("status-updater", "kwok-gpu-device-plugin"):
        (programs / name).write_text('#!/bin/sh\necho "$TOPOLOGY_CM_NAME in $TOPOLOGY_CM_NAMESPACE"\nexec sleep 1000\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("TENANCY_CONTROLLERS", str(tmp_path))
    before = shared.state()
    lab.up(plan, "shared", ("fake-gpu-operator",))
    try:
        assert {"status-updater", "kwok-gpu-device-plugin"} <= set(running(shared))
        assert "topology in gpu-operator" in shared.log("status-updater").read_text()
        topology = json.loads(client.get(ConfigMap, "topology", namespace="gpu-operator").data["topology.yml"])
        assert topology["nodePools"]["gpu"]["gpuCount"] == 8
    finally:
        stop(
            process for name, process in running(shared).items() if name in ("status-updater", "kwok-gpu-device-plugin")
        )
        shared.remember(before)


def test_two_labs_stand_side_by_side_and_end_alone(shared: Folder, client: Client, labs: Path) -> None:
    other = plan_of(
        AGREEMENT.replace("[flavors.gpu]\nnodes = 4", "[flavors.gpu]\nnodes = 40").replace('"lab"', '"other"')
    )
    folder = lab.up(other, "second")
    assert len(list(connect(str(folder.kubeconfig)).list(Node))) == 40
    assert len(list(client.list(Node))) == 4
    assert not set(folder.state().ports.values()) & set(shared.state().ports.values())
    assert {"second", "shared"} <= set(lab.names())
    assert lab.down("second") and "second" not in lab.names()
    assert not folder.path.exists() and not processes_under(folder.path)
    assert lab.status("shared").fine
    assert not lab.down("second")


def test_a_controller_that_fails_is_named_with_its_log(labs: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    row = controllers.CONTROLLERS["kueue"]
    broken = dataclasses.replace(row.processes[0], arguments=("--config={folder}/nowhere.json",))
    monkeypatch.setitem(controllers.CONTROLLERS, "kueue", dataclasses.replace(row, processes=(broken,)))
    with pytest.raises(LabError, match=r"(?s)kueue stopped.*Unable to load the configuration.*nowhere\.json"):
        lab.up(plan, "failing")
    assert not folder("failing").path.exists() and not processes_under(labs / "failing")


def test_a_control_plane_that_fails_is_named_with_its_log(
    labs: Path, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etcd = tmp_path / "etcd"
    etcd.write_text(
        '#!/bin/sh\ncase "$*" in *version) echo etcd Version: 3.6.16; exit;; esac\necho this etcd has no disk; exit 3\n'
    )
    etcd.chmod(0o755)
    monkeypatch.setenv("TENANCY_TOOL_ETCD", str(etcd))
    started = time.monotonic()
    with pytest.raises(LabError, match=r"(?s)etcd stopped.*this etcd has no disk"):
        lab.up(plan, "failing")
    assert time.monotonic() - started < 60
    assert not folder("failing").path.exists() and not processes_under(labs / "failing")


def test_adding_a_controller_that_fails_leaves_the_lab_as_it_was(
    shared: Folder, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = controllers.Controller("wrong", (controllers.Process("kueue-again", ready="1/never"),), tools="kueue")
    monkeypatch.setitem(controllers.CONTROLLERS, "wrong", wrong)
    before = {name: process.pid for name, process in running(shared).items()}
    with pytest.raises(KeyError):
        lab.up(plan, "shared", ("wrong",))
    assert {name: process.pid for name, process in running(shared).items()} == before
    assert shared.state().controllers == ["kueue", "kai"]
    assert lab.status("shared").fine


def test_down_after_a_killed_up_leaves_nothing(labs: Path, tmp_path: Path) -> None:
    agreement = tmp_path / "tenancy.toml"
    agreement.write_text(AGREEMENT)
    command = [sys.executable, "-m", "tenancy", "lab", "up", str(agreement), "--name", "killed"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(set(COMPONENTS) & set(running(folder("killed")))) < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert processes_under(labs / "killed")
    assert lab.down("killed")
    assert not (labs / "killed").exists() and not processes_under(labs / "killed")


def test_down_ends_processes_whose_folder_was_removed(labs: Path, plan: Plan) -> None:
    folder = lab.up(plan, "forgotten")
    running(folder)["etcd"].kill()
    subprocess.run(["rm", "-rf", str(folder.path)], check=True)
    assert "forgotten" in lab.names()
    assert lab.down("forgotten")
    assert not processes_under(labs / "forgotten")


def test_ports_that_others_took_are_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    from tenancy.lab import ports

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        taken = other.getsockname()[1]
        monkeypatch.setattr(ports.random, "sample", lambda population, count: [taken, 31_999])
        assert ports.choose(["webhook"], {}) == {"webhook": 31_999}


def test_what_no_registry_has_is_said_plainly(
    labs: Path, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENANCY_CONTROLLERS", raising=False)
    with pytest.raises(LabError, match="fake-gpu-operator is not in a package registry: set TENANCY_CONTROLLERS"):
        lab.up(plan, "given", ("fake-gpu-operator",))
    monkeypatch.setenv("TENANCY_CONTROLLERS", str(tmp_path))
    with pytest.raises(LabError, match="has no program fake-gpu-operator/bin/status-updater"):
        lab.up(plan, "given", ("fake-gpu-operator",))
    with pytest.raises(LabError, match="the lab has no controller 'kay'; choose from jobset, trainer, kai, "):
        lab.up(plan, "given", ("kay",))
    assert not folder("given").path.exists()
