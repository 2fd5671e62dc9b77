"""Kubeflow Profiles: whose namespace it is, beside whose team it is.

Kubeflow's profile-controller makes a namespace for a Profile and gives its owner the rights of an admin in it. To that
namespace goes nothing of the Profile but its name and its owner: not its labels, and the labels of the controller's file
(`--namespace-labels-path`) are the same for all. So a Profile cannot bring its team's label, without which no queue takes
the namespace's jobs. What the controller does allow (kubeflow/dashboard, `components/profile-controller`, `Reconcile`):
a namespace that is there already is taken for the Profile's if its annotation `owner` is the Profile's owner, and its
labels stay; with another owner, or none, the Profile fails. So the agreement makes both, and the namespace says more.

A Profile has no `resourceQuotaSpec`: GPUs are counted by Kueue, and counted twice they would refuse what a queue admits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agreement.plan import Plan, TeamPlan
from .identity import AGREEMENT_LABEL
from .kinds import KINDS

OWNER = "owner"
SIDECARS = {"istio-injection": "enabled"}
"""What the controller gives a namespace that it makes, and not one that it finds."""

Object = dict[str, Any]


def profile(plan: Plan, team: TeamPlan, name: str) -> Object:
    """The Profile of that name, which is its namespace's; the team's label on it is for people and for `kubectl -l`."""
    return {
        "apiVersion": KINDS["Profile"].api_version,
        "kind": "Profile",
        "metadata": {"name": name, "labels": {AGREEMENT_LABEL: plan.cluster, plan.team_label: team.name}},
        "spec": {"owner": {"kind": "User", "name": team.profiles[name]}},
    }


def owned(namespace: Object, team: TeamPlan) -> Object:
    """A namespace of the team so that its Profile takes it over; as it is where there is no Profile of its name."""
    metadata: Mapping[str, Any] = namespace["metadata"]
    owner = team.profiles.get(metadata["name"])
    if owner is None:
        return namespace
    labels = {**metadata.get("labels", {}), **SIDECARS}
    annotations = {**metadata.get("annotations", {}), OWNER: owner}
    return {**namespace, "metadata": {**metadata, "labels": labels, "annotations": annotations}}
