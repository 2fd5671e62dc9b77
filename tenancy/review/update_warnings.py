"""What an update does that nobody wrote into the agreement, said before it is done: to what people changed by hand, to jobs whose
queue goes, to what a killed update left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..agreement import Agreement
from ..agreement.plan import make_plan
from ..cluster.preflight import Found, Object, names
from .diff.drift import drift
from .diff.removed_queues import removed_queues

PROVIDER_TIMEOUT = "10m"  # the Kubernetes provider's own, where a stack says nothing


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
    drifted = [said for name, value in found.by_hand(record).items() for said in drift(plan, value, found.there[name])]
    if drifted:
        told = "\n  ".join(drifted)
        yield f"changed on the cluster by hand; `pulumi up` restores the values of the agreement:\n  {told}"
    for entry in found.held:
        yield f"{entry}, so none of its jobs starts; `pulumi up` keeps the hold"
    to_delete, wait = found.going(record), timeout or PROVIDER_TIMEOUT
    yield from removed_queues(plan, to_delete, found.there, retained=retain, timeout=wait)
    if orphaned := found.left(record):
        yield f"orphaned by a killed update; `pulumi up` removes them (of a Namespace only its label): {names(orphaned)}"
