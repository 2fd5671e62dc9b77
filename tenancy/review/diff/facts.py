"""All that an agreement says besides numbers of teams, where it says something else than before.

One table for each kind of thing, a line for each thing it says: what it is called, where it stands in the plan, and what a person
should know who changes it. What comes, goes, or looks like another name for what was there is found for every kind alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...agreement.plan import Plan, TeamPlan
from ...objects import configuration
from ...text.quantity import bytes_text, milli_text

NONE = "none"


@dataclass(frozen=True, slots=True)
class Fact:
    """`subject` is what it is said of (`team asr`), `what` the thing said; either text is empty where nothing was or is.
    `note` is what follows. `less`: somebody may do less than before."""

    subject: str
    what: str
    before: str = ""
    after: str = ""
    note: str = ""
    less: bool = False
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Of a list, only what comes and goes is worth reading."""

    def __str__(self) -> str:
        if self.added or self.removed:
            parts = [f"+{it}" for it in self.added] + [f"−{it}" for it in self.removed]
            said = f"{self.what} {', '.join(parts)}"
        elif self.before or self.after:
            said = f"{self.what} {self.before or NONE} → {self.after or NONE}"
        else:
            said = self.what
        return f"{self.subject}: {said}" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True)
class _Says:
    """One thing that is said of each of a kind. `list`: it is a list, or a table as `key = value` texts."""

    what: str
    of: Callable[[Any], Any]
    note: str = ""
    list: bool = False
    less: Callable[[Any, Any], bool] = lambda before, after: False


def facts(old: Plan, new: Plan) -> list[Fact]:
    """In the order of the file: the cluster, topologies, flavors, priorities, sharing, access, departments, teams."""
    return [
        *_said("cluster", old, new, _CLUSTER),
        *_kind("topology", _named(old.topologies), _named(new.topologies), _TOPOLOGY),
        *_kind("flavor", old.flavor, new.flavor, _FLAVOR),
        *_order(old, new),
        *_kind("priority", old.priorities, new.priorities, _PRIORITY),
        *_said("sharing", old.sharing, new.sharing, _SHARING),
        *_configuration(old, new),
        *_access(old, new),
        *_kind("department", _named(old.departments), _named(new.departments), _DEPARTMENT),
        *_teams(old, new),
    ]


def renamed(old: Plan, new: Plan) -> dict[str, str]:
    """Old name → new name of teams that come and go in one change and are alike in all but their names. To a cluster these
    are two teams."""
    gone = [it for it in old.teams if it.name not in new.team]
    come = [it for it in new.teams if it.name not in old.team]
    pairs = {}
    for team in gone:
        alike = [it for it in come if _nameless(it) == _nameless(team)]
        twins = [it for it in gone if _nameless(it) == _nameless(team)]
        if len(alike) == len(twins) == 1 and any(share.guaranteed for share in team.shares.values()):
            pairs[team.name] = alike[0].name
    return pairs


def moved_namespaces(old: Plan, new: Plan) -> dict[str, tuple[str, str]]:
    """Namespace → the team it leaves and the team it comes to."""
    was = {name: team.name for team in old.teams for name in team.namespaces}
    becomes = {name: team.name for team in new.teams for name in team.namespaces}
    return {name: (was[name], becomes[name]) for name in was if becomes.get(name, was[name]) != was[name]}


# --- what is said of each kind


def _table(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in values.items())


def _lower(before: int | str, after: int | str) -> bool:
    return isinstance(after, int) and (isinstance(before, str) or after < before)


_CLUSTER = (
    _Says("name", lambda it: it.cluster, "another cluster's agreement: every object is another one"),
    _Says(
        "team_label",
        lambda it: it.team_label,
        "namespaces that carry only the old label are no team's",
        less=lambda *_: True,
    ),
    _Says(
        "guarantee_on", lambda it: it.guarantee_on, "where the guarantee of teams with prod stands; their numbers stay"
    ),
    _Says("prod_priority", lambda it: it.prod_priority, "what a prod job gets that names none"),
)
_TOPOLOGY = (
    _Says("levels", lambda it: " > ".join(it.levels), "nobody can change them on a cluster: give it a new name"),
)
_FLAVOR = (
    _Says(
        "counted in",
        lambda it: it.resource,
        "its amounts are other units than before: compare none of them",
        less=lambda *_: True,
    ),
    _Says("nodes", lambda it: it.nodes),
    _Says("units per node", lambda it: it.units_per_node),
    _Says(
        "CPU with each",
        lambda it: milli_text(it.cpu),
        "a job that asks for more runs out of CPU quota first",
        less=lambda a, b: b < a,
    ),
    _Says(
        "memory with each", lambda it: bytes_text(it.memory), "a job that asks for more runs out of memory quota first"
    ),
    _Says(
        "node labels",
        lambda it: _table(it.node_labels),
        "running jobs stay on their nodes; new ones go to nodes so labelled",
        True,
    ),
    _Says("taints", lambda it: tuple(f"{t.key}={t.value}:{t.effect}" for t in it.taints), "", True),
    _Says("topology", lambda it: it.topology, "how its jobs are packed"),
)
_PRIORITY = (
    _Says(
        "value",
        lambda it: it,
        "Kueue gives it to jobs that are there, too; on KAI they keep the old one",
    ),
)
_DEPARTMENT = (
    _Says("display_name", lambda it: it.display_name),
    _Says("weight", lambda it: f"{it.weight / 1000:g}"),
)
_SHARING = (
    _Says("policy", lambda it: it.policy, "who gets what is lent while several want it, for every team"),
    _Says("preemption_strategies", lambda it: it.preemption_strategies, "", True),
    _Says(
        "usage", lambda it: it.usage and f"half-life {it.usage.half_life}s, sampled each {it.usage.sampling_interval}s"
    ),
    _Says("usage weights", lambda it: it.usage and _table(it.usage.resource_weights), "", True),
    _Says("preempt_min_runtime", lambda it: _seconds(it.preempt_min_runtime), "KAI only"),
    _Says(
        "reclaim_min_runtime",
        lambda it: _seconds(it.reclaim_min_runtime),
        "KAI only: how long an owner waits at most for what is lent",
    ),
)
_ACCESS = (
    _Says("platform_groups", lambda it: it and it.platform_groups, "who may write queues and flavors", True),
    _Says("exempt_namespaces", lambda it: it and it.exempt_namespaces, "no rule is for these", True),
    _Says("default_cpu", lambda it: it and milli_text(it.default_cpu)),
    _Says("default_memory", lambda it: it and bytes_text(it.default_memory)),
)
_TEAM = (
    _Says("display_name", lambda it: it.display_name),
    _Says("department", lambda it: it.department, "its queue moves; its jobs run on"),
    _Says("weight", lambda it: f"{it.weight / 1000:g}"),
    _Says(
        "highest priority its jobs may name",
        lambda it: "any" if it.highest_priority is None else it.highest_priority,
        less=_lower,
    ),
    _Says("members", lambda it: it.members, "", True),
    _Says("leads", lambda it: it.leads, "", True),
    _Says("profiles", lambda it: _table(it.profiles), "", True),
    _Says("machines", lambda it: it.machines and f"{it.machines.count} in {it.machines.namespace}"),
    _Says("machine size", lambda it: it.machines and f"{it.machines.vcpus} vCPUs, {bytes_text(it.machines.memory)}"),
)


def _seconds(value: int | None) -> str:
    return "" if value is None else f"{value}s"


# --- how it is found


def _kind(kind: str, old: Mapping[str, Any], new: Mapping[str, Any], says: Sequence[_Says]) -> Iterator[Fact]:
    for name, it in new.items():
        if name in old:
            yield from _said(f"{kind} {name}", old[name], it, says)
        else:
            yield Fact(f"{kind} {name}", "is new")
    for name in old:
        if name not in new:
            yield Fact(f"{kind} {name}", "is gone", note=_GONE.get(kind, ""), less=True)


_GONE = {
    "flavor": "jobs that run on it end there and count in nobody's quota; jobs that wait for it wait for ever",
    "topology": "jobs that ask for a level of it wait for ever",
    "priority": "jobs that name it are refused",
}


def _said(subject: str, old: Any, new: Any, says: Iterable[_Says]) -> Iterator[Fact]:
    for it in says:
        before, after = it.of(old), it.of(new)
        if (before or None) == (after or None):
            continue
        if it.list:
            was, becomes = before or (), after or ()
            added, removed = (tuple(x for x in a if x not in b) for a, b in ((becomes, was), (was, becomes)))
            texts = (", ".join(was), ", ".join(becomes))
            yield Fact(subject, it.what, *texts, it.note, bool(removed), added, removed)
        else:
            yield Fact(subject, it.what, _text(before), _text(after), it.note, it.less(before, after))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _order(old: Plan, new: Plan) -> Iterator[Fact]:
    was, becomes = ([it for it in plan.flavor if it in old.flavor and it in new.flavor] for plan in (old, new))
    if was != becomes:
        yield Fact(
            "flavors",
            "order",
            ", ".join(was),
            ", ".join(becomes),
            "a job of Kueue's that may have several tries them so",
        )


def _configuration(old: Plan, new: Plan) -> Iterator[Fact]:
    if configuration.needed(old) != configuration.needed(new):
        note = (
            "the values of its chart change (kueue-values.yaml), and it restarts; the objects alone do not switch this"
        )
        yield Fact("sharing", "Kueue's own Configuration", note=note)


def _access(old: Plan, new: Plan) -> Iterator[Fact]:
    if (old.access is None) != (new.access is None):
        what = (
            "begins: rights, quotas of namespaces and policies are written"
            if new.access
            else "ends: rights and policies go"
        )
        yield Fact("access", what, less=True)
    yield from _said("access", old.access, new.access, _ACCESS)


def _teams(old: Plan, new: Plan) -> Iterator[Fact]:
    """What teams are but for their numbers. That one comes or goes is said with these."""
    names, moved = renamed(old, new), moved_namespaces(old, new)
    for was, becomes in names.items():
        note = (
            "a new name is a new team to the cluster: jobs that run end on the old one's quota, jobs that wait go to the new "
            "queues; display_name changes what people read, and nothing else"
        )
        yield Fact(f"team {was}", f"looks like {becomes} by another name", note=note)
    for name, (was, becomes) in moved.items():
        if names.get(was) == becomes:
            continue
        note = "jobs that run end on the old team's quota, jobs that wait go to the new team's queues"
        yield Fact(f"namespace {name}", "team", was, becomes, note)
    for team in new.teams:
        if team.name not in old.team:
            continue
        yield from _said(f"team {team.name}", old.team[team.name], team, _TEAM)
        was_there, is_there = ([it for it in one.namespaces if it not in moved] for one in (old.team[team.name], team))
        says = _Says("namespaces", lambda it: it, "jobs that wait in one that leaves wait on without a queue", True)
        yield from _said(f"team {team.name}", was_there, is_there, (says,))


def _nameless(team: TeamPlan) -> TeamPlan:
    return replace(team, name="", display_name="", profiles=dict(team.profiles), shares=dict(team.shares))


def _named(them: Iterable[Any]) -> dict[str, Any]:
    return {it.name: it for it in them}
