"""Asking a cluster for what a status needs: without the one no status, without the others a status that says what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ...cluster import listing
from ...cluster.clients import Client
from ...cluster.fields import Object, event_time, labels_of, name_of
from ...cluster.listing import NotThere
from ...quota.lending import Use
from .. import Eviction, Violation, Waiting

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Read:
    """What one scheduler says; each as in `Observed`."""

    uses: Mapping[tuple[str, str], Use]
    waiting: tuple[Waiting, ...]
    evictions: tuple[Eviction, ...]
    violations: tuple[Violation, ...]
    held_up: tuple[Waiting, ...] = ()


@dataclass
class Asked:
    """A cluster that is asked for lists. `unread` grows by a sentence for each that it does not give."""

    client: Client
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    unread: list[str] = field(default_factory=list)

    def must(self, kind: str, *, labels: str = "", fields: str = "") -> list[Object]:
        """Every object of a kind. Raises NotThere."""
        return listing.objects(self.client, kind, labels=labels, fields=fields)

    def maybe(self, kind: str, without: str, *, labels: str = "", fields: str = "") -> list[Object] | None:
        """The same; None where it is not given, and `without` says what therefore is not known."""
        try:
            return self.must(kind, labels=labels, fields=fields)
        except NotThere as error:
            self.unread.append(f"{without}: {error}")
            return None

    def may(self, kind: str, without: str, *, labels: str = "", fields: str = "") -> list[Object]:
        """The same, for what is no different from none."""
        return self.maybe(kind, without, labels=labels, fields=fields) or []

    def events(self, of: str) -> list[Object]:
        """Of the last hour, about objects of a kind. An API server keeps events for an hour, by default."""
        found = self.may("Event", "evictions of jobs that are gone are not known", fields=f"involvedObject.kind={of}")
        return [entry for entry in found if (last := event_time(entry)) is None or self.at - last <= HOUR]

    def teams(self, label: str) -> dict[str, str]:
        """The team of each namespace that carries the label."""
        found = self.may("Namespace", "whose namespaces these are is not known", labels=label)
        return {name_of(entry): labels_of(entry)[label] for entry in found}
