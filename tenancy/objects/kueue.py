"""The plan as Kueue objects: a promise becomes three numbers on a tree.

Kueue lends along a tree of Cohorts. A node's nominalQuota is what it owns, its lendingLimit how much of that its siblings
may use while it is idle, its borrowingLimit how far above its own it may go. So `guaranteed`, `lendable` and
`borrowable` of a team are exactly these three, on the node that stands for the team:

- without `prod` that node is one ClusterQueue;
- with `prod` it is a Cohort, and in it the regular queue `<team>` owns nothing and borrows, while `<team>-prod` owns the
  slice, borrows nothing, and takes it back: a queue reclaims what is nominally its own (kueue docs, "Preemption").

A Cohort's nominalQuota adds to its children's (kueue#5289), hence G − P on it. `guarantee_on = "queue"` puts G − P on the
regular queue instead. What no team is guaranteed is the nominalQuota of the root Cohort, and open to all.

A queue may use only (flavor, resource) pairs that it lists, so every node lists all of them, in one resource group, with 0
where it owns nothing (v1beta2: no resource in two groups, the same resources in each flavor).

In a queue of which some flavors have a topology and others have none, Kueue gives a job without a topology annotation
none of the former (kueue#7491). So where one flavor has a topology all have: the others one of hosts only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..agreement.findings import Path
from ..agreement.hardware import HOSTNAME, Hardware
from ..agreement.plan import DepartmentPlan, Plan, TeamPlan, TopologyPlan
from ..text.quantity import milli_text
from .identity import AGREEMENT_LABEL
from .kinds import KINDS
from .quotas import Amounts, resource_quotas

API_VERSION = KINDS["ClusterQueue"].api_version
DISPLAY_NAME = "tenancy.dev/display-name"
PROD_SUFFIX = "-prod"
HOSTS_SUFFIX = "-hosts"

Object = dict[str, Any]


def files(plan: Plan) -> Iterator[tuple[str, list[Object]]]:
    """Every object, by the file it is rendered to: the cluster's own first, then one file for each team."""
    yield "cluster.yaml", list(cluster_objects(plan))
    for team in plan.teams:
        yield f"team-{team.name}.yaml", list(team_objects(plan, team))


def objects(plan: Plan) -> list[Object]:
    """Every object, in the order in which a cluster needs them."""
    return [body for _, body in origins(plan)]


def origins(plan: Plan) -> Iterator[tuple[Path, Object]]:
    """Every object, in the same order, with the path in the agreement that makes it."""
    yield from _cluster_origins(plan)
    for team in plan.teams:
        for body in team_objects(plan, team):
            yield ("teams", team.name), body


def cluster_objects(plan: Plan) -> Iterator[Object]:
    """What belongs to no team: topologies, flavors, priorities, the root Cohort and the departments."""
    return (body for _, body in _cluster_origins(plan))


def _cluster_origins(plan: Plan) -> Iterator[tuple[Path, Object]]:
    for at, tree in enumerate(topologies(plan)):
        is_given = at < len(plan.topologies)  # the one of hosts may be equal to one that is given
        yield ("topologies", tree.name) if is_given else ("cluster", "name"), topology(plan, tree)
    for flavor in plan.flavors:
        yield ("flavors", flavor.name), resource_flavor(plan, flavor)
    for name, value in plan.priorities.items():
        yield ("priorities", name), workload_priority_class(plan, name, value)
    yield ("cluster", "name"), root_cohort(plan)
    for department in plan.departments:
        yield ("departments", department.name), department_cohort(plan, department)


def team_objects(plan: Plan, team: TeamPlan) -> Iterator[Object]:
    """One ClusterQueue, or a Cohort with the regular and the prod queue."""
    if not team.has_prod:
        yield team_queue(plan, team)
        return
    yield team_cohort(plan, team)
    yield regular_queue(plan, team)
    yield prod_queue(plan, team)


def topologies(plan: Plan) -> tuple[TopologyPlan, ...]:
    """The agreement's, and the one of hosts for flavors that name none beside others that do."""
    own = {flavor.topology for flavor in plan.flavors}
    hosts = TopologyPlan(plan.cluster + HOSTS_SUFFIX, (HOSTNAME,))
    return (*plan.topologies, hosts) if None in own and len(own) > 1 else plan.topologies


def topology_of(plan: Plan, flavor: Hardware) -> TopologyPlan | None:
    """The topology a flavor's jobs are placed by; None where no flavor of the plan has one."""
    name = flavor.topology or plan.cluster + HOSTS_SUFFIX
    return next((topology for topology in topologies(plan) if topology.name == name), None)


def topology(plan: Plan, value: TopologyPlan) -> Object:
    return _object(plan, "Topology", value.name, {"levels": [{"nodeLabel": level} for level in value.levels]})


def resource_flavor(plan: Plan, flavor: Hardware) -> Object:
    """The flavor, tied to its nodes by labels; jobs that get it also get tolerations for its taints."""
    spec: Object = {"nodeLabels": dict(flavor.node_labels)}
    if flavor.taints:
        spec["tolerations"] = [_toleration(taint.key, taint.value, taint.effect) for taint in flavor.taints]
    if tree := topology_of(plan, flavor):
        spec["topologyName"] = tree.name
    return _object(plan, "ResourceFlavor", flavor.name, spec)


def workload_priority_class(plan: Plan, name: str, value: int) -> Object:
    return {**_object(plan, "WorkloadPriorityClass", name, {}), "value": value}


def root_cohort(plan: Plan) -> Object:
    """The tree's root; it owns the pool that no team is guaranteed."""
    return _object(plan, "Cohort", plan.cluster, {"resourceGroups": _groups(plan, {}, nominal=plan.pool)})


def department_cohort(plan: Plan, department: DepartmentPlan) -> Object:
    """A node between the root and its teams; it owns nothing itself."""
    spec = {"parentName": plan.cluster, **_weight(plan, department.weight)}
    return _object(plan, "Cohort", department.name, spec, display_name=department.display_name)


def team_queue(plan: Plan, team: TeamPlan) -> Object:
    """The whole of a team without prod: nominalQuota G, lendingLimit L, borrowingLimit B."""
    groups = _groups(plan, *_team_limits(team), nominal=_guaranteed(team))
    queue = _queue(plan, team, team.name, parent_of(plan, team), groups)
    queue["spec"] |= _weight(plan, team.weight)
    return queue


def team_cohort(plan: Plan, team: TeamPlan) -> Object:
    """The node of a team with prod. Its queues' quota counts into it, so it owns only what they do not."""
    on_cohort = plan.guarantee_on == "cohort"
    nominal = {flavor: share.regular if on_cohort else 0 for flavor, share in team.shares.items()}
    groups = _groups(plan, *_team_limits(team), nominal=nominal)
    spec = {"parentName": parent_of(plan, team), "resourceGroups": groups, **_weight(plan, team.weight)}
    return _object(plan, "Cohort", team.name, spec, display_name=team.display_name)


def regular_queue(plan: Plan, team: TeamPlan) -> Object:
    """The queue of a team with prod for all other jobs: it owns nothing and borrows from the team's Cohort."""
    on_queue = plan.guarantee_on == "queue"
    nominal = {flavor: share.regular if on_queue else 0 for flavor, share in team.shares.items()}
    return _queue(plan, team, team.name, team.name, _groups(plan, {}, nominal=nominal))


def prod_queue(plan: Plan, team: TeamPlan) -> Object:
    """The prod slice. Without borrowingLimit 0 it could go over P inside its own team's subtree (measured)."""
    nominal = {flavor: share.prod for flavor, share in team.shares.items()}
    groups = _groups(plan, {}, dict.fromkeys(team.shares, 0), nominal=nominal)
    queue = _queue(plan, team, team.name + PROD_SUFFIX, team.name, groups)
    queue["spec"]["preemption"]["borrowWithinCohort"] = {"policy": "Never"}
    return queue


def parent_of(plan: Plan, team: TeamPlan) -> str:
    """The Cohort a team's node hangs under: its department, else the root."""
    return team.department or plan.cluster


def _guaranteed(team: TeamPlan) -> Amounts:
    return {flavor: share.guaranteed for flavor, share in team.shares.items()}


def _team_limits(team: TeamPlan) -> tuple[Amounts, Amounts]:
    """lendingLimit by flavor and borrowingLimit by flavor, the latter only where there is a limit."""
    lending = {flavor: share.lendable for flavor, share in team.shares.items()}
    borrowing = {flavor: share.borrowable for flavor, share in team.shares.items() if share.borrowable is not None}
    return lending, borrowing


def _groups(plan: Plan, lending: Amounts, borrowing: Amounts | None = None, *, nominal: Amounts) -> list[Object]:
    """The one resource group of a node."""
    flavors = [
        {"name": flavor.name, "resources": resource_quotas(plan, flavor, nominal, borrowing or {}, lending)}
        for flavor in plan.flavors
    ]
    return [{"coveredResources": list(plan.resources), "flavors": flavors}]


def _queue(plan: Plan, team: TeamPlan, name: str, cohort: str, groups: list[Object]) -> Object:
    """A ClusterQueue that only the team's namespaces may use (a null selector would match none of them)."""
    spec: Object = {
        "cohortName": cohort,
        "namespaceSelector": {"matchLabels": {plan.team_label: team.name}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "resourceGroups": groups,
    }
    if plan.sharing.usage:
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    return _object(plan, "ClusterQueue", name, spec, display_name=team.display_name)


def _weight(plan: Plan, weight: int) -> Object:
    """Its part of what is lent: read only where Kueue shares fairly, and 1 where nothing is said."""
    return {"fairSharing": {"weight": milli_text(weight)}} if plan.sharing.policy == "fair" and weight != 1000 else {}


def _toleration(key: str, value: str, effect: str) -> Mapping[str, str]:
    return {"key": key, "operator": "Equal", "value": value, "effect": effect}


def _object(plan: Plan, kind: str, name: str, spec: Object, display_name: str = "") -> Object:
    metadata: Object = {"name": name, "labels": {AGREEMENT_LABEL: plan.cluster}}
    if display_name and display_name not in (name, name.removesuffix(PROD_SUFFIX)):
        metadata["annotations"] = {DISPLAY_NAME: display_name}
    body: Object = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}
    return {**body, "spec": spec} if spec else body
