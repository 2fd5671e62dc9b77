"""A policy on how a namespace moves between teams where the namespace operator makes its LocalQueues.

Nobody may change the ClusterQueue of a LocalQueue. When a namespace's label changes from one team to another, the operator
tries to, is refused, and leaves the old one (measured): Kueue then takes no job from it, since the namespace is no longer
the old team's, and nothing says so to whoever changed the label. With the label off first, the operator removes the
LocalQueues; with the new team's on, it makes new ones. So the API server refuses the direct way and names the other.

Only from team to team: from and to a label of no team the operator removes and makes what there is to remove and make.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...agreement.plan import Plan
from ..identity import AGREEMENT_LABEL
from ..kinds import KINDS

API_VERSION = KINDS["ValidatingAdmissionPolicy"].api_version
NAME = "tenancy-namespace-moves"

Object = dict[str, Any]


def move_policy(plan: Plan) -> Iterator[Object]:
    """The policy and its binding; none where there is no team to move between."""
    if len(plan.teams) < 2:
        return
    yield _object(
        plan,
        "ValidatingAdmissionPolicy",
        {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["namespaces"]}
                ]
            },
            "variables": [
                {"name": "was", "expression": _team_of("oldObject", plan)},
                {"name": "becomes", "expression": _team_of("object", plan)},
                {"name": "teams", "expression": json.dumps([team.name for team in plan.teams])},
            ],
            "validations": [
                {
                    "expression": "variables.was == variables.becomes || !(variables.was in variables.teams) || "
                    "!(variables.becomes in variables.teams)",
                    "messageExpression": _message(plan),
                    "reason": "Forbidden",
                }
            ],
        },
    )
    yield _object(plan, "ValidatingAdmissionPolicyBinding", {"policyName": NAME, "validationActions": ["Deny"]})


def _team_of(which: str, plan: Plan) -> str:
    key, labels = json.dumps(plan.team_label), f"{which}.metadata.labels"
    return f'has({labels}) && {key} in {labels} ? {labels}[{key}] : ""'


def _message(plan: Plan) -> str:
    label = f"kubectl label namespace ' + object.metadata.name + ' {plan.team_label}"
    return (
        "'namespace ' + object.metadata.name + ' belongs to team ' + variables.was + ', whose LocalQueues cannot become "
        f"those of ' + variables.becomes + '. First: {label}-  Then, when its LocalQueues are gone: {label}=' + "
        "variables.becomes"
    )


def _object(plan: Plan, kind: str, spec: Object) -> Object:
    metadata = {"name": NAME, "labels": {AGREEMENT_LABEL: plan.cluster}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
