"""Names: those a cluster would refuse, and those that two objects would share.

A team's name becomes a ClusterQueue, with `prod` also a Cohort and `<team>-prod`; on KAI `<team>` and
`<team>-reserved`, which jobs name in a label. So each name is held to the limit of what it becomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...objects.identity import AGREEMENT_LABEL
from ..findings import Finding, Path, dotted
from ..hardware import by_flavor, resolve
from ..model import Agreement, Team
from ..names import LABEL_NAME, SUBDOMAIN, Rule, label_key_problem, name_problem, text_problem

TAKEN_LABELS = (AGREEMENT_LABEL, "kubernetes.io/metadata.name")
PROD, HOSTS, RESERVED, SHARED = "-prod", "-hosts", "-reserved", "shared"
CHART_QUEUES = (
    "default-parent-queue",
    "default-queue",
)  # KAI 0.12, templates/default-queue.yaml: for jobs without a queue


class Made(NamedTuple):
    """An object the agreement becomes: its kind, its name and the path that makes it."""

    kind: str
    name: str
    path: Path
    rule: Rule


def names(agreement: Agreement) -> Iterator[Finding]:
    """Each name on its own."""
    label = agreement.cluster.team_label
    if problem := label_key_problem(label):
        yield Finding(("cluster", "team_label"), *problem)
    elif label in TAKEN_LABELS:
        message = f"{label!r} is a label of namespaces that says something else"
        yield Finding(("cluster", "team_label"), message, "use one such as tenancy.dev/team")
    refused: set[Path] = set()
    for made in _made(agreement):
        problem = name_problem(made.name, made.rule)
        if problem and made.path not in refused:
            refused.add(made.path)
            message, remedy = problem
            own_name = made.name in (made.path[-1], agreement.cluster.name)
            on_key = made.path[0] != "cluster"
            yield Finding(made.path, message if own_name else f"its {made.kind} {message}", remedy, on_key=on_key)


def display_names(agreement: Agreement) -> Iterator[Finding]:
    """Names to show: any text, in one line."""
    for table in ("departments", "teams"):
        for name, it in getattr(agreement, table).items():
            if it.display_name and (problem := text_problem(it.display_name)):
                yield Finding((table, name, "display_name"), *problem)


def collisions(agreement: Agreement) -> Iterator[Finding]:
    """Two things that would become one object."""
    first: dict[tuple[str, str], Path] = {}
    for made in _made(agreement):
        other = first.setdefault((made.kind, made.name), made.path)
        if other != made.path:
            by = dotted(other) if len(other) > 1 else "the agreement itself" if other else "KAI's own chart"
            message = f"its {made.kind} {made.name!r} is also made by {by}"
            yield Finding(made.path, message, "give one of them another name", on_key=True)


def _made(agreement: Agreement) -> Iterator[Made]:
    yield from _made_for_kueue(agreement)
    if [resolve(name, flavor).unit for name, flavor in agreement.flavors.items()] == ["gpu"]:
        yield from _made_for_kai(agreement)


def _made_for_kueue(agreement: Agreement) -> Iterator[Made]:
    """A flavor without labels of its own is tied to its nodes by a label that is its name, hence the limit of a label."""
    yield Made("Cohort", agreement.cluster.name, ("cluster", "name"), LABEL_NAME)
    trees = {flavor.topology for flavor in agreement.flavors.values()}
    if None in trees and len(trees) > 1:
        yield Made("Topology", agreement.cluster.name + HOSTS, ("cluster", "name"), SUBDOMAIN)
    for name in agreement.topologies:
        yield Made("Topology", name, ("topologies", name), SUBDOMAIN)
    for name, flavor in agreement.flavors.items():
        yield Made("ResourceFlavor", name, ("flavors", name), SUBDOMAIN if flavor.node_labels else LABEL_NAME)
    for name in agreement.priorities:
        yield Made("WorkloadPriorityClass", name, ("priorities", name), LABEL_NAME)
    for name in agreement.departments:
        yield Made("Cohort", name, ("departments", name), LABEL_NAME)
    for name, team in agreement.teams.items():
        path: Path = ("teams", name)
        yield Made("ClusterQueue", name, path, LABEL_NAME)
        if any(amount.count for amount in by_flavor(team.prod, agreement).values()):
            yield Made("ClusterQueue", name + PROD, path, SUBDOMAIN)
            yield Made("Cohort", name, path, LABEL_NAME)


def _made_for_kai(agreement: Agreement) -> Iterator[Made]:
    """KAI itself checks neither cycles nor parents: a team in a department of its name would be its own parent."""
    for name in CHART_QUEUES:
        yield Made("KAI Queue", name, (), LABEL_NAME)
    yield Made("KAI Queue", SHARED, ("cluster",), LABEL_NAME)
    for name in agreement.departments:
        yield Made("KAI Queue", name, ("departments", name), LABEL_NAME)
    for name, team in agreement.teams.items():
        yield Made("KAI Queue", name, ("teams", name), LABEL_NAME)
        if _keeps_back(team, agreement):
            yield Made("KAI Queue", name + RESERVED, ("teams", name), LABEL_NAME)


def _keeps_back(team: Team, agreement: Agreement) -> bool:
    guaranteed, lendable = by_flavor(team.guaranteed, agreement), by_flavor(team.lendable, agreement)
    return any(amount.count < guaranteed[flavor].count for flavor, amount in lendable.items() if flavor in guaranteed)
