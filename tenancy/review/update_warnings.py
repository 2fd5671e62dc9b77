"""What an update does that nobody wrote into the agreement, said before it is done: to what people changed by hand, to jobs whose
queue goes, to what a killed update left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..agreement import Agreement
from ..agreement.plan import make_plan
from ..cluster.preflight import Found, Object, names
from .diff.drift import drift
from .diff.removed_queues import departures

PROVIDERS_PATIENCE = "10m"  # the Kubernetes provider's own, where a stack says nothing


def warnings(
    found: Found,
    record: Mapping[str, Object],
    agreement: Agreement,
    *,
    retain: bool = False,
    timeout: str | None = None,
) -> Iterator[str]:
    """Sentences for the preview and for the update. `retain` and `timeout` are the stack's settings."""
    plan = make_plan(agreement)
    by_hand = [said for name, value in found.by_hand(record).items() for said in drift(plan, value, found.there[name])]
    if by_hand:
        told = "\n  ".join(by_hand)
        yield f"changed on the cluster by hand; `pulumi up` puts back what the agreement says:\n  {told}"
    for entry in found.held:
        yield f"{entry}, so that none of its jobs starts; `pulumi up` leaves it so"
    going, patience = found.going(record), timeout or PROVIDERS_PATIENCE
    yield from departures(plan, going, found.there, retained=retain, patience=patience)
    if left := found.left(record):
        yield f"left by a killed update, removed by `pulumi up` (a Namespace: its label): {names(left)}"
