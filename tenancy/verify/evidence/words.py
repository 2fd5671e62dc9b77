"""Words that every form of a run uses: sums, amounts, what a scheduler said of several jobs at once.

Names and messages come from other people's objects and may hold anything; `plain` leaves nothing in them that is no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...text.counts import counted, some
from ...text.durations import measured
from ...text.plain import plain
from .model import Condition, Outcome, Run, StepSeen, Verdict

MOST_JOBS = 3  # named where several were told the same


@dataclass(frozen=True)
class Said:
    """One thing that the scheduler said of some jobs."""

    jobs: tuple[str, ...]
    condition: Condition

    @property
    def who(self) -> str:
        return some(self.jobs, MOST_JOBS)

    @property
    def what(self) -> str:
        """`QuotaReserved=False, Pending: couldn't assign flavors …`."""
        condition = self.condition
        state = f"{condition.type}={condition.status}" if condition.status else condition.type
        return ": ".join(
            part for part in (", ".join(filter(None, (state, condition.reason))), condition.message) if part
        )


def counts(outcomes: Iterable[Outcome]) -> dict[Verdict, int]:
    """How many of each verdict; zeros too."""
    found = Counter(outcome.verdict for outcome in outcomes)
    return {verdict: found[verdict] for verdict in Verdict}


def summary(run: Run) -> str:
    """`41 promises: 39 held, 0 broken, 2 not run; 1m14s.`"""
    found = counts(run.outcomes)
    total = len(run.outcomes)
    told = ", ".join(f"{count} {verdict}" for verdict, count in found.items())
    stopped = f" Stopped before its end: {plain(run.stopped)}." if run.stopped else ""
    return f"{counted(total, 'promise')}: {told}; {measured(run.seconds)}.{stopped}"


def amounts(numbers: Mapping[str, int]) -> str:
    """`training 16, others 8`."""
    return ", ".join(f"{plain(name)} {number}" for name, number in numbers.items())


def said(conditions: Iterable[Condition]) -> list[Said]:
    """Conditions with the jobs that were told the same put together, in the order they were first said."""
    jobs: dict[tuple[str, str, str, str], list[str]] = {}
    for condition in conditions:
        jobs.setdefault((condition.type, condition.status, condition.reason, condition.message), []).append(
            plain(condition.job)
        )
    return [Said(tuple(names), Condition("", *map(plain, key))) for key, names in jobs.items()]


def facts(step: StepSeen) -> dict[str, str]:
    """What was seen of a step, by what it is: only what there is."""
    named = {
        "submitted": ", ".join(map(plain, step.submitted)),
        "came after": measured(step.seconds),
        "running": amounts(step.running),
        "waiting": amounts(_some(step.waiting)),
        "stopped": amounts(_some(step.stopped)),
        "usage in status": amounts(_some(step.usage)),
    }
    return {name: text for name, text in named.items() if text}


def _some(numbers: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in numbers.items() if number}


def story(outcome: Outcome) -> list[str]:
    """An outcome as lines for people: why, then each step with what was submitted and seen, then the object to look at."""
    lines = [plain(outcome.why)] if outcome.why else []
    for number, step in enumerate(outcome.steps, start=1):
        lines.append(f"{number}. {plain(step.says)}")
        lines += [f"   {name}: {text}" for name, text in facts(step).items()]
        lines += [f"   {one.who}: {one.what}" for one in said(step.conditions)]
    return [*lines, f"look at: {plain(outcome.check.look_at)}"]


def narration(outcome: Outcome) -> list[str]:
    """What happened in a check, a line for each step: how long it took, what it was, how many GPUs each queue then used."""
    lines = []
    for step in outcome.steps:
        used = amounts(_some(step.usage))
        lines.append(f"{measured(step.seconds):>7}  {plain(step.says)}" + (f" In use: {used}." if used else ""))
    return lines
