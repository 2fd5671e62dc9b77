"""The plan as KAI Scheduler objects: what is never lent, and a prod slice, get queues of their own, in a tree per flavor.

`amounts` is the arithmetic, `names` what a queue is called, `tree` the Queues, `cluster` shards and topologies.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...agreement.plan import Plan
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
    "department_queues",
    "files",
    "job_queues",
    "objects",
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
    """Why KAI gets no objects for this agreement; None when it gets them."""
    queues = [one["metadata"]["name"] for _, group in _files(plan) for one in group if one["kind"] == "Queue"]
    return names.refusal(plan, queues)


def files(plan: Plan) -> Iterator[tuple[str, list[Object]]]:
    """Every object, by the file it is rendered to: what is no team's first, then one file for each team."""
    if refusal(plan) is None:
        yield from _files(plan)


def objects(plan: Plan) -> list[Object]:
    """Every object, parents before children."""
    return [one for _, group in files(plan) for one in group]


def _files(plan: Plan) -> Iterator[tuple[str, list[Object]]]:
    roots = [one for it in plan.flavors for one in (shared_queue(plan, it), *department_queues(plan, it))]
    yield (
        "shared.yaml",
        [
            *(topology(plan, it) for it in plan.topologies),
            *priority_classes(plan),
            *shards(plan),
            *roots,
        ],
    )
    for team in plan.teams:
        yield f"team-{team.name}.yaml", [one for it in plan.flavors for one in team_objects(plan, team, it)]
