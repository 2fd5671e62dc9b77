"""What there is to know of a running cluster beside its agreement, in one look."""

from __future__ import annotations

from ...agreement.plan import Plan
from ...cluster import read_nodes as nodes
from ...cluster.clients import Client
from ...review.nodes import Report, compare
from .. import Seen
from . import kai, kueue
from .ask import Asked


def look(client: Client, plan: Plan, scheduler: str) -> Seen:
    """One look. Raises NotThere where the cluster does not hold the agreement, or does not let us read its queues; what else it does
    not let us read is in `Seen.unread`."""
    asked = Asked(client)
    reading = _READERS[scheduler](asked, plan)
    return Seen(
        scheduler=scheduler,
        at=asked.at,
        uses=reading.uses,
        waiting=reading.waiting,
        held_up=reading.held_up,
        evictions=reading.evictions,
        shorts=reading.shorts,
        supply=_supply(asked, plan),
        unread=tuple(asked.unread),
    )


_READERS = {"kueue": kueue.read, "kai": kai.read}


def _supply(asked: Asked, plan: Plan) -> Report | None:
    try:
        return compare(plan, nodes.read(asked.client))
    except nodes.Unreadable as error:
        asked.unread.append(f"what nodes there are is not known: {error}")
        return None
