"""Kueue's objects as a draft of an agreement: the tree under one root Cohort, its queues as teams.

What our builders make is recognised (a team's queue; a team's Cohort with a regular and a prod queue; departments), and of
any other tree what has the same meaning is taken: a queue is a team under the name it has, a Cohort between it and the root a
department, a queue in no Cohort a team that lends nothing and borrows nothing. Everything beyond that is not decided here:
`differences` compares what the draft becomes with what was given, and tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import floor
from typing import Any

from ...agreement.checks.people import is_system
from ...agreement.hardware import FLAVOR_LABEL, HOSTNAME, Unit
from ...agreement.mig import GPU
from ...objects.difference import quantity
from ...objects.kueue import DISPLAY_NAME, HOSTS_SUFFIX, PROD_SUFFIX
from .draft import DepartmentDraft, Draft, FlavorDraft, ShareDraft, TeamDraft
from .objects import Object, annotation, spec_of
from .quotas import Forest, Node, Pair, flavors_of, forest

SLICE = "nvidia.com/mig-"
ANY_NODE = {"kubernetes.io/os": "linux"}
USAGE_MODE = "UsageBasedAdmissionFairSharing"
DEFAULT_CLUSTER = "cluster"


class NothingThere(ValueError):
    """There is nothing that an agreement could say. The text is for the user."""


def read(objects: Mapping[str, Object], cohort: str | None) -> Draft:
    """The draft of the tree under `cohort`; None takes the root with the most queues. Raises NothingThere."""
    trees = forest(objects.values())
    root = _root(trees, cohort)
    draft = Draft(root.name if root.kind == "Cohort" else DEFAULT_CLUSTER)
    single = [node for node in trees.roots if node.kind == "ClusterQueue"]
    nodes = [*(root.below() if root.kind == "Cohort" else ()), *single]
    for item in trees.circular:
        draft.left[item.reference] = "its parent Cohorts form a cycle, so Kueue admits nothing there"
    for entry in trees.roots:
        if entry.kind == "Cohort" and entry is not root:
            for node in entry.below():
                draft.left[node.reference] = f"it belongs to another tree; read that tree with --cohort {entry.name}"
    _hardware(draft, objects, nodes)
    teams = _teams(draft, root if root.kind == "Cohort" else None, single)
    _pool(draft, nodes, teams)
    _sharing(draft, nodes)
    _priorities(draft, objects)
    _namespaces(draft, objects, teams)
    return draft


def _root(trees: Forest, cohort: str | None) -> Node:
    cohorts = [node for node in trees.roots if node.kind == "Cohort"]
    if cohort is not None:
        for entry in cohorts:
            if entry.name == cohort:
                return entry
        known = ", ".join(sorted(node.name for node in cohorts)) or "none"
        raise NothingThere(f"--cohort {cohort}: there is no root Cohort with that name; root Cohorts: {known}")
    queues = Counter({cohort.name: sum(node.kind == "ClusterQueue" for node in cohort.below()) for cohort in cohorts})
    if cohorts:
        return max(cohorts, key=lambda node: queues[node.name])
    if not trees.roots:
        raise NothingThere("there is no ClusterQueue and no Cohort to read an agreement from")
    return trees.roots[0]


# --- hardware ---------------------------------------------------------------------------------------------------------


def _hardware(draft: Draft, objects: Mapping[str, Object], nodes: list[Node]) -> None:
    """The flavors that somebody owns some of, in the order they are tried, and the topologies they name."""
    bodies = {entry["metadata"]["name"]: entry for entry in objects.values() if entry["kind"] == "ResourceFlavor"}
    topologies = {name: value for name, value in objects.items() if name.startswith("Topology/")}
    for body in topologies.values():
        if (levels := levels_of(body)) is not None:
            draft.topologies[body["metadata"]["name"]] = levels
    hosts = draft.cluster + HOSTS_SUFFIX
    others = {spec_of(body).get("topologyName") for body in bodies.values()} - {hosts, None}
    if draft.topologies.get(hosts) == (HOSTNAME,) and others:
        del draft.topologies[hosts]  # made by itself, for flavors that name none
    queues = [node for node in nodes if node.kind == "ClusterQueue"]
    for name in flavors_of([*queues, *nodes]):
        counted = _counted(name, nodes)
        if counted is None:
            draft.left[f"ResourceFlavor/{name}"] = "no queue has quota for GPUs, MIG slices or CPUs of it"
            continue
        unit, resource = counted
        spec = spec_of(bodies.get(name, {}))
        topology = spec.get("topologyName")
        draft.flavors[name] = FlavorDraft(
            unit=unit,
            resource=resource,
            cpu=1000 if unit == "cpu" else _ratio(nodes, (name, resource), (name, "cpu"), 1000),
            memory=_ratio(nodes, (name, resource), (name, "memory"), 1),
            node_labels=_node_labels(
                name, spec, taken=any(flavor_draft.node_labels == ANY_NODE for flavor_draft in draft.flavors.values())
            ),
            taints=tuple(_taints(spec)),
            topology=topology if topology in draft.topologies else None,
        )
    for name in (name for name in bodies if name not in draft.flavors):
        draft.left.setdefault(f"ResourceFlavor/{name}", "no queue of this tree has quota for it")
    if not draft.flavors:
        raise NothingThere(
            "no queue has quota for GPUs, MIG slices or CPUs of any flavor, and an agreement needs one of these"
        )


def _counted(flavor: str, nodes: list[Node]) -> tuple[Unit, str] | None:
    """What the flavor is counted in: of its devices the one that most is owned of, else its CPUs."""
    owned: Counter[str] = Counter()
    for node in nodes:
        for (name, resource), row in node.rows.items():
            if name == flavor and row.nominal:
                owned[resource] += floor(row.nominal)
    devices = {
        entry: owned[entry] for entry in owned if (entry == GPU or entry.startswith(SLICE)) and owned[entry] >= 1
    }
    if devices:
        resource = max(devices, key=lambda device: devices[device])
        return ("gpu" if resource == GPU else "slice"), resource
    return ("cpu", "cpu") if owned["cpu"] >= 1 else None


def _ratio(nodes: list[Node], unit: Pair, other: Pair, scale: int) -> int | None:
    """What goes with a unit: as most of the units have it, the larger where two ratios are as frequent."""
    seen: Counter[int] = Counter()
    for node in nodes:
        units, amount = node.nominal(unit), node.nominal(other)
        if units > 0 and (ratio := floor(amount * scale / units)) > 0:
            seen[ratio] += floor(units)
    return max(seen, key=lambda entry: (seen[entry], entry)) if seen else None


def _node_labels(name: str, spec: Object, *, taken: bool) -> Mapping[str, str]:
    """As they stand there. A flavor without labels is for any node; what every node carries says that, once."""
    labels = spec.get("nodeLabels")
    if labels and isinstance(labels, Mapping) and all(isinstance(label, str) for label in labels.values()):
        return {} if labels == {FLAVOR_LABEL: name} else dict(labels)
    return {} if taken else ANY_NODE


def _taints(spec: Object) -> Iterator[Mapping[str, str]]:
    """Tolerations of a taint of one value; others stand for many taints, which the agreement has no word for."""
    for toleration in spec.get("tolerations") or ():
        known = isinstance(toleration, Mapping) and toleration.keys() <= {"key", "operator", "value", "effect"}
        if (
            known
            and toleration.get("operator", "Equal") == "Equal"
            and toleration.get("key")
            and toleration.get("effect")
        ):
            yield {"key": toleration["key"], "value": toleration.get("value", ""), "effect": toleration["effect"]}


def levels_of(body: Object) -> tuple[str, ...] | None:
    levels = spec_of(body).get("levels")
    labels = [
        str(level["nodeLabel"]) for level in levels or () if isinstance(level, Mapping) and level.get("nodeLabel")
    ]
    return tuple(labels) or None


# --- teams ------------------------------------------------------------------------------------------------------------


def _teams(draft: Draft, root: Node | None, single: list[Node]) -> dict[str, list[Node]]:
    """Fills departments and teams. Returns the nodes that each team's numbers are from."""
    found: dict[str, tuple[str | None, list[Node]]] = {}
    for child in root.children if root else ():
        if child.kind == "ClusterQueue" or _is_team(child):
            found[child.name] = (None, [child])
            continue
        for below in _in_department(child):
            found[below.name] = (child.name, [below])
        draft.departments[child.name] = DepartmentDraft(
            annotation(child.body, DISPLAY_NAME) if child.body else None, _weight(child)
        )
    for entry in single:
        found[entry.name] = (None, [entry])
    for name in [name for name in found if name in draft.departments]:  # a team may not have a department's name
        del draft.departments[name]
        draft.left[f"Cohort/{name}"] = f"a department cannot have the name of team {name}"
        found = {team: (None if of == name else of, nodes) for team, (of, nodes) in found.items()}
    draft.guarantee_on = _guarantee_on(draft, [node for _, (node,) in found.values()])
    for name, (department, (node,)) in found.items():
        draft.teams[name] = _team(draft, node, department, alone=node in single)
    return {name: list(nodes[0].below()) for name, (_, nodes) in found.items()}


def _is_team(cohort: Node) -> bool:
    """A Cohort with a regular queue of its own name and a prod queue, and nothing else."""
    return sorted(node.reference for node in cohort.children) == [
        f"ClusterQueue/{cohort.name}",
        f"ClusterQueue/{cohort.name}{PROD_SUFFIX}",
    ]


def _in_department(cohort: Node) -> Iterator[Node]:
    """The teams anywhere below: an agreement has one level of departments."""
    for child in cohort.children:
        if child.kind == "ClusterQueue" or _is_team(child):
            yield child
        else:
            yield from _in_department(child)


def _guarantee_on(draft: Draft, nodes: list[Node]) -> str:
    """Where most of the units stand that are no prod slice's."""
    on: Counter[str] = Counter(cohort=0, queue=0)
    for node in nodes:
        for child in node.children:
            if child.name == node.name:
                for name, flavor in draft.flavors.items():
                    pair = (name, flavor.resource)
                    on["cohort"] += floor(node.nominal(pair))
                    on["queue"] += floor(child.nominal(pair))
    return "queue" if on["queue"] > on["cohort"] else "cohort"


def _team(draft: Draft, node: Node, department: str | None, *, alone: bool) -> TeamDraft:
    queues = node.children or [node]
    regular = next(queue for queue in queues if queue.name == node.name)
    return TeamDraft(
        shares={
            name: _share(node, (name, flavor_draft.resource), alone=alone)
            for name, flavor_draft in draft.flavors.items()
        },
        display_name=annotation(regular.body, DISPLAY_NAME) if regular.body else None,
        department=department,
        weight=_weight(node),
    )


def _share(node: Node, pair: Pair, *, alone: bool) -> ShareDraft:
    """`alone`: in no Cohort, where there is nothing to lend or borrow."""
    prod = sum(floor(child.nominal(pair)) for child in node.children if child.name == node.name + PROD_SUFFIX)
    guaranteed = sum(floor(entry.nominal(pair)) for entry in node.below())
    row = node.rows.get(pair)
    lending = guaranteed if row is None or row.lending is None else floor(row.lending)
    borrowing = None if row is None or row.borrowing is None else max(floor(row.borrowing), 0)
    if alone or (row is None and node.kind == "ClusterQueue"):  # what a queue does not list it cannot use
        borrowing = 0
    guaranteed, prod = max(guaranteed, 0), max(prod, 0)
    lendable = 0 if alone else min(max(lending, 0), guaranteed)
    return ShareDraft(guaranteed, lendable, borrowing, min(prod, guaranteed))


def _pool(draft: Draft, nodes: list[Node], teams: Mapping[str, list[Node]]) -> None:
    """What stands on nodes of the tree that are no team's, the root first of all."""
    owned = {node.reference for group in teams.values() for node in group}
    for name, flavor in draft.flavors.items():
        pool = sum(floor(node.nominal((name, flavor.resource))) for node in nodes if node.reference not in owned)
        draft.flavors[name] = replace(flavor, pool=max(pool, 0))


# --- the rest ---------------------------------------------------------------------------------------------------------


def _weight(node: Node) -> int:
    """In thousandths."""
    sharing = spec_of(node.body or {}).get("fairSharing")
    weight = quantity(sharing.get("weight")) if isinstance(sharing, Mapping) else None
    return 1000 if weight is None or weight < 0 else floor(weight * 1000)


def _sharing(draft: Draft, nodes: list[Node]) -> None:
    """What the objects show of it: weights are written where Kueue shares fairly, scopes where usage counts."""
    if any(_weight(node) != 1000 for node in nodes):
        draft.sharing["policy"] = "fair"
    scopes = [spec_of(node.body or {}).get("admissionScope") for node in nodes]
    if any(isinstance(scope, Mapping) and scope.get("admissionMode") == USAGE_MODE for scope in scopes):
        draft.sharing["usage"] = {}


def configured(draft: Draft, configuration: Object) -> None:
    """What Kueue's own Configuration says of sharing, which the objects do not."""
    if isinstance(fair := configuration.get("fairSharing"), Mapping) and fair.get("enable", True):
        draft.sharing["policy"] = "fair"
        if strategies := fair.get("preemptionStrategies"):
            draft.sharing["preemption_strategies"] = list(strategies)
    if isinstance(usage := configuration.get("admissionFairSharing"), Mapping):
        weights = usage.get("resourceWeights")
        said: dict[str, Any] = {
            "half_life": usage.get("usageHalfLifeTime"),
            "sampling_interval": usage.get("usageSamplingInterval"),
            "resource_weights": weights,
        }
        draft.sharing["usage"] = {key: value for key, value in said.items() if value}


def _priorities(draft: Draft, objects: Mapping[str, Object]) -> None:
    for body in objects.values():
        if body["kind"] == "WorkloadPriorityClass" and type(body.get("value")) is int:
            draft.priorities[body["metadata"]["name"]] = body["value"]


def _namespaces(draft: Draft, objects: Mapping[str, Object], teams: Mapping[str, list[Node]]) -> None:
    """The label that most queues select by, and each team's namespaces: those with LocalQueues of one team only."""
    keys: Counter[str] = Counter()
    team_of = {node.name: name for name, nodes in teams.items() for node in nodes if node.kind == "ClusterQueue"}
    for owner, nodes in teams.items():
        for entry in nodes:
            selector = spec_of(entry.body or {}).get("namespaceSelector")
            match = selector.get("matchLabels") if isinstance(selector, Mapping) else None
            labels = match if isinstance(match, Mapping) else {}
            keys.update(key for key, value in labels.items() if value == owner)
    if keys:
        draft.team_label = max(keys, key=lambda key: keys[key])
    of_namespace: dict[str, set[str | None]] = {}
    for body in objects.values():
        if body["kind"] == "LocalQueue":
            queue = str(spec_of(body).get("clusterQueue"))
            of_namespace.setdefault(body["metadata"].get("namespace") or "default", set()).add(team_of.get(queue))
    for namespace, found in of_namespace.items():
        if len(found) == 1 and (name := found.pop()) is not None and not is_system(namespace):
            team = draft.teams[name]
            draft.teams[name] = replace(team, namespaces=(*team.namespaces, namespace))
        else:
            _leave_namespace(draft, objects, namespace, found)


def _leave_namespace(draft: Draft, objects: Mapping[str, Object], namespace: str, teams: set[str | None]) -> None:
    """One that cannot be a team's: its LocalQueues stay as they are."""
    if is_system(namespace):
        why = f"namespace {namespace} belongs to the system"
    elif len(teams) > 1:
        why = f"namespace {namespace} has queues of several teams, and an agreement allows one"
    else:
        why = f"no LocalQueue of namespace {namespace} leads to a team"
    for name in objects:
        if name.startswith(f"LocalQueue/{namespace}/"):
            draft.left[name] = why
