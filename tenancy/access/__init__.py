"""Who belongs where, as Kubernetes objects: what namespaces get, and who may do what.

A team's namespaces are the ones that carry its label. Those the agreement lists are given it; what a namespace then gets
is written plainly for each of them (LISTED), or left to namespace-configuration-operator, which sees to every namespace
with the label, whoever made it (OPERATOR). Both come from the same function, `namespaces.namespace_objects`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from .. import kubeflow
from ..plan import Plan, TeamPlan
from .namespaces import Object, namespace, namespace_config, namespace_objects


class Namespaces(StrEnum):
    """Who writes what a namespace gets."""

    LISTED = "listed"
    OPERATOR = "operator"


def files(plan: Plan, namespaces: Namespaces, *, kueue: bool = True) -> Iterator[tuple[str, list[Object]]]:
    """Every object, by the file it is rendered to: the cluster's own first, then one file for each team. Without `kueue`
    there are no LocalQueues."""
    yield "cluster.yaml", list(cluster_objects(plan, namespaces, kueue=kueue))
    for team in plan.teams:
        yield f"team-{team.name}.yaml", list(team_objects(plan, team, namespaces, kueue=kueue))


def objects(plan: Plan, namespaces: Namespaces, *, kueue: bool = True) -> list[Object]:
    """Every object, in the order in which a cluster needs them."""
    return [one for _, group in files(plan, namespaces, kueue=kueue) for one in group]


def cluster_objects(plan: Plan, namespaces: Namespaces, *, kueue: bool = True) -> Iterator[Object]:
    """What belongs to no team."""
    if namespaces is Namespaces.OPERATOR:
        yield namespace_config(plan, kueue=kueue)


def team_objects(plan: Plan, team: TeamPlan, namespaces: Namespaces, *, kueue: bool = True) -> Iterator[Object]:
    """The team's label on each namespace that the agreement lists, its Profile, and what such a namespace gets."""
    for name in team.namespaces:
        yield kubeflow.owned(namespace(plan, team, name), team)
        if name in team.profiles:
            yield kubeflow.profile(plan, team, name)
        if namespaces is Namespaces.LISTED:
            yield from namespace_objects(plan, team, name, kueue=kueue)
