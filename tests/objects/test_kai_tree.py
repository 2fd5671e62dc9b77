"""The sums of KAI's tree, for any agreement: nothing promised twice, nothing lost, nothing kept back within others' reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import agreements, as_agreement

from tenancy.agreement.hardware import Hardware
from tenancy.agreement.plan import Plan, Share, TeamPlan, make_plan
from tenancy.objects import kai
from tenancy.quota.reach import reach

MANY = settings(max_examples=100, deadline=None)
# What a flavor may be counted in, and what KAI counts for one of it (measured: seven 1g are 7 GPUs).
COUNTED = {
    ("gpu", "nvidia.com/gpu"): 1,
    ("slice", "nvidia.com/gpu"): 1,
    ("slice", "nvidia.com/mig-1g.10gb"): 1,
    ("slice", "nvidia.com/mig-3g.40gb"): 3,
    ("cpu", "cpu"): 1000,
}


@dataclass
class Queue:
    """One Queue's numbers of what its flavor is counted in, in units of the flavor."""

    quota: float
    limit: float
    parent: str | None
    children: list[str]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan of an agreement without errors, each flavor counted in something."""
    made = make_plan(as_agreement(draw(agreements())))
    flavors = []
    for flavor in made.flavors:
        unit, resource = draw(st.sampled_from(list(COUNTED)))
        flavors.append(replace(flavor, unit=unit, resource=resource))
    return replace(made, flavors=tuple(flavors))


def trees(plan: Plan) -> Iterator[tuple[Hardware, dict[str, Queue]]]:
    """The queues of each flavor, told apart by the label that a scheduler tells them apart by."""
    objects = [one for one in kai.objects(plan) if one["kind"] == "Queue"]
    for flavor in plan.flavors:
        pool = flavor.name if len(plan.flavors) > 1 else None
        own = [one for one in objects if one["metadata"]["labels"].get("kai.scheduler/node-pool") == pool]
        queues = {one["metadata"]["name"]: _queue(one["spec"], flavor) for one in own}
        for name, queue in queues.items():
            if queue.parent:
                queues[queue.parent].children.append(name)
        yield flavor, queues


def _queue(spec: dict[str, Any], flavor: Hardware) -> Queue:
    numbers = spec["resources"]["cpu" if flavor.unit == "cpu" else "gpu"]
    each = COUNTED[flavor.unit, flavor.resource]
    limit = float("inf") if numbers["limit"] == -1 else numbers["limit"] / each
    assert numbers["quota"] >= 0  # −1 would never be reclaimed from
    return Queue(numbers["quota"] / each, limit, spec.get("parentQueue"), [])


def tops(plan: Plan, team: TeamPlan, flavor: Hardware, queues: dict[str, Queue]) -> dict[str, Queue]:
    """The team's own queues that stand under no queue of its own: its place in the shared tree, and its root."""
    own = {one["metadata"]["name"] for one in kai.team_objects(plan, team, flavor)}
    return {name: queues[name] for name in own if queues[name].parent not in own}


def shares(plan: Plan) -> Iterator[tuple[TeamPlan, Hardware, Share, dict[str, Queue]]]:
    for flavor, queues in trees(plan):
        for team in plan.teams:
            yield team, flavor, team.shares[flavor.name], queues


@MANY
@given(plan=plans())
def test_every_queue_is_in_one_flavors_tree(plan: Plan) -> None:
    queues = [one for one in kai.objects(plan) if one["kind"] == "Queue"]
    assert sum(len(tree) for _, tree in trees(plan)) == len(queues) == len({one["metadata"]["name"] for one in queues})


@MANY
@given(plan=plans())
def test_parents_own_what_their_children_do(plan: Plan) -> None:
    """Or their guarantees are void against other roots, and a job that fits its queue's quota does not fit its parent's."""
    for _, queues in trees(plan):
        for queue in queues.values():
            assert queue.quota >= sum(queues[child].quota for child in queue.children)
            assert queue.limit >= queue.quota


@MANY
@given(plan=plans())
def test_roots_own_the_capacity_exactly(plan: Plan) -> None:
    for flavor, queues in trees(plan):
        roots = [queue for queue in queues.values() if queue.parent is None]
        assert sum(root.quota for root in roots) == flavor.capacity
        assert all(root.quota == root.limit for root in roots)


@MANY
@given(plan=plans())
def test_a_team_has_its_guarantee_and_reaches_as_far_as_on_kueue(plan: Plan) -> None:
    for team, flavor, share, queues in shares(plan):
        own = tops(plan, team, flavor, queues)
        assert sum(queue.quota for queue in own.values()) == share.guaranteed
        shared = queues[kai.queue_name(plan, "shared", flavor)].limit
        most = sum(queue.limit if queue.parent is None else min(queue.limit, shared) for queue in own.values())
        assert most == reach(plan, team, flavor.name)


@MANY
@given(plan=plans())
def test_what_is_never_lent_is_out_of_all_others_reach(plan: Plan) -> None:
    """All others together, without any limit of their own, stand under the other roots."""
    for team, flavor, share, queues in shares(plan):
        own = {name for name, queue in tops(plan, team, flavor, queues).items() if queue.parent is None}
        others = sum(queue.limit for name, queue in queues.items() if queue.parent is None and name not in own)
        assert others == flavor.capacity - share.reserved


@MANY
@given(plan=plans())
def test_a_prod_slice_is_whole_and_no_more(plan: Plan) -> None:
    """Its queues come to it; they never borrow; they stand under the team's own quota. One queue wherever one is enough."""
    for team, flavor, share, queues in shares(plan):
        prod = [queues[name] for name in kai.prod_queues(plan, team, flavor)]
        assert sum(queue.quota for queue in prod) == share.prod
        assert all(queue.quota == queue.limit > 0 for queue in prod)
        assert len(prod) <= 1 or share.prod > max(share.reserved, share.lendable)
        own = {one["metadata"]["name"] for one in kai.team_objects(plan, team, flavor)}
        assert {queue.parent for queue in prod} <= own


@MANY
@given(plan=plans())
def test_the_queues_that_jobs_may_name_are_the_leaves(plan: Plan) -> None:
    """And each has a parent: KAI 0.12 runs nothing in a queue without one."""
    for team, flavor, _, queues in shares(plan):
        own = {one["metadata"]["name"] for one in kai.team_objects(plan, team, flavor)}
        leaves = {name for name in own if not queues[name].children}
        assert leaves == set(kai.job_queues(plan, team, flavor))
        assert all(queues[name].parent for name in leaves)


@MANY
@given(plan=plans())
def test_there_is_no_cycle_and_no_parent_that_comes_later(plan: Plan) -> None:
    seen: set[str] = set()
    for one in kai.objects(plan):
        assert one["spec"].get("parentQueue", "") in {"", *seen}
        seen.add(one["metadata"]["name"])
