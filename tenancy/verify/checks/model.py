"""A check: what is submitted in which order, and what must come of it if one promise is kept. Plain data, for any scheduler.

A check is played on a *sandbox*: copies of the agreement's objects as they are on the cluster, in a tree and in namespaces of
their own, on nodes of their own where nodes are simulated. So checks run side by side, and none is in a user's way.

Every number in a check comes from the plan and from the tree that Kueue builds of it (`quota`), never from the objects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from ...objects.schedulers import PerScheduler, Place

T = TypeVar("T")


class Scheduler(StrEnum):
    KUEUE = "kueue"
    KAI = "kai"
    KUBEVIRT = "kubevirt"


@dataclass(frozen=True, slots=True)
class WithKubeVirt(PerScheduler[T]):
    """One value for each scheduler, and one for KubeVirt, whose machines have checks too."""

    kubevirt: T

    def __getitem__(self, scheduler: StrEnum) -> T:
        value: T = getattr(self, scheduler.value)
        return value


@dataclass(frozen=True)
class Machine:
    """KubeVirt: a virtual machine, in place of a job's pods."""

    vcpus: int
    memory: int
    """Of its guest, in bytes."""
    runs: bool = True
    """False: it is there, and stopped."""
    boots: bool = False
    """It runs once its guest does; else as soon as it has a pod, which holds quota from then on."""


@dataclass(frozen=True)
class JobGroup:
    """Equal jobs, submitted at once to one queue.

    `units` is what each of a job's pods asks of the flavor. A job of several pods starts whole or not at all."""

    name: str
    """Unique in its check, a DNS label: `others`, `owner-prod`."""
    team: str
    flavor: str
    count: int
    units: int = 1
    pods: int = 1
    place: Place = Place.REGULAR
    priority: int | None = None
    """The value its priority has beside others of the check; None: as the queue gives."""
    level: str = ""
    """A level of the flavor's topology (a node label) whose one domain must hold all its pods."""
    preemptible: bool = True
    """KAI: False is a priority class of 100 or more."""
    fraction: str = ""
    """KAI: a part of one GPU for each pod, as text: `0.5`."""
    only: str = ""
    """Kueue: `cpu` or `memory` where it asks for that alone, as much as goes with the units."""
    namespace_of: str = ""
    """The team whose namespace it is submitted in, where that is not its own."""
    machine: Machine | None = None
    """KubeVirt: `count` such machines. They are of no flavor and no queue."""

    @property
    def each(self) -> int:
        """Units of one job."""
        return self.units * self.pods


@dataclass(frozen=True)
class Step:
    """Something is submitted or removed; then what is expected must come, and stay.

    `running` says of every `Jobs.name` of the check so far how many of its jobs run (all their pods do); the rest of them must
    wait, each told why by the scheduler. `stopped` is how many of a name's jobs were ever stopped since the step began, exactly;
    of names that are left out: none. A job that is stopped and started again counts.

    `refused` are names that the API server must not take at all."""

    says: str
    """A sentence a person reads: `research submits 17 jobs of 1 GPU; it can reach 16.`"""
    submit: tuple[JobGroup, ...] = ()
    remove: tuple[str, ...] = ()
    running: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, int] = field(default_factory=dict)
    most_stopped: Mapping[str, int] = field(default_factory=dict)
    """In place of `stopped` where the scheduler may stop fewer: at most so many."""
    refused: tuple[str, ...] = ()
    because: Mapping[str, str] = field(default_factory=dict)
    """By name of jobs that wait or were stopped: a text that must stand in the reason or message the scheduler gives. Of jobs that
    are refused: in the API server's message."""
    together: Mapping[str, str] = field(default_factory=dict)
    """By name: the node label of which all nodes of each of its jobs must have one value."""
    apart: tuple[str, ...] = ()
    """KAI fractions: names whose pods must not all share one GPU."""
    usage: Mapping[str, Collection[int]] = field(default_factory=dict)
    """What the cluster must count, one of these: by what `Replica.usage` calls it."""
    longer: float = 0.0
    """Seconds that it may take beyond what any step may."""


@dataclass(frozen=True)
class Check:
    """One promise, and how it is proved. `units` is the most that its jobs may hold of the flavor at once, so that whoever
    runs several knows what they need."""

    scheduler: Scheduler
    kind: str
    """A key of `kinds.KINDS`."""
    team: str
    flavor: str
    promise: str
    """The promise in a sentence, with its numbers: `training is guaranteed 16 GPUs while all others ask for all they can`."""
    steps: tuple[Step, ...]
    look_at: str
    """The object that keeps it: `clusterqueue/training`."""
    not_run: str = ""
    """Why it cannot be run where the plan alone says so: shown, never passed."""

    @property
    def name(self) -> str:
        """Unique in an agreement: `kueue/guarantee/training/gpu`."""
        return "/".join(part for part in (self.scheduler, self.kind, self.team, self.flavor) if part)
