"""What an agreement becomes in each scheduler: one row for each, from the scheduler's own module.

What the schedulers do differently stands in `kueue` and in `kai`, which have the same function names; who needs both goes
through the rows, and names neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..agreement.findings import Path
from ..agreement.plan import Plan
from . import kai, kueue
from .schedulers import PerScheduler, Scheduler

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SchedulerObjects:
    """How a scheduler's objects are made. `origins` gives each with the path in the agreement that makes it, `chart` those that
    the scheduler's own chart makes, `refusal` why there are no objects at all."""

    files: Callable[[Plan], Iterator[tuple[str, list[Object]]]]
    objects: Callable[[Plan], list[Object]]
    origins: Callable[[Plan], Iterator[tuple[Path, Object]]]
    chart: Callable[[], list[Object]]
    refusal: Callable[[Plan], str | None]


def _is_never_refused(plan: Plan) -> None:
    """Kueue takes every agreement."""


OBJECTS = PerScheduler(
    kueue=SchedulerObjects(kueue.files, kueue.objects, kueue.origins, list, _is_never_refused),
    kai=SchedulerObjects(kai.files, kai.objects, kai.origins, kai.chart, kai.refusal),
)


def refusals(plan: Plan) -> dict[Scheduler, str]:
    """The schedulers that get no objects for this agreement, each with the reason."""
    return {scheduler: why for scheduler in Scheduler if (why := OBJECTS[scheduler].refusal(plan))}
