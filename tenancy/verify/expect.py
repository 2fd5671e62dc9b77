"""What of a step's expectations is not so, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..text.counts import counted
from .checks.model import JobGroup, Step
from .players.sandbox import JobState, Phase


@dataclass(frozen=True)
class Fault:
    """One thing that is not as expected. `final`: it can never come right. `silent`: all that lacks is a word of the scheduler."""

    text: str
    final: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Seen:
    """A look. `before`: how often each job had been stopped when the step began."""

    states: tuple[JobState, ...]
    before: Mapping[tuple[str, int], int]
    usage: Mapping[str, int] = field(default_factory=dict)

    def of(self, name: str) -> list[JobState]:
        return [job_state for job_state in self.states if job_state.jobs == name]

    def running(self, name: str) -> list[JobState]:
        return [job_state for job_state in self.of(name) if job_state.phase is Phase.RUNNING]

    def waiting(self, name: str) -> list[JobState]:
        return [job_state for job_state in self.of(name) if job_state.phase is Phase.WAITING]

    def stopped(self, name: str) -> list[JobState]:
        """Jobs that were stopped since the step began."""
        return [
            job_state for job_state in self.of(name) if job_state.stops > self.before.get((name, job_state.number), 0)
        ]

    def stops(self, name: str) -> int:
        return sum(job_state.stops - self.before.get((name, job_state.number), 0) for job_state in self.stopped(name))


def faults(
    step: Step,
    jobs: Sequence[JobGroup],
    seen: Seen,
    count: Callable[[str, int], str],
    labels: Callable[[str], Mapping[str, str]],
) -> Iterator[Fault]:
    """`jobs` are those that should be there; `count` says an amount of a flavor in words."""
    teams = [job.team for job in jobs]
    for entry in jobs:
        who = entry.team if teams.count(entry.team) == 1 else f"{entry.team}'s {entry.name}"
        yield from _of_group(step, entry, seen, who, count)
        if label := step.together.get(entry.name):
            yield from _together(entry, seen, label, labels)
    names = {job.name for job in jobs}
    if left := sorted({job_state.jobs for job_state in seen.states} - names):
        yield Fault(f"jobs that were removed are still there: {', '.join(left)}")
    for name, right in step.usage.items():
        if (counted := seen.usage.get(name)) not in right:
            yield Fault(f"{name} is counted as {counted}, and should be as {' or '.join(map(str, right))}")
    if (
        step.apart
        and len(gpus := {gpu for name in step.apart for job_state in seen.of(name) for gpu in job_state.gpus}) < 2
    ):
        yield Fault(f"{', '.join(step.apart)} should not all share one GPU, and are on {', '.join(gpus) or 'none'}")


def _of_group(step: Step, jobs: JobGroup, seen: Seen, who: str, count: Callable[[str, int], str]) -> Iterator[Fault]:
    def amount(number: int) -> str:
        if jobs.machine or jobs.fraction:
            return counted(number, "machine" if jobs.machine else "job")
        return count(jobs.flavor, number * jobs.each)

    name, on = jobs.name, "" if jobs.machine else "on "
    running, wanted = len(seen.running(name)), step.running.get(name, 0)
    if missing := jobs.count - len(seen.of(name)):
        yield Fault(f"{missing} of {jobs.count} jobs of {who} are not known to the scheduler")
    if running > wanted:
        yield Fault(f"{who} runs {on}{amount(running)}, and {amount(wanted)} is the most it should")
    elif running < wanted:
        yield Fault(f"{who} runs {on}{amount(running)}, and should {on}{amount(wanted)}{_said(seen.waiting(name))}")
    if stuck := [job_state for job_state in seen.waiting(name) if job_state.stuck]:
        yield Fault(f"{len(stuck)} jobs of {who} have all they ask for and do not run: {stuck[0].stuck}")
    if silent := [job_state for job_state in seen.waiting(name) if not job_state.told and not job_state.stuck]:
        yield Fault(f"{len(silent)} jobs of {who} wait, and the scheduler has not said why", silent=True)
    yield from _stops(step, jobs, seen, who)
    if text := step.because.get(name):
        for entry in seen.stopped(name) or seen.waiting(name):
            if not any(text in f"{said.reason} {said.message}" for said in entry.told):
                said = "; ".join(f"{told.reason}: {told.message}" for told in entry.told) or "nothing"
                lacking = (
                    f"of {name} {entry.number} of {entry.jobs} {text!r} should be said, and what is said is: {said}"
                )
                yield Fault(lacking, silent=not entry.told)
                break


def _stops(step: Step, jobs: JobGroup, seen: Seen, who: str) -> Iterator[Fault]:
    stops, most = seen.stops(jobs.name), step.most_stopped.get(jobs.name)
    wanted = step.stopped.get(jobs.name, 0) if most is None else most
    if stops > wanted:
        may = f"{wanted} at most" if wanted else "none"
        yield Fault(f"{stops} jobs of {who} were stopped, where {may} should be{_said(seen.stopped(jobs.name))}", True)
    elif most is None and stops < wanted:
        yield Fault(f"{stops} jobs of {who} were stopped, where {wanted} should be")


def _together(jobs: JobGroup, seen: Seen, label: str, labels: Callable[[str], Mapping[str, str]]) -> Iterator[Fault]:
    for job_state in seen.running(jobs.name):
        if len(domains := sorted({labels(node).get(label, "") for node in job_state.nodes})) > 1:
            yield Fault(
                f"{jobs.team}'s {jobs.name} {job_state.number} is on several {label}: {', '.join(domains)}", True
            )


def _said(states: Sequence[JobState]) -> str:
    """The first words of the scheduler to one of them."""
    said = next((told.message or told.reason for job_state in states for told in job_state.told), "")
    return f" ({said})" if said else ""
