from ...agreement.plan import Plan
from ...objects.schedulers import PerScheduler, Scheduler
from . import kai, kueue
from .find import NotFound, Wanted, find
from .model import Answer
from .snapshot import Snapshot
from .words import text

__all__ = ["ANSWERS", "Answer", "NotFound", "Snapshot", "Wanted", "explain", "text"]

ANSWERS = PerScheduler(kueue=kueue.answer, kai=kai.answer)


def explain(plan: Plan, snapshot: Snapshot, wanted: Wanted, scheduler: str) -> Answer:
    """Raises NotFound where there is no such job, or several."""
    return ANSWERS[Scheduler(scheduler)](plan, snapshot, find(snapshot, wanted))
