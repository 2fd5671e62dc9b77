"""Fabricated runs of `verify` for tests of the forms they are shown in. Not from a cluster."""

from __future__ import annotations

from tenancy.verify.checks.model import Check, JobGroup, Scheduler, Step
from tenancy.verify.evidence.model import Condition, Outcome, Run, StepSeen, UsageInterval, Verdict

HOSTILE = """</script><img src=x onerror="boom()">"'&]]>\x00\x1b[31m\u202e{{7*7}}$title"""
TEAMS = ("training", "research", "inference", "a-team-with-a-name-as-long-as-a-name-may-be-in-an-agreement-63")
KINDS = ("guarantee", "reach", "never-lent", "reclaim", "borrowable", "gang")
VERDICTS = (Verdict.HELD, Verdict.HELD, Verdict.HELD, Verdict.BROKEN, Verdict.HELD, Verdict.NOT_RUN)


def check(kind: str, team: str, scheduler: Scheduler = Scheduler.KUEUE, flavor: str = "gpu") -> Check:
    others = JobGroup("others", "research", flavor, 17)
    owner = JobGroup("owner", team, flavor, 16)
    return Check(
        scheduler=scheduler,
        kind=kind,
        team=team,
        flavor=flavor,
        promise=f"{team} is guaranteed 16 GPUs while all others ask for all they can",
        steps=(
            Step("research submits 17 jobs of 1 GPU; it can reach 16", (others,), running={"others": 16}),
            Step(f"{team} submits 16 jobs of 1 GPU", (owner,), running={"others": 8, "owner": 16}),
        ),
        look_at=f"clusterqueue/{team}",
    )


def outcome(check: Check, verdict: Verdict, started: float = 0.0, why: str = "") -> Outcome:
    """Two steps; the second never came where it is broken, and there are none where it was not run."""
    told = tuple(
        Condition(
            f"others-{number}",
            "QuotaReserved",
            "False",
            "Pending",
            "insufficient unused quota for nvidia.com/gpu, 1 more needed",
        )
        for number in range(9)
    )
    steps = (
        StepSeen(
            check.steps[0].says,
            ("17 × research/others: 1 GPU",),
            1.25,
            {"others": 16},
            {"others": 1},
            {},
            told[:1],
            {"research": 16},
            started + 2,
        ),
        StepSeen(
            check.steps[1].says,
            (f"16 × {check.team}/owner: 1 GPU",),
            None if verdict is Verdict.BROKEN else 2.5,
            {"others": 8, "owner": 16},
            {"others": 9},
            {"others": 8},
            told,
            {"research": 8, check.team: 16, "idle": 0},
            started + 4,
        ),
    )
    ran = verdict is not Verdict.NOT_RUN
    return Outcome(check, verdict, why or WHY[verdict], steps if ran else (), started, 4.0 if ran else 0.0)


WHY = {
    Verdict.HELD: "",
    Verdict.BROKEN: "owner: 16 should run and 12 do",
    Verdict.NOT_RUN: "the cluster has no node of flavor gpu",
}


def run(teams: tuple[str, ...] = TEAMS, kinds: tuple[str, ...] = KINDS, flavors: tuple[str, ...] = ("gpu",)) -> Run:
    """Every kind of every team and flavor, four at once, on both schedulers by turns."""
    outcomes, held = [], []
    wanted = [(kind, team, flavor) for kind in kinds for team in teams for flavor in flavors]
    for number, (kind, team, flavor) in enumerate(wanted):
        result = check(kind, team, (Scheduler.KUEUE, Scheduler.KAI)[number % 5 == 4], flavor)
        began = number // 4 * 4.5
        one = outcome(result, VERDICTS[number % len(VERDICTS)], began)
        outcomes.append(one)
        if one.steps:
            held += [
                UsageInterval(result.name, "research", "research", flavor, 16, began + 0.5, began + 2),
                UsageInterval(result.name, "research", "research", flavor, 8, began + 2, began + 4),
                UsageInterval(result.name, team, team, flavor, 16, began + 2.2, began + 4),
            ]
    seconds = max(outcome.started + outcome.seconds for outcome in outcomes)
    return Run(
        "tenancy.toml",
        "lab (https://127.0.0.1:6443)",
        "2026-11-29T21:00:00+00:00",
        seconds,
        tuple(outcomes),
        tuple(held),
    )


def hostile() -> Run:
    """Every text in it is one that would do harm if it were not shown as text."""
    check = Check(Scheduler.KUEUE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, (Step(HOSTILE),), HOSTILE)
    told = Condition(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    amounts = {HOSTILE: 1}
    step = StepSeen(HOSTILE, (HOSTILE,), None, amounts, amounts, amounts, (told,), amounts)
    return Run(
        agreement=HOSTILE,
        cluster=HOSTILE,
        began=HOSTILE,
        seconds=3.0,
        outcomes=(Outcome(check, Verdict.BROKEN, HOSTILE, (step,), 0.0, 3.0),),
        held=(UsageInterval(check.name, HOSTILE, HOSTILE, HOSTILE, 4, 0.0, 3.0),),
        stopped=HOSTILE,
    )
