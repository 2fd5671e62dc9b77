"""The plan as KAI Queues: what is never lent gets a queue of its own.

KAI has a quota (what a queue gets back), a limit (the most it may use) and no lending limit. So what a team lends stands
in one tree, what it keeps to itself outside of it (exact in counts, measured on a real KAI):

- root `shared`, quota = limit = all that is lent and the free pool; in it each team with quota L and limit L + B (−1 where
  borrowing has no limit); departments as parents between them;
- root `<team>-reserved`, quota = limit = G − L, where a team keeps something back.

CPU and memory are unlimited at every level: a GPU reclaim fails on them otherwise. A KAI Queue has one GPU number for
every product (KAI#1087), so an agreement of several flavors needs a queue tree and node pool for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .agreement.hardware import Hardware
from .kueue import AGREEMENT_LABEL
from .plan import Plan, TeamPlan

API_VERSION = "scheduling.run.ai/v2"
SHARED = "shared"
RESERVED_SUFFIX = "-reserved"
UNLIMITED = -1

Object = dict[str, Any]


def refusal(plan: Plan) -> str | None:
    """Why KAI gets no queues for this agreement; None when it gets them."""
    if len(plan.flavors) == 1 and plan.flavors[0].unit == "gpu":
        return None
    if len(plan.flavors) == 1:
        return (
            f"flavor {plan.flavors[0].name!r} is counted in {plan.flavors[0].unit}s, and only whole GPUs are translated"
        )
    return (
        f"a KAI Queue has one GPU number and the agreement {len(plan.flavors)} flavors "
        f"({', '.join(flavor.name for flavor in plan.flavors)}): a tree and node pool for each is not translated yet"
    )


def files(plan: Plan) -> Iterator[tuple[str, list[Object]]]:
    """Every Queue, by the file it is rendered to: the shared tree's parents first, then one file for each team."""
    if refusal(plan):
        return
    (flavor,) = plan.flavors
    yield "shared.yaml", [shared_queue(plan, flavor), *department_queues(plan, flavor)]
    for team in plan.teams:
        yield f"team-{team.name}.yaml", list(team_objects(plan, team, flavor))


def objects(plan: Plan) -> list[Object]:
    """Every Queue, parents before children."""
    return [one for _, group in files(plan) for one in group]


def shared_queue(plan: Plan, flavor: Hardware) -> Object:
    """All that teams lend, and what no team is guaranteed. Without teams it would be a leaf that takes anyone's jobs."""
    amount = plan.lent[flavor.name] + plan.pool[flavor.name] if plan.teams else 0
    return _queue(plan, SHARED, SHARED, quota=amount, limit=amount)


def department_queues(plan: Plan, flavor: Hardware) -> Iterator[Object]:
    """Parents in `shared`. A quota below the children's sum would void their guarantees, so it is that sum.

    A department without teams is a leaf, which would take jobs: its limit of 0 lets nothing run.
    """
    for department in plan.departments:
        teams = [team for team in plan.teams if team.department == department.name]
        quota = sum(team.shares[flavor.name].lendable for team in teams)
        yield _queue(
            plan, department.name, department.display_name, quota=quota, limit=UNLIMITED if teams else 0, parent=SHARED
        )


def team_objects(plan: Plan, team: TeamPlan, flavor: Hardware) -> Iterator[Object]:
    """The team's queue in the shared tree, and its reserved root where it keeps something back."""
    share = team.shares[flavor.name]
    limit = UNLIMITED if share.borrowable is None else share.lendable + share.borrowable
    parent = team.department or SHARED
    yield _queue(plan, team.name, team.display_name, quota=share.lendable, limit=limit, parent=parent)
    if share.reserved:
        name = team.name + RESERVED_SUFFIX
        yield _queue(plan, name, f"{team.display_name}, never lent", quota=share.reserved, limit=share.reserved)


def _queue(plan: Plan, name: str, display_name: str, *, quota: int, limit: int, parent: str | None = None) -> Object:
    """GPUs are counted; millicores and megabytes are not limited."""
    spec: Object = {"displayName": display_name}
    if parent:
        spec["parentQueue"] = parent
    unlimited = {"quota": UNLIMITED, "limit": UNLIMITED, "overQuotaWeight": 1}
    spec["resources"] = {
        "gpu": {"quota": quota, "limit": limit, "overQuotaWeight": 1},
        "cpu": dict(unlimited),
        "memory": dict(unlimited),
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "Queue",
        "metadata": {"name": name, "labels": {AGREEMENT_LABEL: plan.cluster}},
        "spec": spec,
    }
