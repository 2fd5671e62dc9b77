"""Plays a check on a sandbox, step by step, and says what came of it. Knows no scheduler.

A step has come when everything that it expects is so at several looks in a row. Jobs that wait count only once the scheduler
has said why: silence is no answer, it may just not have looked yet. A promise is broken

- as soon as something is seen that can never be undone: more jobs stopped than may be;
- when the scheduler has come to rest elsewhere: nothing changes any more and every job that waits has been told why;
- when the step's time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..objects.schedulers import Place
from ..text.counts import counted
from ..text.quantity import bytes_text
from .checks.model import Check, JobGroup, Step
from .evidence.model import Condition, Outcome, StepSeen, Verdict
from .expect import Seen, faults
from .players.sandbox import JobState, NotKept, NotRunnable, Phase, Refused, Sandbox
from .timeline import Timeline

Count = Callable[[str, int], str]
"""Flavor and amount in words: `16 GPUs`."""


class Clock(Protocol):
    """Seconds since the run began. `sleep` may raise Stopped."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Interrupted(Exception):
    """The run is to end: nothing more is submitted."""


class Silence(Exception):
    """All is as it should be but for a word of the scheduler on why a job waits."""


@dataclass(frozen=True)
class Timeouts:
    """How long a step may take, in seconds. An idle machine of two cores takes a tenth of it."""

    step: float = 120.0
    job: float = 2.0
    """More for each job that is there."""
    every: float = 0.2
    steady: int = 4
    """Looks in a row."""
    usage: float = 3.0
    """For the queues' status to show what runs."""
    rest: float = 8.0
    """Without any change, every job told: what has not come by then does not come. On a machine that has taken longer for an
    earlier step of the check, so long."""


@dataclass
class Playing:
    """A check under way."""

    check: Check
    sandbox: Sandbox
    clock: Clock
    count: Count
    timeline: Timeline
    timeouts: Timeouts
    submitted: dict[str, JobGroup] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    slowest: float = 0.0
    """What the slowest step so far has taken."""
    refusals: list[Condition] = field(default_factory=list)
    """Of the step under way."""
    silent: bool = False
    """Nothing else was wrong with the last step."""

    def step(self, step: Step) -> tuple[StepSeen, str]:
        """What was seen, and what was not as it should be."""
        before = {(job_state.jobs, job_state.number): job_state.stops for job_state in self.look()}
        started = self.clock.now()
        if wrong := self.submit(step):
            return self.seen(step, Seen((), before), None), wrong
        came, wrong = self.wait(step, before, started)
        self.slowest = max(self.slowest, (came or started) - started)
        seen = Seen(tuple(self.look()), before)
        if not wrong and self.check.flavor:
            self.wait_for_usage(seen.states)
        return self.seen(step, seen, None if came is None else came - started), wrong

    def submit(self, step: Step) -> str:
        """Empty where the API server took what it should take and refused what it should refuse."""
        self.refusals.clear()
        for name in step.remove:
            self.sandbox.remove(name)
            self.removed.add(name)
        for jobs in step.submit:
            try:
                self.sandbox.submit(jobs)
            except Refused as refusal:
                self.refusals.append(Condition(jobs.name, "Refused", "", "", str(refusal)))
                if jobs.name not in step.refused:
                    return f"the API server refused {jobs.team}'s {jobs.name}: {refusal}"
                if (text := step.because.get(jobs.name, "")) not in str(refusal):
                    return f"the API server refused {jobs.team}'s {jobs.name}, and should have for {text!r}: {refusal}"
                continue
            if jobs.name in step.refused:
                return f"the API server took {jobs.team}'s {jobs.name}, which it should have refused"
            self.submitted[jobs.name] = jobs
        return ""

    def wait(self, step: Step, before: Mapping[tuple[str, int], int], started: float) -> tuple[float | None, str]:
        """When what is expected had come, or what is wrong."""
        timeouts = self.timeouts
        deadline = started + timeouts.step + step.longer + timeouts.job * sum(jobs.count for jobs in self.there())
        came, right, final = started, 0, 0
        last: Sequence[JobState] = ()
        changed = started
        while True:
            now = self.clock.now()
            states = self.look()
            if states != last:
                last, changed = states, now
            seen = Seen(tuple(states), before, self.sandbox.usage() if step.usage else {})
            found = list(faults(step, self.there(), seen, self.count, self.sandbox.labels))
            if not found:
                came = came if right else now
                right += 1
                if right == timeouts.steady:
                    return came, ""
            else:
                right = 0
                final = final + 1 if any(fault.final for fault in found) else 0
                rests = (
                    now - changed > max(timeouts.rest, self.slowest)
                    and all(map(_settled, states))
                    and len(states) == self.expected()
                )
                if final == timeouts.steady or rests or now > deadline:
                    self.silent = all(fault.silent for fault in found)
                    return None, "; ".join(entry.text for entry in sorted(found, key=lambda fault: not fault.final))
            self.clock.sleep(timeouts.every)

    def wait_for_usage(self, states: Sequence[JobState]) -> None:
        """A queue's status trails what runs by a moment. It is what people look at, so it is shown as it comes to be; no
        promise hangs on it."""
        until = self.clock.now() + self.timeouts.usage
        jobs = {jobs.name: jobs for jobs in self.there()}
        running = sum(
            jobs[job_state.jobs].each
            for job_state in states
            if job_state.phase is Phase.RUNNING and job_state.jobs in jobs
        )
        while sum(self.sandbox.usage().values()) != running and self.clock.now() < until:
            self.clock.sleep(self.timeouts.every)

    def there(self) -> list[JobGroup]:
        """What was submitted and not removed."""
        return [jobs for name, jobs in self.submitted.items() if name not in self.removed]

    def expected(self) -> int:
        return sum(jobs.count for jobs in self.there())

    def look(self) -> Sequence[JobState]:
        states = self.sandbox.look()
        holds: dict[tuple[str, str, str], int] = {}
        for state in states:
            jobs = self.submitted.get(state.jobs)
            if jobs and not jobs.machine and not jobs.only and state.phase is Phase.RUNNING:
                holder = (jobs.team, queue_name(jobs), jobs.flavor)
                holds[holder] = holds.get(holder, 0) + jobs.each
        self.timeline.see(self.check.name, self.clock.now(), holds)
        return states

    def seen(self, step: Step, seen: Seen, seconds: float | None) -> StepSeen:
        names = [jobs.name for jobs in self.there()]
        return StepSeen(
            says=step.says,
            submitted=tuple(map(self.in_words, step.submit)),
            seconds=seconds,
            running={name: len(seen.running(name)) for name in names},
            waiting={name: len(seen.waiting(name)) for name in names},
            stopped={name: stops for name in names if (stops := seen.stops(name))},
            conditions=(*self.refusals, *_conditions(seen.states)),
            usage=dict(self.sandbox.usage()),
            ended=self.clock.now(),
        )

    def in_words(self, jobs: JobGroup) -> str:
        if machine := jobs.machine:
            size = f"{counted(machine.vcpus, 'vCPU')} and {bytes_text(machine.memory)}"
            return f"{jobs.count} × {jobs.team}/{jobs.name}: machine of {size}{'' if machine.runs else ', stopped'}"
        each = f"{jobs.fraction} of a GPU" if jobs.fraction else self.count(jobs.flavor, jobs.units)
        each = f"the {jobs.only} of {each}" if jobs.only else each
        return f"{jobs.count} × {jobs.team}/{jobs.name}: {f'{jobs.pods} pods of ' if jobs.pods > 1 else ''}{each}"


def play(
    check: Check,
    sandbox: Sandbox,
    clock: Clock,
    *,
    count: Count,
    began: Callable[[int], None] = lambda step: None,
    timeline: Timeline | None = None,
    timeouts: Timeouts | None = None,
    heed_silence: bool = True,
) -> Outcome:
    """Opens the sandbox, plays the check, closes the sandbox whatever happens. `began` is told the number of each step (from 1)
    as it begins. Raises Stopped when the clock does, what the cluster's client raises, and Silence where that is all and it is
    not to be heeded."""
    started = clock.now()
    timeline = timeline or Timeline()
    playing = Playing(check, sandbox, clock, count, timeline, timeouts or Timeouts())
    steps: list[StepSeen] = []

    def outcome(verdict: Verdict, why: str = "") -> Outcome:
        return Outcome(check, verdict, why, tuple(steps), started, clock.now() - started)

    try:
        sandbox.open()
        for number, step in enumerate(check.steps, 1):
            clock.sleep(0)
            began(number)
            seen, wrong = playing.step(step)
            steps.append(seen)
            if wrong and playing.silent and not heed_silence:
                raise Silence(wrong)
            if wrong:
                return outcome(Verdict.BROKEN, f"{wrong}; look at {check.look_at}")
        return outcome(Verdict.HELD)
    except NotKept as finding:
        return outcome(Verdict.BROKEN, str(finding))
    except NotRunnable as lack:
        return outcome(Verdict.NOT_RUN, str(lack))
    finally:
        timeline.see(check.name, clock.now(), {})
        sandbox.close()


def queue_name(jobs: JobGroup) -> str:
    """The queue as a person calls it, whatever the scheduler: `research`, `research-prod`."""
    return jobs.team if jobs.place is Place.REGULAR else f"{jobs.team}-{jobs.place}"


def _settled(state: JobState) -> bool:
    return state.phase is Phase.RUNNING or bool(state.told or state.stuck)


def _conditions(states: Sequence[JobState]) -> Iterator[Condition]:
    """What the scheduler said; of equal words to jobs of one group the first."""
    said = set()
    for state in states:
        for condition in state.told:
            words = (state.jobs, condition.type, condition.status, condition.reason, condition.message)
            if words not in said:
                said.add(words)
                yield condition
