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
            parts = [f"+{entry}" for entry in self.added] + [f"−{entry}" for entry in self.removed]
            said = f"{self.what} {', '.join(parts)}"
        elif self.before or self.after:
            said = f"{self.what} {self.before or NONE} → {self.after or NONE}"
        else:
            said = self.what
        return f"{self.subject}: {said}" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True)
class _Says:
    """One thing that is said of each of a kind. `list`: it is a list, or a table as `key = value` texts. `less` compares the values
    themselves, `text` writes one."""

    what: str
    of: Callable[[Any], Any]
    note: str = ""
    list: bool = False
    less: Callable[[Any, Any], bool] = lambda before, after: False
    text: Callable[[Any], str] = str


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
    gone = [team for team in old.teams if team.name not in new.team]
    come = [team for team in new.teams if team.name not in old.team]
    pairs = {}
    for team in gone:
        alike = [entry for entry in come if _nameless(entry) == _nameless(team)]
        twins = [entry for entry in gone if _nameless(entry) == _nameless(team)]
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
    _Says(
        "name", lambda entry: entry.cluster, "this is the agreement of another cluster: every object is a different one"
    ),
    _Says(
        "team_label",
        lambda entry: entry.team_label,
        "a namespace with only the old label belongs to no team",
        less=lambda *_: True,
    ),
    _Says(
        "guarantee_on",
        lambda entry: entry.guarantee_on,
        "this moves the guarantee of teams with prod to other objects; their numbers stay",
    ),
    _Says("prod_priority", lambda entry: entry.prod_priority, "a prod job that names no priority gets this one"),
)
_TOPOLOGY = (
    _Says(
        "levels",
        lambda entry: " > ".join(entry.levels),
        "a cluster lets nobody change the levels: give the topology a new name",
    ),
)
_FLAVOR = (
    _Says(
        "counted in",
        lambda entry: entry.resource,
        "its amounts have another unit than before, so they cannot be compared",
        less=lambda *_: True,
    ),
    _Says("nodes", lambda entry: entry.nodes),
    _Says("units per node", lambda entry: entry.units_per_node),
    _Says(
        "CPU with each",
        lambda entry: entry.cpu,
        "a job that requests more runs out of CPU quota first",
        less=lambda before, after: after < before,
        text=milli_text,
    ),
    _Says(
        "memory with each",
        lambda entry: entry.memory,
        "a job that requests more runs out of memory quota first",
        less=lambda before, after: after < before,
        text=bytes_text,
    ),
    _Says(
        "node labels",
        lambda entry: _table(entry.node_labels),
        "running jobs stay on their nodes; new jobs go to nodes with these labels",
        True,
    ),
    _Says("taints", lambda entry: tuple(f"{t.key}={t.value}:{t.effect}" for t in entry.taints), "", True),
    _Says("topology", lambda entry: entry.topology, "this decides how its jobs are packed"),
)
_PRIORITY = (
    _Says(
        "value",
        lambda entry: entry,
        "Kueue also gives the new value to existing jobs; on KAI they keep the old value",
    ),
)
_DEPARTMENT = (
    _Says("display_name", lambda entry: entry.display_name),
    _Says("weight", lambda entry: f"{entry.weight / 1000:g}"),
)
_SHARING = (
    _Says("policy", lambda entry: entry.policy, "this decides who gets lent capacity when several teams want it"),
    _Says("preemption_strategies", lambda entry: entry.preemption_strategies, "", True),
    _Says(
        "usage",
        lambda entry: (
            entry.usage and f"half-life {entry.usage.half_life}s, sampled each {entry.usage.sampling_interval}s"
        ),
    ),
    _Says("usage weights", lambda entry: entry.usage and _table(entry.usage.resource_weights), "", True),
    _Says("preempt_min_runtime", lambda entry: _seconds(entry.preempt_min_runtime), "KAI only"),
    _Says(
        "reclaim_min_runtime",
        lambda entry: _seconds(entry.reclaim_min_runtime),
        "KAI only: the longest time that an owner waits for lent capacity",
    ),
)
_ACCESS = (
    _Says(
        "platform_groups",
        lambda entry: entry and entry.platform_groups,
        "these groups may write queues and flavors",
        True,
    ),
    _Says(
        "exempt_namespaces",
        lambda entry: entry and entry.exempt_namespaces,
        "no access rule applies to these namespaces",
        True,
    ),
    _Says("default_cpu", lambda entry: entry and milli_text(entry.default_cpu)),
    _Says("default_memory", lambda entry: entry and bytes_text(entry.default_memory)),
)
_TEAM = (
    _Says("display_name", lambda entry: entry.display_name),
    _Says("department", lambda entry: entry.department, "its queue moves; its jobs keep running"),
    _Says("weight", lambda entry: f"{entry.weight / 1000:g}"),
    _Says(
        "highest priority its jobs may name",
        lambda entry: "any" if entry.highest_priority is None else entry.highest_priority,
        less=_lower,
    ),
    _Says("members", lambda entry: entry.members, "", True),
    _Says("leads", lambda entry: entry.leads, "", True),
    _Says("profiles", lambda entry: _table(entry.profiles), "", True),
    _Says("machines", lambda entry: entry.machines and f"{entry.machines.count} in {entry.machines.namespace}"),
    _Says(
        "machine size",
        lambda entry: entry.machines and f"{entry.machines.vcpus} vCPUs, {bytes_text(entry.machines.memory)}",
    ),
)


def _seconds(value: int | None) -> str:
    return "" if value is None else f"{value}s"


# --- how it is found


def _kind(kind: str, old: Mapping[str, Any], new: Mapping[str, Any], says: Sequence[_Says]) -> Iterator[Fact]:
    for name, value in new.items():
        if name in old:
            yield from _said(f"{kind} {name}", old[name], value, says)
        else:
            yield Fact(f"{kind} {name}", "is new")
    for name in old:
        if name not in new:
            yield Fact(f"{kind} {name}", "is gone", note=_GONE.get(kind, ""), less=True)


_GONE = {
    "flavor": "running jobs stay there until they end, and no quota counts them; jobs that wait for it will never start",
    "topology": "jobs that ask for one of its levels will never start",
    "priority": "jobs that name it are refused",
}


def _said(subject: str, old: Any, new: Any, says: Iterable[_Says]) -> Iterator[Fact]:
    for sentence in says:
        before, after = sentence.of(old), sentence.of(new)
        if (before or None) == (after or None):
            continue
        if sentence.list:
            was, becomes = before or (), after or ()
            added, removed = (tuple(x for x in a if x not in b) for a, b in ((becomes, was), (was, becomes)))
            texts = (", ".join(was), ", ".join(becomes))
            yield Fact(subject, sentence.what, *texts, sentence.note, bool(removed), added, removed)
        else:
            was_text, text = ("" if value is None else sentence.text(value) for value in (before, after))
            yield Fact(subject, sentence.what, was_text, text, sentence.note, sentence.less(before, after))


def _order(old: Plan, new: Plan) -> Iterator[Fact]:
    was, becomes = (
        [entry for entry in plan.flavor if entry in old.flavor and entry in new.flavor] for plan in (old, new)
    )
    if was != becomes:
        yield Fact(
            "flavors",
            "order",
            ", ".join(was),
            ", ".join(becomes),
            "a Kueue job that may use several flavors tries them in this order",
        )


def _configuration(old: Plan, new: Plan) -> Iterator[Fact]:
    if configuration.needed(old) != configuration.needed(new):
        note = "the values of Kueue's chart change (kueue-values.yaml), and Kueue restarts; applying the objects is not enough"
        yield Fact("sharing", "Kueue's own Configuration", note=note)


def _access(old: Plan, new: Plan) -> Iterator[Fact]:
    if (old.access is None) != (new.access is None):
        what = (
            "begins: rights, namespace quotas and policies are created"
            if new.access
            else "ends: rights and policies are deleted"
        )
        yield Fact("access", what, less=True)
    yield from _said("access", old.access, new.access, _ACCESS)


def _teams(old: Plan, new: Plan) -> Iterator[Fact]:
    """What teams are but for their numbers. That one comes or goes is said with these."""
    names, moved = renamed(old, new), moved_namespaces(old, new)
    for was, becomes in names.items():
        note = (
            "to the cluster this is a new team: running jobs stay on the old team's quota until they end, pending jobs move to the new "
            "queues; to change only the name that people read, change display_name"
        )
        yield Fact(f"team {was}", f"seems to be renamed to {becomes}", note=note)
    for name, (was, becomes) in moved.items():
        if names.get(was) == becomes:
            continue
        note = "running jobs stay on the old team's quota until they end, pending jobs move to the new team's queues"
        yield Fact(f"namespace {name}", "team", was, becomes, note)
    for team in new.teams:
        if team.name not in old.team:
            continue
        yield from _said(f"team {team.name}", old.team[team.name], team, _TEAM)
        was_there, is_there = (
            [namespace for namespace in one.namespaces if namespace not in moved] for one in (old.team[team.name], team)
        )
        says = _Says(
            "namespaces", lambda entry: entry, "pending jobs in a removed namespace have no queue any more", True
        )
        yield from _said(f"team {team.name}", was_there, is_there, (says,))


def _nameless(team: TeamPlan) -> TeamPlan:
    return replace(team, name="", display_name="", profiles=dict(team.profiles), shares=dict(team.shares))


def _named(them: Iterable[Any]) -> dict[str, Any]:
    return {entry.name: entry for entry in them}
