"""What was read of a cluster: plain objects by kind, as the API server writes them, and when it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Object = Mapping[str, Any]
NONE: Object = {}


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
        return next((it for it in self.of(kind) if name_of(it) == name and space_of(it) == namespace), None)

    def events(self, *about: Object) -> list[Object]:
        """Of these objects, the oldest first."""
        uids = {uid_of(it) for it in about}
        found = [it for it in self.of("Event") if (it.get("involvedObject") or NONE).get("uid") in uids]
        return sorted(found, key=lambda it: event_time(it) or self.now)


def name_of(it: Object) -> str:
    return str(it["metadata"]["name"])


def space_of(it: Object) -> str:
    return str(it["metadata"].get("namespace") or "")


def uid_of(it: Object) -> str:
    return str(it["metadata"].get("uid") or "")


def labels_of(it: Object) -> Mapping[str, str]:
    return it["metadata"].get("labels") or {}


def notes_of(it: Object) -> Mapping[str, str]:
    return it["metadata"].get("annotations") or {}


def owners_of(it: Object) -> Sequence[Object]:
    return it["metadata"].get("ownerReferences") or ()


def spec_of(it: Object) -> Object:
    return it.get("spec") or NONE


def status_of(it: Object) -> Object:
    return it.get("status") or NONE


def condition(it: Object, kind: str) -> Object:
    """The condition of the type; empty where there is none."""
    return next((one for one in status_of(it).get("conditions") or () if one.get("type") == kind), NONE)


def is_true(it: Object, kind: str) -> bool:
    return condition(it, kind).get("status") == "True"


def time(text: object) -> datetime | None:
    """None where it is no time."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def created(it: Object) -> datetime | None:
    return time(it["metadata"].get("creationTimestamp"))


def event_time(it: Object) -> datetime | None:
    """The last time it was said."""
    series = it.get("series") or NONE
    times = (
        series.get("lastObservedTime"),
        it.get("lastTimestamp"),
        it.get("eventTime"),
        it["metadata"].get("creationTimestamp"),
    )
    return next((found for text in times if text and (found := time(text))), None)
