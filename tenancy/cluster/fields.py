"""Fields of an object as the API writes it. A status that is not written yet, or a spec that is not read, is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Object = Mapping[str, Any]
NONE: Object = {}


def name_of(body: Object) -> str:
    return str(body["metadata"]["name"])


def namespace_of(body: Object) -> str:
    """Empty where its kind has none."""
    return str(body["metadata"].get("namespace") or "")


def uid_of(body: Object) -> str:
    return str(body["metadata"].get("uid") or "")


def labels_of(body: Object) -> Mapping[str, str]:
    return body["metadata"].get("labels") or {}


def annotations_of(body: Object) -> Mapping[str, str]:
    return body["metadata"].get("annotations") or {}


def owners_of(body: Object) -> Sequence[Object]:
    return body["metadata"].get("ownerReferences") or ()


def owner_of(body: Object) -> Object | None:
    """The first of them."""
    return next(iter(owners_of(body)), None)


def spec_of(body: Object) -> Object:
    return body.get("spec") or NONE


def status_of(body: Object) -> Object:
    return body.get("status") or NONE


def condition(body: Object, kind: str) -> Object:
    """The condition of the type; empty where there is none."""
    return next((one for one in status_of(body).get("conditions") or () if one.get("type") == kind), NONE)


def is_true(body: Object, kind: str) -> bool:
    return condition(body, kind).get("status") == "True"


def time(text: object) -> datetime | None:
    """None where it is no time."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def changed(body: Object, kind: str) -> datetime | None:
    """When the condition of the type got the status that it has."""
    return time(condition(body, kind).get("lastTransitionTime"))


def created(body: Object) -> datetime | None:
    return time(body["metadata"].get("creationTimestamp"))


def event_time(event: Object) -> datetime | None:
    """The last time that an Event happened."""
    series = event.get("series") or NONE
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
        event["metadata"].get("creationTimestamp"),
    )
    return next((found for text in times if text and (found := time(text))), None)


def event_count(event: Object) -> int:
    """How often it happened."""
    return max((event.get("series") or NONE).get("count") or 0, event.get("count") or 0, 1)
