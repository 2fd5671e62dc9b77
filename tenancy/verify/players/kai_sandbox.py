"""One set of copies on KAI, used by one check after another: its Queues, nodes and namespaces. Making and removing them costs more
than most checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace
from lightkube.types import PatchType

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan
from ...cluster import listing, requests
from ...cluster.clients import KaiQueue, NodeData, PodData, PodGroup
from ...cluster.queues import by_name
from ...cluster.requests import ZERO
from ...objects import kai
from ...objects.identity import AGREEMENT_LABEL
from ...text import quantity as quantities
from ...text.durations import duration
from ..play import Clock
from . import kai_objects as objects
from .kai_objects import Mark
from .sandbox import RUN_LABEL, NotKept, NotRunnable

PATIENCE = 60.0  # seconds for copies to be ready, and for jobs to go
EVERY = 0.2
RESERVATIONS = "kai-resource-reservation"  # the namespace of the pods that hold shared GPUs

Object = Mapping[str, Any]


class KaiSandbox:
    """`make` it, use it, `clear` it after each check, `remove` it. On real nodes there are no copies of them."""

    def __init__(self, client: Client, plan: Plan, flavor: Hardware, mark: Mark, clock: Clock) -> None:
        self.client, self.plan, self.flavor, self.mark, self.clock = client, plan, flavor, mark, clock
        self.queues: dict[str, str] = {}
        """Names of the copies by those of the live ones."""
        self.nodes: dict[str, Mapping[str, str]] = {}
        """Labels of the nodes that jobs may run on."""
        self.simulated = False
        self.spaces: dict[str, str] = {}
        """Namespaces by team."""
        self.there: dict[tuple[str, str], str] = {}
        """Kind of each Job and pod that was made and not ended, by namespace and name."""
        self.uses = 1
        """Which check uses it: a part of the names of jobs."""

    def make(self) -> None:
        """Raises NotRunnable and NotKept as `Replica.open`."""
        live, nodes = self._live_queues(), list(self._live_nodes())
        if not nodes:
            raise NotRunnable(f"no node of flavor {self.flavor.name} is ready")
        self.simulated = all(objects.FAKE in (node["metadata"].get("annotations") or {}) for node in nodes)
        self.queues = {name: self.mark.name(name) for name in live}
        for one in live.values():
            self.client.create(KaiQueue.from_dict(objects.queue(self.mark, one, self.queues)))
        if self.simulated:
            self._copy(nodes)
        else:
            self.nodes = {node["metadata"]["name"]: node["metadata"].get("labels") or {} for node in nodes}

    def _live_queues(self) -> dict[str, Object]:
        """The agreement's of this flavor, and whatever they hang from."""
        every = dict(by_name(listing.objects(self.client, "Queue")))
        pool = kai.pool(self.plan, self.flavor)
        found: dict[str, Object] = {}
        for name, one in every.items():
            labels = one["metadata"].get("labels") or {}
            if (
                labels.get(AGREEMENT_LABEL) == self.plan.cluster
                and RUN_LABEL not in labels
                and (not pool or labels.get(kai.NODE_POOL) == pool)
            ):
                found[name] = one
        for one in list(found.values()):
            while (parent := one["spec"].get("parentQueue")) in every and parent not in found:
                found[parent] = one = every[parent]
        if not found:
            raise NotKept(
                f"the cluster has no KAI Queue of agreement {self.plan.cluster} for flavor {self.flavor.name}: "
                "pulumi up, or tenancy render and kubectl apply"
            )
        return found

    def _live_nodes(self) -> Iterator[Object]:
        wanted = dict(self.flavor.node_labels)
        if pool := kai.pool(self.plan, self.flavor):
            wanted[kai.NODE_POOL] = pool
        for one in listing.objects(
            self.client, "Node", labels=",".join(f"{key}={value}" for key, value in wanted.items())
        ):
            if (
                RUN_LABEL not in (one["metadata"].get("labels") or {})
                and _ready(one)
                and not one["spec"].get("unschedulable")
            ):
                yield one

    def _copy(self, nodes: Sequence[Object]) -> None:
        levels = next(
            (topology.levels for topology in self.plan.topologies if topology.name == self.flavor.topology), ()
        )
        for one in nodes:
            self.client.create(NodeData.from_dict(objects.node(self.mark, one, levels)))

        def ready() -> bool:
            sandbox_objects = [
                entry for entry in self.client.list(NodeData, labels=dict(self.mark.labels)) if _ready(entry)
            ]
            self.nodes = {copy["metadata"]["name"]: copy["metadata"]["labels"] for copy in sandbox_objects}
            return len(sandbox_objects) == len(nodes)

        self._wait(ready, "copies of simulated nodes do not become ready")

    def require_idle(self) -> None:
        """Of real nodes. KAI may move or stop any job that it put on these nodes to make room for another, so none may be there."""
        if self.simulated:
            return
        nodes = list(self._live_nodes())
        names = {node["metadata"]["name"] for node in nodes}
        pods = [entry for entry in listing.objects(self.client, "Pod") if entry["spec"].get("nodeName") in names]
        held = [pod for pod in pods if pod["status"].get("phase") in ("Pending", "Running")]
        if busy := next((entry for entry in held if entry["spec"].get("schedulerName") == objects.SCHEDULER), None):
            where = f"{busy['metadata']['namespace']}/{busy['metadata']['name']}"
            raise NotRunnable(f"{where} runs on a node of {self.flavor.name}, and KAI could stop it for a check")
        resource = self.flavor.resource
        free = sum(amount(node["status"]["allocatable"].get(resource)) for node in nodes) - sum(
            requests.of(entry).get(resource, ZERO) for entry in held
        )
        if free < self.flavor.capacity:
            raise NotRunnable(
                f"{self.flavor.count(int(free))} are free on the nodes of {self.flavor.name}, and the agreement is over "
                f"{self.flavor.capacity}"
            )

    def namespace(self, team: str) -> str:
        """A namespace of the team's, once pods are taken in it: they need its ServiceAccount, and webhooks hear of it late."""
        if team in self.spaces:
            return self.spaces[team]
        body = objects.namespace(self.plan, self.mark, team)
        name = str(body["metadata"]["name"])
        self.client.create(from_dict(body))
        self.spaces[team] = name
        pod = {"containers": [{"name": "probe", "image": objects.IMAGE}]}
        probe = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": name}, "spec": pod}

        def takes_pods() -> bool:
            try:
                self.client.create(from_dict(probe), dry_run=True)
            except ApiError as error:
                if "not found" not in str(error):
                    raise
                return False
            return True

        self._wait(takes_pods, f"namespace {name} takes no pods")
        return name

    def submit(self, bodies: Iterable[dict[str, Any]]) -> None:
        for one in bodies:
            namespace, name = one["metadata"]["namespace"], one["metadata"]["name"]
            self.client.create(PodGroup.from_dict(one) if one["kind"] == "PodGroup" else from_dict(one))
            if one["kind"] != "PodGroup":
                self.there[namespace, name] = one["kind"]

    def end(self, names: Iterable[tuple[str, str]]) -> None:
        """A Job is suspended and not deleted: its PodGroups would go with it, and KAI 0.12 never ends trying to write to one that
        went while it was about to, fifty times a second. They go with the namespace, long after their pods."""
        for namespace, name in names:
            if self.there.pop((namespace, name)) == "Job":
                self.client.patch(
                    Job, name, {"spec": {"suspend": True}}, namespace=namespace, patch_type=PatchType.MERGE
                )
            else:
                self.client.delete(PodData, name, namespace=namespace)

    def clear(self, pods: Callable[[], Sequence[Object]]) -> bool:
        """Whether all jobs are gone, and the pods that hold their shared GPUs; `pods` says which there still are."""
        self.end(list(self.there))
        self.uses += 1
        deadline = time.monotonic() + PATIENCE
        while (left := pods()) or self._holds():
            if time.monotonic() > deadline:
                return False
            self._let_go(left)
            time.sleep(EVERY)
        return True

    def _let_go(self, pods: Iterable[Object]) -> None:
        """Of pods on their way out. The Job controller holds each by a finalizer until it has counted it, and forgets those that it
        could not count because the Job changed under it: they would stay until it looks again, some minutes later."""
        for pod in pods:
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp") and metadata.get("finalizers"):
                name, namespace = metadata["name"], metadata["namespace"]
                try:
                    self.client.patch(
                        PodData,
                        name,
                        {"metadata": {"finalizers": None}},
                        namespace=namespace,
                        patch_type=PatchType.MERGE,
                    )
                except ApiError as error:
                    if error.status.code != 404:
                        raise

    def _holds(self) -> bool:
        if not self.simulated:
            return False
        held = self.client.list(PodData, namespace=RESERVATIONS)
        return any(entry["spec"].get("nodeName") in self.nodes for entry in held)

    def remove(self) -> None:
        """Jobs are gone before: nothing that is on its way finds a node or a queue gone. Namespaces go in their own time."""
        kinds: tuple[Any, ...] = (Namespace, KaiQueue, NodeData)
        for kind in kinds:
            for one in list(self.client.list(kind, labels=dict(self.mark.labels))):
                _delete(self.client, kind, one.metadata.name)

    def _wait(self, so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not so():
            if time.monotonic() > deadline:
                raise NotRunnable(f"after {duration(PATIENCE)} {otherwise}")
            self.clock.sleep(EVERY)


def _ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    hindered = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints") or ())
    return not hindered and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def amount(quantity: object) -> float:
    return float(quantities.amount(quantity))


def _delete(client: Client, kind: Any, name: str) -> None:
    try:
        client.delete(kind, name)
    except ApiError as error:
        if error.status.code not in (404, 409):
            raise
