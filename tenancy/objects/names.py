"""Names: those that a cluster would refuse, and those that two parts of an agreement would give one object.

There is no list of names here. The objects are built as for `render`, each with the path in the agreement that makes it
(`origins`), and what they are called is checked: against the limit of what a name becomes, against each other, and
against what a scheduler's own chart makes. So whatever a builder comes to call an object is checked from that day on.

Not here: namespaces, and what is in them. Those are named by the agreement, not made from a name, and `checks.people` says
where two teams name one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..agreement.checks.limits import FLAVORS
from ..agreement.findings import Finding, Path, dotted
from ..agreement.hardware import FLAVOR_LABEL
from ..agreement.model import Agreement
from ..agreement.names import LABEL_NAME, SUBDOMAIN, Rule, name_problem
from ..agreement.plan import Plan, Share, TeamPlan, make_plan
from . import access
from .identity import kind_of
from .registry import OBJECTS, Object
from .schedulers import Scheduler

SHOWN: Mapping[str, str] = {"Queue": "KAI Queue"}
"""Kinds whose bare name says too little in a message."""
IN_LABELS = frozenset({"Cohort", "WorkloadPriorityClass", "Queue", "SchedulingShard"})
"""Kinds whose names also stand in labels: of jobs, of nodes, of what is made for the agreement."""


@dataclass(frozen=True, slots=True)
class Made:
    """An object the agreement becomes: its kind, its name, the path that makes it, and what its name must be like."""

    kind: str
    name: str
    path: Path
    rule: Rule


def names(agreement: Agreement) -> Iterator[Finding]:
    """Each name on its own, then those that are given twice."""
    made = list(_made(agreement))
    yield from _invalid(made)
    yield from _collisions(made)


def _invalid(objects: Iterable[Made]) -> Iterator[Finding]:
    """Names that a cluster would refuse; of one part of the agreement the shortest, which is its own before longer ones. What
    ends in the name of a refused flavor is refused for that, and said once, of the flavor."""
    wrong = [made for made in objects if made.path and name_problem(made.name, made.rule)]
    endings = tuple({f"-{made.path[1]}" for made in wrong if made.path[0] == "flavors"})
    shortest: dict[Path, Made] = {}
    for made in wrong:
        if made.path[0] == "flavors" or not made.name.endswith(endings):
            known = shortest.setdefault(made.path, made)
            if len(made.name) < len(known.name):
                shortest[made.path] = made
    for path, made in shortest.items():
        message, remedy = name_problem(made.name, made.rule) or ("", "")
        is_own = made.name == path[-1] or path == ("cluster", "name")
        yield Finding(path, message if is_own else f"its {made.kind} {message}", remedy, on_key=_is_key(path))


def _collisions(objects: Iterable[Made]) -> Iterator[Finding]:
    """Two parts that would become one object: once for each two, since another name mends all that they share."""
    first: dict[tuple[str, str], Path] = {}
    said: set[tuple[Path, Path]] = set()
    for made in objects:
        other = first.setdefault((made.kind, made.name), made.path)
        if other != made.path and (other, made.path) not in said:
            said.add((other, made.path))
            by = dotted(other) if len(other) > 1 else "the agreement itself" if other else "KAI's own chart"
            message = f"its {made.kind} {made.name!r} is also made by {by}"
            yield Finding(made.path, message, "give one of them another name", on_key=_is_key(made.path))


def _is_key(path: Path) -> bool:
    """Whether the name is a key of the agreement (a team's), and not a value (the cluster's)."""
    return path[0] != "cluster" and len(path) == 2


def _made(agreement: Agreement) -> Iterator[Made]:
    """What stands by itself first: what a chart makes, then what is the cluster's own. Whoever takes its name is at fault."""
    plan = _plan(agreement)
    made: list[tuple[Path, Object]] = [((), body) for scheduler in Scheduler for body in OBJECTS[scheduler].chart()]
    made += [one for scheduler in Scheduler for one in OBJECTS[scheduler].origins(plan)]
    made += access.cluster_origins(plan)
    for path, body in sorted(made, key=lambda one: bool(one[0]) and one[0][0] != "cluster"):
        kind, name = kind_of(body), body["metadata"]["name"]
        yield Made(SHOWN.get(kind, kind), name, path, _rule(kind, name, path, body))


def _rule(kind: str, name: str, path: Path, body: Object) -> Rule:
    """The limit of a label for what stands in one: a team's name on its namespaces, a flavor's on nodes that have no other."""
    match kind:
        case "ClusterQueue":
            in_label = name == path[-1]
        case "ResourceFlavor":
            in_label = FLAVOR_LABEL in body["spec"]["nodeLabels"]
        case _:
            in_label = kind in IN_LABELS
    return LABEL_NAME if in_label else SUBDOMAIN


def _plan(agreement: Agreement) -> Plan:
    """The plan of an agreement that may have errors, so that its names are checked beside them.

    What names do not depend on is left out where it may be wrong: priorities that are named, MIG profiles. Parts are
    brought within their whole. Of more flavors than Kueue takes (`limits` refuses those) only so many are looked at.
    """
    flavors = dict(list(agreement.flavors.items())[: FLAVORS.most])
    plan = make_plan(
        agreement.model_copy(
            update={
                "cluster": agreement.cluster.model_copy(update={"prod_priority": None}),
                "flavors": {name: flavor.model_copy(update={"mig": None}) for name, flavor in flavors.items()},
                "teams": {
                    name: team.model_copy(update={"highest_priority": None}) for name, team in agreement.teams.items()
                },
            }
        )
    )
    return replace(plan, teams=tuple(map(_within_guarantee, plan.teams)))


def _within_guarantee(team: TeamPlan) -> TeamPlan:
    return replace(team, shares={flavor: _within(share) for flavor, share in team.shares.items()})


def _within(share: Share) -> Share:
    most = share.guaranteed
    if share.lendable <= most and share.prod <= most:
        return share
    return replace(share, lendable=min(share.lendable, most), prod=min(share.prod, most))
