"""The namespace operator of a test's lab: the real one where `TENANCY_CONTROLLERS` has it, else the test in its place.

The stand-in does what the operator was seen to do (version 1.2.6): it expands the NamespaceConfig that is on the cluster, in
the namespaces that its selector finds; makes what is missing, patches what is different, leaves what cannot be patched,
and deletes what it made and would no longer make. Tests say which of the two it was.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tenancy.lab.controllers import CONTROLLERS, GIVEN_VARIABLE, LabError, given_folder
from tenancy.objects.access.namespaces import CONFIG_LABEL
from tenancy.objects.manifest import dump_all

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from go_template import expand

NAME = "namespace-configuration-operator"
Kubectl = Callable[..., str]

# What the API server must know to take a NamespaceConfig; the operator's own CRD says more of its fields.
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "namespaceconfigs.redhatcop.redhat.io"},
    "spec": {
        "group": "redhatcop.redhat.io",
        "names": {"kind": "NamespaceConfig", "plural": "namespaceconfigs"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def is_given() -> bool:
    """Whether the user brought the real one."""
    if GIVEN_VARIABLE not in os.environ:
        return False
    try:
        return given_folder(CONTROLLERS[NAME]) is not None
    except LabError:
        return False


class StandIn:
    """The test in the operator's place, on the cluster that this kubectl talks to."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl
        kubectl("apply", "--server-side", "--filename=-", given=json.dumps(CRD))
        kubectl("wait", "--for=condition=Established", "crd", CRD["metadata"]["name"])  # type: ignore[index]

    def reconcile(self) -> None:
        """One round, for every object of every namespace."""
        configs = self._items("namespaceconfigs")
        wanted = {key: one for config in configs for key, one in self._wanted(config).items()}
        there = {_key(item): item for item in self._items("localqueues", "--all-namespaces")}
        if new := [one for key, one in wanted.items() if key not in there]:
            self.kubectl("create", "--filename=-", given=dump_all(new))
        for key, one in wanted.items():
            if key in there and there[key]["spec"] != one["spec"]:
                self._patch(one)
        for key, one in there.items():
            if CONFIG_LABEL in one["metadata"].get("labels", {}) and key not in wanted:
                self.kubectl(
                    "delete", "localqueue", one["metadata"]["name"], "--namespace", one["metadata"]["namespace"]
                )

    def _wanted(self, config: dict[str, Any]) -> dict[str, Any]:
        (template,) = config["spec"]["templates"]
        expressions = config["spec"]["labelSelector"]["matchExpressions"]
        namespaces = {
            item["metadata"]["name"]: item["metadata"].get("labels", {})
            for item in self._items("namespaces")
            if all(_matches(item["metadata"].get("labels", {}), expression) for expression in expressions)
        }
        made = expand(template["objectTemplate"], namespaces) if namespaces else {}
        return {_key(one): one for objects in made.values() for one in objects}

    def _patch(self, one: dict[str, Any]) -> None:
        """What the API server refuses stays as it is; the operator says so in the NamespaceConfig's status."""
        metadata = one["metadata"]
        spec = f"--patch={json.dumps({'spec': one['spec']})}"
        with suppress(AssertionError, LabError):  # a field is immutable
            self.kubectl(
                "patch", "localqueue", metadata["name"], f"--namespace={metadata['namespace']}", "--type=merge", spec
            )

    def _items(self, kind: str, *more: str) -> list[dict[str, Any]]:
        return list(json.loads(self.kubectl("get", kind, "--output=json", *more))["items"])


def _key(one: dict[str, Any]) -> str:
    return f"{one['kind']}/{one['metadata']['namespace']}/{one['metadata']['name']}"


def _matches(labels: dict[str, str], expression: dict[str, Any]) -> bool:
    if expression["operator"] == "Exists":
        return expression["key"] in labels
    if expression["operator"] == "DoesNotExist":
        return expression["key"] not in labels
    assert expression["operator"] == "NotIn"
    return labels.get(expression["key"]) not in expression["values"]
