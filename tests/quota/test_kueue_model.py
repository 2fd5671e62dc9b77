"""The model's arithmetic: the numbers of Kueue's own tests, and what must be true of any agreement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import LAB, ONE_FLAVOR, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, TeamPlan, make_plan
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.reach import reach
from tenancy.quota.tree import Node

MANY = settings(max_examples=60, deadline=None)


def tree(text: str) -> dict[str, Node]:
    """Nodes by name, from lines `parent/name nominal lending borrowing`; a queue's name begins with q, `-` is no limit."""
    nodes: dict[str, Node] = {}
    for line in text.split("\n"):
        if not line.strip():
            continue
        path, nominal, *limits = line.split()
        parent, _, name = path.rpartition("/")
        lending, borrowing = (None if limit == "-" else int(limit) for limit in (*limits, "-", "-")[:2])
        nodes[name] = Node(name, name.startswith("q"), int(nominal), lending, borrowing, nodes.get(parent))
    return nodes


def use(nodes: dict[str, Node], **usage: int) -> None:
    for name, units in usage.items():
        nodes[name].usage = units


# --- Kueue's own numbers (pkg/cache/scheduler/resource_test.go, TestAvailable, of v0.19.2) -----------------------------------

AVAILABLE: dict[str, tuple[str, dict[str, int], dict[str, int], dict[str, int]]] = {
    # name: tree, what could be available, usage, what is available then
    "cqs with cohort": (  # in halves of a CPU
        "r 20\n r/q1 20\n r/q2 20 18",
        {"q1": 58, "q2": 60},
        {"q1": 2, "q2": 1},
        {"q1": 56, "q2": 57},
    ),
    "cq borrows from cohort": ("r 10\n r/q1 10", {"q1": 20}, {"q1": 11}, {"q1": 9}),
    "cq oversubscription spills into cohort": (
        "r 10\n r/q1 10\n r/q2 10 0 0",
        {"q1": 20, "q2": 10},
        {"q1": 31},
        {"q1": 0, "q2": 0},
    ),
    "lending and borrowing limits respected": (
        "r 10\n r/q1 10\n r/q2 10 - 2\n r/q3 10 5",
        {"q1": 35, "q2": 12, "q3": 40},
        {"q1": 20, "q2": 10, "q3": 6},
        {"q1": 4, "q2": 2, "q3": 4},
    ),
    "hierarchical cohort": (
        "r 0\n r/left 10\n r/right 10\n left/q1 10\n right/q2 10 0",
        {"q1": 30, "q2": 40},
        {"q1": 10, "q2": 5},
        {"q1": 20, "q2": 25},
    ),
    "hierarchical cohort respects borrowing limit": (
        "r 0\n r/left 10 - 5\n r/right 10\n left/q1 10\n left/q2 10 - 5\n right/q3 10",
        {"q1": 35, "q2": 15, "q3": 50},
        {},
        {"q1": 35, "q2": 15, "q3": 50},
    ),
    "hierarchical cohort respects lending limit": (
        "r 0\n r/left 0 5\n r/right 0\n left/q1 10 5\n left/q2 10\n right/q3 0\n r/q4 0",
        {"q1": 20, "q2": 15, "q3": 5, "q4": 5},
        {},
        {"q1": 20, "q2": 15, "q3": 5, "q4": 5},
    ),
}


@pytest.mark.parametrize("case", AVAILABLE.values(), ids=AVAILABLE)
def test_available_is_what_kueues_own_tests_say(
    case: tuple[str, dict[str, int], dict[str, int], dict[str, int]],
) -> None:
    text, could, usage, then = case
    nodes = tree(text)
    assert {name: nodes[name].available for name in could} == could
    use(nodes, **usage)
    assert {name: nodes[name].potential for name in could} == could
    # Kueue's `available` can be negative; ClusterQueueSnapshot.Available, which the test there asks, shows 0 for it.
    assert {name: max(0, nodes[name].available) for name in then} == then


# --- who may be stopped (pkg/scheduler/preemption/preemption_hierarchical_test.go of v0.19.2, where priorities do not matter) -----

C = "r 0\n r/c 2\n c/q 0\n"
RECLAIM: dict[str, tuple[str, dict[str, int], int, dict[str, int], int, int | None]] = {
    # name: tree, usage, what q asks, of whom how much, size of the jobs that run, how many of them are stopped
    "preempt with hierarchical advantage": (C + "r/q_borrowing 0", {"q_borrowing": 2}, 2, {"q_borrowing": 2}, 2, 1),
    "avoid queues within nominal quota": (
        C + "r/q_borrowing 0\n r/q_nominal 2",
        {"q_borrowing": 2, "q_nominal": 2},
        2,
        {"q_borrowing": 2},
        2,
        1,
    ),
    "preempt multiple with hierarchical advantage": (
        C + "r/q_borrowing 0",
        {"q_borrowing": 2},
        2,
        {"q_borrowing": 2},
        1,
        2,
    ),
    "incoming workload fits in CQ nominal quota": (
        "r 0\n r/c 2\n c/q 4\n c/q_same 0\n r/q_borrowing 0",
        {"q_same": 3, "q_borrowing": 3},
        4,
        {"q_same": 3, "q_borrowing": 3},
        3,
        2,
    ),
    "infeasible preemption all available workloads in pruned subtrees": (
        C + "c/q_same 0\n r/c_other 2\n c_other/q_other 0",
        {"q_same": 2, "q_other": 2},
        2,
        {},
        1,
        None,
    ),
    "respect lending limits": (
        "r 0\n r/c 2\n c/q 3 2\n r/q_borrowing 0",
        {"q_borrowing": 4},
        5,
        {"q_borrowing": 4},
        4,
        1,
    ),
    "reclaim in complex hierarchy": (
        "r 0\n r/c11 4\n r/c12 4\n c11/c21 4\n c11/c22 4\n c11/c23 4\n c21/c31 4\n c21/c32 4\n c12/q1 0\n c23/q2 0\n"
        + "c22/q3 0\n c32/q4 0\n c31/q 0",
        {"q1": 8, "q2": 8, "q3": 7, "q4": 5},
        7,
        {"q1": 4, "q2": 4, "q3": 3},
        4,
        2,
    ),
}


@pytest.mark.parametrize("case", RECLAIM.values(), ids=RECLAIM)
def test_who_is_stopped_is_what_kueues_own_tests_say(
    case: tuple[str, dict[str, int], int, dict[str, int], int, int | None],
) -> None:
    text, usage, asks, whom, each, stopped = case
    nodes = tree(text)
    use(nodes, **usage)
    if stopped is not None:
        assert {node.name: units for node, units in nodes["q"].reclaimable(asks).items()} == whom
    assert nodes["q"].must_preempt(asks, each) == stopped
    assert {name: nodes[name].usage for name in usage} == usage  # asked, not done


def test_a_queue_does_not_stop_jobs_to_borrow() -> None:
    """measured, facts: what only the root holds is waited for."""
    nodes = tree("r 8\n r/q1 8\n r/q2 8")
    use(nodes, q1=16, q2=8)
    assert nodes["q2"].must_preempt(1) is None
    use(nodes, q1=16, q2=7)
    assert nodes["q2"].must_preempt(1) == 0
    use(nodes, q1=17, q2=7)
    assert nodes["q2"].must_preempt(1) == 1


def test_a_job_that_is_larger_than_what_is_borrowed_frees_only_that() -> None:
    nodes = tree("r 0\n r/q1 4 0\n r/q2 4\n r/q3 4")
    use(nodes, q1=6, q2=2, q3=4)
    assert nodes["q2"].must_preempt(2, each=6) == 1
    use(nodes, q1=5, q2=3, q3=4)
    assert nodes["q2"].must_preempt(1, each=5) == 1
    assert nodes["q2"].must_preempt(1, each=6) is None  # there is no such job


# --- agreements ------------------------------------------------------------------------------------------------------------


def test_the_lab_by_hand() -> None:
    """Research alone reaches 8 of its own and 8 that training lends; then training takes its own back."""
    kueue_model = KueueModel(plan(LAB), "gpu")
    assert (kueue_model.root.subtree, kueue_model.queue("training").local) == (8 + 8 + 0, 8)
    assert kueue_model.run("research") == 16
    assert kueue_model.run("inference") == 8
    assert kueue_model.run("training") == 8  # what it never lends; the other 8 a reclaim takes back
    assert kueue_model.queue("training").reclaimable(8) == {kueue_model.queue("research"): 8}
    assert kueue_model.queue("training").must_preempt(8, each=4) == 2
    assert kueue_model.queue("training").must_preempt(9) is None


@pytest.mark.parametrize(("on", "own"), [("cohort", {"a", "b"}), ("queue", {"b"})])
def test_whether_a_teams_own_jobs_may_be_stopped_for_its_prod(on: str, own: set[str]) -> None:
    """The measured case of two teams: B runs 24 of 32, A's regular queue 8, and A's prod asks for 8."""
    text = ONE_FLAVOR.replace('name = "lab"', f'name = "lab"\nguarantee_on = "{on}"')
    kueue_model = KueueModel(
        plan(text + "".join(f"[teams.{name}]\nguaranteed = 16\nprod = 8\n" for name in "ab")), "gpu"
    )
    kueue_model.run("b", 24), kueue_model.run("a", 8)
    assert {node.name for node in kueue_model.queue("a", prod=True).reclaimable(8)} == own
    assert kueue_model.queue("a", prod=True).must_preempt(8, each=8) == 1


@pytest.mark.parametrize("on", ["cohort", "queue"])
def test_a_regular_job_may_use_the_idle_prod_slice_of_its_team(on: str) -> None:
    text = ONE_FLAVOR.replace('name = "lab"', f'name = "lab"\nguarantee_on = "{on}"')
    kueue_model = KueueModel(plan(text + "[teams.a]\nguaranteed = 16\nlendable = 0\nborrowable = 0\nprod = 8\n"), "gpu")
    assert kueue_model.run("a") == 16
    assert kueue_model.queue("a", prod=True).must_preempt(8) == 8


def test_only_whole_jobs_run() -> None:
    kueue_model = KueueModel(plan(LAB), "gpu")
    assert (kueue_model.run("research", 7, each=2), kueue_model.run("research", each=3)) == (6, 9)
    assert kueue_model.queue("research").available == 1


def others(the_plan: Plan, team: TeamPlan) -> Iterable[TeamPlan]:
    return (entry for entry in the_plan.teams if entry is not team)


def each(the_plan: Plan) -> Iterable[tuple[TeamPlan, str]]:
    return ((team, flavor.name) for team in the_plan.teams for flavor in the_plan.flavors)


@MANY
@given(values=agreements())
def test_a_team_gets_its_guarantee_while_all_others_use_theirs_and_the_pool(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for team, flavor in each(the_plan):
        kueue_model = KueueModel(the_plan, flavor)
        for other in others(the_plan, team):
            kueue_model.run(other.name, other.shares[flavor].guaranteed)
        pool = the_plan.pool[flavor]
        for other in others(the_plan, team):  # the pool goes to who may borrow it
            pool -= kueue_model.run(other.name, pool)
        assert kueue_model.run(team.name) >= team.shares[flavor].guaranteed


@MANY
@given(values=agreements())
def test_a_team_takes_its_guarantee_back_whoever_has_it_and_stops_nobody_within_theirs(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for team, flavor in each(the_plan):
        kueue_model, share = KueueModel(the_plan, flavor), team.shares[flavor]
        for other in others(the_plan, team):
            kueue_model.run(other.name)
        queue, missing = kueue_model.queue(team.name), share.guaranteed - max(0, kueue_model.queue(team.name).available)
        assert queue.must_preempt(share.guaranteed) == max(0, missing)
        for victim, units in queue.reclaimable(share.guaranteed).items():
            whose = the_plan.team[victim.name]
            assert victim.usage - units >= whose.shares[flavor].regular


@MANY
@given(values=agreements())
def test_prod_takes_its_slice_back_and_nobody_takes_it_from_prod(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for team, flavor in each(the_plan):
        if not team.has_prod:
            continue
        kueue_model, slice_ = KueueModel(the_plan, flavor), team.shares[flavor].prod
        for one in the_plan.teams:  # the team's own regular jobs too
            kueue_model.run(one.name)
        prod = kueue_model.queue(team.name, prod=True)
        assert prod.must_preempt(slice_) == slice_ - min(slice_, max(0, prod.available))
        assert prod.must_preempt(slice_ + 1) is None
        prod.usage = slice_
        for queue in kueue_model.queues.values():
            assert prod not in queue.reclaimable(1)


@MANY
@given(values=agreements())
def test_alone_a_team_gets_exactly_what_it_can_reach(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for team, flavor in each(the_plan):
        most = reach(the_plan, team, flavor)
        assert KueueModel(the_plan, flavor).queue(team.name).potential == most
        assert KueueModel(the_plan, flavor).run(team.name) == most


@MANY
@given(values=agreements())
def test_whatever_others_do_a_team_keeps_what_it_never_lends(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for team, flavor in each(the_plan):
        kueue_model = KueueModel(the_plan, flavor)
        for other in others(the_plan, team):
            kueue_model.run(other.name)
        assert kueue_model.run(team.name) >= team.shares[flavor].reserved


@MANY
@given(values=agreements())
def test_prod_gets_its_slice_and_never_more(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for team, flavor in each(the_plan):
        if team.has_prod:
            assert KueueModel(the_plan, flavor).run(team.name, prod=True) == team.shares[flavor].prod


@MANY
@given(values=agreements())
def test_prod_and_regular_jobs_together_do_not_go_beyond_the_teams_reach(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for team, flavor in each(the_plan):
        if team.has_prod:
            kueue_model = KueueModel(the_plan, flavor)
            assert kueue_model.run(team.name, prod=True) + kueue_model.run(team.name) == reach(the_plan, team, flavor)


@MANY
@given(values=agreements(), order=st.randoms(use_true_random=False))
def test_all_together_use_all_that_there_is_open_and_never_more(values: dict[str, Any], order: Any) -> None:
    """In whichever order they come and go, with jobs of any size; and whatever runs, nobody has more than before."""
    the_plan = make_plan(as_agreement(values))
    for flavor in the_plan.flavors:
        kueue_model = KueueModel(the_plan, flavor.name)
        for _ in range(12):
            (team, prod), queue = order.choice([*kueue_model.queues.items()])
            before = {node: node.available for node in kueue_model.root.down()}
            if order.random() < 0.3 and queue.usage:
                queue.usage -= order.randint(1, queue.usage)
                assert all(node.available >= free for node, free in before.items())
                continue
            size = order.randint(1, 4)
            kueue_model.run(team, size * order.randint(1, 4), each=size, prod=prod)
            assert all(node.available <= free for node, free in before.items())
            assert all(node.available >= 0 for node in kueue_model.root.down())
            assert sum(node.usage for node in kueue_model.queues.values()) <= flavor.capacity


@MANY
@given(values=agreements(), order=st.randoms(use_true_random=False))
def test_who_is_stopped_is_over_its_own_and_enough_is_freed(values: dict[str, Any], order: Any) -> None:
    the_plan = make_plan(as_agreement(values))
    kueue_model = KueueModel(the_plan, order.choice(the_plan.flavors).name)
    for _ in range(8):
        team, prod = order.choice([*kueue_model.queues])
        kueue_model.run(team, order.randint(1, 12), prod=prod)
    queue, units = order.choice([*kueue_model.queues.values()]), order.randint(1, 8)
    whom, needed = queue.reclaimable(units), queue.must_preempt(units)
    assert queue not in whom
    assert all(0 < most <= min(victim.over, victim.usage) for victim, most in whom.items())
    assert (needed == 0) == (queue.available >= units)
    if needed:
        assert units - queue.available <= needed <= sum(whom.values())
