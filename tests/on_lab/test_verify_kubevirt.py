"""Machines, with the real virt-controller: what the agreement promises of them is held, and is seen where it is not.

Every team has machines of its own and another fault in what is to keep their promise, so that one run sees them all.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.resources.core_v1 import Namespace, Node, ResourceQuota
from lightkube.types import PatchType

from tenancy.agreement.plan import Plan
from tenancy.cluster.api import Api
from tenancy.cluster.clients import LocalQueue, VirtualMachine, VirtualMachineInstance, connect
from tenancy.lab import lab, processes
from tenancy.lab.cluster import apply
from tenancy.lab.folder import Folder
from tenancy.objects import access, kueue
from tenancy.objects.access import Namespaces, quotas
from tenancy.verify.checks.machines import kubevirt_checks
from tenancy.verify.clean import leftovers
from tenancy.verify.evidence.model import Event, Outcome, Verdict
from tenancy.verify.run import verify
from tenancy.verify.safety import new_name

from .conftest import plan_of

pytestmark = pytest.mark.timeout(600)

MEMORY, DEFINED, INSTANCES = (
    "requests.memory",
    "count/virtualmachines.kubevirt.io",
    "count/virtualmachineinstances.kubevirt.io",
)
PROVED = {"machine-memory", "machine-second", "machine-stopped", "machine-no-gpu"}
BOOT = "machine-boot"
Hard = dict[str, str]


@dataclass(frozen=True)
class Fault:
    """What somebody did by hand to a team's objects, and the kinds of check that must see it."""

    seen_by: set[str]
    hard: Callable[[Hard], Hard] = lambda hard: hard
    queue: bool = False
    gone: bool = False


def without(*keys: str) -> Callable[[Hard], Hard]:
    return lambda hard: {key: amount for key, amount in hard.items() if key not in keys}


FAULTS = {
    "none": Fault(set()),
    "more-memory": Fault({"machine-second"}, lambda hard: {**hard, MEMORY: "4Gi"}),
    "overhead-forgotten": Fault({"machine-second"}, lambda hard: {**hard, MEMORY: "2Gi"}),
    "memory-free": Fault({"machine-memory", "machine-second"}, without(MEMORY)),
    "one-more": Fault({"machine-second", "machine-stopped"}, lambda hard: {**hard, DEFINED: "3", INSTANCES: "3"}),
    "stopped-free": Fault({"machine-second", "machine-stopped"}, without(DEFINED)),
    "gpu": Fault({"machine-no-gpu"}, without("requests.nvidia.com/gpu")),
    "queue": Fault({"machine-memory", "machine-second", "machine-no-gpu"}, queue=True),
    "no-quota": Fault(PROVED, gone=True),
}
TEAMS = "\n".join(
    f"""[teams.{name}]
guaranteed = 1
machines = {{ namespace = "{name}-machines", count = 2, vcpus = 1, memory = "1Gi" }}"""
    for name in FAULTS
)
AGREEMENT = f"""
[cluster]
name = "machines"
[flavors.gpu]
nodes = 2
gpus_per_node = 8
[access]
platform_groups = ["gpu-platform"]
{TEAMS}
"""


@pytest.fixture(scope="module")
def agreed() -> Plan:
    return plan_of(AGREEMENT)


@pytest.fixture(scope="module")
def machines(labs: Path, agreed: Plan) -> Iterator[Folder]:
    folder = lab.up(agreed, "machines", ("kubevirt",))
    apply(folder.kubeconfig, [*kueue.objects(agreed), *access.objects(agreed, Namespaces.LISTED)])
    yield folder
    lab.down("machines")


@pytest.fixture(scope="module")
def client(machines: Folder) -> Client:
    return connect(str(machines.kubeconfig))


def proved(client: Client, plan: Plan, **settings: Any) -> tuple[Outcome, ...]:
    """A run of all its checks, after which nothing of it is left."""
    outcomes = verify(client, plan, kubevirt_checks(plan), name=new_name(), **settings).outcomes
    assert leftovers(Api(client)) == {}
    assert not [
        namespace
        for namespace in client.list(Namespace)
        if namespace.metadata and (namespace.metadata.name or "").startswith("verify-")
    ]
    assert not list(client.list(VirtualMachine, namespace="*"))
    return outcomes


def broken(outcomes: tuple[Outcome, ...], team: str) -> dict[str, str]:
    return {
        outcome.check.kind: outcome.why
        for outcome in outcomes
        if outcome.check.team == team and outcome.verdict is Verdict.BROKEN
    }


def test_virt_controller_is_on_loopback_alone(machines: Folder) -> None:
    process = processes.running(machines)["virt-controller"]
    listening = [
        connection.laddr.ip for connection in process.net_connections() if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]
    assert [file.path for file in process.open_files() if not file.path.startswith((str(machines.path), "/sys/"))] == []


def test_where_no_team_has_machines_the_first_is_tried(client: Client, agreed: Plan) -> None:
    bare = replace(agreed, teams=tuple(replace(team, machines=None) for team in agreed.teams))
    outcomes = proved(client, bare)
    assert {outcome.check.kind: outcome.verdict for outcome in outcomes} == {
        **dict.fromkeys(PROVED, Verdict.HELD),
        BOOT: Verdict.NOT_RUN,
    }, [outcome.why for outcome in outcomes]
    boot = next(outcome for outcome in outcomes if outcome.check.kind == BOOT)
    assert "virt-handler" in boot.why and not boot.steps
    assert {outcome.check.team for outcome in outcomes} == {agreed.teams[0].name}
    assert all("gives no machines" in outcome.check.promise for outcome in outcomes)


@pytest.fixture(scope="module")
def faulty(client: Client, agreed: Plan) -> tuple[Outcome, ...]:
    """A run while each team has its fault."""
    for name, fault in FAULTS.items():
        namespace = f"{name}-machines"
        quota = client.get(ResourceQuota, quotas.QUOTA, namespace=namespace)
        assert quota.spec and quota.spec.hard and quota.metadata
        quota.spec.hard = fault.hard(dict(quota.spec.hard))
        client.replace(quota)
        if fault.queue:
            spec = {"clusterQueue": name}
            client.create(LocalQueue({"metadata": {"name": "default", "namespace": namespace}, "spec": spec}))
        if fault.gone:
            client.delete(ResourceQuota, quotas.QUOTA, namespace=namespace)
    return proved(client, agreed, at_once=len(FAULTS))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen_and_nothing_else(faulty: tuple[Outcome, ...], name: str) -> None:
    found = broken(faulty, name)
    assert set(found) == FAULTS[name].seen_by, found
    held = {outcome.check.kind for outcome in faulty if outcome.check.team == name and outcome.verdict is Verdict.HELD}
    assert held == PROVED - FAULTS[name].seen_by
    assert all(f"{name}-machines" in why for why in found.values()), found


def test_what_was_seen_is_told(faulty: tuple[Outcome, ...]) -> None:
    """The pod's own bytes, and KubeVirt's and the API server's own words."""
    by_kind = {outcome.check.kind: outcome for outcome in faulty if outcome.check.team == "none"}
    (memory,) = by_kind["machine-memory"].steps
    assert memory.usage[MEMORY] in (1_391_857_344, 1_412_828_864)
    started, refused, larger = by_kind["machine-second"].steps
    assert (started.running, started.usage[INSTANCES]) == ({"others": 1, "last": 1}, 2)
    (said,) = refused.conditions
    assert f"exceeded quota: {quotas.QUOTA}, requested: {DEFINED}=1, used: {DEFINED}=2" in said.message
    told = [(condition.reason, condition.message) for condition in larger.conditions if condition.job == "larger-0"]
    assert [reason for reason, _ in told] == ["FailedCreate"] and f"requested: {MEMORY}=" in told[0][1]
    gpu = by_kind["machine-no-gpu"].steps[-1].conditions
    assert ["requests.nvidia.com/gpu=1" in condition.message for condition in gpu] == [True]


def test_on_a_node_with_virt_handler_the_boot_is_run(client: Client, agreed: Plan) -> None:
    """A node that nobody simulates; what virt-handler would say of the machine is said here."""
    labels = {"kubevirt.io/schedulable": "true"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real", "labels": labels}}
    client.create(from_dict(node))
    seen = threading.Event()

    def handler() -> None:
        while not seen.wait(0.1):
            for entry in client.list(VirtualMachineInstance, namespace="*"):
                _says_running(client, entry)

    def tell(event: Event) -> None:
        if event.outcome:
            seen.set()

    thread = threading.Thread(target=handler)
    thread.start()
    try:
        checks = [check for check in kubevirt_checks(agreed) if (check.kind, check.team) == (BOOT, "none")]
        (outcome,) = verify(client, agreed, checks, name=new_name(), tell=tell).outcomes
        assert (outcome.verdict, outcome.why) == (Verdict.HELD, "")
        assert outcome.steps[0].running == {"machine": 1}
    finally:
        seen.set()
        thread.join()
        client.delete(Node, "real")


def _says_running(client: Client, instance: Mapping[str, Any]) -> None:
    metadata = instance["metadata"]
    patch = {"status": {"phase": "Running"}}
    with contextlib.suppress(ApiError):  # it has just gone
        client.patch(
            VirtualMachineInstance, metadata["name"], patch, namespace=metadata["namespace"], patch_type=PatchType.MERGE
        )


def test_a_lab_goes_with_its_machines(labs: Path, machines: Folder) -> None:
    """Nothing of KubeVirt outlives its lab."""
    assert lab.down("machines")
    assert not machines.path.exists()
    deadline = time.monotonic() + 10
    while found := [
        process for process in psutil.process_iter(["cmdline"]) if str(machines.path) in str(process.info["cmdline"])
    ]:
        assert time.monotonic() < deadline, found
