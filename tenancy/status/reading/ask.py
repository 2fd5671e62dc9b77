"""Asking a cluster for what a status needs: without the one no status, without the others a status that says what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import Event, Namespace

from ...cluster.usage import NotThere
from ...quota.lending import Use
from ...text import quantity as quantities
from .. import Eviction, Short, Waiting

PAGE = 500
HOUR = timedelta(hours=1)

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Read:
    """What one scheduler says; each as in `Seen`."""

    uses: Mapping[tuple[str, str], Use]
    waiting: tuple[Waiting, ...]
    evictions: tuple[Eviction, ...]
    shorts: tuple[Short, ...]
    held_up: tuple[Waiting, ...] = ()


@dataclass
class Asked:
    """A cluster that is asked for lists. `unread` grows by a sentence for each that it does not give."""

    client: Client
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    unread: list[str] = field(default_factory=list)

    def must(self, kind: Any, **options: Any) -> list[Any]:
        """Every object of a kind; none where the cluster does not know the kind. Raises NotThere."""
        try:
            return list(self.client.list(kind, chunk_size=PAGE, **options))
        except ApiError as error:
            if error.status.code == 404:
                return []
            raise NotThere(f"the cluster does not let us read: {error.status.message}") from None
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == 404:
                return []
            raise NotThere(f"the cluster does not let us read: {error}") from None
        except httpx2.HTTPError as error:
            raise NotThere(f"the cluster does not answer: {error}") from None

    def maybe(self, kind: Any, without: str, **options: Any) -> list[Any] | None:
        """The same; None where it is not given, and `without` says what therefore is not known."""
        try:
            return self.must(kind, **options)
        except NotThere as error:
            self.unread.append(f"{without}: {error}")
            return None

    def may(self, kind: Any, without: str, **options: Any) -> list[Any]:
        """The same, for what is no different from none."""
        return self.maybe(kind, without, **options) or []

    def events(self, of: str) -> list[Event]:
        """Of the last hour, about objects of a kind. An API server keeps events for an hour, by default."""
        about = {"involvedObject.kind": of}
        found = self.may(Event, "evictions of jobs that are gone are not known", namespace="*", fields=about)
        return [it for it in found if (last := happened(it)) is None or self.at - last <= HOUR]

    def teams(self, label: str) -> dict[str, str]:
        """The team of each namespace that carries the label."""
        spaces = self.may(Namespace, "whose namespaces these are is not known", labels={label: None})
        return {str(it.metadata.name): it.metadata.labels[label] for it in spaces}


def happened(event: Event) -> datetime | None:
    """When it did so last."""
    series = event.series.lastObservedTime if event.series else None
    times = (series, event.eventTime, event.lastTimestamp, event.firstTimestamp)
    return next((it for it in times if it), None)


def times(event: Event) -> int:
    return max((event.series and event.series.count) or 0, event.count or 0, 1)


def conditions(one: Object) -> dict[str, Object]:
    """Of an object, by type, whatever their status."""
    return {it["type"]: it for it in (one.get("status") or {}).get("conditions") or ()}


def moment(text: str | datetime) -> datetime:
    return text if isinstance(text, datetime) else datetime.fromisoformat(text)


def whole(quantity: object) -> int:
    """A part of a unit counts as a whole one."""
    return quantities.whole(quantities.amount(quantity))


def asks(pods: Object) -> Iterator[tuple[str, int]]:
    """Resources of one pod of a template, as its containers ask for them: milli-CPUs and bytes are rounded up to whole ones."""
    amounts: dict[str, Any] = {}
    for it in pods.get("containers") or ():
        resources = it.get("resources") or {}
        for name, amount in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            amounts[name] = amounts.get(name, 0) + quantities.amount(amount)
    return ((name, ceil(amount)) for name, amount in amounts.items())
