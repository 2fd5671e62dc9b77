"""`verify` on a real Kueue: every promise of the lab holds and can be seen broken, users are not touched, nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.types import CascadeType

from tenancy.agreement.plan import Plan
from tenancy.cluster import read_nodes as nodes
from tenancy.cluster.api import Api
from tenancy.cluster.clients import ClusterQueue, LocalQueue, Workload, connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.lab.folder import Folder
from tenancy.objects import access, kueue
from tenancy.text.quantity import bytes_text, milli_text
from tenancy.verify.checks.kueue import kueue_checks
from tenancy.verify.checks.select import select
from tenancy.verify.clean import leftovers
from tenancy.verify.evidence.model import Event, Run, Verdict
from tenancy.verify.play import Timeouts
from tenancy.verify.players.live_objects import LiveObjects
from tenancy.verify.run import STOPPED, verify

from .conftest import plan_of
from .stacks import ROOT
from .teams import Teams, condition

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

USER = "of-a-user"
LARGE = Timeouts(step=300.0, rest=30.0)  # a cluster of a hundred nodes on a busy machine


def broken(run: Run) -> dict[str, str]:
    """What was not held, and why."""
    return {outcome.check.name: outcome.why for outcome in run.outcomes if outcome.verdict is not Verdict.HELD}


def left(client: Client) -> dict[str, list[str]]:
    return {
        run: [f"{thing.kind.kind}/{thing.name}" for thing in things] for run, things in leftovers(Api(client)).items()
    }


@contextmanager
def running_job(client: Client, plan: Plan) -> Iterator[Teams]:
    """A user's job that has all that research is guaranteed, in its own queue."""
    teams = Teams(client, plan)
    flavor, team = plan.flavors[0], "research"
    units = plan.team[team].shares[flavor.name].guaranteed
    labels = {plan.team_label: team}
    client.create(from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": USER, "labels": labels}}))
    client.create(
        LocalQueue.from_dict({"metadata": {"name": "default", "namespace": USER}, "spec": {"clusterQueue": team}})
    )
    asks = {
        "cpu": milli_text(flavor.cpu * units),
        "memory": bytes_text(flavor.memory * units),
        flavor.resource: str(units),
    }
    container = {"name": "work", "image": "registry.invalid/none", "resources": {"requests": asks, "limits": asks}}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    metadata = {"name": "work", "namespace": USER, "labels": {"kueue.x-k8s.io/queue-name": "default"}}
    spec = {"suspend": True, "template": {"spec": {**pod, "nodeSelector": dict(flavor.node_labels)}}}
    client.create(from_dict({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}))
    try:
        teams.until(lambda: len(of_user(client)["pods"]) == 1, lambda: "the user's job does not run")
        yield teams
    finally:
        client.delete(Job, "work", namespace=USER, cascade=CascadeType.BACKGROUND)
        teams.until(lambda: not any(of_user(client).values()), lambda: "the user's job does not end")
        client.delete(Namespace, USER)


def of_user(client: Client) -> dict[str, Any]:
    """What a stop or a move of the user's job would change."""
    pods = [pod for pod in client.list(Pod, namespace=USER) if pod.status and pod.status.phase == "Running"]
    workloads = [dict(workload) for workload in client.list(Workload, namespace=USER)]
    return {
        "pods": [(pod.metadata.uid, pod.spec.nodeName) for pod in pods if pod.metadata and pod.spec],
        "workloads": [
            (workload["metadata"]["uid"], condition(workload, "Admitted"), condition(workload, "Evicted"))
            for workload in workloads
        ],
    }


def test_every_promise_of_the_lab_is_held_beside_a_users_job(shared: Folder, plan: Plan, client: Client) -> None:
    """Nothing of the run is seen by who reads the cluster's nodes meanwhile, and nothing is left."""
    checks = kueue_checks(plan)
    assert len(checks) >= 22
    before = nodes.read(client)
    meanwhile = []

    def tell(event: Event) -> None:
        if event.outcome and not meanwhile:
            meanwhile.append((nodes.read(client), left(client)))

    with running_job(client, plan):
        was = of_user(client)
        run = verify(client, plan, checks, name="whole", tell=tell)
        assert broken(run) == {}
        assert of_user(client) == was
    ((seen, there),) = meanwhile
    assert [node.name for node in seen] == [node.name for node in before]
    assert any(entry.startswith("Node/") for entry in there["whole"])
    assert left(client) == {}
    times = "".join(f"{outcome.seconds:7.1f} s  {outcome.check.name}\n" for outcome in run.outcomes)
    print(f"\n{times}{run.seconds:7.1f} s  for {len(checks)} checks")


def test_what_is_seen_of_a_check(shared: Folder, plan: Plan, client: Client) -> None:
    """The numbers of each step, what Kueue said of the jobs that wait or were stopped, its usage, and who held what when."""
    (check,) = select(kueue_checks(plan), only=["kueue/reclaim/training/*"])
    run = verify(client, plan, [check], name="seen")
    (outcome,) = run.outcomes
    assert (outcome.verdict, len(outcome.steps)) == (Verdict.HELD, len(check.steps))
    jobs = {jobs.name: jobs for step in check.steps for jobs in step.submit}
    for step, seen in zip(check.steps, outcome.steps, strict=True):
        assert seen.seconds is not None and 0 <= seen.seconds < outcome.seconds
        assert dict(seen.running) == {name: step.running.get(name, 0) for name in seen.running}
        assert sum(seen.usage.values()) == sum(jobs[name].each * count for name, count in seen.running.items())
    said = [condition for seen in outcome.steps for condition in seen.conditions]
    assert any(condition.reason == "InCohortReclamation" for condition in said)
    stopper = next(condition.message for condition in said if condition.type == "Preempted")
    assert "UID: training/owner-" in stopper and "preemptor path: /lab/training" in stopper
    held = [held for held in run.held if held.team == "training"]
    assert sum(entry.units for entry in held[-1:]) == plan.team["training"].shares["gpu"].guaranteed
    assert all(held.since < held.until <= run.seconds for held in run.held)


def test_two_runs_side_by_side(shared: Folder, plan: Plan, client: Client) -> None:
    """The same checks of both, at the same time."""
    checks = select(kueue_checks(plan), sample=4)
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(verify, client, plan, checks, name=name, at_once=2) for name in ("left", "right")]
        assert [broken(run.result()) for run in runs] == [{}, {}]
    assert left(client) == {}


def test_a_run_that_is_stopped_leaves_nothing(shared: Folder, plan: Plan, client: Client) -> None:
    """At the first job that runs."""
    stop = Flag()

    def tell(event: Event) -> None:
        if event.step == 1:
            stop.set()

    run = verify(client, plan, kueue_checks(plan), name="stopped", tell=tell, stop=stop, at_once=2)
    assert {outcome.verdict for outcome in run.outcomes} == {Verdict.NOT_RUN}
    assert {outcome.why for outcome in run.outcomes} == {STOPPED}
    assert left(client) == {}


def test_on_real_nodes_a_check_needs_room(
    shared: Folder, plan: Plan, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no other nodes than the agreement's: beside a user's job what fits is run on them, and what does not is not."""
    copied: dict[str, list[str]] = {}
    monkeypatch.setattr(LiveObjects, "simulated", lambda self, flavor: False)
    flavor = plan.flavors[0]
    taken = plan.team["research"].shares[flavor.name].guaranteed
    with running_job(client, plan):
        was = of_user(client)
        checks = select(kueue_checks(plan), only=["whole", "kueue/own-namespaces/training/*"])
        run = verify(client, plan, checks, name="real", tell=lambda event: copied.update(left(client)))
        assert of_user(client) == was
    seen = {outcome.check.kind: (outcome.verdict, outcome.why) for outcome in run.outcomes}
    assert seen["own-namespaces"] == (Verdict.HELD, "")
    assert seen["whole"][0] is Verdict.NOT_RUN
    assert (
        f"it needs {flavor.count(flavor.capacity)} of gpu, and {flavor.capacity - taken} are free" in seen["whole"][1]
    )
    assert not [entry for entry in copied["real"] if entry.startswith(("Node/", "ResourceFlavor/"))]
    assert left(client) == {}


@pytest.fixture
def without_inference(shared: Folder, plan: Plan, client: Client) -> Iterator[None]:
    """Somebody has deleted its queue."""
    client.delete(ClusterQueue, "inference")
    Teams(client, plan).until(
        lambda: "inference" not in {queue.metadata.name for queue in client.list(ClusterQueue)},
        lambda: "the queue does not go",
    )
    yield
    apply(shared.kubeconfig, kueue.objects(plan))


def test_a_queue_that_is_not_there(without_inference: None, shared: Folder, plan: Plan, client: Client) -> None:
    checks = select(kueue_checks(plan), only=["reach"])
    run = verify(client, plan, checks, name="missing", at_once=1)
    why = {outcome.check.team: outcome.why for outcome in run.outcomes}
    assert why["inference"] == "clusterqueue/inference is not on the cluster"
    assert not run.kept
    assert left(client) == {}


@pytest.fixture(scope="module")
def production(labs: Path) -> Iterator[tuple[Client, Plan]]:
    """All of it, the rules of access too."""
    plan = plan_of((ROOT / "examples" / "production.toml").read_text())
    folder = lab.up(plan, "verify-production")
    apply(folder.kubeconfig, [*kueue.objects(plan), *access.objects(plan, access.Namespaces.LISTED)])
    yield connect(str(folder.kubeconfig)), plan
    lab.down("verify-production")


def test_production_sampled(production: tuple[Client, Plan]) -> None:
    """161 nodes, eleven flavors, prod queues, departments, topologies, slices."""
    client, plan = production
    checks = kueue_checks(plan)
    sample = select([check for check in checks if not check.not_run], sample=8)
    run = verify(client, plan, sample, name="sampled", timeouts=LARGE)
    assert broken(run) == {}
    assert len({outcome.check.kind for outcome in run.outcomes}) == len(sample)
    assert left(client) == {}
    print(f"\n{run.seconds:.1f} s for {len(sample)} of {len(checks)} checks")


def test_venus_sampled(labs: Path) -> None:
    plan = plan_of((ROOT / "examples" / "venus.toml").read_text())
    folder = lab.up(plan, "verify-venus")
    try:
        apply(folder.kubeconfig, kueue.objects(plan))
        client = connect(str(folder.kubeconfig))
        sample = select(kueue_checks(plan), sample=3)
        run = verify(client, plan, sample, name="sampled", timeouts=LARGE)
        assert broken(run) == {}
        assert left(client) == {}
    finally:
        lab.down("verify-venus")
