"""The agreement's Kueue objects as they are on the cluster, and the nodes of its flavors: what sandboxes are copies of.

Read once in a run. The tree is the live one: a queue that somebody has hung into it by hand lends and borrows like any
other, so it is copied too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...agreement.plan import Plan
from ...cluster import listing
from ...cluster.clients import Client
from ...cluster.fields import labels_of, name_of
from ...objects import kueue
from ...objects.identity import RUN_LABEL

KWOK = "kwok.x-k8s.io/node"  # kwok's annotation on a node that it simulates

Object = Mapping[str, Any]


@dataclass(frozen=True)
class LiveObjects:
    cohorts: Mapping[str, Object]
    queues: Mapping[str, Object]
    flavors: Mapping[str, Object]
    priorities: Mapping[str, int]
    nodes: tuple[Object, ...]

    def nodes_of(self, flavor: str) -> list[Object]:
        """Those that Kueue takes for the flavor's: they carry all its labels."""
        labels = self.flavors[flavor]["spec"].get("nodeLabels") or {}
        return [node for node in self.nodes if labels.items() <= (node["metadata"].get("labels") or {}).items()]

    def simulated(self, flavor: str) -> bool:
        """Whether no node of the flavor is a real one."""
        return all(KWOK in (entry["metadata"].get("annotations") or {}) for entry in self.nodes_of(flavor))


def read(client: Client, plan: Plan) -> LiveObjects:
    """Raises what the client raises."""
    cohorts, queues = _by_name(client, "Cohort"), _by_name(client, "ClusterQueue")
    made = {(entry["kind"], entry["metadata"]["name"]) for entry in kueue.objects(plan)}
    ours = {name for kind, name in made if kind in ("Cohort", "ClusterQueue")}
    parents = {name: cohort["spec"].get("parentName") or "" for name, cohort in cohorts.items()}
    roots = {root(name, parents) for name in ours if name in cohorts}
    roots |= {root(queues[name]["spec"].get("cohortName") or "", parents) for name in ours if name in queues} - {""}

    def belongs(name: str, cohort: str) -> bool:
        return root(cohort, parents) in roots if cohort else name in ours

    return LiveObjects(
        cohorts={name: cohort for name, cohort in cohorts.items() if root(name, parents) in roots},
        queues={name: queue for name, queue in queues.items() if belongs(name, queue["spec"].get("cohortName") or "")},
        flavors=_by_name(client, "ResourceFlavor"),
        priorities={name: int(value["value"]) for name, value in _by_name(client, "WorkloadPriorityClass").items()},
        nodes=tuple(_by_name(client, "Node").values()),
    )


def root(cohort: str, parents: Mapping[str, str]) -> str:
    """The top of the tree that a Cohort is in. One that is named and not there is a root; in a circle any one is it."""
    seen = {cohort}
    while (parent := parents.get(cohort)) and parent not in seen:
        cohort = parent
        seen.add(cohort)
    return cohort


def _by_name(client: Client, kind: str) -> dict[str, Object]:
    """Every object of the kind that no run of ours has made."""
    return {name_of(entry): entry for entry in listing.objects(client, kind) if RUN_LABEL not in labels_of(entry)}
