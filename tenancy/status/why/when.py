"""When it starts: only what follows from what is known. Jobs say nothing of when they end, but for limits of their own."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from ...quota.availability import Bound
from ...text.counts import counted, some
from ...text.durations import within
from .admitted import Admitted
from .availability import JobAvailability
from .model import When
from .times import clock

NEVER = "It does not start as it is."
SECONDS = "in seconds"  # how long Kueue takes to stop a job and start another: measured by `tenancy verify`
SHOWN = 3


def when(
    now: datetime,
    availabilities: Sequence[JobAvailability],
    keys: AbstractSet[str],
    never: bool,
    before: Sequence[str],
    not_before: datetime | None = None,
) -> When | None:
    """`keys` are those of the reasons, `before` the jobs that wait before it, `not_before` when Kueue looks at it again."""
    if never or (availabilities and all(room.bound is Bound.MAXIMUM for room in availabilities)):
        return When(NEVER, NEVER, True)
    if not_before and not_before > now:
        return When(f"in {within(not_before - now)}, when Kueue puts it back into its queue", "no bound")
    if "making-room" in keys:
        return When(
            "as soon as the pods of the jobs that Kueue preempts for it are gone",
            "when the grace period of these pods is over",
        )
    if any(key.startswith("topology") for key in keys):
        return When(
            "as soon as jobs end, or are evicted, on nodes that together suit its pods",
            "no bound: what ends first may be somewhere else",
        )
    if not availabilities:
        return None
    best = min(availabilities, key=lambda room: room.missing)
    if best.bound is Bound.NOTHING:
        if "ratio" in keys:
            return When("when jobs that end leave it the CPU or memory that it asks for", "no bound")
        if "head" in keys:
            return When("as soon as the job before it starts, or is removed", "no bound")
        if keys - {"equal", "not-looked", "not-told", "not-again"}:
            return When("as soon as the problem above is fixed", "no bound")
        return When(
            f"now, by quota: Kueue looks at it again {SECONDS}",
            "no bound: it depends on nodes and other jobs of the queue too",
        )
    if best.preempted:
        jobs = counted(len(best.preempted), "job")
        return When(
            f"{SECONDS}: Kueue may preempt {jobs} of others for it",
            "no bound, if the nodes are not where its pods need them",
        )
    return _ends(now, best, before)


def _ends(now: datetime, room: JobAvailability, before: Sequence[str]) -> When:
    ending = room.frees()
    earliest = f"when jobs that end leave it {room.n(room.missing)}; none of them says when it ends"
    if any(held.ends for held in ending):
        earliest = f"when jobs that end leave it {room.n(room.missing)}, which may be any moment"
    if room.plan.sharing.policy == "fair":
        earliest += f", or when Kueue takes {room.team.name}'s share from others for it"
    if taken := room.bounded(ending):
        last = max(held.ends for held in taken if held.ends)
        also = (
            f", if {', '.join(before[:SHOWN])} before it and other teams leave it that"
            if before
            else ", if nobody who is before it takes that first"
        )
        left = within(last - now)
        return When(
            earliest, f"{clock(last)}, within {left}: the time limits of {_names(taken)} have passed then{also}"
        )
    unlimited = [held for held in ending if not held.ends]
    if not unlimited:
        return When(earliest, "no bound")
    return When(earliest, f"no bound: {_names(unlimited)} {'has' if len(unlimited) == 1 else 'have'} no time limit")


def _names(several: Sequence[Admitted]) -> str:
    return some([str(held.job) for held in several], SHOWN)
