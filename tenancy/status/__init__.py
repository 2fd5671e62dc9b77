"""After a change: what each team is promised of a flavor, what it has, and what needs attention; and why one job waits.

Two people ask. The on-call engineer asks which promise is violated, for whom and since when; that is `tenancy
status`. The owner of a job asks why it waits or why it was preempted, and when it starts; that is `tenancy why`.

Both work in two steps, and the line between them is strict. `reading` and `why.read` look at the cluster once and
return plain values. Everything else is computed from these values and from the plan, without a client. So a moment on
a real cluster can be recorded as a file and replayed as a test (tests/status/why has one such case for each reason
that we know).

- `model` has the types, `attention` sorts by what needs attention first.
- `terminal`, `data` and `prometheus` print them for a person, a program and a monitoring system.
- `why.table` lists every reason of Kueue and KAI that is known: where it is seen, how it is recognized, what it
  means, what would help. What no row knows is shown in the scheduler's own words.

One look proves no lateness: a promise is late only if a second look says so as well
(docs/decisions/0033-what-a-status-may-claim.md).

Public: `board`, the types beside it, `reading.look`, and `why.explain`.

Must not touch: `verify`, `lab`. It writes nothing to the cluster.
"""

from ..quota.lending import Loan, Use, lending, shared_out
from .attention import board
from .model import Attention, Eviction, FlavorStatus, Kind, Observed, Part, StatusReport, TeamStatus, Violation, Waiting

__all__ = [
    "Attention",
    "Eviction",
    "FlavorStatus",
    "Kind",
    "Loan",
    "Observed",
    "Part",
    "StatusReport",
    "TeamStatus",
    "Use",
    "Violation",
    "Waiting",
    "board",
    "lending",
    "shared_out",
]
