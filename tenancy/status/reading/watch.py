"""Looks at a cluster, one after the other, each judged beside the one before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from ...agreement.plan import Plan
from ...cluster.clients import Client
from ...cluster.listing import NotThere
from .. import StatusReport, board
from . import look

SECOND_LOOK = 3.0  # seconds; Kueue admits a job that fits within one, KAI schedules every second


def now(client: Client, plan: Plan, scheduler: str, reclaim: timedelta) -> StatusReport:
    """One board. Where jobs within a guarantee wait, a second look tells a wait from the moment before a start. Raises NotThere."""
    first = board(plan, look(client, plan, scheduler), reclaim=reclaim)
    if not (owed := _owed(first)):
        return first
    time.sleep(SECOND_LOOK)
    return board(plan, look(client, plan, scheduler), reclaim=reclaim, before=owed)


def boards(
    client: Client, plan: Plan, scheduler: str, reclaim: timedelta, sleep: Callable[[], None]
) -> Iterator[StatusReport | str]:
    """A board, `sleep()`, and so on without an end; a sentence where the cluster does not say. The first board is a quick one:
    that something is late it says only later."""
    owed: set[str] | None = None
    while True:
        try:
            result = board(plan, look(client, plan, scheduler), reclaim=reclaim, before=owed)
            owed = _owed(result)
            yield result
        except NotThere as error:
            yield str(error)
        sleep()


def _owed(board: StatusReport) -> set[str]:
    return {job.name for standing in board.statuses for job in standing.owed}
