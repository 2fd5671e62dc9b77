"""Two agreements compared: what changes for whom, who pays, what becomes impossible, and what it does to a cluster.

`numbers`, `balance`, `gangs`, `facts`, `fidelity_changes` and `objects` each find one part of a `Difference`; `live_impact` holds it against what
runs; `report` says it in words, which `text` and `markdown` set, and `data` as plain data.
"""

from __future__ import annotations

from collections.abc import Collection

from ...agreement.plan import Plan
from ...objects.access import Namespaces
from ...objects.schedulers import Scheduler
from ...quota.jobs import Job
from .balance import Balance, Party, Side, balances
from .facts import Fact, facts
from .fidelity_changes import fidelity_changes
from .gangs import Gang, Limit, LostLevel, lost_levels, smaller
from .live_impact import Above, Ask, LiveImpact, live_impact
from .model import Difference, FidelityChange
from .numbers import Numbers, Row, rows
from .objects import Action, ObjectChange, object_changes

__all__ = [
    "Above",
    "Action",
    "Ask",
    "Balance",
    "Difference",
    "Fact",
    "FidelityChange",
    "Gang",
    "Job",
    "Limit",
    "LiveImpact",
    "LostLevel",
    "Numbers",
    "ObjectChange",
    "Party",
    "Row",
    "Side",
    "compare",
    "live_impact",
]

ALL = (Scheduler.KUEUE, Scheduler.KAI)


def compare(
    old: Plan, new: Plan, schedulers: Collection[Scheduler] = ALL, namespaces: Namespaces = Namespaces.LISTED
) -> Difference:
    """What changes from one agreement to the other, for these schedulers."""
    return Difference(
        old=old,
        new=new,
        rows=tuple(rows(old, new)),
        balances=tuple(balances(old, new)),
        gangs=tuple(smaller(old, new, schedulers)),
        lost_levels=tuple(lost_levels(old, new)),
        facts=tuple(facts(old, new)),
        kept=tuple(fidelity_changes(old, new, schedulers)),
        objects=object_changes(old, new, schedulers, namespaces),
    )
