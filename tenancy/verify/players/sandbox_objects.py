"""The copies that a check is played on, as objects: everything as it is on the cluster but for the names. Pure.

- Cohorts and ClusterQueues: the whole tree, since every node of it takes part in lending. References among them are
  renamed with them.
- ResourceFlavors and nodes: those of the flavors that the check's jobs name. A copied queue lists all the others under
  the names they have, and with the same quotas: its arithmetic is the original's, and nothing asks for them.
- A copied node carries no label value by which a flavor of anybody else finds it: the labels of flavors and the levels of
  topologies have values of their own. A taint that only the copied flavors tolerate keeps all other pods away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...agreement.hardware import HOSTNAME
from ...objects.identity import RUN_PREFIX
from ...objects.kueue import API_VERSION
from .live_objects import KWOK, LiveObjects
from .sandbox import CHECK_LABEL, RUN_LABEL

NODE_LABEL = "tenancy.dev/verify-node"  # what a copied flavor selects where its original selects nothing
LONGEST = 63  # of a label's value, a namespace's name, and a host's

Object = dict[str, Any]


def run_prefix(run: str) -> str:
    """Of every name in a run."""
    return f"{RUN_PREFIX}{run}-"


@dataclass(frozen=True)
class SandboxObjects:
    """The copies of one sandbox: of these flavors' nodes, in the run of this name."""

    live_objects: LiveObjects
    keys: frozenset[str]
    """Node labels by which the agreement finds nodes: those of its flavors, and the levels of its topologies."""
    flavors: tuple[str, ...]
    run: str
    number: int

    @property
    def mark(self) -> str:
        return f"{self.run}-{self.number}"

    @property
    def prefix(self) -> str:
        return f"{run_prefix(self.run)}{self.number}-"

    @property
    def labels(self) -> dict[str, str]:
        return {RUN_LABEL: self.run, CHECK_LABEL: str(self.number)}

    def name(self, name: str) -> str:
        return self.prefix + name

    def short(self, name: str) -> str:
        """A name that is also a label: as it is where that is one, else a digest of it."""
        return _short(self.prefix + name.replace(".", "-"))

    def value(self, value: str) -> str:
        """A label's value that no other sandbox and no other node has."""
        return _short(f"{value}.{self.mark}" if value else self.mark)

    def objects(self) -> list[Object]:
        """In the order in which a cluster takes them."""
        return [*self.nodes(), *self.resource_flavors(), *self.cohorts(), *self.queues()]

    def nodes(self) -> Iterator[Object]:
        keys = self._own_keys()
        taint = {"key": RUN_LABEL, "value": self.mark, "effect": "NoSchedule"}
        there = {
            entry["metadata"]["name"]: entry for flavor in self.flavors for entry in self.live_objects.nodes_of(flavor)
        }
        for original, item in there.items():
            name = self.short(original)
            labels = {
                key: self.value(value) if key in keys else value for key, value in item["metadata"]["labels"].items()
            }
            spec = item.get("spec") or {}
            taints = [one for one in spec.get("taints") or () if not one["key"].startswith("node.kubernetes.io/")]
            status = item.get("status") or {}
            yield {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": {**labels, HOSTNAME: name, NODE_LABEL: self.mark, **self.labels},
                    "annotations": {KWOK: item["metadata"]["annotations"][KWOK]},
                },
                "spec": {
                    "taints": [*taints, taint],
                    **({"unschedulable": True} if spec.get("unschedulable") else {}),
                },
                "status": {key: dict(status.get(key) or {}) for key in ("capacity", "allocatable")},
            }

    def resource_flavors(self) -> Iterator[Object]:
        for name in self.flavors:
            spec = dict(self.live_objects.flavors[name]["spec"])
            toleration = {"key": RUN_LABEL, "operator": "Equal", "value": self.mark, "effect": "NoSchedule"}
            spec["nodeLabels"] = self.node_labels(name)
            spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration]
            yield self._object("ResourceFlavor", name, spec)

    def node_labels(self, flavor: str) -> dict[str, str]:
        """Those of the copied flavor."""
        labels = self.live_objects.flavors[flavor]["spec"].get("nodeLabels") or {}
        return {key: self.value(value) for key, value in labels.items()} or {NODE_LABEL: self.mark}

    def cohorts(self) -> Iterator[Object]:
        """Parents first."""
        parents = {name: cohort["spec"].get("parentName") or "" for name, cohort in self.live_objects.cohorts.items()}
        for name in sorted(parents, key=lambda name: len(list(_up(name, parents)))):
            spec = self._spec(self.live_objects.cohorts[name], "parentName")
            yield self._object("Cohort", name, spec)

    def queues(self) -> Iterator[Object]:
        for name, queue in self.live_objects.queues.items():
            yield self._object("ClusterQueue", name, self._spec(queue, "cohortName"))

    def _spec(self, body: Mapping[str, Any], above: str) -> Object:
        spec = dict(body.get("spec") or {})
        if spec.get(above):
            spec[above] = self.name(spec[above])
        if groups := spec.get("resourceGroups"):
            spec["resourceGroups"] = [
                {**group, "flavors": [{**one, "name": self.flavor(one["name"])} for one in group["flavors"]]}
                for group in groups
            ]
        return spec

    def flavor(self, name: str) -> str:
        """The name that a flavor has in the copied queues."""
        return self.name(name) if name in self.flavors else name

    def _own_keys(self) -> frozenset[str]:
        """Labels by which some flavor or topology finds nodes."""
        flavors = self.live_objects.flavors.values()
        return self.keys | {key for flavor in flavors for key in (flavor.get("spec") or {}).get("nodeLabels") or {}}

    def _object(self, kind: str, name: str, spec: Object) -> Object:
        metadata = {"name": self.name(name), "labels": self.labels}
        return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: LONGEST - 9].rstrip('-._')}-{digest}"


def _up(name: str, parents: Mapping[str, str]) -> Iterable[str]:
    seen: set[str] = set()
    while name in parents and name not in seen:
        seen.add(name)
        yield name
        name = parents[name]
