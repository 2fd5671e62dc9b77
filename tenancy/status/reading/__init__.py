"""What there is to know of a running cluster beside its agreement, in one look."""

from __future__ import annotations

from ...agreement.plan import Plan
from ...cluster import read_nodes as nodes
from ...cluster.clients import Client
from ...objects.schedulers import PerScheduler, Scheduler
from ...review.nodes import Report, compare
from .. import Observed
from . import kai, kueue
from .ask import Asked


def look(client: Client, plan: Plan, scheduler: str) -> Observed:
    """One look. Raises NotThere where the cluster does not hold the agreement, or does not let us read its queues; what else it does
    not let us read is in `Observed.unread`."""
    asked = Asked(client)
    reading = READERS[Scheduler(scheduler)](asked, plan)
    return Observed(
        scheduler=scheduler,
        at=asked.at,
        uses=reading.uses,
        waiting=reading.waiting,
        held_up=reading.held_up,
        evictions=reading.evictions,
        violations=reading.violations,
        supply=_supply(asked, plan),
        unread=tuple(asked.unread),
    )


READERS = PerScheduler(kueue=kueue.read, kai=kai.read)


def _supply(asked: Asked, plan: Plan) -> Report | None:
    try:
        return compare(plan, nodes.read(asked.client))
    except nodes.Unreadable as error:
        asked.unread.append(f"what nodes there are is not known: {error}")
        return None
