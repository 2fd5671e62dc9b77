"""The controllers that a lab can run, one row each.

A row says what the controller needs (objects, files, ports), which processes it is, and how to see that it works.
Adding a controller is adding a row. Its programs come from `tools`, which builds them, or, where no package registry
has the controller, from a folder that the user brings: `TENANCY_CONTROLLERS`, with `NAME/bin` and `NAME/crds` in it.

In a process's texts `{folder}` is the controller's own folder in the lab, `{kubeconfig}` the lab's (also in the environment, as
KUBECONFIG), and each of its ports goes by its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lightkube import Client
from lightkube.types import PatchType

from ..agreement.plan import Plan
from ..cluster.clients import JobSet, KubeVirt, ResourceFlavor, TrainJob, VirtualMachine
from ..objects import configuration, kai
from . import manifests
from .folder import LabError
from .manifests import Object, Site

GIVEN_VARIABLE = "TENANCY_CONTROLLERS"
KAI_PORTS = ("binder", "podgrouper", "queuecontroller", "podgroupcontroller", "admission")
# KAI tells each waiting pod at each cycle why it waits. Its own 50 requests a second are too few for that as soon as some dozen wait,
# and its other programs follow at 50 a second too: minutes late, on a machine with time to spare.
KAI_REQUESTS = ("--qps=500", "--burst=1000")
OFF = "--metrics-bind-address=0"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PROBES = "--health-probe-bind-address=127.0.0.1:{%s}"


@dataclass(frozen=True)
class Process:
    """One process, named as its program where that is not given. `ready` is a port and path on loopback that answers 200
    once the process does its work; without one it is enough that it runs."""

    name: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: str = ""
    program: str = ""

    @property
    def runs(self) -> str:
        return self.program or self.name


@dataclass(frozen=True)
class Controller:
    """One row. `names` are what its certificate is valid for besides loopback; `works` asks the cluster itself; `more` are
    processes that depend on the agreement, each with the port that goes by its name, started before the others.

    `needs` are rows that it does not work without. `queued` says that Kueue admits its kinds: Kueue looks for a kind when
    it starts, then after 1, 2, 4, … seconds up to two minutes, so it starts anew where the row is added to a lab.
    `follows` is what its files have of the agreement: with another it starts anew."""

    name: str
    processes: tuple[Process, ...]
    more: Callable[[Plan], Iterable[Process]] = lambda plan: ()
    ports: tuple[str, ...] = ()
    objects: Callable[[Site], Iterable[Object]] = manifests.given_crds
    files: Callable[[Site], Mapping[str, bytes]] = lambda site: {}
    names: tuple[str, ...] = ()
    works: Callable[[Client], bool] = lambda client: True
    given: bool = False
    follows: Callable[[Plan], object] = lambda plan: None
    tools: str = ""  # its program in `tools`, or the group of them
    needs: tuple[str, ...] = ()
    queued: bool = False

    def on(self, plan: Plan) -> Controller:
        """The row as a lab with this agreement runs it."""
        more = tuple(self.more(plan))
        ports = (*(process.name for process in more), *self.ports)
        return replace(self, processes=(*more, *self.processes), ports=ports)


def kueue_works(client: Client) -> bool:
    """Whether a ResourceFlavor passes Kueue's webhooks; nothing is kept of it."""
    probe = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "lab-probe"}}
    made: Mapping[str, Any] = client.create(ResourceFlavor.from_dict(probe), dry_run=True)
    return bool(made["metadata"].get("finalizers"))


def jobset_works(client: Client) -> bool:
    """Whether a JobSet passes JobSet's webhooks, which give it a success policy, and Kueue's, which suspends it."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "probe", "image": "none"}]}
    job = {"name": "probe", "template": {"spec": {"template": {"spec": pod}}}}
    spec = _queued(client, JobSet, {"replicatedJobs": [job]})
    return bool(spec.get("suspend") and spec.get("successPolicy"))


def trainer_works(client: Client) -> bool:
    """Whether a TrainJob passes Trainer's webhooks, which look for its runtime, and Kueue's, which suspends it."""
    spec = _queued(client, TrainJob, {"runtimeRef": {"name": "torch-distributed"}})
    return bool(spec.get("suspend"))


def kubevirt_works(client: Client) -> bool:
    """Whether virt-controller says of a stopped machine that it is stopped; the machine is removed then.

    Its configuration is heeded once KubeVirt's operator has said that it is deployed; here nobody else says it."""
    name, namespace = manifests.KUBEVIRT["metadata"]["name"], manifests.KUBEVIRT_NAMESPACE
    deployed = {"status": {"phase": "Deployed"}}
    client.patch(KubeVirt.Status, name, deployed, namespace=namespace, patch_type=PatchType.MERGE)
    metadata = {"name": "lab-probe", "namespace": namespace}
    spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}}
    probe = VirtualMachine.from_dict({"metadata": metadata, "spec": spec})
    there: Mapping[str, Any] = client.apply(probe, field_manager="lab", force=True)
    if not (there.get("status") or {}).get("printableStatus"):
        return False
    client.delete(VirtualMachine, metadata["name"], namespace=namespace)
    return True


def _queued(client: Client, kind: Any, spec: Object) -> Mapping[str, Any]:
    """The spec of such a job with a queue, as it would be kept; nothing is."""
    metadata = {"name": "lab-probe", "namespace": "default", "labels": {QUEUE_LABEL: "lab-probe"}}
    made: Mapping[str, Any] = client.create(kind.from_dict({"metadata": metadata, "spec": spec}), dry_run=True)
    return dict(made["spec"])


def _fake_gpu(name: str, *arguments: str) -> Process:
    environment = {
        "TOPOLOGY_CM_NAME": "topology",
        "TOPOLOGY_CM_NAMESPACE": manifests.FAKE_GPU_NAMESPACE,
        "FAKE_GPU_OPERATOR_NAMESPACE": manifests.FAKE_GPU_NAMESPACE,
        "RESOURCE_RESERVATION_NAMESPACE": manifests.RESERVATIONS,
    }
    return Process(name, arguments, environment)


def kai_schedulers(plan: Plan) -> Iterable[Process]:
    """One for each node pool, as KAI's operator runs them; one for all nodes without pools. Its plugin server has no flag
    for the address it listens on, and is off: it finds no port -1."""
    pools = [pool for flavor in plan.flavors if (pool := kai.pool(plan, flavor))]
    for pool in pools or [""]:
        name = f"kai-scheduler-{pool.replace('.', '_')}" if pool else "kai-scheduler"  # a `.` would end its port's name
        arguments = (f"--listen-address=127.0.0.1:{{{name}}}", "--plugin-server-port=-1", *KAI_REQUESTS)
        of_pool = (f"--nodepool-label-key={kai.NODE_POOL}", f"--partition-label-value={pool}") if pool else ()
        yield Process(name, (*arguments, *of_pool), ready=f"{{{name}}}/metrics", program="kai-scheduler")


CONTROLLERS = {
    row.name: row
    for row in (
        Controller(
            name="kueue",
            processes=(Process("kueue", ("--config={folder}/kueue.json",), ready="{health}/readyz"),),
            ports=("webhook", "health", "metrics"),
            objects=manifests.kueue_objects,
            files=manifests.kueue_files,
            names=manifests.KUEUE_NAMES,
            works=kueue_works,
            follows=configuration.needed,
            tools="kueue",
        ),
        Controller(
            name="jobset",
            processes=(Process("jobset", ("--config={folder}/jobset.json",), ready="{health}/readyz"),),
            ports=("webhook", "health"),
            objects=manifests.jobset_objects,
            files=manifests.jobset_files,
            works=jobset_works,
            tools="jobset",
            queued=True,
        ),
        Controller(
            name="trainer",
            processes=(
                Process(
                    "trainer-controller-manager",
                    ("--config={folder}/trainer.json",),
                    environment={"TMPDIR": "{folder}"},  # its certificate has no setting
                    ready="{health}/readyz",
                ),
            ),
            ports=("webhook", "health"),
            objects=manifests.trainer_objects,
            files=manifests.trainer_files,
            works=trainer_works,
            tools="trainer-controller-manager",
            needs=("jobset",),
            queued=True,
        ),
        # Its admission has no flag for the address it listens on, and takes all of them.
        Controller(
            name="kai",
            processes=(
                Process(
                    "kai-binder",
                    (
                        "--metrics-bind-address=127.0.0.1:{binder}",
                        "--health-probe-bind-address=0",
                        "--fake-gpu-nodes",
                        *KAI_REQUESTS,
                    ),
                    ready="{binder}/metrics",
                ),
                Process(
                    "kai-podgrouper",
                    (OFF, PROBES % "podgrouper", *KAI_REQUESTS),
                    ready="{podgrouper}/readyz",
                ),
                Process(
                    "kai-queuecontroller",
                    ("--enable-webhook=false", "--metrics-listen-address=127.0.0.1:{queuecontroller}", *KAI_REQUESTS),
                    ready="{queuecontroller}/metrics",
                ),
                Process(
                    "kai-podgroupcontroller",
                    ("--enable-podgroup-webhook=false", PROBES % "podgroupcontroller", *KAI_REQUESTS),
                    ready="{podgroupcontroller}/readyz",
                ),
                Process(
                    "kai-admission",
                    (
                        "--gpu-sharing-enabled",
                        "--fake-gpu-nodes",
                        "--gpu-pod-runtime-class-name=",
                        "--webhook-addr={webhook}",
                        OFF,
                        PROBES % "admission",
                        *KAI_REQUESTS,
                    ),
                    environment={"TMPDIR": "{folder}"},  # its certificate has no flag
                    ready="{admission}/readyz",
                ),
            ),
            more=kai_schedulers,
            ports=(*KAI_PORTS, "webhook"),
            objects=manifests.kai_objects,
            files=manifests.kai_files,
            tools="kai",
        ),
        Controller(
            name="kubevirt",
            processes=(
                Process(
                    "virt-controller",
                    (
                        "--kubeconfig={kubeconfig}",
                        *("--listen=127.0.0.1", "--port={metrics}"),
                        "--prom-cert-file={folder}/certificates/tls.crt",
                        "--prom-key-file={folder}/certificates/tls.key",
                    ),
                ),
            ),
            ports=("metrics",),
            objects=manifests.kubevirt_objects,
            files=manifests.kubevirt_files,
            works=kubevirt_works,
            tools="kubevirt",
        ),
        Controller(
            name="fake-gpu-operator",
            processes=(_fake_gpu("status-updater"), _fake_gpu("kwok-gpu-device-plugin")),
            objects=manifests.fake_gpu_objects,
            given=True,
        ),
        Controller(
            name="namespace-configuration-operator",
            processes=(
                Process(
                    "namespace-configuration-operator",
                    ("--metrics-bind-address=127.0.0.1:0", PROBES % "health"),
                    {"OPERATOR_NAME": "namespace-configuration-operator"},
                    ready="{health}/readyz",
                ),
            ),
            ports=("health",),
            given=True,
        ),
        # Kubeflow's, for Profiles. Among its CRDs it needs Istio's AuthorizationPolicy: it makes one for each Profile.
        Controller(
            name="profile-controller",
            processes=(
                Process(
                    "profile-controller",
                    (
                        "--metrics-bind-address=127.0.0.1:0",
                        PROBES % "health",
                        "--namespace-labels-path={folder}/namespace-labels.yaml",
                    ),
                    ready="{health}/readyz",
                ),
            ),
            ports=("health",),
            files=manifests.profile_files,
            given=True,
        ),
    )
}
ALWAYS = ("kueue",)


def chosen(names: Iterable[str]) -> list[Controller]:
    """The rows for these names, each after those that it needs, and first those that every lab has. Raises LabError for
    a name that is no row's."""
    wanted = list(dict.fromkeys([*ALWAYS, *names]))
    if unknown := [name for name in wanted if name not in CONTROLLERS]:
        optional = ", ".join(name for name in CONTROLLERS if name not in ALWAYS)
        raise LabError(f"the lab has no controller {', '.join(map(repr, unknown))}; choose from {optional}")
    return [
        CONTROLLERS[name]
        for name in dict.fromkeys(need for name in wanted for need in (*CONTROLLERS[name].needs, name))
    ]


def given_folder(row: Controller) -> Path | None:
    """What the user brought for the controller; None where it is built. Raises LabError when it is not there."""
    if not row.given:
        return None
    programs = ", ".join(process.name for process in row.processes)
    root = os.environ.get(GIVEN_VARIABLE)
    wanted = f"a folder {row.name}/bin with {programs} and {row.name}/crds with its CRDs"
    if not root:
        raise LabError(
            f"{row.name} is not in a package registry: set {GIVEN_VARIABLE} to a folder that contains {wanted}"
        )
    folder = Path(root).resolve() / row.name
    for process in row.processes:
        if not os.access(given_program(folder, row, process), os.X_OK):
            raise LabError(
                f"{row.name} is not in a package registry, and {GIVEN_VARIABLE}={root} has no program "
                f"{row.name}/bin/{process.name}: it must hold {wanted}"
            )
    return folder


def given_program(folder: Path, row: Controller, process: Process) -> Path:
    """The process's program in the folder that the user brought; the only one there goes by any name (operators are
    often built as `manager`)."""
    own = folder / "bin" / process.name
    others = [path for path in (folder / "bin").glob("*") if path.is_file()]
    return others[0] if len(row.processes) == 1 == len(others) else own
