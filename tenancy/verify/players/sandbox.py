"""What a check is played on: copies of the agreement's live objects, with names, namespaces and (simulated) nodes of their own.

`kueue`, `kai` and `kubevirt` have a sandbox each; `play` knows only this protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ...objects import identity
from ..checks.model import JobGroup
from ..evidence.model import Condition

RUN_LABEL = identity.RUN_LABEL  # on every object of a run, cluster-scoped ones and nodes too: the run's name
CHECK_LABEL = "tenancy.dev/verify-check"  # the sandbox's number in its run


class Phase(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"


@dataclass(frozen=True)
class JobState:
    """One job as the last look saw it. `told`: the scheduler has said why it waits (a job it has not looked at yet is silent)."""

    jobs: str
    """`Jobs.name` of the group that it is one of."""
    number: int
    phase: Phase
    told: tuple[Condition, ...] = ()
    stops: int = 0
    """How often it was stopped since it was submitted."""
    nodes: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    """KAI: the GPU of each pod that has a part of one."""
    stuck: str = ""
    """Why it does not run though the scheduler has given it all it asks for, in the cluster's words."""


class Refused(Exception):
    """The API server took a job not at all; the text is its message."""


class Sandbox(Protocol):
    """Open, used by one check from one thread, closed whatever happened."""

    def open(self) -> None:
        """Makes the copies and waits until they can be used. Raises NotRunnable where the cluster lacks what the check needs, and
        NotKept where the agreement's objects are not there or of no use."""

    def submit(self, jobs: JobGroup) -> None:
        """Raises Refused."""

    def remove(self, name: str) -> None:
        """Deletes the jobs of a group."""

    def look(self) -> Sequence[JobState]:
        """Every job that is there now, in an order that stays."""

    def usage(self) -> Mapping[str, int]:
        """What the status of each queue says it uses of the check's flavor, by the queue's name in the agreement."""

    def labels(self, node: str) -> Mapping[str, str]:
        """The labels of one of its nodes."""

    def close(self) -> None:
        """Removes everything; returns when no job of it counts any more."""


class NotRunnable(Exception):
    """A check cannot be run on this cluster; the text says why. It is reported as not run, never as held."""


class NotKept(Exception):
    """What keeps the promise is not on the cluster, or cannot work; the text says what. It is reported as broken."""
