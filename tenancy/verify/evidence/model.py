"""What was seen of each check. Plain data: the table, JSON, JUnit XML and the HTML page are all made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..checks.model import Check


class Verdict(StrEnum):
    HELD = "held"
    BROKEN = "broken"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Condition:
    """What the scheduler said of a job: a condition or an event, with names in place of UIDs."""

    job: str
    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True)
class StepSeen:
    """One step as it went. `seconds` from submission until what was expected had come; None where it never came."""

    says: str
    submitted: tuple[str, ...]
    """`17 × research/others: 1 gpu`."""
    seconds: float | None
    running: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, int] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    """By queue of the sandbox, under the name it has in the agreement: what its status said it uses of the flavor, at last."""
    ended: float = 0.0
    """Seconds since the run began."""


@dataclass(frozen=True)
class UsageInterval:
    """A time during which a team's jobs held units of a flavor; seconds since the run began."""

    check: str
    team: str
    queue: str
    flavor: str
    units: int
    since: float
    until: float


@dataclass(frozen=True)
class Outcome:
    check: Check
    verdict: Verdict
    why: str
    """Broken: what was not as expected. Not run: why. Held: empty."""
    steps: tuple[StepSeen, ...]
    started: float
    """Seconds since the run began."""
    seconds: float


@dataclass(frozen=True)
class Run:
    """One `tenancy verify`."""

    agreement: str
    """The file, as it was named."""
    cluster: str
    """The context or lab, and the API server's address."""
    began: str
    """ISO 8601, UTC."""
    seconds: float
    outcomes: tuple[Outcome, ...]
    held: tuple[UsageInterval, ...] = ()
    stopped: str = ""
    """Why the run ended before its checks did: `Ctrl-C`. Checks that had no verdict by then are not run."""

    @property
    def kept(self) -> bool:
        """Whether the run came to its end, no promise was seen broken, and some was seen held."""
        verdicts = {outcome.verdict for outcome in self.outcomes}
        return not self.stopped and Verdict.BROKEN not in verdicts and Verdict.HELD in verdicts


@dataclass(frozen=True)
class Event:
    """What a run tells while it goes: a check began (step 0: its sandbox is being made), took its step of that number, or
    ended with an outcome."""

    check: Check
    seconds: float
    """Since the run began."""
    step: int = 0
    outcome: Outcome | None = None
