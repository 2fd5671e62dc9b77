"""A team's namespaces on a real control plane and a real Kueue: what becomes of LocalQueues and of jobs when things change.

`docs/namespaces.md` has the table that these tests hold: each row once where this stack writes what a namespace gets
(listed), once where the namespace operator does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tenancy.agreement.plan import Plan
from tenancy.lab import lab
from tenancy.objects import access, kueue
from tenancy.objects.access import Namespaces
from tenancy.objects.manifest import dump_all

from . import namespace_operator
from .conftest import plan_of
from .stacks import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATIENCE = 90.0
HARDWARE = """
[cluster]
name = "small"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
"""
TRAINING = '[teams.training]\nguaranteed = 16\nnamespaces = ["night", "day"]\n'
RESEARCH = '[teams.research]\nguaranteed = 8\nprod = 2\nnamespaces = ["lab"]\n'
SMALL = HARDWARE + TRAINING + RESEARCH
LABEL = "tenancy.dev/team"


@pytest.fixture(scope="module")
def kubeconfig(labs: Path) -> Iterator[Path]:
    """A lab of its own, with the operator where it is given."""
    controllers = (namespace_operator.NAME,) if namespace_operator.is_given() else ()
    print(f"\nnamespace operator: {'the real one' if controllers else 'expanded by the test'}")
    yield lab.up(plan_of(SMALL), "namespaces", controllers).kubeconfig
    lab.down("namespaces")


@dataclass
class Scene:
    """A stack on the lab, and what a user of the cluster does and sees there."""

    project: Project
    operate: Callable[[], None]

    def agree(self, text: str, **settings: str) -> None:
        """The agreement is this from now on."""
        self.project.set(**settings)
        self.project.agree(text)
        self.project.up().ok()

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        return self.project.kubectl(*arguments, given=given)

    def namespace(self, name: str, **labels: str) -> None:
        metadata = {"name": name, "labels": labels}
        self.kubectl(
            "create", "--filename=-", given=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        )

    def label(self, namespace: str, change: str) -> str:
        """`=training`, or `-` to take it off."""
        return self.kubectl("label", "namespace", namespace, f"{LABEL}{change}", "--overwrite")

    def labels(self, namespace: str) -> dict[str, str]:
        found = json.loads(self.kubectl("get", "namespace", namespace, "--output=json"))["metadata"]["labels"]
        return {key: value for key, value in found.items() if key != "kubernetes.io/metadata.name"}

    def queues(self) -> dict[str, str]:
        """Each LocalQueue's ClusterQueue, as Kueue knows it."""
        items = json.loads(self.kubectl("get", "localqueues", "--all-namespaces", "--output=json"))["items"]
        return {
            f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["spec"]["clusterQueue"]
            for item in items
        }

    def submit(self, namespace: str, name: str, gpus: int, queue: str = "default") -> None:
        """A job that runs until it is deleted."""
        container = {"name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": queue}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        }
        self.kubectl("create", "--filename=-", given=json.dumps(job))

    def end(self, namespace: str, *names: str) -> None:
        self.kubectl("delete", "job", "--namespace", namespace, *(names or ("--all",)))

    def jobs(self, namespace: str) -> dict[str, str]:
        """Where each job has been admitted, or why it waits."""
        items = json.loads(self.kubectl("get", "workloads", "--namespace", namespace, "--output=json"))["items"]
        return {item["metadata"]["ownerReferences"][0]["name"]: _standing(item) for item in items}

    def wait(self, seen: Callable[[], Any], expected: Any) -> None:
        """Until what is seen is what is expected; the operator works meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.operate()
            now = seen()
            if now == expected or (callable(expected) and expected(now)):
                return
            assert time.monotonic() < deadline, now
            time.sleep(0.2)


def _standing(workload: Mapping[str, Any]) -> str:
    status = workload.get("status", {})
    if "admission" in status:
        return f"on {status['admission']['clusterQueue']}"
    reasons = [
        condition["message"] for condition in status.get("conditions", ()) if condition["type"] == "QuotaReserved"
    ]
    return reasons[0] if reasons else ""


@pytest.fixture
def scene(kubeconfig: Path, tmp_path: Path) -> Iterator[Scene]:
    """A stack that has never been updated, on a cluster with nothing of ours on it."""
    project = Project(tmp_path, kubeconfig)
    stand_in = None if namespace_operator.is_given() else namespace_operator.StandIn(project.kubectl)
    result = Scene(project, stand_in.reconcile if stand_in else lambda: None)
    yield result
    before = json.loads(result.kubectl("get", "namespaces", "--output=json"))["items"]
    ours = [
        one["metadata"]["name"]
        for one in before
        if not one["metadata"]["name"].startswith(("kube-", "kueue-", "default"))
    ]
    result.kubectl("delete", "validatingadmissionpolicybindings,namespaceconfigs", "--all")
    result.kubectl("delete", "validatingadmissionpolicies", "--all")
    for name in ours:
        result.kubectl("delete", "jobs,localqueues", "--all", "--namespace", name)
    result.wait(lambda: [result.jobs(name) for name in ours if result.jobs(name)], [])
    project.wipe()
    if ours:
        result.kubectl("delete", "namespace", *ours)


def plain_queues(text: str) -> dict[str, str]:
    """The LocalQueues of the namespaces that an agreement lists."""
    return {
        f"{entry['metadata']['namespace']}/{entry['metadata']['name']}": entry["spec"]["clusterQueue"]
        for entry in access.objects(plan_of(text), Namespaces.LISTED)
        if entry["kind"] == "LocalQueue"
    }


def waits(word: str) -> Callable[[str], bool]:
    return lambda said: word in said


# --- listed: this stack writes what a namespace gets ------------------------------------------------------------------------


def test_namespaces_are_made_or_taken_and_never_deleted(scene: Scene) -> None:
    """One is somebody's, with labels of its own; the others are not there yet."""
    scene.namespace("night", owner="somebody")
    scene.agree(SMALL)
    assert scene.queues() == plain_queues(SMALL)
    assert scene.labels("night") == {"owner": "somebody", LABEL: "training", "tenancy.dev/agreement": "small"}
    assert scene.labels("day")[LABEL] == "training"
    scene.project.up("--expect-no-changes").ok()
    scene.project.preview("--refresh", "--expect-no-changes").ok()
    scene.project.pulumi("destroy", "--yes", "--suppress-progress").ok()
    assert scene.queues() == {}
    assert scene.labels("night") == {"owner": "somebody"}
    assert scene.labels("day") == scene.labels("lab") == {}


def test_somebodys_local_queue_is_refused_by_name(scene: Scene) -> None:
    scene.namespace("lab")
    theirs = {
        "apiVersion": kueue.API_VERSION,
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": "lab"},
        "spec": {"clusterQueue": "theirs"},
    }
    scene.kubectl("create", "--filename=-", given=json.dumps(theirs))
    scene.project.agree(SMALL)
    done = scene.project.up()
    assert done.code != 0
    assert "LocalQueue/lab/default: already on the cluster" in done.said
    assert scene.queues() == {"lab/default": "theirs"}


def test_a_namespace_moves_and_its_running_jobs_end_where_they_began(scene: Scene) -> None:
    scene.agree(SMALL)
    scene.submit("night", "running", 8)
    scene.submit("night", "waiting", 400)
    scene.wait(lambda: scene.jobs("night")["running"], "on training")
    moved = SMALL.replace('["night", "day"]', '["day"]').replace('["lab"]', '["lab", "night"]')
    scene.agree(moved)
    assert scene.queues() == plain_queues(moved)
    assert scene.labels("night")[LABEL] == "research"
    scene.submit("night", "new", 8)
    scene.submit("night", "more", 1, "prod")
    scene.wait(
        lambda: {name: job for name, job in scene.jobs("night").items() if name != "waiting"},
        {"running": "on training", "new": "on research", "more": "on research-prod"},
    )


def test_a_team_gains_prod_and_loses_it_and_gets_another_name(scene: Scene) -> None:
    gains = SMALL.replace("guaranteed = 16\n", "guaranteed = 16\nprod = 4\n")
    renamed = gains.replace("[teams.training]", "[teams.serving]").replace("prod = 2\n", "")
    scene.agree(SMALL)
    scene.submit("night", "waiting", 400)
    for text in (gains, renamed):
        scene.agree(text)
        assert scene.queues() == plain_queues(text)
    assert {scene.labels(entry)[LABEL] for entry in ("night", "day")} == {"serving"}
    scene.submit("night", "new", 8)
    scene.wait(lambda: scene.jobs("night")["new"], "on serving")
    assert {entry for entry in scene.project.on_cluster() if entry.startswith("ClusterQueue/")} == {
        "ClusterQueue/research",
        "ClusterQueue/serving",
        "ClusterQueue/serving-prod",
    }


def test_a_team_leaves_and_its_running_jobs_end_first(scene: Scene) -> None:
    """Its queue goes when they have ended; until then it admits nothing, and the update is not complete."""
    scene.agree(SMALL, timeout="5s")
    scene.submit("lab", "running", 4)
    scene.wait(lambda: scene.jobs("lab")["running"], "on research")
    scene.project.agree(HARDWARE + TRAINING)
    done = scene.project.up()
    assert done.code != 0
    assert scene.queues() == plain_queues(HARDWARE + TRAINING)
    assert scene.labels("lab") == {}
    scene.submit("lab", "new", 1)
    scene.wait(lambda: scene.jobs("lab"), {"running": "on research", "new": "LocalQueue default doesn't exist"})
    scene.end("lab")
    scene.wait(
        lambda: [entry for entry in scene.project.on_cluster() if entry.endswith("/research")], ["Cohort/research"]
    )
    scene.project.pulumi("refresh", "--yes").ok()
    scene.agree(HARDWARE + TRAINING)
    assert [entry for entry in scene.project.on_cluster() if "research" in entry] == []


# --- operator: it sees to every namespace with the label ----------------------------------------------------------------------


def written_for_the_operator(scene: Scene, text: str) -> Plan:
    """As `kubectl apply` does it: the objects that the stack would write."""
    plan = plan_of(text)
    objects = [*kueue.objects(plan), *access.cluster_objects(plan, Namespaces.OPERATOR)]
    scene.kubectl("apply", "--server-side", "--filename=-", given=dump_all(objects))
    return plan


def test_every_namespace_with_the_label_gets_its_teams_queues(scene: Scene) -> None:
    text = SMALL + 'machines = { namespace = "vms", count = 1, vcpus = 1, memory = "1Gi" }\n'
    scene.namespace("early")
    scene.label("early", "=training")
    written_for_the_operator(scene, text)
    for name, team in (("late", "research"), ("theirs", "nobody"), ("blank", ""), ("vms", "research")):
        scene.namespace(name)
        scene.label(name, f"={team}")
    expected = {"early/default": "training", "late/default": "research", "late/prod": "research-prod"}
    scene.wait(scene.queues, expected)
    scene.label("theirs", "=training")  # a slip is mended at once
    scene.wait(scene.queues, expected | {"theirs/default": "training"})
    scene.label("early", "-")
    scene.wait(
        scene.queues,
        {key: value for key, value in expected.items() if key != "early/default"} | {"theirs/default": "training"},
    )


def test_a_labelled_namespace_moves_in_two_steps(scene: Scene) -> None:
    written_for_the_operator(scene, SMALL)
    scene.namespace("mine")
    scene.label("mine", "=training")
    scene.wait(scene.queues, {"mine/default": "training"})
    scene.submit("mine", "running", 8)
    scene.submit("mine", "waiting", 400)
    scene.wait(lambda: scene.jobs("mine")["running"], "on training")
    with pytest.raises(AssertionError, match=r"First: kubectl label namespace mine tenancy.dev/team-  Then"):
        scene.label("mine", "=research")
    scene.label("mine", "-")
    scene.wait(scene.queues, {})
    scene.wait(lambda: scene.jobs("mine"), {"running": "on training", "waiting": "LocalQueue default doesn't exist"})
    scene.label("mine", "=research")
    scene.wait(scene.queues, {"mine/default": "research", "mine/prod": "research-prod"})
    scene.submit("mine", "new", 8)
    scene.wait(lambda: scene.jobs("mine")["new"], "on research")
    assert scene.jobs("mine")["running"] == "on training"


def test_a_local_queue_of_the_old_team_takes_no_job_and_is_made_anew_once_deleted(scene: Scene) -> None:
    """Who moves a namespace past the policy, or faster than the operator, gets a queue that no team lends itself to."""
    written_for_the_operator(scene, SMALL)
    scene.namespace("mine")
    scene.label("mine", "=training")
    scene.wait(scene.queues, {"mine/default": "training"})
    scene.kubectl("delete", "validatingadmissionpolicybindings", "--all")
    scene.wait(lambda: _relabelled(scene, "mine", "research"), True)
    scene.wait(scene.queues, {"mine/default": "training", "mine/prod": "research-prod"})
    scene.submit("mine", "new", 8)
    scene.wait(lambda: scene.jobs("mine").get("new"), "workload namespace doesn't match ClusterQueue selector")
    scene.kubectl("delete", "localqueue", "default", "--namespace", "mine")
    scene.wait(scene.queues, {"mine/default": "research", "mine/prod": "research-prod"})
    scene.wait(lambda: scene.jobs("mine")["new"], "on research")


def without_left_over(scene: Scene, expected: Mapping[str, str]) -> dict[str, str]:
    """The real operator deletes while it still watches, and so may make anew what it should not (docs/namespaces.md)."""
    found = scene.queues()
    for namespace, name in (entry.split("/") for entry in found.keys() - expected.keys()):
        scene.kubectl("delete", "localqueue", name, "--namespace", namespace, "--ignore-not-found")
    return found


def _relabelled(scene: Scene, namespace: str, team: str) -> bool:
    """The API server hears of a policy's end a moment later."""
    try:
        scene.label(namespace, f"={team}")
    except AssertionError:
        return False
    return True


def test_the_stack_leaves_namespaces_to_the_operator(scene: Scene) -> None:
    """And takes them back only when the operator has let go. A team gains prod, another leaves; a listed namespace that
    moves is refused before anything is written."""
    gains = SMALL.replace("guaranteed = 16\n", "guaranteed = 16\nprod = 4\n")
    scene.namespace("other")
    scene.label("other", "=research")
    scene.agree(SMALL)
    scene.agree(SMALL, namespaces="operator")
    others = {"other/default": "research", "other/prod": "research-prod"}
    scene.wait(scene.queues, plain_queues(SMALL) | others)
    scene.project.up("--expect-no-changes").ok()
    scene.project.preview("--refresh", "--expect-no-changes").ok()
    scene.project.agree(SMALL.replace('["night", "day"]', '["day"]').replace('["lab"]', '["lab", "night"]'))
    done = scene.project.preview()
    assert done.code != 0
    assert "Namespace/night: its label gives it to another team" in done.said
    assert "kubectl label namespace night tenancy.dev/team-" in done.said
    scene.project.set(namespaces="listed")
    assert "LocalQueue/lab/default" in scene.project.preview().said
    scene.agree(gains, namespaces="operator")
    scene.wait(scene.queues, plain_queues(gains) | others)
    alone = HARDWARE + TRAINING
    scene.agree(alone)
    scene.wait(lambda: without_left_over(scene, plain_queues(alone)), plain_queues(alone))
    assert scene.labels("lab") == {}
    assert scene.labels("other") == {LABEL: "research"}
    scene.project.pulumi("destroy", "--yes", "--suppress-progress").ok()
    scene.wait(scene.queues, {})
    assert scene.labels("night") == {}
