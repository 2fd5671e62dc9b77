"""`tenancy verify` as a guest: where it may not run, and what it leaves behind however it ends: nothing.

A run is a process of its own, so that it can be sent signals. What is on the cluster is compared with what was there before, in every
kind that the server lists.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client

from tenancy.agreement.plan import Plan
from tenancy.cluster.api import NAMESPACE, Api
from tenancy.cluster.clients import connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply, kubectl
from tenancy.objects import kueue
from tenancy.verify import clean, safety
from tenancy.verify.players.sandbox import RUN_LABEL
from tenancy.verify.safety import ALLOWED_LABEL

from .conftest import AGREEMENT

PATIENCE = 120.0
pytestmark = pytest.mark.timeout(600)
FEW = ("--only", "reclaim", "--at-once", "1")  # enough to be in the middle of
COHORT = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "spec": {}}
USER = """
apiVersion: v1
kind: Namespace
metadata: {name: alice, labels: {tenancy.dev/team: research}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: default, namespace: alice}
spec: {clusterQueue: research}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hers, namespace: alice, labels: {kueue.x-k8s.io/queue-name: default}}
spec:
  parallelism: 8
  completions: 8
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: work
        image: registry.invalid/nothing-runs
        resources: {requests: {cpu: "1", memory: 1Gi, nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}
"""


@pytest.fixture(scope="module")
def kubeconfig(labs: Path, plan: Plan) -> Iterator[Path]:
    """A lab with Kueue and the agreement, on which a user's job runs."""
    path = lab.up(plan, "safety").kubeconfig
    apply(path, kueue.objects(plan))
    subprocess.run(["kubectl", "apply", "-f", "-"], input=USER, text=True, check=True, env=environment(path))
    _until(lambda: kubectl(path, "get", "pods", "-n", "alice", "-o", "name").count("pod/") == 8)
    yield path
    lab.down("safety")


@pytest.fixture(scope="module")
def api(kubeconfig: Path) -> Api:
    client: Client = connect(str(kubeconfig))
    return Api(client)


@pytest.fixture(autouse=True)
def nothing_is_left(api: Api) -> Iterator[None]:
    """Every test leaves the cluster as it was: no object more, none fewer, and hers untouched."""
    before = everything(api)
    yield
    _until(lambda: not [thing for thing in api.things(NAMESPACE) if thing.name.startswith(safety.PREFIX)])
    after = everything(api)
    assert after.keys() - before.keys() == set()
    assert after == before


def environment(kubeconfig: Path) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def everything(api: Api) -> dict[str, Any]:
    """What stands outside of namespaces, what is in hers, and the namespaces: of each its UID, and the spec where people write it."""
    found = {}
    for kind in api.kinds():
        if kind.kind in ("Event", "ComponentStatus", "Lease"):
            continue
        for item in (api.get(kind.path(namespace="alice" if kind.namespaced else "")) or {}).get("items") or ():
            written = item.get("spec") if "kueue" in kind.base or kind.namespaced else None
            found[f"{kind.base}/{kind.kind}/{item['metadata']['name']}"] = (item["metadata"].get("uid"), written)
    return found


class Verify:
    """A `tenancy verify` of its own process."""

    def __init__(self, kubeconfig: Path, folder: Path, *arguments: str) -> None:
        (folder / "tenancy.toml").write_text(AGREEMENT)
        command = [sys.executable, "-m", "tenancy", "verify", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(kubeconfig), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def signal(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        return self.ended()


def verify(kubeconfig: Path, folder: Path, *arguments: str) -> tuple[int, str, str]:
    return Verify(kubeconfig, folder, *arguments).ended()


def jobs(api: Api) -> list[str]:
    """The namespaces of jobs of runs of verify."""
    found = api.get("/apis/batch/v1/jobs")
    assert found
    return [
        item["metadata"]["namespace"] for item in found["items"] if item["metadata"]["namespace"].startswith("verify-")
    ]


def _until(so: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.3)


@pytest.fixture
def unmarked(kubeconfig: Path) -> Iterator[None]:
    kubectl(kubeconfig, "label", "namespace", "kube-system", f"{ALLOWED_LABEL}-")
    yield
    kubectl(kubeconfig, "label", "namespace", "kube-system", f"{ALLOWED_LABEL}=true")


def test_a_cluster_that_is_not_marked_is_refused_unless_it_is_named(
    kubeconfig: Path, tmp_path: Path, unmarked: None
) -> None:
    only = ("--only", "gang", "--team", "research")
    code, out, err = verify(kubeconfig, tmp_path, *only)
    assert (code, out) == (2, "") and "cluster 'kwok-safety' is not marked for verify" in err
    assert "--allow-cluster kwok-safety" in err and f"kubectl label namespace kube-system {ALLOWED_LABEL}=true" in err
    code, out, err = verify(kubeconfig, tmp_path, *only, "--allow-cluster", "production")
    assert (code, out) == (2, "") and "the context's cluster is 'kwok-safety'" in err
    code, out, _ = verify(kubeconfig, tmp_path, *only, "--allow-cluster", "kwok-safety")
    assert code == 0 and "1 promise: 1 held, 0 broken, 0 not run" in out


@pytest.mark.parametrize(("number", "code", "why"), [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")])
def test_a_signal_ends_a_run_in_order(
    kubeconfig: Path, tmp_path: Path, api: Api, number: int, code: int, why: str
) -> None:
    run = Verify(kubeconfig, tmp_path, "--json", *FEW)
    _until(lambda: jobs(api))
    got, out, err = run.signal(number)
    assert got == code and "stopping" in err and "Traceback" not in err
    told = json.loads(out)
    assert told["stopped"] == why and not told["kept"]
    assert told["counts"]["not run"] and not told["counts"]["broken"]


def test_what_a_killed_run_left_is_said_and_removed_and_a_living_one_is_left_alone(
    kubeconfig: Path, tmp_path: Path, api: Api
) -> None:
    """Meanwhile hers are all 8 GPUs that research is guaranteed, and yet the living run sees every promise kept."""
    killed = Verify(kubeconfig, tmp_path, *FEW)
    _until(lambda: jobs(api))
    assert killed.signal(signal.SIGKILL)[0] == -signal.SIGKILL
    (dead,) = {standing.run for standing in safety.leases(api)}
    left = clean.counted(clean.leftovers(api)[dead])
    assert re.search(r"\d+ ClusterQueue.*\d+ Namespace.*\d+ Node", left)
    _until(lambda: not safety.living(api))

    living = Verify(kubeconfig, tmp_path, "--json", "--only", "reach")
    _until(lambda: {standing.run for standing in safety.living(api)} - {dead} and jobs(api))
    code, out, err = verify(kubeconfig, tmp_path, "--clean")
    assert code == 0, err
    assert f"run {dead}: removed " in out and re.search(r"run \w{6} lives and is left alone", out)
    assert dead not in clean.leftovers(api)
    code, out, err = living.ended()
    assert code == 0 and f"run {dead} of verify was killed and left" in err
    assert {check["verdict"] for check in json.loads(out)["checks"]} == {"held"}
    _until(lambda: not clean.leftovers(api))  # its own namespace goes last, in its own time

    assert verify(kubeconfig, tmp_path, "--clean") == (0, "no killed run has left anything\n", "")


def test_finalizers_that_nobody_takes_away_do_not_hold_the_rest(
    kubeconfig: Path, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the controllers of a run's objects are gone: a queue and a Job in a run's namespace that never let go."""
    monkeypatch.setattr(clean, "GRACE", 1.0)
    monkeypatch.setattr(clean, "JOBS", 1.0)
    stays = {"labels": {RUN_LABEL: "gone"}, "finalizers": ["nobody.example/stays"]}
    api.create(NAMESPACE.path(), {"metadata": {"name": "verify-gone-1", "labels": {RUN_LABEL: "gone"}}})
    api.create("/apis/kueue.x-k8s.io/v1beta2/cohorts", {**COHORT, "metadata": {"name": "verify-gone-1", **stays}})
    api.create("/api/v1/namespaces/verify-gone-1/configmaps", {"metadata": {"name": "stays", **stays}})
    api.create("/api/v1/namespaces", {"metadata": {"name": "somebodys", "labels": {RUN_LABEL: "gone"}}})
    try:
        found = clean.remove(api, ["gone"])
        assert sorted(map(str, found)) == ["Cohort/verify-gone-1", "Namespace/verify-gone-1"]
        assert [thing.going for thing in api.things(NAMESPACE) if thing.name == "somebodys"] == [False]
    finally:
        kubectl(kubeconfig, "delete", "namespace", "somebodys", "--wait=true")


def test_a_run_whose_lease_is_taken_away_ends(kubeconfig: Path, tmp_path: Path, api: Api) -> None:
    run = Verify(kubeconfig, tmp_path, "--json", *FEW)
    _until(lambda: jobs(api))
    (standing,) = safety.living(api)
    kubectl(kubeconfig, "delete", "lease", safety.LEASE, "-n", safety.home(standing.run))
    code, out, _ = run.ended()
    assert code == 1
    assert "Lease" in json.loads(out)["stopped"]
