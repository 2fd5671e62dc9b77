"""Kubeflow on the lab: a TrainJob through the real Trainer, JobSet and Kueue, and every template of `examples/jobs`.

A lab of its own: ranking owns 8 machines of flavor `hgx-h100` and asr 24, with the ratios and labels of
`examples/production.toml`; what one leaves idle the other may use.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.core.resource import NamespacedResource
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.resources.apps_v1 import StatefulSet
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Node, Pod
from lightkube.resources.rbac_authorization_v1 import RoleBinding
from lightkube.types import CascadeType

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import ClusterQueue, JobSet, TrainJob, Workload, connect
from tenancy.lab import lab, tools
from tenancy.lab.cluster import apply, documents, kubectl
from tenancy.lab.controllers import GIVEN_VARIABLE
from tenancy.lab.folder import Folder
from tenancy.objects import access, kueue
from tenancy.objects.access import Namespaces

from .conftest import plan_of
from .people import Person

pytestmark = pytest.mark.timeout(600)  # the lab has large CRDs; on a busy machine it took 250 s to come up

PATIENCE = 120.0  # seconds; the slowest wait takes about ten on an idle machine of two cores
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TEMPLATES = EXAMPLES / "jobs"
UNIT = "network.example.com/scalable-unit"
AGREEMENT = """
[cluster]
name = "training"

[topologies.infiniband]
levels = ["network.example.com/scalable-unit", "network.example.com/leaf", "kubernetes.io/hostname"]

[flavors.hgx-h100]
nodes = 32
gpus_per_node = 8
cpu_per_gpu = 24
memory_per_gpu = "230Gi"
node_labels = { "nvidia.com/gpu.product" = "NVIDIA-H100-80GB-HBM3" }
topology = "infiniband"

[flavors.a100-80-10gb]
nodes = 1
gpus_per_node = 8
mig = { gpu = "A100-80GB", profile = "1g.10gb" }
cpu_per_slice = 2
memory_per_slice = "15Gi"
node_labels = { "node.example.com/pool" = "a100-80-10gb" }

[access]
platform_groups = ["gpu-platform"]

[teams.ranking]
guaranteed = { hgx-h100 = 64, a100-80-10gb = 28 }
prod = { hgx-h100 = 8 }
members = ["ranking"]
namespaces = ["ranking"]
profiles = { alice = "alice@example.com" }

[teams.asr]
guaranteed = { hgx-h100 = 192, a100-80-10gb = 28 }
members = ["asr"]
namespaces = ["asr"]
"""

PyTorchJob = create_namespaced_resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")
RayJob = create_namespaced_resource("ray.io", "v1", "RayJob", "rayjobs")
Profile = create_global_resource("kubeflow.org", "v1", "Profile", "profiles")
KINDS: dict[str, type[NamespacedResource]] = {
    "Job": Job,
    "JobSet": JobSet,
    "TrainJob": TrainJob,
    "PyTorchJob": PyTorchJob,
    "RayJob": RayJob,
}


@pytest.fixture(scope="module")
def agreed() -> Plan:
    return plan_of(AGREEMENT)


@pytest.fixture(scope="module")
def training(labs: Path, agreed: Plan) -> Iterator[Folder]:
    """A lab with Trainer that holds the agreement: queues, namespaces, rights and policies, but no Profiles; and the kinds
    PyTorchJob and RayJob."""
    folder = lab.up(agreed, "training", ("trainer",))
    kinds = [
        tools.module_dir("training-operator") / "manifests/base/crds/kubeflow.org_pytorchjobs.yaml",
        tools.module_dir("kuberay") / "config/crd/bases/ray.io_rayjobs.yaml",
        # Kueue's part for RayJobs looks at these too, and ends, with all of Kueue, where they are not served in two minutes.
        tools.module_dir("kuberay") / "config/crd/bases/ray.io_rayclusters.yaml",
    ]
    apply(folder.kubeconfig, [one for path in kinds for one in documents(path.read_text())])
    apply(
        folder.kubeconfig,
        [*kueue.objects(agreed), *(tenant for tenant in tenants(agreed) if tenant["kind"] != "Profile")],
    )
    yield folder
    lab.down("training")


@pytest.fixture
def client(training: Folder) -> Iterator[Client]:
    """The cluster; afterwards nothing that a test submitted is left."""
    result = connect(str(training.kubeconfig))
    yield result
    for namespace in ("ranking", "asr", "alice"):
        for kind in (*KINDS.values(), StatefulSet):
            result.deletecollection(kind, namespace=namespace, cascade=CascadeType.BACKGROUND)
    until(
        lambda: not list(result.list(Workload, namespace="*")) and not pods(result, "ranking"), lambda: "jobs do not go"
    )


def tenants(agreed: Plan) -> list[dict[str, Any]]:
    return access.objects(agreed, Namespaces.LISTED, kai=False)


def until(true: Callable[[], object], complaint: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.2)


def pods(client: Client, namespace: str) -> list[str]:
    """The node of each running pod."""
    found = client.list(Pod, namespace=namespace, fields={"status.phase": "Running"})
    return [
        str(entry.spec.nodeName)
        for entry in found
        if entry.spec and entry.metadata and not entry.metadata.deletionTimestamp
    ]


def condition(client: Client, namespace: str, owner: str, kind: str) -> dict[str, Any]:
    """A condition of the Workload that belongs to a job; empty where there is none."""
    for workload in client.list(Workload, namespace=namespace):
        if any(one.name == owner for one in workload.metadata.ownerReferences or ()):
            conditions = (workload.get("status") or {}).get("conditions") or ()
            return next((dict(one) for one in conditions if one["type"] == kind), {})
    return {}


def said(client: Client, namespace: str) -> str:
    """What is known of a namespace's Workloads, for a test that fails."""
    return str(
        [
            (workload.metadata.name, (workload.get("status") or {}).get("conditions"))
            for workload in client.list(Workload, namespace=namespace)
        ]
    )


def used(client: Client, queue: str, flavor: str) -> int:
    """Devices of a flavor that a ClusterQueue's jobs have."""
    (of_flavor,) = (
        entry for entry in client.get(ClusterQueue, queue)["status"]["flavorsReservation"] if entry["name"] == flavor
    )
    return sum(
        int(resource["total"]) for resource in of_flavor["resources"] if resource["name"].startswith("nvidia.com/mig-")
    )


def template(name: str) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((TEMPLATES / name).read_text())
    return made


def submit(training: Folder, namespace: str, body: dict[str, Any]) -> str:
    """Creates it as it stands, as a member of the team; returns the name it got."""
    member = Person(training.kubeconfig, "mia", ("asr" if namespace == "asr" else "ranking",))
    made = member.kubectl("create", "--namespace", namespace, "--output=json", "--filename=-", given=body).object
    return str(made["metadata"]["name"])


def test_a_trainjob_gives_way_to_the_owner_and_comes_back(client: Client, training: Folder) -> None:
    """ranking trains on 16 machines, 8 of them asr's. asr wants all of its own: the TrainJob is stopped as a whole, with the
    reason said, and when asr has finished it runs again, on 16 machines of one scalable unit."""
    train = submit(training, "ranking", template("trainjob.yaml"))
    until(lambda: len(pods(client, "ranking")) == 16, lambda: said(client, "ranking"))
    nodes = pods(client, "ranking")
    units = {node.metadata.labels[UNIT] for node in client.list(Node) if node.metadata and node.metadata.name in nodes}
    assert len(set(nodes)) == 16
    assert len(units) == 1

    owner = template("job.yaml")
    owner["spec"] |= {"parallelism": 24, "completions": 24}
    submit(training, "asr", owner)
    until(lambda: len(pods(client, "asr")) == 24, lambda: said(client, "asr"))
    until(lambda: not pods(client, "ranking"), lambda: f"{train} still runs; {said(client, 'ranking')}")
    assert condition(client, "ranking", train, "Preempted")["reason"] == "InCohortReclamation"
    assert client.get(TrainJob, train, namespace="ranking")["spec"]["suspend"]
    assert client.get(JobSet, train, namespace="ranking")["spec"]["suspend"]

    client.deletecollection(Job, namespace="asr", cascade=CascadeType.BACKGROUND)
    until(lambda: len(set(pods(client, "ranking"))) == 16, lambda: said(client, "ranking"))
    assert not client.get(TrainJob, train, namespace="ranking")["spec"]["suspend"]


@pytest.mark.parametrize(
    ("name", "flavors"),
    [
        ("job.yaml", ["hgx-h100"]),
        ("jobset.yaml", ["hgx-h100", "hgx-h100"]),
        ("trainjob.yaml", ["hgx-h100"]),
        ("pytorchjob.yaml", ["hgx-h100", "hgx-h100"]),
        ("rayjob.yaml", ["hgx-h100"] * 3),
    ],
)
def test_a_template_is_admitted_as_it_stands(client: Client, training: Folder, name: str, flavors: list[str]) -> None:
    """Created in a team's namespace, and given the flavor that it names. Of Job, JobSet and TrainJob all pods run; of
    PyTorchJob and RayJob the lab has the kind and no controller that would make pods."""
    body = template(name)
    made = submit(training, "asr", body)
    until(lambda: condition(client, "asr", made, "Admitted").get("status") == "True", lambda: said(client, "asr"))
    (workload,) = client.list(Workload, namespace="asr")
    sets = workload["status"]["admission"]["podSetAssignments"]
    assert [entry["flavors"]["cpu"] for entry in sets] == flavors
    if body["kind"] in ("Job", "JobSet", "TrainJob"):
        count = sum(entry["count"] for entry in workload["spec"]["podSets"])
        until(lambda: len(pods(client, "asr")) == count, lambda: said(client, "asr"))
    else:

        def suspended() -> bool:
            spec = client.get(KINDS[body["kind"]], made, namespace="asr")["spec"]
            return bool(spec.get("suspend") or spec.get("runPolicy", {}).get("suspend"))

        until(lambda: not suspended(), lambda: f"{made} is not started; {said(client, 'asr')}")


def test_templates_fill_prod_too(client: Client, training: Folder) -> None:
    """With the queue label set to `prod` the Job runs on the slice; a second waits for it rather than borrow."""
    body = template("job.yaml")
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "prod"
    first, second = submit(training, "ranking", body), submit(training, "ranking", body)
    until(lambda: len(pods(client, "ranking")) == 1, lambda: said(client, "ranking"))
    until(
        lambda: any(
            condition(client, "ranking", entry, "QuotaReserved").get("status") == "False" for entry in (first, second)
        ),
        lambda: said(client, "ranking"),
    )
    assert len(pods(client, "ranking")) == 1


def test_a_notebook_waits_in_the_queue_default(client: Client) -> None:
    """What Kubeflow's notebook-controller makes of the template: a StatefulSet without labels, whose pods have the Notebook's
    (`generateStatefulSet`). Kueue puts such a one into `default`, also where the Notebook says `prod`: the template's label
    is right whether Kueue takes up the StatefulSet or the pod. A stopped notebook is not counted."""
    body = template("notebook.yaml")
    stateful = stateful_set(body)
    stateful["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "prod"
    client.create(from_dict(stateful))
    until(lambda: len(pods(client, "ranking")) == 1, lambda: said(client, "ranking"))
    (workload,) = client.list(Workload, namespace="ranking")
    assert workload["spec"]["queueName"] == "default"
    (assignment,) = workload["status"]["admission"]["podSetAssignments"]
    assert set(assignment["flavors"].values()) == {"a100-80-10gb"}

    def scale(replicas: int) -> None:  # as notebook-controller does, for the annotation `kubeflow-resource-stopped`
        client.patch(StatefulSet, body["metadata"]["name"], {"spec": {"replicas": replicas}}, namespace="ranking")

    def counts(slices: int) -> None:
        until(lambda: used(client, "ranking", "a100-80-10gb") == slices, lambda: said(client, "ranking"))

    counts(1)
    scale(0)
    counts(0)
    scale(1)
    counts(1)


def stateful_set(notebook: dict[str, Any]) -> dict[str, Any]:
    name = notebook["metadata"]["name"]
    labels = {"statefulset": name, "notebook-name": name, **notebook["metadata"]["labels"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "ranking"},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "selector": {"matchLabels": {"statefulset": name}},
            "template": {"metadata": {"labels": labels}, "spec": notebook["spec"]["template"]["spec"]},
        },
    }


def given(controller: str) -> Path:
    """What the user brings for a controller; the test is not run where it is absent."""
    root = os.environ.get(GIVEN_VARIABLE, "")
    folder = Path(root) / controller
    if not root or not (folder / "crds").is_dir():
        pytest.skip(
            f"not run: {controller} is not in a package registry, and {GIVEN_VARIABLE} has no {controller}/crds"
        )
    return folder


def crds(folder: Path) -> list[dict[str, Any]]:
    return [one for path in sorted((folder / "crds").glob("*.y*ml")) for one in documents(path.read_text())]


def test_the_notebook_is_what_its_schema_says(training: Folder) -> None:
    apply(training.kubeconfig, crds(given("notebook-controller")))
    kubectl(
        training.kubeconfig,
        "create",
        "-n",
        "alice",
        "--dry-run=server",
        "--validate=strict",
        "-f",
        str(TEMPLATES / "notebook.yaml"),
    )


def test_a_profiles_namespace_is_its_teams(client: Client, training: Folder) -> None:
    """A Job in alice's namespace is admitted by ranking's queue."""
    submit(training, "alice", template("job.yaml"))
    until(lambda: len(pods(client, "alice")) == 1, lambda: said(client, "alice"))
    (workload,) = client.list(Workload, namespace="alice")
    assert workload["status"]["admission"]["clusterQueue"] == "ranking"


def test_the_profile_is_what_its_schema_says_and_its_controller_takes_the_namespace(
    client: Client, training: Folder, agreed: Plan
) -> None:
    """With the real profile-controller where the user brings its program: it writes into the namespace, which keeps the
    team's label. Where there are only its CRDs, no more than the schema is looked at."""
    folder = given("profile-controller")
    profiles = [one for one in tenants(agreed) if one["kind"] == "Profile"]
    if (folder / "bin").is_dir():
        lab.up(agreed, "training", ("trainer", "profile-controller"))
    else:
        apply(training.kubeconfig, crds(folder))
    apply(training.kubeconfig, profiles)  # refuses fields that the schema has not
    if (folder / "bin").is_dir():
        admins = lambda: [
            entry.metadata.name for entry in client.list(RoleBinding, namespace="alice") if entry.metadata
        ]
        until(lambda: "namespaceAdmin" in admins(), lambda: f"{client.get(Profile, 'alice')}; {admins()}")
        assert not (client.get(Profile, "alice").get("status") or {}).get("conditions")
        assert client.get(Namespace, "alice").metadata.labels["tenancy.dev/team"] == "ranking"
