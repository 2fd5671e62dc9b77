"""The plan as KAI Scheduler objects: what is never lent, and a prod slice, get queues of their own, in a tree per flavor.

`amounts` is the arithmetic, `names` what a queue is called, `tree` the Queues, `cluster` shards and topologies.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...agreement.findings import Path
from ...agreement.plan import Plan, TeamPlan
from . import names
from .amounts import UNLIMITED, Parts, parts, per_unit
from .cluster import (
    PRIORITY_VERSION,
    SHARD_VERSION,
    TOPOLOGY_VERSION,
    priority_classes,
    priority_refusal,
    shard,
    shards,
    topology,
)
from .names import (
    NODE_POOL,
    PROD_SUFFIX,
    RESERVED_SUFFIX,
    SHARED,
    job_queues,
    pool,
    prod_queues,
    queue_name,
    regular,
    reserved,
)
from .tree import API_VERSION, Object, department_queues, shared_queue, team_objects

__all__ = [
    "API_VERSION",
    "NODE_POOL",
    "PRIORITY_VERSION",
    "PROD_SUFFIX",
    "RESERVED_SUFFIX",
    "SHARD_VERSION",
    "SHARED",
    "TOPOLOGY_VERSION",
    "UNLIMITED",
    "Object",
    "Parts",
    "chart",
    "department_queues",
    "files",
    "job_queues",
    "objects",
    "origins",
    "parts",
    "per_unit",
    "pool",
    "priority_classes",
    "priority_refusal",
    "prod_queues",
    "queue_name",
    "refusal",
    "regular",
    "reserved",
    "shard",
    "shards",
    "shared_queue",
    "team_objects",
    "topology",
]


def refusal(plan: Plan) -> str | None:
    """Why KAI gets no objects for this agreement; None when it gets them. Names are no reason: `check` refuses those."""
    return names.refusal(plan)


def files(plan: Plan) -> Iterator[tuple[str, list[Object]]]:
    """Every object, by the file it is rendered to: what is no team's first, then one file for each team."""
    if refusal(plan) is None:
        yield "shared.yaml", [body for _, body in _shared_origins(plan)]
        for team in plan.teams:
            yield f"team-{team.name}.yaml", _of_team(plan, team)


def objects(plan: Plan) -> list[Object]:
    """Every object, parents before children."""
    return [body for _, body in origins(plan)]


def origins(plan: Plan) -> Iterator[tuple[Path, Object]]:
    """Every object, in the same order, with the path in the agreement that makes it."""
    if refusal(plan) is None:
        yield from _shared_origins(plan)
        for team in plan.teams:
            for body in _of_team(plan, team):
                yield ("teams", team.name), body


def chart() -> list[Object]:
    """What KAI's own chart makes of these kinds, by name."""
    made = [(API_VERSION, "Queue", name) for name in names.CHART_QUEUES]
    made.append((SHARD_VERSION, "SchedulingShard", names.DEFAULT_SHARD))
    return [{"apiVersion": version, "kind": kind, "metadata": {"name": name}} for version, kind, name in made]


def _shared_origins(plan: Plan) -> Iterator[tuple[Path, Object]]:
    for tree in plan.topologies:
        yield ("topologies", tree.name), topology(plan, tree)
    for body in priority_classes(plan):
        yield ("priorities", body["metadata"]["name"]), body
    for flavor in plan.flavors:
        if made := shard(plan, flavor):
            yield names.pool_origin(flavor), made
    for flavor in plan.flavors:
        yield ("flavors", flavor.name) if len(plan.flavors) > 1 else ("cluster",), shared_queue(plan, flavor)
        for department, body in zip(plan.departments, department_queues(plan, flavor), strict=True):
            yield ("departments", department.name), body


def _of_team(plan: Plan, team: TeamPlan) -> list[Object]:
    return [body for flavor in plan.flavors for body in team_objects(plan, team, flavor)]
