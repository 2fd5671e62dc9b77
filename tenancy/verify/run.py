"""A run: many checks, played side by side, one scheduler after the other; and what it tells while it goes.

Whatever happens, every sandbox is closed before `verify` returns. A cluster that stops answering breaks no promise: its
checks are not run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event as Flag
from threading import Lock
from typing import Protocol

import httpx2
from lightkube import ApiError, Client

from ..agreement.plan import Plan
from ..cluster.listing import Unreadable
from .checks.model import Check, Scheduler
from .evidence.model import Event, Outcome, Run, Verdict
from .play import Clock, Interrupted, Silence, Timeouts, play
from .players.sandbox import Sandbox
from .timeline import Timeline

STOPPED = "the run was stopped before this check had a verdict"


class Stage(Protocol):
    """Where the checks of one scheduler are played."""

    at_once: int
    """How many checks side by side, where nobody says otherwise."""

    def sandbox(self, check: Check) -> Sandbox: ...

    def close(self) -> None:
        """Removes all that sandboxes have left for others; returns when nothing of the run is there."""


def stage(scheduler: Scheduler, client: Client, plan: Plan, name: str, clock: Clock) -> Stage:
    """A scheduler is a line here."""
    match scheduler:
        case Scheduler.KUEUE:
            from .players.kueue import KueueStage

            return KueueStage(client, plan, name, clock)
        case Scheduler.KAI:
            from .players.kai import KaiStage

            return KaiStage(client, plan, name, clock)
        case Scheduler.KUBEVIRT:
            from .players.kubevirt import KubeVirtStage

            return KubeVirtStage(client, plan, name, clock)


@dataclass(frozen=True)
class RunClock:
    """Seconds since the run began, until it is to stop."""

    began: float
    stop: Flag

    def now(self) -> float:
        return time.monotonic() - self.began

    def sleep(self, seconds: float) -> None:
        if self.stop.wait(seconds):
            raise Interrupted


@dataclass
class _Run:
    plan: Plan
    clock: RunClock
    tell: Callable[[Event], None]
    timeouts: Timeouts
    timeline: Timeline
    telling: Lock

    def check(self, check: Check, stage: Stage) -> Outcome:
        self.told(Event(check, self.clock.now()))
        outcome = self.played(check, stage)
        self.told(Event(check, self.clock.now(), len(outcome.steps), outcome))
        return outcome

    def played(self, check: Check, stage: Stage) -> Outcome:
        started = self.clock.now()
        try:
            if check.not_run:
                return self.not_run(check, check.not_run, started)
            try:
                return self.play(check, stage, heed_silence=False)
            except Silence:
                return self.play(check, stage, heed_silence=True)
        except Interrupted:
            return self.not_run(check, STOPPED, started)
        except Unreadable as error:
            return self.not_run(check, str(error), started)
        except ApiError as error:
            return self.not_run(check, f"the cluster refused: {error.status.message}", started)
        except httpx2.HTTPError as error:
            return self.not_run(check, f"the cluster does not answer: {error or type(error).__name__}", started)

    def play(self, check: Check, stage: Stage, heed_silence: bool) -> Outcome:
        """Silence is heeded the second time: Kueue writes once why a job waits that nothing could help, and where that write meets
        another one it is lost, without a word until something changes."""
        return play(
            check,
            stage.sandbox(check),
            self.clock,
            count=lambda flavor, amount: self.plan.flavor[flavor].count(amount),
            began=lambda step: self.told(Event(check, self.clock.now(), step)),
            timeline=self.timeline,
            timeouts=self.timeouts,
            heed_silence=heed_silence,
        )

    def not_run(self, check: Check, why: str, started: float) -> Outcome:
        return Outcome(check, Verdict.NOT_RUN, why, (), started, self.clock.now() - started)

    def told(self, event: Event) -> None:
        with self.telling:
            self.tell(event)


def verify(
    client: Client,
    plan: Plan,
    checks: Iterable[Check],
    *,
    name: str,
    tell: Callable[[Event], None] = lambda event: None,
    stop: Flag | None = None,
    at_once: int | None = None,
    timeouts: Timeouts | None = None,
    agreement: str = "",
    cluster: str = "",
) -> Run:
    """Plays the checks on the cluster. `name` is the run's: a DNS label, it is in the name of everything that is made.

    `tell` is called from one thread at a time. Once `stop` is set nothing is submitted any more, and the checks without a
    verdict are not run. `at_once` is how many checks are played side by side; None: as many as does each scheduler good.
    """
    checks = list(checks)
    stop = stop or Flag()
    began = datetime.now(UTC).isoformat(timespec="seconds")
    clock = RunClock(time.monotonic(), stop)
    run = _Run(plan, clock, tell, timeouts or Timeouts(), Timeline(), Lock())
    outcomes: dict[str, Outcome] = {}
    for scheduler in Scheduler:
        if mine := [check for check in checks if check.scheduler is scheduler]:
            result = stage(scheduler, client, plan, name, clock)
            try:
                outcomes |= _side_by_side(run, mine, result, at_once or result.at_once)
            finally:
                result.close()
    return Run(
        agreement=agreement,
        cluster=cluster,
        began=began,
        seconds=clock.now(),
        outcomes=tuple(outcomes[check.name] for check in checks),
        held=run.timeline.all(),
    )


def _side_by_side(run: _Run, checks: Sequence[Check], stage: Stage, at_once: int) -> dict[str, Outcome]:
    """Flavor by flavor, so that what is made for one is of use to the next; of each the largest first, so that none of them is
    left for the end."""

    def size(check: Check) -> int:
        return sum(jobs.count for step in check.steps for jobs in step.submit)

    flavors = list(dict.fromkeys(check.flavor for check in checks))
    largest = sorted(checks, key=lambda check: (flavors.index(check.flavor), -size(check)))
    with ThreadPoolExecutor(at_once) as pool:
        return {outcome.check.name: outcome for outcome in pool.map(lambda check: run.check(check, stage), largest)}
