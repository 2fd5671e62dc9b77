"""KAI's Queues as a draft of an agreement: per node pool one flavor, its trees taken apart into what teams are promised.

Of our own layout every number comes back: what stands in `shared` is lent, what stands in a root `<team>-never-lent` is not,
and what is in a queue `<team>-prod` is prod. Of another tree a leaf is a team that lends all it has, under the name it has, and
a parent a department; a single root with children stands for `shared`. KAI knows nothing of CPU ratios and MIG slices, so
a flavor here is counted in GPUs, or in CPUs where its queues have no GPUs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any

from ...agreement.mig import GPU
from ...objects.difference import quantity
from ...objects.identity import AGREEMENT_LABEL
from ...objects.kai import names
from ...objects.kai.amounts import MILLICORES, UNLIMITED
from .draft import DepartmentDraft, Draft, FlavorDraft, ShareDraft, TeamDraft
from .kueue import DEFAULT_CLUSTER, NothingThere, levels_of
from .objects import Object, labels_of, spec_of

ONLY_FLAVOR = "gpu"
NOTHING = ShareDraft(borrowable=0)


@dataclass
class _Queue:
    """A Queue; `base` is its name without the flavor's. Amounts in what its flavor is counted in; −1 is no limit."""

    name: str
    base: str
    body: Object
    quota: int = 0
    limit: int = 0
    weight: int = 1000
    children: list[_Queue] = field(default_factory=list)

    def child(self, base: str) -> _Queue | None:
        return next((queue for queue in self.children if queue.base == base), None)


@dataclass
class _Team:
    """Where a team's share of one flavor stands."""

    node: _Queue
    regular: _Queue
    department: str | None
    reserved: _Queue | None = None

    def share(self) -> ShareDraft:
        lent = max(self.node.quota, 0)
        kept = max(self.reserved.quota, 0) if self.reserved else 0
        places = [*self.node.children, *(self.reserved.children if self.reserved else ())]
        prods = (self.regular.base + names.PROD_SUFFIX, self.regular.base + names.PROD_SUFFIX + names.SHARED_SUFFIX)
        prod = sum(max(place.quota, 0) for place in places if place.base in prods)
        borrowable = None if self.node.limit == UNLIMITED else max(self.node.limit - lent, 0)
        return ShareDraft(lent + kept, lent, borrowable, min(prod, lent + kept))


def read(objects: Mapping[str, Object]) -> Draft:
    """The draft of all queues. Raises NothingThere."""
    draft = Draft(_cluster(objects))
    pools: dict[str | None, list[Object]] = defaultdict(list)
    for name, body in objects.items():
        if body["kind"] != "Queue":
            continue
        if body["metadata"]["name"] in names.CHART_QUEUES:
            draft.left[name] = "KAI's chart creates it for jobs that name no queue"
        else:
            pools[labels_of(body).get(names.NODE_POOL)].append(body)
    if not pools:
        raise NothingThere("there are no KAI Queues except those of KAI's chart")
    found: dict[str, dict[str, _Team]] = {}
    for pool, bodies in pools.items():
        flavor = _flavor_name(pool, bodies, alone=len(pools) == 1)
        while flavor in draft.flavors:
            flavor += "-other"
        found[flavor] = _read_pool(draft, flavor, pool, bodies, several=len(pools) > 1)
    for name in dict.fromkeys(team for teams in found.values() for team in teams):
        of_team = {flavor: teams[name] for flavor, teams in found.items() if name in teams}
        first = next(iter(of_team.values()))
        draft.teams[name] = TeamDraft(
            shares={flavor: of_team[flavor].share() if flavor in of_team else NOTHING for flavor in draft.flavors},
            display_name=_shown(first.regular.body, next(iter(of_team))),
            department=first.department,
            weight=first.node.weight,
        )
    _rest(draft, objects)
    return draft


def also(draft: Draft, objects: Mapping[str, Object]) -> None:
    """What KAI's Queues say beside Kueue's objects: weights, which Kueue reads only where it shares fairly, and runtimes."""
    try:
        other = read(objects)
    except NothingThere:
        return
    draft.sharing |= {key: value for key, value in other.sharing.items() if key not in draft.sharing}
    for name, team in draft.teams.items():
        if name in other.teams and team.weight == 1000:
            draft.teams[name] = replace(team, weight=other.teams[name].weight)
    for name, department_draft in draft.departments.items():
        if name in other.departments and department_draft.weight == 1000:
            draft.departments[name] = replace(department_draft, weight=other.departments[name].weight)
    draft.left |= {name: value for name, value in other.left.items() if name.startswith("Queue/")}


def _cluster(objects: Mapping[str, Object]) -> str:
    """Queues do not name their cluster, but for the agreement's label."""
    named = [label for entry in objects.values() if (label := labels_of(entry).get(AGREEMENT_LABEL))]
    return max(named, key=named.count) if named else DEFAULT_CLUSTER


def _flavor_name(pool: str | None, bodies: list[Object], *, alone: bool) -> str:
    """After the root `shared-<flavor>`, else after the pool."""
    if not alone:
        for body in bodies:
            name = body["metadata"]["name"]
            if name.startswith(names.SHARED + "-") and not spec_of(body).get("parentQueue"):
                return str(name.removeprefix(names.SHARED + "-"))
    return pool or ONLY_FLAVOR


def _read_pool(draft: Draft, flavor: str, pool: str | None, bodies: list[Object], *, several: bool) -> dict[str, _Team]:
    """Adds the flavor and its departments; returns its teams."""
    of_cpus = all(_number(body, "gpu", "quota") == 0 for body in bodies) and any(
        _number(body, "cpu", "quota") > 0 for body in bodies
    )
    suffix = f"-{flavor}" if several else ""
    queues = {body["metadata"]["name"]: _queue(body, suffix, of_cpus=of_cpus) for body in bodies}
    roots: list[_Queue] = []
    for queue in queues.values():
        parent = queues.get(str(spec_of(queue.body).get("parentQueue")))
        (parent.children if parent else roots).append(queue)
    teams, shared = _apart(draft, flavor, roots)
    lent = sum(max(team.node.quota, 0) for team in teams.values())
    top = shared.limit if shared and shared.limit != UNLIMITED else shared.quota if shared else 0
    draft.flavors[flavor] = FlavorDraft(
        unit="cpu" if of_cpus else "gpu",
        resource="cpu" if of_cpus else GPU,
        cpu=MILLICORES if of_cpus else None,
        node_labels={names.NODE_POOL: pool} if pool and (not several or pool != flavor) else {},
        pool=max(top - lent, 0),
    )
    return teams


def _apart(draft: Draft, flavor: str, roots: list[_Queue]) -> tuple[dict[str, _Team], _Queue | None]:
    """The teams of a pool, and the root that is shared."""
    shared = next((queue for queue in roots if queue.base == names.SHARED), None)
    ours = shared is not None
    kept = {
        queue.base.removesuffix(names.NEVER_LENT_SUFFIX): queue
        for queue in roots
        if queue.base.endswith(names.NEVER_LENT_SUFFIX)
    }
    others = [queue for queue in roots if queue is not shared and not (ours and queue in kept.values())]
    if shared is None and len(others) == 1 and others[0].children:
        shared, others = others[0], []
        draft.left[f"Queue/{shared.name}"] = f"in an agreement the root is called {names.SHARED}"
    teams: dict[str, _Team] = {}
    for child in (*(shared.children if shared else ()), *others):
        if team := _team(child, None):
            teams[team.regular.base] = team
            continue
        department = draft.departments.get(child.base)
        if department is None:
            draft.departments[child.base] = DepartmentDraft(_shown(child.body, flavor), child.weight)
        for found in _in_department(child, child.base):
            teams[found.regular.base] = found
    for name, value in kept.items():
        if ours and name in teams:
            teams[name].reserved = value
    return teams, shared


def _team(queue: _Queue, department: str | None) -> _Team | None:
    """A leaf, or a parent `<team>-shared` with the team's queue in it."""
    if not queue.children:
        return _Team(queue, queue, department)
    regular = queue.child(queue.base.removesuffix(names.SHARED_SUFFIX))
    if regular and regular.base != queue.base:
        return _Team(queue, regular, department)
    return None


def _in_department(queue: _Queue, department: str) -> Iterator[_Team]:
    for child in queue.children:
        if team := _team(child, department):
            yield team
        else:
            yield from _in_department(child, department)


def _queue(body: Object, suffix: str, *, of_cpus: bool) -> _Queue:
    name = body["metadata"]["name"]
    resource, per = ("cpu", MILLICORES) if of_cpus else ("gpu", 1)
    quota, limit = (_number(body, resource, key) for key in ("quota", "limit"))
    weight = quantity(_resource(body, resource).get("overQuotaWeight", 1))
    return _Queue(
        name=name,
        base=name.removesuffix(suffix) if suffix else name,
        body=body,
        quota=quota if quota == UNLIMITED else floor(quota / per),
        limit=limit if limit == UNLIMITED else floor(limit / per),
        weight=1000 if weight is None or weight < 0 else floor(weight * 1000),
    )


def _resource(body: Object, resource: str) -> Mapping[str, Any]:
    resources = spec_of(body).get("resources")
    found = resources.get(resource) if isinstance(resources, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _number(body: Object, resource: str, key: str) -> int:
    return floor(quantity(_resource(body, resource).get(key, 0)) or 0)


def _shown(body: Object, flavor: str) -> str | None:
    shown = spec_of(body).get("displayName")
    return shown.removesuffix(f" ({flavor})") if isinstance(shown, str) else None


def _rest(draft: Draft, objects: Mapping[str, Object]) -> None:
    """Priorities, topologies, runtimes, usage."""
    for name, body in objects.items():
        spec = spec_of(body)
        if body["kind"] == "PriorityClass" and type(body.get("value")) is int:
            draft.priorities[body["metadata"]["name"]] = body["value"]
        elif name.startswith("Topology.kai.scheduler/"):
            if levels := levels_of(body):
                draft.topologies[body["metadata"]["name"]] = levels
        elif body["kind"] == "SchedulingShard" and isinstance(usage := spec.get("usageDBConfig"), Mapping):
            parameters = usage.get("usageParams")
            said = parameters if isinstance(parameters, Mapping) else {}
            times = {"half_life": said.get("halfLifePeriod"), "sampling_interval": said.get("fetchInterval")}
            draft.sharing["usage"] = {key: time for key, time in times.items() if time}
        elif body["kind"] == "Queue" and body["metadata"]["name"].startswith(names.SHARED):
            for key, field_name in (
                ("preempt_min_runtime", "preemptMinRuntime"),
                ("reclaim_min_runtime", "reclaimMinRuntime"),
            ):
                if isinstance(spec.get(field_name), str):
                    draft.sharing[key] = spec[field_name]
