"""The lab on kind: the same agreement on a cluster of containers, where Docker is.

One control plane and a worker for each node of the agreement; fake-gpu-operator's chart gives the workers GPUs, Kueue
and KAI are installed by their charts. Pods really run there, so the CPUs and memory of a flavor are those of the
machine, and an agreement of many nodes is refused.

Where this project is developed there is no Docker: the configuration is given to the real kind in a test, up to the
point where it starts containers; the rest was not run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..agreement.plan import Plan
from ..verify.safety import ALLOWED_LABEL
from . import nodes
from .cluster import apply, kubectl
from .folder import LAB_LABEL, Folder, LabError, State, folder
from .manifests import FAKE_GPU_NAMESPACE, KAI_NAMESPACE, KUBEVIRT, KUEUE_NAMESPACE, fake_gpu_topology

PREFIX = "tenancy-"  # of the cluster's name, so that nobody's own kind cluster is ever touched
PROGRAMS = ("docker", "kind", "helm")
MOST_WORKERS = 16  # a worker takes about half a gigabyte before it runs anything
CREATE_TIMEOUT, CHART_TIMEOUT = "5m", "10m"
# A kubelet may not give itself labels of Kubernetes' own domains (NodeRestriction); these are set from outside.
RESTRICTED = (".kubernetes.io", ".k8s.io")
KIND_SETS = ("kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "type")

ALWAYS, OPTIONAL = ("kueue", "kai"), "kubevirt"
# KubeVirt has no chart: its release is two manifests. A runner's processors seldom nest, so machines are emulated.
KUBEVIRT_OPERATOR = "https://github.com/kubevirt/kubevirt/releases/download/v1.8.0/kubevirt-operator.yaml"

Report = Callable[[str], None]


@dataclass(frozen=True)
class Chart:
    """One release. The versions are those that the lab runs as processes; KAI's later charts go by the same names."""

    release: str
    chart: str
    version: str
    namespace: str
    values: Callable[[Plan], dict[str, Any]] = field(default=lambda plan: {})


CHARTS = (
    Chart(
        "gpu-operator",
        "oci://ghcr.io/run-ai/fake-gpu-operator/fake-gpu-operator",
        "0.2.0",
        FAKE_GPU_NAMESPACE,
        lambda plan: {"topology": fake_gpu_topology(plan)},
    ),
    Chart("kueue", "oci://registry.k8s.io/kueue/charts/kueue", "0.19.2", KUEUE_NAMESPACE),
    Chart(
        "kai-scheduler",
        "oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler",
        "v0.12.0",
        KAI_NAMESPACE,
        lambda plan: {"global": {"gpuSharing": True}},
    ),
)


def up(plan: Plan, name: str = "lab", with_: Iterable[str] = (), report: Report = lambda line: None) -> Folder:
    """Makes the cluster, or adds what it lacks; returns its folder. Raises LabError; then a cluster that this call
    made is removed again. `with_` may name kubevirt, and kai, which is always there."""
    result = folder(name)
    had = result.state()
    if had and had.on != "kind":
        raise LabError(f"lab {name} already runs on {had.on}: stop it first with tenancy lab down --name {name}")
    wanted = set(with_)
    if others := sorted(wanted - {*ALWAYS, OPTIONAL}):
        raise LabError(
            f"on kind the lab can run Kueue, KAI, fake-gpu-operator and KubeVirt, but not {', '.join(others)}"
        )
    _require_programs()
    config = configuration(plan, name)
    optional = [OPTIONAL] if OPTIONAL in {*wanted, *(had.controllers if had else ())} else []
    result.make(State(plan.cluster, [*ALWAYS, *optional], on="kind"))
    made = PREFIX + name not in _run("kind", "get", "clusters").split()
    try:
        if made:
            report(f"kind: a control plane and {len(config['nodes']) - 1} workers")
            path = result.write("kind.json", json.dumps(config, indent=1))
            _run("kind", "create", "cluster", *_of(result), "--config", str(path), "--wait", CREATE_TIMEOUT)
        apply(result.kubeconfig, patches(plan, name))
        for chart in CHARTS:
            report(f"helm: {chart.release} {chart.version}")
            values = result.write(f"{chart.release}.json", json.dumps(chart.values(plan), indent=1))
            _run("helm", *install(chart, result.kubeconfig, values))
        if optional:
            report("kubevirt")
            _kubevirt(result)
        marks = (f"{LAB_LABEL}={name}", f"{ALLOWED_LABEL}=true")
        kubectl(result.kubeconfig, "label", "namespace", "kube-system", *marks, "--overwrite")
    except BaseException:
        if made:
            delete(name)
            result.remove()
        raise
    return result


def delete(name: str) -> None:
    """Removes the lab's cluster; it need not be there. Raises LabError where kind cannot be asked."""
    _require_programs()
    _run("kind", "delete", "cluster", *_of(folder(name)))


def configuration(plan: Plan, name: str) -> dict[str, Any]:
    """kind's configuration (kind.x-k8s.io/v1alpha4). Raises LabError for more workers than a machine holds."""
    workers = list(_workers(plan, name))
    if len(workers) > MOST_WORKERS:
        raise LabError(
            f"the agreement has {len(workers)} nodes, but kind runs each node as a container, and at most {MOST_WORKERS} are possible here; "
            "without --on kind the lab simulates any number"
        )
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": PREFIX + name,
        "networking": {"apiServerAddress": "127.0.0.1"},
        "nodes": [
            {"role": "control-plane"},
            *(
                {"role": "worker", "labels": {key: value for key, value in labels.items() if not _restricted(key)}}
                for _, labels, _ in workers
            ),
        ],
    }


def patches(plan: Plan, name: str) -> list[dict[str, Any]]:
    """What a worker cannot say of itself: labels of Kubernetes' own domains, and taints."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node, "labels": {key: value for key, value in labels.items() if _restricted(key)}},
            "spec": {"taints": taints} if taints else {},
        }
        for node, labels, taints in _workers(plan, name)
    ]


def install(chart: Chart, kubeconfig: Path, values: Path) -> list[str]:
    """helm's arguments for a release that is there afterwards, whether or not it was before."""
    return [
        *("upgrade", "--install", chart.release, chart.chart, "--version", chart.version),
        *("--namespace", chart.namespace, "--create-namespace", "--kubeconfig", str(kubeconfig)),
        *("--values", str(values), "--wait", "--timeout", CHART_TIMEOUT),
    ]


def _kubevirt(folder: Folder) -> None:
    """Its operator, and the object by which the operator installs the rest; returns when machines can be made."""
    kubectl(folder.kubeconfig, "apply", "--server-side", f"--filename={KUBEVIRT_OPERATOR}")
    kubectl(folder.kubeconfig, "wait", "--for=condition=Established", "crd/kubevirts.kubevirt.io", "--timeout=60s")
    apply(folder.kubeconfig, [KUBEVIRT])
    available = ("wait", "--for=condition=Available", "kubevirt/kubevirt", f"--timeout={CHART_TIMEOUT}")
    kubectl(folder.kubeconfig, "--namespace=kubevirt", *available)


def _workers(plan: Plan, name: str) -> Iterator[tuple[str, dict[str, str], list[dict[str, str]]]]:
    """The name kind gives to each worker, in order; the labels and taints of the agreement's node that it stands for."""
    for number, node in enumerate(nodes.nodes(plan), start=1):
        worker = f"{PREFIX}{name}-worker{number if number > 1 else ''}"
        labels = {key: value for key, value in node["metadata"]["labels"].items() if key not in KIND_SETS}
        yield worker, labels, node["spec"].get("taints", [])


def _restricted(label: str) -> bool:
    domain, slash, _ = label.partition("/")
    return bool(slash) and f".{domain}".endswith(RESTRICTED)


def _of(folder: Folder) -> tuple[str, ...]:
    return ("--name", PREFIX + folder.name, "--kubeconfig", str(folder.kubeconfig))


def _require_programs() -> None:
    if missing := [program for program in PROGRAMS if not shutil.which(program)]:
        raise LabError(
            f"the lab on kind needs {', '.join(PROGRAMS)} on PATH, and {', '.join(missing)} {_is(missing)} not there. "
            "Without --on kind the lab needs none of them"
        )
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        raise LabError("Docker does not answer (docker info fails): start it, or leave out --on kind")


def _is(missing: list[str]) -> str:
    return "is" if len(missing) == 1 else "are"


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join(f"  {line}" for line in (done.stderr or done.stdout).strip().splitlines()[-20:])
        raise LabError(f"{' '.join(command[:3])} failed with exit code {done.returncode}. It said:\n{said}")
    return done.stdout
