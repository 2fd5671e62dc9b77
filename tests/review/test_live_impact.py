"""A change beside what runs: who is above, and whom Kueue would stop for an owner."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from samples import LAB, ONE_FLAVOR, plan

from tenancy.cluster.nodes import Node
from tenancy.objects.schedulers import Scheduler
from tenancy.quota.jobs import Job
from tenancy.review.diff import Ask, Limit
from tenancy.review.diff.domains import largest_domains
from tenancy.review.diff.live_impact import live_impact

START = datetime(2026, 1, 1, tzinfo=UTC)
# 32 GPUs, nobody keeps anything back.
THREE = ONE_FLAVOR + "[teams.a]\nguaranteed = 8\n[teams.b]\nguaranteed = 8\n[teams.c]\nguaranteed = 16\n"


def job(team: str, number: int, gpus: int = 4, *, priority: int = 0, prod: bool = False, evicted: bool = False) -> Job:
    """The number-th job to get its quota."""
    since = START + timedelta(minutes=number)
    return Job(team, f"job-{number}", "Job", team, prod, {"gpu": gpus}, priority, since, evicted, f"{number:04}")


def names(jobs: list[Job] | tuple[Job, ...] | None) -> list[str]:
    return [str(job) for job in jobs or ()]


def ask(old: str, new: str, jobs: list[Job]) -> Ask:
    (found,) = live_impact(plan(old), plan(new), Scheduler.KUEUE, jobs).asks
    return found


# --- who is above


def test_a_team_is_above_by_its_newest_jobs_of_the_lowest_priority() -> None:
    jobs = [job("c", 1), job("c", 2, priority=5), job("c", 3), job("c", 4)]
    found = live_impact(plan(THREE), plan(THREE.replace("guaranteed = 16", "guaranteed = 8")), Scheduler.KUEUE, jobs)
    (above,) = found.above
    assert (above.team, above.used, above.guaranteed, above.by_change) == ("c", 16, 8, True)
    assert names(above.jobs) == ["c/job-4", "c/job-3"]


def test_who_borrowed_before_is_told_apart() -> None:
    found = live_impact(plan(THREE), plan(THREE), Scheduler.KUEUE, [job("a", number) for number in range(4)])
    assert [(above.team, above.by_change) for above in found.above] == [("a", False)]


def test_jobs_of_a_team_that_goes_are_nobody_s_to_stop() -> None:
    new = THREE.replace("[teams.a]\nguaranteed = 8\n", "")
    found = live_impact(plan(THREE), plan(new), Scheduler.KUEUE, [job("a", 1), job("b", 2)])
    assert names(found.leaving) == ["a/job-1"] and not found.above


def test_a_prod_job_is_the_last_to_be_above() -> None:
    text = THREE.replace("guaranteed = 16", "guaranteed = 16\nprod = 4")
    jobs = [job("c", 1), job("c", 2, prod=True), job("c", 0)]
    (above,) = live_impact(
        plan(text), plan(text.replace("guaranteed = 16", "guaranteed = 8")), Scheduler.KUEUE, jobs
    ).above
    assert names(above.jobs) == ["c/job-1"]


def test_while_jobs_of_a_team_that_goes_run_nothing_is_foretold() -> None:
    new = THREE.replace("[teams.a]\nguaranteed = 8\n", "").replace(
        "[teams.b]\nguaranteed = 8", "[teams.b]\nguaranteed = 16"
    )
    assert ask(THREE, new, [job("a", 1)]).leaving == ("a",) and ask(THREE, new, [job("a", 1)]).preempted is None
    assert ask(THREE, new, [job("c", 1)]).preempted == ()


# --- who would be stopped


def test_an_owner_that_asks_gets_the_newest_of_those_above() -> None:
    """c falls to 8 and runs 16; a is to have 16, and nothing is free."""
    new = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\n[teams.b]\nguaranteed = 8\n[teams.c]\nguaranteed = 8\n"
    jobs = [job("b", 1), job("b", 2), *(job("c", number) for number in range(3, 9))]
    found = ask(THREE, new, jobs)
    assert (found.team, found.amount) == ("a", 16)
    assert names(found.preempted) == ["c/job-8", "c/job-7", "c/job-6", "c/job-5"]


def test_what_is_free_is_taken_first() -> None:
    new = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\n[teams.b]\nguaranteed = 8\n[teams.c]\nguaranteed = 8\n"
    assert ask(THREE, new, [job("c", 1)]).preempted == ()


def test_nobody_within_its_guarantee_is_stopped() -> None:
    new = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\n[teams.b]\nguaranteed = 8\n[teams.c]\nguaranteed = 8\n"
    jobs = [job("c", 1), job("c", 2), *(job("b", number) for number in range(3, 9))]
    assert Counter(job.team for job in ask(THREE, new, jobs).preempted or ()) == {"b": 4}


def test_a_team_is_stopped_only_as_far_as_it_is_above() -> None:
    """b's jobs are the newest, but one of them is all that it has beyond its own; the next are c's."""
    new = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\n[teams.b]\nguaranteed = 8\n[teams.c]\nguaranteed = 8\n"
    jobs = [job("a", 0), *(job("c", number) for number in range(1, 5)), *(job("b", number) for number in range(5, 8))]
    assert names(ask(THREE, new, jobs).preempted) == ["b/job-7", "c/job-4", "c/job-3"]


def test_lower_priority_goes_before_newer_and_what_is_not_needed_stays() -> None:
    new = ONE_FLAVOR + "[teams.a]\nguaranteed = 12\n[teams.b]\nguaranteed = 8\n[teams.c]\nguaranteed = 12\n"
    jobs = [job("a", 0, 8), job("b", 1, 8), job("c", 2, 2, priority=-1), job("c", 3, 4), job("c", 4, 10, priority=9)]
    assert names(ask(THREE, new, jobs).preempted) == ["c/job-3"]  # the first, of 2, is given back


def test_a_prod_slice_is_asked_for_in_its_own_queue() -> None:
    new = THREE.replace("[teams.a]\nguaranteed = 8", "[teams.a]\nguaranteed = 12\nprod = 4").replace(
        "guaranteed = 16", "guaranteed = 12"
    )
    jobs = [job("a", 0, 8), job("b", 1, 8), *(job("c", number) for number in range(2, 6))]
    found = live_impact(plan(THREE), plan(new), Scheduler.KUEUE, jobs).asks
    assert [(ask.prod, ask.amount, names(ask.preempted)) for ask in found] == [(True, 4, ["c/job-5"])]


def test_kai_and_fair_sharing_are_not_foretold() -> None:
    new = LAB.replace("guaranteed = 16\nlendable = 8", "guaranteed = 8").replace(
        "[teams.inference]\nguaranteed = 8", "[teams.inference]\nguaranteed = 16"
    )
    (found,) = live_impact(plan(LAB), plan(new), Scheduler.KAI, []).asks
    assert found.preempted is None and found.starts
    (found,) = live_impact(plan(LAB), plan(new + '[sharing]\npolicy = "fair"\n'), Scheduler.KUEUE, []).asks
    assert found.preempted is None


# --- whole domains


RACKS = """
[cluster]
name = "lab"
[topologies.t]
levels = ["rack", "kubernetes.io/hostname"]
[flavors.gpu]
nodes = 6
gpus_per_node = 8
topology = "t"
[teams.a]
guaranteed = 24
[teams.b]
guaranteed = 24
"""


def test_a_rack_that_a_team_can_no_longer_fill_is_named() -> None:
    """Rack 0 has three nodes, of which one is cordoned; rack 1 has three: 24 GPUs."""
    result = plan(RACKS)
    nodes = [
        Node(
            f"n{number}",
            {**result.flavors[0].node_labels, "rack": str(number // 3), "kubernetes.io/hostname": f"n{number}"},
            {"nvidia.com/gpu": 8, "cpu": 8 * result.flavors[0].cpu, "memory": 8 * result.flavors[0].memory},
            cordoned=number == 0,
        )
        for number in range(6)
    ]
    domains = largest_domains(result, nodes)
    assert domains == {("gpu", "rack"): 24}
    less = plan(RACKS.replace("[teams.a]\nguaranteed = 24", "[teams.a]\nguaranteed = 20"))
    found = live_impact(result, less, Scheduler.KUEUE, [], domains=domains).domains
    assert [(one.team, one.units, one.limit) for one in found] == [("a", 24, Limit.SURE)]
    never = plan(RACKS.replace("[teams.a]\nguaranteed = 24", "[teams.a]\nguaranteed = 20\nborrowable = 0"))
    found = live_impact(result, never, Scheduler.KUEUE, [], domains=domains).domains
    assert [(one.team, one.units, one.limit) for one in found] == [("a", 24, Limit.EVER)]
    assert not live_impact(result, result, Scheduler.KUEUE, [], domains=domains).domains
