"""What is said of a job: the answer's parts, for a program as for a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OUTSIDE = "outside"  # no scheduler of the agreement looks at it
    WAITING = "waiting"
    STOPPED = "stopped"  # it had started, and waits again
    STOPPING = "stopping"
    STARTING = "starting"  # it holds its quota, and not all its pods run
    RUNNING = "running"
    HELD = "held"  # switched off: nobody looks at it until that is undone
    FINISHED = "finished"


@dataclass(frozen=True)
class Reason:
    """`key` is stable, for programs; `help` is what would let it start, where there is something to do."""

    key: str
    text: str
    help: str = ""


@dataclass(frozen=True)
class Holder:
    """A team that has units of a flavor in use."""

    team: str
    flavor: str
    used: int
    text: str


@dataclass(frozen=True)
class Said:
    """A scheduler's own words, with names for UIDs. `by` is who says it, `where` the condition or event."""

    by: str
    where: str
    reason: str
    message: str


@dataclass(frozen=True)
class When:
    """What is known of when it starts. Both are sentences; `never` where it cannot as it is."""

    earliest: str
    latest: str
    never: bool = False


@dataclass(frozen=True)
class Answer:
    job: str
    kind: str
    scheduler: str
    state: State
    headline: str
    asks: str = ""
    queue: str = ""
    reasons: tuple[Reason, ...] = ()
    holders: tuple[Holder, ...] = ()
    reclaim: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    when: When | None = None
    history: tuple[str, ...] = ()
    """Of a job that was stopped: who took its place, by which promise, the latest first."""
    said: tuple[Said, ...] = ()
    unseen: str = ""
    """What was not read, and so is not said."""
