"""Copies on the cluster, from when they are made until they are removed. Checks that need the same copies use them one after
the other: making and removing nodes, queues and namespaces costs more than most checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Node
from lightkube.types import CascadeType

from ...agreement.plan import Plan
from ...cluster.clients import ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from ...objects.kueue import API_VERSION
from ..play import Clock
from .observer import Observer, condition, is_true
from .sandbox_objects import SandboxObjects

READY = 60.0  # seconds for nodes and queues; one on an idle machine of two cores
GONE = 120.0  # seconds for what is removed
EVERY = 0.1
AT_ONCE = 4  # requests under way

KINDS: dict[str, Any] = {
    "Node": Node,
    "ResourceFlavor": ResourceFlavor,
    "Cohort": Cohort,
    "ClusterQueue": ClusterQueue,
    "Namespace": Namespace,
    "LocalQueue": LocalQueue,
    "Job": Job,
}


@dataclass
class KueueSandbox:
    """One set of copies, with a namespace for each team as it is needed."""

    client: Client
    plan: Plan
    sandbox_objects: SandboxObjects
    observer: Observer
    clock: Clock
    namespaces: dict[str, str] = field(default_factory=dict)
    """By team, and by team and guest."""
    local: set[tuple[str, str]] = field(default_factory=set)
    """Namespace and name of each LocalQueue."""

    def make(self) -> None:
        """Makes the copies; returns when nodes are ready and queues active, or have had the time to be."""
        objects = self.sandbox_objects.objects()
        nodes = [entry for entry in objects if entry["kind"] == "Node"]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda node: create(self.client, node), nodes))
        for item in objects[len(nodes) :]:
            create(self.client, item)
        names = [node["metadata"]["name"] for node in nodes]
        queues = [entry["metadata"]["name"] for entry in objects if entry["kind"] == "ClusterQueue"]
        until(lambda: all(is_true(self.observer.node(name), "Ready") for name in names), READY, self.clock.sleep)
        until(lambda: all(condition(self.observer.queue(queue), "Active") for queue in queues), READY, self.clock.sleep)

    def namespace(self, team: str, guest: str = "") -> str:
        """The team's namespace, made where it is not there; another one of the team for each `guest`, a queue not its own."""
        key = f"{team}-for-{guest}" if guest else team
        if key not in self.namespaces:
            name = self.sandbox_objects.short(key)
            labels = {**self.sandbox_objects.labels, self.plan.team_label: team}
            create(self.client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
            self.namespaces[key] = name
        return self.namespaces[key]

    def local_queue(self, namespace: str, name: str, queue: str) -> None:
        """A LocalQueue of that name for a ClusterQueue of the agreement."""
        if (namespace, name) in self.local:
            return
        metadata = {"name": name, "namespace": namespace, "labels": self.sandbox_objects.labels}
        spec = {"clusterQueue": self.sandbox_objects.name(queue)}
        create(self.client, {"apiVersion": API_VERSION, "kind": "LocalQueue", "metadata": metadata, "spec": spec})
        self.local.add((namespace, name))

    def clear(self) -> bool:
        """No job, no Workload, no pod: whether it came to that."""
        names = list(self.namespaces.values())
        for name in names:
            self.client.deletecollection(Job, namespace=name, cascade=CascadeType.BACKGROUND)
        return until(lambda: not self.observer.workloads_in(names) and not self.observer.pods_in(names), GONE)

    def remove(self) -> None:
        """Everything, jobs gone before; in the order in which the cluster lets go."""
        names = [*self.namespaces.values()]
        for kind, several in (("Namespace", names), *self._cluster_wide()):
            for name in several:
                delete(self.client, KINDS[kind], name)

    def left(self) -> Iterator[tuple[str, str]]:
        """Kind and name of each object of the stand that is still there, but for what is in namespaces."""
        for kind, several in (("Namespace", list(self.namespaces.values())), *self._cluster_wide()):
            for name in several:
                if exists(self.client, KINDS[kind], name):
                    yield kind, name

    def _cluster_wide(self) -> Iterator[tuple[str, list[str]]]:
        objects = self.sandbox_objects.objects()
        for kind in ("ClusterQueue", "Cohort", "ResourceFlavor", "Node"):
            yield kind, [entry["metadata"]["name"] for entry in objects if entry["kind"] == kind]


def create(client: Client, body: dict[str, Any]) -> None:
    kind = KINDS[body["kind"]]
    client.create(kind.from_dict(body) if body["apiVersion"].startswith("kueue") else from_dict(body))


def delete(client: Client, kind: Any, name: str) -> None:
    """Also where it is gone, or on its way."""
    try:
        client.delete(kind, name)
    except ApiError as error:
        if error.status.code not in (404, 409):
            raise


def exists(client: Client, kind: Any, name: str) -> bool:
    try:
        client.get(kind, name)
    except ApiError as error:
        if error.status.code == 404:
            return False
        raise
    return True


def until(so: Callable[[], bool], timeouts: float, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Whether it came to be so in time."""
    deadline = time.monotonic() + timeouts
    while not so():
        if time.monotonic() > deadline:
            return False
        sleep(EVERY)
    return True


def used(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
