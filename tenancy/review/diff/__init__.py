"""Two agreements compared: what changes for whom, who pays, what becomes impossible, and what it does to a cluster.

`numbers`, `balance`, `gangs`, `facts`, `kept` and `objects` each find one part of a `Difference`; `standing` holds it against what
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
from .gangs import Gang, Limit, LostLevel, lost_levels, smaller
from .kept import kept
from .live_impact import Above, Ask, Standing, standing
from .model import Difference, Kept
from .numbers import Numbers, Row, rows
from .objects import Fate, ObjectChange, object_changes

__all__ = [
    "Above",
    "Ask",
    "Balance",
    "Difference",
    "Fact",
    "Fate",
    "Gang",
    "Job",
    "Kept",
    "Limit",
    "LostLevel",
    "Numbers",
    "ObjectChange",
    "Party",
    "Row",
    "Side",
    "Standing",
    "compare",
    "standing",
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
        kept=tuple(kept(old, new, schedulers)),
        objects=object_changes(old, new, schedulers, namespaces),
    )
