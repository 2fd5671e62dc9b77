"""What was read of a cluster: plain objects by kind, as the API server writes them, and when it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from ...cluster.fields import (
    NONE,
    Object,
    annotations_of,
    condition,
    created,
    event_time,
    is_true,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    spec_of,
    status_of,
    time,
    uid_of,
)

__all__ = [
    "NONE",
    "Object",
    "Snapshot",
    "annotations_of",
    "condition",
    "created",
    "event_time",
    "is_true",
    "labels_of",
    "name_of",
    "namespace_of",
    "owners_of",
    "spec_of",
    "status_of",
    "time",
    "uid_of",
]


@dataclass(frozen=True)
class Snapshot:
    """Workloads, ClusterQueues, Queues and pods that hold GPUs are the whole cluster's; jobs, pods, LocalQueues and events are
    those of the namespace that was asked about."""

    now: datetime
    objects: Mapping[str, Sequence[Object]]
    unseen: AbstractSet[str] = frozenset()
    """Kinds that whoever asks may not list in the whole cluster: what is there of them is the namespace's."""

    def of(self, kind: str) -> Sequence[Object]:
        return self.objects.get(kind, ())

    def all(self) -> Iterator[tuple[str, Object]]:
        for kind, several in self.objects.items():
            yield from ((kind, one) for one in several)

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        return next(
            (entry for entry in self.of(kind) if name_of(entry) == name and namespace_of(entry) == namespace), None
        )

    def events(self, *about: Object) -> list[Object]:
        """Of these objects, the oldest first."""
        uids = {uid_of(entry) for entry in about}
        found = [event for event in self.of("Event") if (event.get("involvedObject") or NONE).get("uid") in uids]
        return sorted(found, key=lambda entry: event_time(entry) or self.now)
