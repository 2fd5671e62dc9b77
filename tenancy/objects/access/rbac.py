"""Who may do what, by the groups that the agreement names.

- A team's *members* submit jobs in its namespaces, see what becomes of them, and read the queues there.
- Its *leads* see the team's Workloads and pods, and read the same queues. Who leads and also submits is in both groups.
- Both read the team's own ClusterQueues, by name: a ClusterRole with `resourceNames`.
- The *platform groups*, and of all groups of the agreement only these, write queues, flavors and priorities, and put
  namespaces into teams (`admission.namespaces_policy` asks for the right to `assign` `teams`, which no other object has).

The roles add nothing to Kubernetes' own (no `aggregate-to-…` label): who holds `edit` elsewhere gets nothing by them, and
what they do not list (secrets, exec into pods, events) the cluster's own roles may give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...agreement.plan import Plan, TeamPlan
from ..identity import AGREEMENT_LABEL
from ..kinds import KINDS
from ..kueue import PROD_SUFFIX

GROUP = KINDS["ClusterRole"].group
PLATFORM, MEMBER, LEAD, QUEUES = "tenancy-platform", "tenancy-member", "tenancy-lead", "tenancy-queues-"
KUEUE_GROUP = KINDS["LocalQueue"].group
TEAMS_GROUP, TEAMS, ASSIGN = "tenancy.dev", "teams", "assign"

READ = ("get", "list", "watch")
SUBMIT = (*READ, "create", "delete", "patch", "update")
# What a pod asks for cannot change, and who may update one could let it start before its turn.
SUBMIT_PODS = (*READ, "create", "delete")

Object = dict[str, Any]
Rule = tuple[str, tuple[str, ...], tuple[str, ...]]
"""An API group, resources of it, and verbs."""

_PLATFORM: tuple[Rule, ...] = (
    (
        KUEUE_GROUP,
        ("clusterqueues", "cohorts", "resourceflavors", "topologies", "localqueues", "workloadpriorityclasses"),
        SUBMIT,
    ),
    ("scheduling.run.ai", ("queues",), SUBMIT),
    (TEAMS_GROUP, (TEAMS,), (ASSIGN,)),
)
_MEMBER: tuple[Rule, ...] = (
    ("", ("pods",), SUBMIT_PODS),
    ("", ("pods/log",), ("get",)),
    ("batch", ("jobs",), SUBMIT),
    ("jobset.x-k8s.io", ("jobsets",), SUBMIT),
    ("trainer.kubeflow.org", ("trainjobs",), SUBMIT),
    ("kubeflow.org", ("pytorchjobs", "notebooks"), SUBMIT),
    ("ray.io", ("rayjobs",), SUBMIT),
    (KUEUE_GROUP, ("localqueues", "workloads"), READ),  # a Workload says why a job waits
)
_LEAD: tuple[Rule, ...] = (
    ("", ("pods",), READ),
    ("", ("pods/log",), ("get",)),
    (KUEUE_GROUP, ("localqueues", "workloads"), READ),
)


def cluster_roles(plan: Plan) -> Iterator[Object]:
    """The roles that all teams share, and the platform groups' binding; nothing without `[access]`."""
    if plan.access is None:
        return
    for name, rules in ((PLATFORM, _PLATFORM), (MEMBER, _MEMBER), (LEAD, _LEAD)):
        yield _role(plan, name, map(_rule, rules))
    yield _binding(plan, PLATFORM, PLATFORM, plan.access.platform_groups)


def team_roles(plan: Plan, team: TeamPlan) -> Iterator[Object]:
    """The team's own ClusterQueues, for its members and leads to read."""
    groups = dict.fromkeys((*team.members, *team.leads))
    if plan.access is None or not groups:
        return
    queues = [team.name, *([team.name + PROD_SUFFIX] if team.has_prod else ())]
    name = QUEUES + team.name
    yield _role(plan, name, [{**_rule((KUEUE_GROUP, ("clusterqueues",), READ)), "resourceNames": queues}])
    yield _binding(plan, name, name, groups)


def role_bindings(plan: Plan, team: TeamPlan, namespace: str) -> Iterator[Object]:
    """The team's groups in one of its namespaces."""
    if plan.access is None:
        return
    for role, groups in ((MEMBER, team.members), (LEAD, team.leads)):
        if groups:
            yield _binding(plan, role, role, groups, namespace)


def _rule(rule: Rule) -> Object:
    group, resources, verbs = rule
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _role(plan: Plan, name: str, rules: Iterable[Object]) -> Object:
    metadata = {"name": name, "labels": {AGREEMENT_LABEL: plan.cluster}}
    return {
        "apiVersion": KINDS["ClusterRole"].api_version,
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": list(rules),
    }


def _binding(plan: Plan, name: str, role: str, groups: Iterable[str], namespace: str = "") -> Object:
    """Of a ClusterRole to groups, in a namespace or in the cluster."""
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": KINDS["ClusterRole"].api_version,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, **place, "labels": {AGREEMENT_LABEL: plan.cluster}},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups],
    }
