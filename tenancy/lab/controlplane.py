"""A real Kubernetes control plane on this machine: etcd, API server, controller manager, scheduler, and kwok for nodes.

kwokctl's binary runtime runs them as plain processes, so neither Docker nor an image is needed. Its defaults listen on
every address and, where no port is given, two clusters that start at once may choose the same; so everything is said in
a configuration file. What happens to nodes and pods is said by Stages, which kwok's module carries: here a node is ready
at once and a pod runs at once, and it ends only if its job says how long it takes (`DELAY`), not by itself.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from . import processes
from .cluster import answers, apply
from .folder import Folder, LabError, tail
from .ports import HOST

PROGRAMS = {
    "etcdBinary": "etcd",
    "kubeApiserverBinary": "kube-apiserver",
    "kubeControllerManagerBinary": "kube-controller-manager",
    "kubeSchedulerBinary": "kube-scheduler",
    "kwokControllerBinary": "kwok",
}
PORTS = {
    "kubeApiserverPort": "kube-apiserver",
    "etcdPort": "etcd",
    "etcdPeerPort": "etcd-peer",
    "kubeControllerManagerPort": "kube-controller-manager",
    "kubeSchedulerPort": "kube-scheduler",
    "kwokControllerPort": "kwok-controller",
}
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller")
TOOLS = (*PROGRAMS.values(), "kwokctl", "kubectl")

STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-delete.yaml",
    "pod/general/pod-complete.yaml",
)
DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"  # annotation on a Job's pods: how long they run, such as "10s"
ARGUMENTS = {
    # A lab's data is not worth waiting for the disk at each write.
    "etcd": {"unsafe-no-fsync": "true"},
    # A quota that counts a kind is often older than the watch of that kind; then its usage comes with the next sync (5 min).
    "kube-controller-manager": {"resource-quota-sync-period": "10s"},
}
START_TIMEOUT = 90.0  # seconds; 3 on an idle machine of two cores, more beside a build


def up(folder: Folder, ports: Mapping[str, int], programs: Mapping[str, Path], kwok: Path) -> None:
    """Starts what of the control plane is not running, and waits until it answers. Raises LabError."""
    stopped = processes.gone(folder, COMPONENTS)
    if not stopped:
        return
    for name in stopped:  # after a reboot its number may be another process's, and kwokctl would take that for ours
        (_pids(folder) / f"{name}.pid").unlink(missing_ok=True)
    if (folder.kwok / "clusters" / folder.name / "kwok.yaml").exists():
        _kwokctl(folder, programs, "start", "cluster")
    else:
        folder.write("kwokctl.json", json.dumps(configuration(ports, programs)))
        config = ("--config", str(folder.path / "kwokctl.json"))
        _kwokctl(folder, programs, *config, "create", "cluster", "--kubeconfig", str(folder.kubeconfig))
    processes.wait_until(
        "the API server", lambda: answers(folder.kubeconfig), folder, ("etcd", "kube-apiserver"), START_TIMEOUT
    )
    if stopped := processes.gone(folder, COMPONENTS):
        # On a busy machine the API server may take longer to start than the others wait for it.
        for name in stopped:
            _kwokctl(folder, programs, "start", "component", name)
        processes.wait_until("the control plane", lambda: answers(folder.kubeconfig), folder, COMPONENTS, START_TIMEOUT)
    apply(folder.kubeconfig, list(stages(kwok)))


def configuration(ports: Mapping[str, int], programs: Mapping[str, Path]) -> dict[str, Any]:
    """kwokctl's configuration: everything on loopback, our programs, our ports, nothing written twice."""
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": {
            "runtime": "binary",
            "bindAddress": HOST,
            "securePort": True,
            "kubeAuthorization": True,
            "disableQPSLimits": True,
            "enableCRDs": ["Stage"],
            **{option: str(programs[program]) for option, program in PROGRAMS.items()},
            **{option: ports[port] for option, port in PORTS.items()},
        },
        "componentsPatches": [
            {"name": component, "extraArgs": [{"key": key, "value": value} for key, value in arguments.items()]}
            for component, arguments in ARGUMENTS.items()
        ],
    }


def stages(kwok: Path) -> Iterator[dict[str, Any]]:
    """kwok's own Stages; pods of Jobs complete only where the annotation `DELAY` says when."""
    for path in STAGES:
        stage = yaml.safe_load((kwok / "kustomize/stage" / path).read_text())
        if stage["metadata"]["name"] == "pod-complete":
            wanted = {"key": f'.metadata.annotations["{DELAY}"]', "operator": "Exists"}
            stage["spec"]["selector"]["matchExpressions"].append(wanted)
        yield stage


def _kwokctl(folder: Folder, programs: Mapping[str, Path], *arguments: str) -> None:
    """Runs kwokctl, watching the two processes that everything waits for: kwokctl itself would wait in vain for minutes."""
    environment = processes.environment(folder, "kwokctl", {"KWOK_WORKDIR": str(folder.kwok)})
    log = folder.logs / "kwokctl.log"
    with log.open("wb") as output:
        kwokctl = subprocess.Popen(
            [str(programs["kwokctl"]), "--name", folder.name, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def ended() -> bool:
        started = [name for name in ("etcd", "kube-apiserver") if (_pids(folder) / f"{name}.pid").exists()]
        for name in processes.gone(folder, started):
            raise LabError(f"{name} stopped while it was starting. Its log ends with:\n{tail(folder.log(name))}")
        return kwokctl.poll() is not None

    try:
        processes.wait_until("kwokctl", ended, folder, (), START_TIMEOUT)
    finally:
        if kwokctl.poll() is None:
            kwokctl.kill()
            kwokctl.wait()
    if kwokctl.returncode:
        raise LabError(
            f"kwokctl failed with exit code {kwokctl.returncode}; if a lab was left half made, "
            f"tenancy lab down --name {folder.name} removes it. Its log ends with:\n{tail(log)}"
        )


def _pids(folder: Folder) -> Path:
    """Where kwokctl keeps a file with the number of each process it started."""
    return folder.kwok / "clusters" / folder.name / "pids"
