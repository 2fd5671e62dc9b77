"""What a run sees of its jobs, queues and nodes: one watch of each kind for all sandboxes.

A stop is counted by Kueue itself (`status.schedulingStats.evictions`): a condition would be gone again once the job is
admitted anew, and two stops between two looks would be one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from lightkube import Client

from ...cluster.watch import Watch
from ...objects.kinds import KINDS
from .sandbox import RUN_LABEL

JOB_LABEL = "batch.kubernetes.io/job-name"
JOB_UID = "kueue.x-k8s.io/job-uid"

Object = Mapping[str, Any]
Key = tuple[str, str]
"""Namespace and name."""


@dataclass
class _Kind:
    """The objects of one kind by namespace and name, those that count."""

    counts: Callable[[Object], bool] = lambda entry: True
    there: dict[Key, Object] = field(default_factory=dict)

    def reset(self, objects: Iterable[Object]) -> None:
        self.there = {_key(entry): entry for entry in objects if self.counts(entry)}

    def changed(self, body: Object, there: bool) -> None:
        if there and self.counts(body):
            self.there[_key(body)] = body
        else:
            self.there.pop(_key(body), None)


class Observer:
    """Open from the first sandbox of a run to its last. Every question is answered from memory."""

    def __init__(self, client: Client, run: str, prefix: str) -> None:
        """`prefix` is that of the run's namespaces: a Workload does not carry its job's labels."""
        self._lock = RLock()
        self.workloads = _Kind(lambda entry: str(entry["metadata"]["namespace"]).startswith(prefix))
        self.pods, self.queues, self.nodes = _Kind(), _Kind(), _Kind()
        mine = f"{RUN_LABEL}={run}"
        self._watches = [
            self._watch(client, "Workload", self.workloads),
            self._watch(client, "Pod", self.pods, mine),
            self._watch(client, "ClusterQueue", self.queues, mine),
            self._watch(client, "Node", self.nodes, mine),
        ]

    def open(self) -> None:
        for watch in self._watches:
            watch.open()

    def close(self) -> None:
        for watch in self._watches:
            watch.close()

    def workloads_in(self, namespaces: Iterable[str]) -> dict[Key, Object]:
        """By namespace and name of the job."""
        with self._lock:
            wanted = set(namespaces)
            found = {}
            for (namespace, _), value in self.workloads.there.items():
                if namespace in wanted and (owners := value["metadata"].get("ownerReferences")):
                    found[namespace, str(owners[0]["name"])] = value
            return found

    def pods_in(self, namespaces: Iterable[str]) -> dict[Key, list[Object]]:
        """By namespace and name of the job."""
        with self._lock:
            wanted = set(namespaces)
            found: dict[Key, list[Object]] = {}
            for (namespace, _), value in self.pods.there.items():
                if namespace in wanted:
                    found.setdefault((namespace, value["metadata"]["labels"].get(JOB_LABEL, "")), []).append(value)
            return found

    def queue(self, name: str) -> Object:
        """Empty where it is not seen yet."""
        with self._lock:
            return self.queues.there.get(("", name), {})

    def node(self, name: str) -> Object:
        with self._lock:
            return self.nodes.there.get(("", name), {})

    def _watch(self, client: Client, name: str, kind: _Kind, labels: str = "") -> Watch:
        def reset(objects: Iterable[Object]) -> None:
            with self._lock:
                kind.reset(objects)

        def changed(body: Object, there: bool) -> None:
            with self._lock:
                kind.changed(body, there)

        return Watch(client, KINDS[name].path(), reset, changed, labels)


def condition(body: Object, kind: str) -> Mapping[str, str]:
    """A condition of an object; empty where it has none of the kind."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})


def is_true(body: Object, kind: str) -> bool:
    return condition(body, kind).get("status") == "True"


def stops(workload: Object) -> int:
    """How often it lost its quota."""
    stats = (workload.get("status") or {}).get("schedulingStats") or {}
    return sum(eviction.get("count") or 0 for eviction in stats.get("evictions") or ())


def _key(body: Object) -> Key:
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]
