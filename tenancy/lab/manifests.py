"""What each controller of the lab finds in the cluster and in its folder before it starts.

Taken from the controller's own module wherever it is there as data (Kueue's kustomization, KAI's CRDs and priority
classes, kwok's Stages); written here only where upstream makes it in code or in a chart's template.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..agreement.plan import Plan
from ..objects import configuration
from . import tools, webhooks
from .cluster import documents, kustomize
from .nodes import FAKE_GPU_POOL, GPU_MEMORY
from .ports import HOST

Object = dict[str, Any]


@dataclass(frozen=True)
class Site:
    """Where a controller is put: its folder, its ports, the agreement of the lab, and what the user brought for it."""

    folder: Path
    ports: Mapping[str, int]
    plan: Plan
    given: Path | None
    pair: webhooks.Certificate


# Kueue ----------------------------------------------------------------------------------------------------------------

KUEUE_NAMESPACE = "kueue-system"
KUEUE_NAMES = ("kueue-webhook-service.kueue-system.svc", "kueue-ca")  # what its certificate manager checks
# The Deployment is our process, its Service the URL in the webhooks; the visibility API needs a folder at the root of
# the file system, so it is off.
NOT_BESIDE = frozenset({"Deployment", "Service", "APIService", "Secret"})
# The kinds of job that it admits: those of which the lab has the controller (`controllers`) or at least the CRD (tests).
# One whose CRD is not there costs a look now and then. A Notebook becomes a StatefulSet.
KUEUE_FRAMEWORKS = (
    *("batch/job", "pod", "statefulset"),
    *("jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob"),
    *("kubeflow.org/pytorchjob", "ray.io/rayjob"),
)


def kueue_objects(site: Site) -> Iterator[Object]:
    """`config/default` of Kueue's module, for a process beside the cluster."""
    upstream = kustomize(tools.module_dir("kueue") / "config/default")
    yield from webhooks.beside_the_cluster(upstream, site.ports["webhook"], site.pair, NOT_BESIDE)
    yield webhooks.secret("kueue-webhook-server-cert", KUEUE_NAMESPACE, site.pair)


def kueue_files(site: Site) -> dict[str, bytes]:
    """Its configuration: as in `config/default`, on loopback, for the kinds of job that the lab has, and as the agreement
    shares."""
    made = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": KUEUE_NAMESPACE,
        "health": {"healthProbeBindAddress": f"{HOST}:{site.ports['health']}"},
        "metrics": {"bindAddress": f"{HOST}:{site.ports['metrics']}", "enableClusterQueueResources": True},
        "webhook": {"host": HOST, "port": site.ports["webhook"], "certDir": str(site.folder / "certificates")},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": -1},  # one client on one machine: no limit of its own
        "waitForPodsReady": {"timeout": "5m", "requeuingStrategy": {"backoffBaseSeconds": 1, "backoffMaxSeconds": 10}},
        "integrations": {"frameworks": list(KUEUE_FRAMEWORKS)},
        "featureGates": {"VisibilityOnDemand": False},
        **configuration.needed(site.plan),
    }
    return {"kueue.json": json.dumps(made, indent=1).encode(), **site.pair.files("certificates")}


# JobSet and Kubeflow Trainer -------------------------------------------------------------------------------------------

# controller-runtime's default, in the folder for temporary files, for those that have no flag or setting for it
SERVING_CERTIFICATES = "k8s-webhook-server/serving-certs"


def jobset_objects(site: Site) -> Iterator[Object]:
    """`config/default` of JobSet's module, for a process beside the cluster."""
    upstream = kustomize(tools.module_dir("jobset") / "config/default")
    yield from webhooks.beside_the_cluster(upstream, site.ports["webhook"], site.pair, NOT_BESIDE)


def jobset_files(site: Site) -> dict[str, bytes]:
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"{HOST}:{site.ports['health']}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": HOST, "port": site.ports["webhook"], "certDir": str(site.folder / "certificates")},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    return {"jobset.json": json.dumps(configuration, indent=1).encode(), **site.pair.files("certificates")}


def trainer_objects(site: Site) -> Iterator[Object]:
    """The CRDs and webhooks of Trainer's module, and the runtimes that it is installed with (`torch-distributed`, …).

    Not its `overlays/manager`: that fetches JobSet from a network. The runtimes carry the label by which Trainer's
    webhook leaves them alone, since they are made before it answers."""
    base = tools.module_dir("trainer") / "manifests/base"
    upstream = [*kustomize(base / "crds"), *kustomize(base / "webhook")]
    yield from webhooks.beside_the_cluster(upstream, site.ports["webhook"], site.pair, NOT_BESIDE)
    for path in sorted((base / "runtimes").glob("*_distributed.yaml")):
        for runtime in documents(path.read_text()):
            runtime["metadata"].setdefault("labels", {})["trainer.kubeflow.org/webhook-validation"] = "disabled"
            yield runtime


def trainer_files(site: Site) -> dict[str, bytes]:
    configuration = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"{HOST}:{site.ports['health']}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": HOST, "port": site.ports["webhook"]},
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
    }
    return {"trainer.json": json.dumps(configuration, indent=1).encode(), **site.pair.files(SERVING_CERTIFICATES)}


# KAI Scheduler --------------------------------------------------------------------------------------------------------

KAI_NAMESPACE = "kai-scheduler"
RESERVATIONS = "kai-resource-reservation"


def kai_objects(site: Site) -> Iterator[Object]:
    """Its CRDs and priority classes, the namespaces it works in, admission's webhooks, and a Stage for reservations."""
    module = tools.module_dir("kai") / "deployments/kai-scheduler"
    for path in sorted([*module.glob("crds/*.yaml"), *module.glob("templates/priorityclasses/*.yaml")]):
        yield from documents(path.read_text())
    for name in (KAI_NAMESPACE, RESERVATIONS):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": RESERVATIONS, "namespace": RESERVATIONS}}
    yield from webhooks.pod_webhooks("kai-admission", site.ports["webhook"], site.pair, ["kube-system", KAI_NAMESPACE])
    yield reservation_stage()


def kai_files(site: Site) -> dict[str, bytes]:
    return site.pair.files(SERVING_CERTIFICATES)


def reservation_stage() -> Object:
    """A fraction of a GPU runs beside a pod that reserves the whole GPU and must say which one it got. On a simulated
    node nothing in that pod runs, so kwok says it: GPU 0, which is enough, since groups are told apart by name."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "kai-reservation-index"},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {
                "matchExpressions": [
                    {"key": ".metadata.namespace", "operator": "In", "values": [RESERVATIONS]},
                    {"key": ".status.phase", "operator": "In", "values": ["Running"]},
                    {"key": '.metadata.annotations["run.ai/reserve_for_gpu_index"]', "operator": "DoesNotExist"},
                ]
            },
            "next": {
                "patches": [
                    {
                        "root": "metadata",
                        "type": "merge",
                        "template": 'annotations:\n  run.ai/reserve_for_gpu_index: "0"\n',
                    }
                ]
            },
        },
    }


# KubeVirt -------------------------------------------------------------------------------------------------------------

KUBEVIRT_NAMESPACE = "kubevirt"
KUBEVIRT: Object = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"name": "kubevirt", "namespace": KUBEVIRT_NAMESPACE},
    "spec": {"configuration": {"developerConfiguration": {"useEmulation": True}}},
}


def kubevirt_objects(site: Site) -> Iterator[Object]:
    """Its CRDs, its namespace and its configuration: what its operator makes that virt-controller needs. Without
    virt-api nothing is checked or defaulted, and without virt-handler on the nodes no machine boots."""
    program = tools.require(["kubevirt-crds"])["kubevirt-crds"]
    yield from json.loads(subprocess.run([str(program)], capture_output=True, check=True).stdout)
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUBEVIRT_NAMESPACE}}
    yield KUBEVIRT


def kubevirt_files(site: Site) -> dict[str, bytes]:
    return site.pair.files("certificates")


# What the user brings -------------------------------------------------------------------------------------------------

FAKE_GPU_NAMESPACE = "gpu-operator"


def given_crds(site: Site) -> Iterator[Object]:
    """Every object in the `crds` folder that the user brought."""
    for path in sorted((site.given / "crds").glob("*.y*ml")) if site.given else ():
        yield from documents(path.read_text())


def profile_files(site: Site) -> dict[str, bytes]:
    """The labels that profile-controller gives every Profile's namespace: those it comes with."""
    return {"namespace-labels.yaml": b'app.kubernetes.io/part-of: "kubeflow-profile"\n'}


def fake_gpu_objects(site: Site) -> Iterator[Object]:
    """fake-gpu-operator's topology: a pool for each flavor with GPUs, by the label that the lab's nodes carry."""
    yield from given_crds(site)
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": FAKE_GPU_NAMESPACE}}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "topology", "namespace": FAKE_GPU_NAMESPACE},
        "data": {"topology.yml": json.dumps(fake_gpu_topology(site.plan))},
    }


def fake_gpu_topology(plan: Plan) -> Object:
    """Its `topology` value. MIG slices are `otherDevices`, which it only counts."""
    pools: Object = {}
    for flavor in plan.flavors:
        if flavor.gpus_per_node:
            whole = flavor.unit == "gpu"
            pools[flavor.name] = {
                "gpuProduct": flavor.node_labels.get("nvidia.com/gpu.product", flavor.name),
                "gpuCount": flavor.units_per_node if whole else 0,
                "gpuMemory": GPU_MEMORY,
                "otherDevices": [] if whole else [{"name": flavor.resource, "count": flavor.units_per_node}],
            }
    return {"nodePools": pools, "nodePoolLabelKey": FAKE_GPU_POOL, "migStrategy": "mixed"}
