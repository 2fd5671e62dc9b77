"""What `why` needs of a cluster, read into a `Snapshot`: all that holds or waits for quota, and the namespace of the job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ...cluster import listing, usage
from ...cluster.clients import Client
from ...cluster.fields import name_of, namespace_of, owners_of, uid_of
from ...cluster.jobs import KAI_QUEUE
from ...cluster.listing import NotThere, Unreadable
from ...objects.schedulers import Scheduler
from .find import JOBS, Wanted
from .snapshot import Object, Snapshot

NOISE = ("managedFields", "selfLink", "generateName")


def scheduler_of(client: Client) -> str:
    """`usage.present`, also for those who may not list the queues that are there: they know of Kueue's by its LocalQueues."""
    try:
        return usage.present(client)
    except NotThere:
        try:
            listing.objects(client, "ClusterQueue")
        except Unreadable as error:
            if error.forbidden:
                return str(Scheduler.KUEUE)
        raise


def read(client: Client, scheduler: str, wanted: Wanted) -> Snapshot:
    """Raises NotThere where the cluster does not let us. Of a kind that the user may not list everywhere only the namespace is
    read, and the snapshot says so."""
    reading = _Reading(client, scheduler, wanted)
    reading.everywhere("Namespace")
    if scheduler == Scheduler.KUEUE:
        reading.everywhere("Workload")
        reading.everywhere("ClusterQueue")
    else:
        reading.everywhere("Queue")
        reading.everywhere("Pod", labels=KAI_QUEUE)
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

    def everywhere(self, kind: str, *, labels: str = "", fields: str = "") -> None:
        try:
            self._keep(kind, listing.objects(self.client, kind, labels=labels, fields=fields))
        except Unreadable as error:
            if not error.forbidden:
                raise
            self.unseen.add(kind)

    def places(self) -> set[str]:
        """The namespaces that have something of this name."""
        if self.wanted.namespace:
            return {self.wanted.namespace}
        found = {namespace_of(entry) for entry in self.objects.get("Workload", ()) if self.wanted.name in _names(entry)}
        for kind in JOBS:
            try:
                there = listing.objects(self.client, kind, fields=f"metadata.name={self.wanted.name}")
                found |= set(map(namespace_of, there))
            except Unreadable as error:
                if not error.forbidden:
                    raise
                raise NotThere(
                    "you may not look in every namespace: say in which the job is, as in -n research or research/train"
                ) from None
        return found

    def namespace(self, namespace: str) -> None:
        """What a member of a team may not read there (events) is left out; the job's own kind it must read."""
        on_kueue = self.scheduler == Scheduler.KUEUE
        for kind in (*JOBS, "Event", *(("LocalQueue", "Workload") if on_kueue else ())):
            try:
                self._keep(kind, listing.objects(self.client, kind, namespace=namespace))
            except Unreadable as error:
                if not error.forbidden:
                    raise
                self.unseen.add(f"{kind}s of {namespace}")
                if kind in ("Workload", "Pod"):
                    raise
        if on_kueue:  # who stopped what, where the one who did is gone
            self.everywhere("Event", fields="reason=PreemptedWorkload")

    def _keep(self, kind: str, several: Iterable[Object]) -> None:
        """Each once."""
        there = self.objects.setdefault(kind, [])
        known = set(map(uid_of, there))
        there.extend(_object(one) for one in several if uid_of(one) not in known)


def _names(workload: Object) -> set[str]:
    return {name_of(workload), *(owner["name"] for owner in owners_of(workload))}


def _object(body: Object) -> Object:
    """As the API server writes it, less what nobody reads."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in NOISE and value is not None}
    return {**body, "metadata": metadata}
