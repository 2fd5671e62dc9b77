"""`play` on a sandbox that follows a script: what is believed, what is a broken promise, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tenancy.verify.checks.model import Check, JobGroup, Machine, Scheduler, Step
from tenancy.verify.evidence.model import Condition, Outcome, Verdict
from tenancy.verify.play import Interrupted, Silence, Timeouts, play
from tenancy.verify.players.sandbox import JobState, NotKept, NotRunnable, Phase, Refused
from tenancy.verify.timeline import Timeline

PATIENCE = Timeouts()
SAID = (Condition("a-0", "QuotaReserved", "False", "Pending", "no quota is left"),)
JOBS = JobGroup("a", "research", "gpu", count=3, units=2)
STEP = Step("research submits 3 jobs; it can reach 4.", submit=(JOBS,), running={"a": 2}, because={"a": "no quota"})

Script = Sequence[Sequence[JobState]]


def states(running: int, waiting: int = 0, *, name: str = "a", told: bool = True, stops: int = 0) -> list[JobState]:
    """So many jobs of a group; `stops` of them were stopped once, the last ones."""
    every = running + waiting
    return [
        JobState(
            name,
            number,
            Phase.RUNNING if number < running else Phase.WAITING,
            SAID if number >= running and told else (),
            int(number >= every - stops),
            ("node-0",),
        )
        for number in range(every)
    ]


@dataclass
class Time:
    seconds: float = 0.0
    ends: float = float("inf")

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        if self.seconds > self.ends:
            raise Interrupted


@dataclass
class Scripted:
    """Shows one look after the other, and the last one for ever. The first look of a step is what was there before it."""

    script: Script
    refuses: str = ""
    opens: Exception | None = None
    zones: Mapping[str, str] = field(default_factory=dict)
    shown: int = 0
    submitted: list[str] = field(default_factory=list)
    closed: int = 0

    def open(self) -> None:
        if self.opens:
            raise self.opens

    def submit(self, jobs: JobGroup) -> None:
        if jobs.name == self.refuses:
            raise Refused("admission denied")
        self.submitted.append(jobs.name)

    def remove(self, name: str) -> None:
        self.submitted.remove(name)

    def look(self) -> Sequence[JobState]:
        if not self.submitted:
            return ()
        seen = self.script[min(self.shown, len(self.script) - 1)]
        self.shown += 1
        return seen

    def usage(self) -> Mapping[str, int]:
        return {"research": 4}

    def labels(self, node: str) -> Mapping[str, str]:
        return {"zone": self.zones.get(node, "one")}

    def close(self) -> None:
        self.closed += 1


def played(
    script: Script,
    *steps: Step,
    sandbox: Scripted | None = None,
    clock: Time | None = None,
    held: Timeline | None = None,
    flavor: str = "gpu",
) -> tuple[Outcome, Time]:
    clock = clock or Time()
    sandbox = sandbox or Scripted(script)
    check = Check(Scheduler.KUEUE, "reach", "research", flavor, "…", steps or (STEP,), "clusterqueue/research")
    try:
        return play(check, sandbox, clock, count=lambda flavor, n: f"{n} GPUs", timeline=held), clock
    finally:
        assert sandbox.closed == 1


def test_held_once_it_has_come_and_stays() -> None:
    """Two looks too early, one that shows it and is gone, and then for good: the seconds are those of the last."""
    late = [states(0, 3, told=False), states(1, 2)]
    outcome, clock = played([*late, states(2, 1), states(1, 2), states(2, 1)])
    (step,) = outcome.steps
    assert outcome.verdict is Verdict.HELD and not outcome.why
    assert step.seconds == pytest.approx(4 * PATIENCE.every)
    assert clock.now() == pytest.approx((4 + PATIENCE.steady - 1) * PATIENCE.every)
    assert (step.running, step.waiting, step.stopped) == ({"a": 2}, {"a": 1}, {})
    assert step.submitted == ("3 × research/a: 2 GPUs",)
    assert [condition.message for condition in step.conditions] == ["no quota is left"]
    assert step.usage == {"research": 4}


def test_silence_is_no_answer() -> None:
    """The right number runs, and the scheduler has not said why the last one waits: broken only when time is over."""
    outcome, clock = played([states(2, 1, told=False)])
    assert outcome.verdict is Verdict.BROKEN
    assert "1 jobs of research wait, and the scheduler has not said why" in outcome.why
    assert clock.now() > PATIENCE.step


@pytest.mark.parametrize("running", [2, 1])
def test_silence_alone_may_be_asked_about_again(running: int) -> None:
    """Where nothing else is wrong; a wrong number is broken the first time."""
    check = Check(Scheduler.KUEUE, "reach", "research", "gpu", "16", (STEP,), "clusterqueue/research")
    sandbox = Scripted([states(running, 3 - running, told=False)])

    def asked(heed_silence: bool) -> Outcome:
        return play(check, sandbox, Time(), count=lambda flavor, n: f"{n} GPUs", heed_silence=heed_silence)

    if running == 2:
        with pytest.raises(Silence, match="has not said why"):
            asked(heed_silence=False)
    else:
        assert asked(heed_silence=False).verdict is Verdict.BROKEN
    assert sandbox.closed == 1


@pytest.mark.parametrize(
    ("at_rest", "why"),
    [
        (states(3), "research runs on 6 GPUs, and 4 GPUs is the most it should; look at clusterqueue/research"),
        (
            states(1, 2),
            "research runs on 2 GPUs, and should on 4 GPUs (no quota is left); look at clusterqueue/research",
        ),
    ],
)
def test_broken_as_soon_as_the_scheduler_rests_elsewhere(at_rest: list[JobState], why: str) -> None:
    outcome, clock = played([states(0, 3, told=False), at_rest])
    assert outcome.verdict is Verdict.BROKEN and outcome.why == why
    assert outcome.steps[0].seconds is None
    assert clock.now() < PATIENCE.rest + 3 * PATIENCE.every


def test_a_scheduler_that_still_changes_something_is_waited_for() -> None:
    """Longer than it may rest, but never the same for so long."""
    looks = int(PATIENCE.rest / PATIENCE.every) - 1
    slow = [entry for running in (0, 1) for entry in [states(running, 3 - running)] * looks]
    outcome, clock = played([*slow, states(2, 1)])
    assert outcome.verdict is Verdict.HELD
    assert clock.now() > PATIENCE.rest


def test_a_slow_machine_may_rest_as_long_as_it_has_taken_before() -> None:
    """The second step's only change comes after more than the usual rest, and less than the first step took."""
    looks = int(PATIENCE.rest * 2 / PATIENCE.every)
    first = [states(0, 3, told=False)] * looks + [states(2, 1)] * (PATIENCE.steady + 1)
    second = Step("it goes on", running={"a": 3})
    outcome, _ = played([*first, *[states(2, 1)] * (looks - 10), states(3)], STEP, second)
    assert outcome.verdict is Verdict.HELD
    outcome, _ = played([*[states(2, 1)] * looks, states(3)], STEP, second)
    assert outcome.verdict is Verdict.BROKEN


def test_a_job_that_must_not_be_stopped_breaks_it_at_once() -> None:
    """Also where it runs again."""
    outcome, clock = played(
        [states(2, 1), [replace(job_state, stops=job_state.number == 0) for job_state in states(2, 1)]]
    )
    assert outcome.verdict is Verdict.BROKEN
    assert outcome.why.startswith("1 jobs of research were stopped, where none should be")
    assert clock.now() < 2 * PATIENCE.steady * PATIENCE.every


COMES = Step("the owner comes.", running={"a": 1}, stopped={"a": 1})


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        (COMES, Verdict.HELD),
        (replace(COMES, stopped={}), Verdict.BROKEN),
        (replace(COMES, stopped={"a": 2}), Verdict.BROKEN),
        (replace(COMES, stopped={}, most_stopped={"a": 1}), Verdict.HELD),
        (replace(COMES, stopped={}, most_stopped={"a": 2}), Verdict.HELD),
        (replace(COMES, stopped={}, most_stopped={"a": 0}), Verdict.BROKEN),
    ],
)
def test_stops_are_counted_from_the_step_on(second: Step, verdict: Verdict) -> None:
    """One had been stopped in the first step already, where that was expected."""
    first = replace(STEP, stopped={"a": 1})
    once = [replace(job_state, stops=int(job_state.number == 2)) for job_state in states(2, 1)]
    again = [replace(job_state, stops=int(job_state.number > 0)) for job_state in states(1, 2)]
    outcome, _ = played([*[once] * (PATIENCE.steady + 2), again], first, second)
    assert outcome.verdict is verdict
    assert len(outcome.steps) == 2


def test_the_reason_counts() -> None:
    outcome, _ = played([states(2, 1)], replace(STEP, because={"a": "topology"}))
    assert outcome.verdict is Verdict.BROKEN
    assert "'topology' should be said" in outcome.why and "no quota is left" in outcome.why


def test_of_jobs_that_were_stopped_the_reason_for_that_counts() -> None:
    """The one that waited before has another."""
    preempted = Condition("a-1", "Preempted", "True", "InCohortReclamation", "preempted")
    after = [
        replace(job_state, stops=1, told=(*SAID, preempted)) if job_state.number == 1 else job_state
        for job_state in states(1, 2)
    ]
    step = replace(COMES, because={"a": "InCohortReclamation"})
    outcome, _ = played([*[states(2, 1)] * (PATIENCE.steady + 2), after], STEP, step)
    assert outcome.verdict is Verdict.HELD


def test_a_gang_on_nodes_of_two_domains() -> None:
    gang = replace(JOBS, count=1, pods=2)
    step = Step("a gang", submit=(gang,), running={"a": 1}, together={"a": "zone"})
    there = [JobState("a", 0, Phase.RUNNING, nodes=("node-0", "node-1"))]
    assert played([there], step)[0].verdict is Verdict.HELD
    outcome, _ = played([there], step, sandbox=Scripted([there], zones={"node-1": "two"}))
    assert outcome.verdict is Verdict.BROKEN and "is on several zone: one, two" in outcome.why


def test_parts_of_gpus_that_should_not_all_be_on_one() -> None:
    step = Step("three halves", submit=(JOBS,), running={"a": 3}, apart=("a",))
    on_one = [replace(job_state, gpus=("g0",)) for job_state in states(3)]
    on_two = [replace(job_state, gpus=(f"g{job_state.number // 2}",)) for job_state in states(3)]
    assert played([on_two], step)[0].verdict is Verdict.HELD
    assert "should not all share one GPU" in played([on_one], step)[0].why


def test_removed_jobs_must_be_gone() -> None:
    more = replace(JOBS, name="b", count=1)
    first = Step("both", submit=(JOBS, more), running={"a": 3, "b": 1})
    second = Step("b ends", remove=("b",), running={"a": 3})
    both = [*states(3), *states(1, name="b")]
    outcome, _ = played([*[both] * (PATIENCE.steady + 4), states(3)], first, second)
    assert outcome.verdict is Verdict.HELD
    outcome, _ = played([both], first, second)
    assert outcome.verdict is Verdict.BROKEN and "jobs that were removed are still there: b" in outcome.why


@pytest.mark.parametrize(
    ("refuses", "refused", "verdict", "why"),
    [
        ("a", ("a",), Verdict.HELD, ""),
        ("a", (), Verdict.BROKEN, "the API server refused research's a: admission denied"),
        ("", ("a",), Verdict.BROKEN, "the API server took research's a, which it should have refused"),
    ],
)
def test_what_the_api_server_must_refuse(refuses: str, refused: tuple[str, ...], verdict: Verdict, why: str) -> None:
    step = replace(STEP, refused=refused, running={}, because={})
    outcome, _ = played([], step, sandbox=Scripted([[]], refuses=refuses))
    assert outcome.verdict is verdict and outcome.why.startswith(why)


def test_a_refusal_for_another_reason_is_none() -> None:
    step = replace(STEP, refused=("a",), running={}, because={"a": "exceeded quota"})
    outcome, _ = played([], step, sandbox=Scripted([[]], refuses="a"))
    assert outcome.verdict is Verdict.BROKEN and "should have for 'exceeded quota': admission denied" in outcome.why
    assert [(condition.job, condition.type, condition.message) for condition in outcome.steps[0].conditions] == [
        ("a", "Refused", "admission denied")
    ]


@pytest.mark.parametrize(("right", "verdict"), [({3, 4}, Verdict.HELD), ({5}, Verdict.BROKEN)])
def test_what_the_cluster_must_count(right: set[int], verdict: Verdict) -> None:
    """The scripted sandbox counts 4."""
    outcome, _ = played([states(2, 1)], replace(STEP, usage={"research": right}))
    assert outcome.verdict is verdict
    assert verdict is Verdict.HELD or "research is counted as 4, and should be as 5" in outcome.why


def test_machines_are_told_as_machines_and_hold_no_units() -> None:
    """They are of no flavor, so nothing is asked of one."""
    jobs = JobGroup("a", "research", "", 3, machine=Machine(1, 2**30))
    held = Timeline()
    step = replace(STEP, submit=(jobs,), running={"a": 3})
    outcome, _ = played([states(2, 1)], step, held=held, flavor="")
    assert outcome.why.startswith("research runs 2 machines, and should 3 machines (no quota is left)")
    assert outcome.steps[0].submitted == ("3 × research/a: machine of 1 vCPU and 1Gi",)
    assert held.all() == ()


@pytest.mark.parametrize(
    ("raised", "verdict"),
    [
        (NotRunnable("the cluster has no free GPU"), Verdict.NOT_RUN),
        (NotKept("clusterqueue/research is not on the cluster"), Verdict.BROKEN),
    ],
)
def test_what_cannot_be_opened(raised: Exception, verdict: Verdict) -> None:
    outcome, _ = played([], sandbox=Scripted([], opens=raised))
    assert (outcome.verdict, outcome.why, outcome.steps) == (verdict, str(raised), ())


def test_a_stopped_run_closes_its_replicas() -> None:
    with pytest.raises(Interrupted):
        played([states(1, 2)], clock=Time(ends=1.0))


def test_who_held_what_when() -> None:
    held = Timeline()
    outcome, _ = played([states(0, 3, told=False), states(1, 2), states(1, 2), states(2, 1)], held=held)
    first, second = held.all()
    assert [(held.team, held.queue, held.flavor, held.units) for held in (first, second)] == [
        ("research", "research", "gpu", 2),
        ("research", "research", "gpu", 4),
    ]
    assert first.since == pytest.approx(PATIENCE.every)
    assert first.until == second.since == pytest.approx(3 * PATIENCE.every)
    assert second.until == outcome.seconds
