"""What the lab asks of a cluster: does it answer, take these objects.

Objects go through `kubectl apply --server-side`, as a person would do it: it knows every kind there is, and what is
there already may be there. What is read, and nodes, which are many, go through lightkube (`tenancy.live`).
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..cluster.connection import Unreachable, require_reachable
from . import tools
from .folder import LabError

SERVED_TIMEOUT = 90  # seconds for new kinds to be served; 2 on an idle machine, 30 were too few for a busy one
EVERY = 0.2  # seconds between two looks


def answers(kubeconfig: Path) -> bool:
    """Whether the API server says that it is ready."""
    try:
        require_reachable(str(kubeconfig), None, 2.0)
    except Unreachable:
        return False
    return True


def kubectl(kubeconfig: Path, *arguments: str, given: str | None = None) -> str:
    """Runs kubectl and returns what it printed. Raises LabError with what it said."""
    program = tools.require(["kubectl"])["kubectl"]
    done = subprocess.run(
        [str(program), "--kubeconfig", str(kubeconfig), *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(f"kubectl {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout


def apply(kubeconfig: Path, objects: Iterable[Mapping[str, Any]]) -> None:
    """Creates objects, or makes those that exist be as they are given; returns when new kinds among them are served."""
    items = list(objects)
    if not items:
        return
    every = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl(kubeconfig, "apply", "--server-side", "--force-conflicts", "--filename=-", given=every)
    if kinds := [f"crd/{one['metadata']['name']}" for one in items if one["kind"] == "CustomResourceDefinition"]:
        _wait_until_established(kubeconfig, kinds)


def _wait_until_established(kubeconfig: Path, kinds: list[str]) -> None:
    """`kubectl wait` fails on a definition that has no condition at all yet, which a busy API server shows for a moment."""
    deadline = time.monotonic() + SERVED_TIMEOUT
    while True:
        try:
            kubectl(kubeconfig, "wait", "--for=condition=Established", f"--timeout={SERVED_TIMEOUT}s", *kinds)
            return
        except LabError as error:
            if "accessor error" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(EVERY)


def kustomize(path: Path) -> list[dict[str, Any]]:
    """The objects of a kustomization."""
    program = tools.require(["kubectl"])["kubectl"]
    done = subprocess.run([str(program), "kustomize", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"kubectl kustomize {path} failed: {done.stderr.strip()}")
    return documents(done.stdout)


def documents(text: str) -> list[dict[str, Any]]:
    """The objects of a YAML stream."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [one for one in yaml.load_all(text, loader) if one]
