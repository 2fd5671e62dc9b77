"""What `why` needs of a cluster, read into a `Snapshot`: all that holds or waits for quota, and the namespace of the job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.generic_resource import GenericNamespacedResource, create_api_info
from lightkube.resources.core_v1 import Namespace

from ...cluster import usage
from ...cluster.clients import ClusterQueue, EventData, JobSet, KaiQueue, LocalQueue, PodData, TrainJob, Workload
from ...cluster.usage import NotThere
from .find import Wanted
from .snapshot import Object, Snapshot

PAGE = 500
KAI_LABEL = "kai.scheduler/queue"
ABSENT, FORBIDDEN = 404, 403
NOISE = ("managedFields", "selfLink", "generateName")


def _plain(group: str, version: str, kind: str, plural: str) -> Any:
    """A kind as plain data; see `verify.data`."""
    return type(kind, (GenericNamespacedResource,), {"_api_info": create_api_info(group, version, kind, plural)})


JobData = _plain("batch", "v1", "Job", "jobs")
PodGroup = _plain("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups")
NAMED = {"Job": JobData, "JobSet": JobSet, "TrainJob": TrainJob, "PodGroup": PodGroup, "Pod": PodData}


class _Forbidden(NotThere):
    """The user may not list a kind."""


def scheduler_of(client: Client) -> str:
    """`usage.present`, also for those who may not list the queues that are there: they know of Kueue's by its LocalQueues."""
    try:
        return usage.present(client)
    except NotThere:
        try:
            next(_list(client, ClusterQueue), None)
        except _Forbidden:
            return "kueue"
        raise


def read(client: Client, scheduler: str, wanted: Wanted) -> Snapshot:
    """Raises NotThere where the cluster does not let us. Of a kind that the user may not list everywhere only the namespace is
    read, and the snapshot says so."""
    reading = _Reading(client, scheduler, wanted)
    reading.everywhere("Namespace", Namespace)
    if scheduler == "kueue":
        reading.everywhere("Workload", Workload)
        reading.everywhere("ClusterQueue", ClusterQueue)
    else:
        reading.everywhere("Queue", KaiQueue)
        reading.everywhere("Pod", PodData, labels={KAI_LABEL: None})
    for namespace in sorted(reading.places()):
        reading.namespace(namespace)
    return Snapshot(reading.now, reading.objects, frozenset(reading.unseen))


@dataclass
class _Reading:
    client: Client
    scheduler: str
    wanted: Wanted
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    objects: dict[str, list[Object]] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)

    def everywhere(self, kind: str, resource: Any, **options: Any) -> None:
        namespace = None if resource in (Namespace, ClusterQueue, KaiQueue) else "*"
        try:
            self._keep(kind, _list(self.client, resource, namespace, **options))
        except _Forbidden:
            self.unseen.add(kind)

    def places(self) -> set[str]:
        """The namespaces that have something of this name."""
        if self.wanted.namespace:
            return {self.wanted.namespace}
        found = {
            it["metadata"]["namespace"] for it in self.objects.get("Workload", ()) if self.wanted.name in _names(it)
        }
        for kind in NAMED.values():
            try:
                there = _list(self.client, kind, "*", fields={"metadata.name": self.wanted.name})
                found |= {str(it.metadata.namespace) for it in there}
            except _Forbidden:
                raise NotThere(
                    "you may not look in every namespace: say in which the job is, as in -n research or research/train"
                ) from None
        return found

    def namespace(self, namespace: str) -> None:
        """What a member of a team may not read there (events) is left out; the job's own kind it must read."""
        kinds = {**NAMED, "Event": EventData}
        if self.scheduler == "kueue":
            kinds |= {"LocalQueue": LocalQueue, "Workload": Workload}
        for kind, resource in kinds.items():
            try:
                self._keep(kind, _list(self.client, resource, namespace))
            except _Forbidden:
                self.unseen.add(f"{kind}s of {namespace}")
                if kind in ("Workload", "Pod"):
                    raise
        if self.scheduler == "kueue":  # who stopped what, where the one who did is gone
            self.everywhere("Event", EventData, fields={"reason": "PreemptedWorkload"})

    def _keep(self, kind: str, several: Iterator[Any]) -> None:
        """Each once."""
        there = self.objects.setdefault(kind, [])
        known = {it["metadata"]["uid"] for it in there}
        there.extend(one for one in map(_object, several) if one["metadata"]["uid"] not in known)


def _names(workload: Object) -> set[str]:
    metadata = workload["metadata"]
    return {metadata["name"], *(owner["name"] for owner in metadata.get("ownerReferences") or ())}


def _list(client: Client, kind: Any, namespace: str | None = None, **options: Any) -> Iterator[Any]:
    """Nothing where the cluster does not know the kind. Raises _Forbidden and NotThere."""
    try:
        yield from client.list(kind, namespace=namespace, chunk_size=PAGE, **options)
    except ApiError as error:
        if error.status.code == FORBIDDEN:
            raise _Forbidden(f"the cluster does not let us read: {error.status.message}") from None
        if error.status.code != ABSENT:
            raise NotThere(f"the cluster does not let us read: {error.status.message}") from None
    except httpx2.HTTPStatusError as error:
        if error.response.status_code != ABSENT:
            raise NotThere(f"the cluster does not let us read: {error}") from None
    except httpx2.HTTPError as error:
        raise NotThere(f"the cluster does not let us read: {error}") from None


def _object(it: Any) -> Object:
    """As the API server writes it, less what nobody reads."""
    body: dict[str, Any] = it.to_dict()
    body["metadata"] = {key: value for key, value in body["metadata"].items() if key not in NOISE and value is not None}
    return body
