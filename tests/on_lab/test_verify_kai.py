"""The agreement's promises on KAI, proved on a lab: all of them hold; with a fault in the objects those break that it is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.generic_resource import create_global_resource
from lightkube.resources.core_v1 import Namespace, Node, Pod
from lightkube.resources.scheduling_v1 import PriorityClass
from lightkube.types import PatchType

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import KaiQueue, connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.lab.folder import Folder
from tenancy.objects import kai
from tenancy.verify import safety
from tenancy.verify.checks.kai import kai_checks
from tenancy.verify.checks.model import Check
from tenancy.verify.evidence.model import Run, Verdict
from tenancy.verify.play import Timeouts
from tenancy.verify.players import kai_objects
from tenancy.verify.players.sandbox import RUN_LABEL
from tenancy.verify.run import verify

from .kai_jobs import Jobs, until
from .mutations_kai import ON_THE_LAB, TOGETHER, Mutation

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RESERVATIONS = "kai-resource-reservation"
Topology = create_global_resource(*kai.TOPOLOGY_VERSION.split("/"), "Topology", "topologies")


@pytest.fixture(scope="module")
def folder(labs: Path, plan: Plan) -> Iterator[Folder]:
    result = lab.up(plan, "verify-kai", ("kai",))
    apply(result.kubeconfig, kai.objects(plan))
    yield result
    lab.down("verify-kai")


@pytest.fixture(scope="module")
def client(folder: Folder) -> Client:
    return connect(str(folder.kubeconfig))


@pytest.fixture(scope="module")
def users(client: Client, plan: Plan) -> Jobs:
    """A user's jobs, in the agreement's own queues and over their quota: whoever wanted to could take them."""
    jobs = Jobs(client, plan)
    jobs.begin()
    jobs.submit("users", "inference", "gpu", 16, 1)
    jobs.runs(users=16)
    return jobs


def test_every_promise_holds_and_nothing_is_left_nor_touched(client: Client, plan: Plan, users: Jobs) -> None:
    before = users.names("users")
    checks = kai_checks(plan)
    assert len(checks) >= 19
    run = verify(client, plan, checks, name=safety.new_name())
    assert not {outcome.check.name: outcome.why for outcome in run.outcomes if outcome.verdict is not Verdict.HELD}
    assert "kai/fractions/inference/gpu" in {outcome.check.name for outcome in run.outcomes}
    assert users.names("users") == before
    until(lambda: not left(client), lambda: left(client))


@pytest.mark.parametrize("mutations", TOGETHER, ids=[entry[0].name.replace(" ", "-") for entry in TOGETHER])
def test_a_fault_breaks_what_it_is_about_and_nothing_else(
    client: Client, plan: Plan, mutations: tuple[Mutation, ...]
) -> None:
    faults_are_seen(client, plan, mutations)


def test_every_fault_is_in_one_batch() -> None:
    assert sorted(mutation.name for batch in TOGETHER for mutation in batch) == sorted(
        mutation.name for mutation in ON_THE_LAB
    )


def test_half_a_gang_is_seen(client: Client, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a PodGroup has no minimum of members, as those that KAI makes of a plain Job, some of its pods start."""
    made = kai_objects.Template.objects

    def without_minimum(template: kai_objects.Template, jobs: Any) -> Iterator[dict[str, Any]]:
        for one in made(template, jobs):
            if one["kind"] == "PodGroup":
                one["spec"]["minMember"] = 1
            yield one

    monkeypatch.setattr(kai_objects.Template, "objects", without_minimum)
    run = verify(
        client, plan, chosen(plan, "gang/inference"), name=safety.new_name(), timeouts=Timeouts(step=20.0, job=0.0)
    )
    assert broken(run) == {"gang/inference"}


def test_every_kind_on_the_lab_has_a_fault_that_breaks_it(plan: Plan) -> None:
    broken = {name.partition("/")[0] for mutation in ON_THE_LAB for name in mutation.breaks} | {"gang"}
    assert broken == {check.kind for check in kai_checks(plan)}


def faults_are_seen(client: Client, plan: Plan, mutations: tuple[Mutation, ...]) -> None:
    breaks = {name for mutation in mutations for name in mutation.breaks}
    spares = {name for mutation in mutations for name in mutation.spares}
    with ExitStack() as there:
        for entry in mutations:
            there.enter_context(applied(client, entry))
        run = verify(client, plan, chosen(plan, *breaks, *spares), name=safety.new_name())
    assert broken(run) == breaks, {outcome.check.name: outcome.why for outcome in run.outcomes}


def chosen(plan: Plan, *names: str) -> list[Check]:
    found = [check for check in kai_checks(plan) if short(check) in names]
    assert {short(check) for check in found} == set(names)
    return found


def short(check: Check) -> str:
    return check.name.removeprefix("kai/").removesuffix("/gpu")


def broken(run: Run) -> set[str]:
    assert not [outcome for outcome in run.outcomes if outcome.verdict is Verdict.NOT_RUN]
    return {short(outcome.check) for outcome in run.outcomes if outcome.verdict is Verdict.BROKEN}


@contextmanager
def applied(client: Client, mutation: Mutation) -> Iterator[None]:
    """The objects with the fault, and as they were again."""
    back: list[Callable[[], object]] = []
    try:
        for name, change in dict(mutation.queues).items():
            before = client.get(KaiQueue, name)["spec"]
            after = json.loads(json.dumps(before))
            change(after)
            client.patch(KaiQueue, name, replaced(after), patch_type=PatchType.JSON)
            back.append(
                lambda name=name, before=before: client.patch(
                    KaiQueue, name, replaced(before), patch_type=PatchType.JSON
                )
            )
        for name, value in dict(mutation.classes).items():
            old = client.get(PriorityClass, name).value
            reclass(client, name, value)
            back.append(lambda name=name, old=old: reclass(client, name, old))
        for name, levels in dict(mutation.levels).items():
            before = client.get(Topology, name)["spec"]
            retopology(client, name, {"levels": [{"nodeLabel": key} for key in levels]})
            back.append(lambda name=name, before=before: retopology(client, name, before))
        yield
    finally:
        for undo in back:
            undo()


def replaced(spec: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": "/spec", "value": spec}]


def reclass(client: Client, name: str, value: int) -> None:
    """The value of a class cannot be changed: it is another class of that name."""
    client.delete(PriorityClass, name)
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    client.create(from_dict({**body, "preemptionPolicy": "Never"}))


def retopology(client: Client, name: str, spec: Any) -> None:
    """Nor can a Topology's levels."""
    labels = client.get(Topology, name)["metadata"]["labels"]
    client.delete(Topology, name)
    until(
        lambda: name not in {entry["metadata"]["name"] for entry in client.list(Topology)},
        lambda: f"{name} is still there",
    )
    client.create(Topology.from_dict({"metadata": {"name": name, "labels": labels}, "spec": spec}))


def left(client: Client) -> list[str]:
    """What carries the label of a run, and pods that hold a shared GPU."""
    kinds: Iterable[Any] = (Namespace, Node, KaiQueue)
    found = [one.metadata.name for kind in kinds for one in client.list(kind, labels={RUN_LABEL: None})]
    return found + [str(pod.metadata.name) for pod in client.list(Pod, namespace=RESERVATIONS)]
