"""Who belongs where, as Kubernetes objects: what namespaces get, and who may do what.

A team's namespaces are the ones that carry its label. Those the agreement lists are given it; what a namespace then gets
is written plainly for each of them (LISTED), or left to namespace-configuration-operator, which sees to every namespace
with the label, whoever made it (OPERATOR). Both come from the same function, `namespaces.namespace_objects`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from ...agreement.findings import Path
from ...agreement.plan import Plan, TeamPlan
from .. import kai as kai_scheduler
from .. import kubeflow
from . import admission, moves, quotas, rbac
from .namespaces import Object, namespace, namespace_config, namespace_objects

WITHOUT = "a job in a prod queue that names no priority does not get the agreement's (it needs Kubernetes 1.36)"

PROD_PRIORITY_FILE = (
    "prod-priority.yaml"  # apart from the others, so that a cluster that does not serve it can leave it out
)


class Namespaces(StrEnum):
    """Who writes what a namespace gets."""

    LISTED = "listed"
    OPERATOR = "operator"


def files(
    plan: Plan, namespaces: Namespaces, *, kueue: bool = True, kai: bool = True
) -> Iterator[tuple[str, list[Object]]]:
    """Every object, by the file it is rendered to: the cluster's own first, then one file for each team. Without `kueue`
    there are no LocalQueues; without either scheduler nobody is told to name a queue of its."""
    yield "cluster.yaml", list(cluster_objects(plan, namespaces, kueue=kueue, kai=kai))
    yield PROD_PRIORITY_FILE, list(admission.prod_priority_policy(plan)) if kueue else []
    for team in plan.teams:
        yield f"team-{team.name}.yaml", list(team_objects(plan, team, namespaces, kueue=kueue))


def objects(plan: Plan, namespaces: Namespaces, *, kueue: bool = True, kai: bool = True) -> list[Object]:
    """Every object, in the order in which a cluster needs them."""
    return [one for _, group in files(plan, namespaces, kueue=kueue, kai=kai) for one in group]


def cluster_objects(plan: Plan, namespaces: Namespaces, *, kueue: bool = True, kai: bool = True) -> Iterator[Object]:
    """What belongs to no team."""
    yield from rbac.cluster_roles(plan)
    yield from admission.refusals(plan, kueue=kueue, kai_queues=kai_queues(plan) if kai else {})
    if namespaces is Namespaces.OPERATOR:
        yield namespace_config(plan, kueue=kueue)
        yield from moves.move_policy(plan)


def cluster_wide(plan: Plan, namespaces: Namespaces, *, kueue: bool = True, kai: bool = True) -> Iterator[Object]:
    """All that is in no namespace, teams' roles too."""
    yield from cluster_objects(plan, namespaces, kueue=kueue, kai=kai)
    if kueue:
        yield from admission.prod_priority_policy(plan)
    for team in plan.teams:
        yield from rbac.team_roles(plan, team)


def cluster_origins(plan: Plan) -> Iterator[tuple[Path, Object]]:
    """All that may come to be in no namespace, with the path in the agreement that makes it."""
    for body in (*cluster_objects(plan, Namespaces.OPERATOR), *admission.prod_priority_policy(plan)):
        yield ("access",), body
    for team in plan.teams:
        for body in rbac.team_roles(plan, team):
            yield ("teams", team.name), body


def team_objects(plan: Plan, team: TeamPlan, namespaces: Namespaces, *, kueue: bool = True) -> Iterator[Object]:
    """The team's roles, and each of its namespaces."""
    yield from rbac.team_roles(plan, team)
    for name in namespaces_of(team):
        yield from in_namespace(plan, team, name, namespaces, kueue=kueue)


def namespaces_of(team: TeamPlan) -> tuple[str, ...]:
    """Those that the agreement names: for jobs, and the machines' own."""
    return (*team.namespaces, *([team.machines.namespace] if team.machines else ()))


def in_namespace(
    plan: Plan, team: TeamPlan, name: str, namespaces: Namespaces, *, kueue: bool = True
) -> Iterator[Object]:
    """The team's label on one namespace, its Profile, and what it gets, unless that is left to the operator. That of
    machines gets their quota, and no queue."""
    yield kubeflow.owned(namespace(plan, team, name), team)
    if name in team.profiles:
        yield kubeflow.profile(plan, team, name)
    if team.machines and name == team.machines.namespace:
        yield from quotas.machines_quota(plan, team)
    elif namespaces is Namespaces.LISTED:
        yield from namespace_objects(plan, team, name, kueue=kueue)


def kai_queues(plan: Plan) -> dict[str, list[str]]:
    """Per team, the KAI queues that its jobs may name; empty where KAI gets none."""
    if kai_scheduler.refusal(plan):
        return {}
    return {
        team.name: [name for flavor in plan.flavors for name in kai_scheduler.job_queues(plan, team, flavor)]
        for team in plan.teams
    }
