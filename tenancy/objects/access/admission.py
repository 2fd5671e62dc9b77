"""What the API server itself refuses, with a message that says what would be right.

Three policies. What they must know of the agreement is written into them (decision 20):

- `tenancy-jobs`: a job that asks for GPUs names a queue of its namespace; nobody names another team's queue, `prod` without a
  prod slice, or a priority above the team's; a namespace of no team has no GPUs. Its rules are in `rules`.
- `tenancy-namespaces`: only who may `assign` `teams` moves a namespace into, out of or between teams.
- `tenancy-prod-priority`: a job in a prod queue that names no priority gets the agreement's.

The first and the last leave the system's namespaces alone, and those that the agreement exempts. `default` is no such
namespace here: it is nobody's, and so has no GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...agreement.checks.people import SYSTEM_NAMESPACES, SYSTEM_PREFIXES
from ...agreement.plan import Plan
from ..identity import AGREEMENT_LABEL
from ..kinds import KINDS
from . import jobs
from .jobs import PRIORITY, QUEUE, label, text, texts
from .namespaces import PROD_QUEUE
from .rules import MAY_ASSIGN, KaiQueues, rules, variables

API_VERSION = KINDS["ValidatingAdmissionPolicy"].api_version
JOBS, NAMESPACES, PROD_PRIORITY = "tenancy-jobs", "tenancy-namespaces", "tenancy-prod-priority"
VALIDATING, MUTATING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"

# What is on its way out is left to go, and an update that touches none of this is no rule's.
_CHANGES = (
    "request.operation == 'CREATE' || !has(object.metadata.deletionTimestamp) && (object.spec != oldObject.spec"
    + "".join(
        f" || object.metadata.?{entry} != oldObject.metadata.?{entry}"
        for entry in ("labels", "annotations", "ownerReferences")
    )
    + ")"
)

Object = dict[str, Any]


def refusals(plan: Plan, *, kueue: bool, kai_queues: KaiQueues) -> Iterator[Object]:
    """The policies that refuse, each with its binding; nothing without `[access]`."""
    if plan.access:
        yield from jobs_policy(plan, kueue=kueue, kai_queues=kai_queues)
        yield from namespaces_policy(plan)


def jobs_policy(plan: Plan, *, kueue: bool, kai_queues: KaiQueues) -> Iterator[Object]:
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": jobs.resource_rules("CREATE", "UPDATE")},
        "matchConditions": _expressions({"not-exempt": _not_exempt(plan), "changes": _CHANGES}),
        "variables": _expressions(variables(plan, kueue=kueue, kai_queues=kai_queues)),
        "validations": [_validation(rule.holds, rule.message) for rule in rules(kueue=kueue, kai=bool(kai_queues))],
    }
    yield from _bound(plan, VALIDATING, JOBS, spec)


def namespaces_policy(plan: Plan) -> Iterator[Object]:
    """Whoever may edit a namespace could otherwise give it to the team with the most GPUs."""
    before = label("oldObject", plan.team_label)
    words = [
        text(
            f"the label {plan.team_label} says which team a namespace belongs to, and only a platform engineer changes it: from "
        ),
        "(variables.before == '' ? 'none' : variables.before)",
        "' to '",
        "(variables.team == '' ? 'none' : variables.team)",
    ]
    resources = ["namespaces", "namespaces/status", "namespaces/finalize"]  # each of them writes labels
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [jobs.resource_rule("", resources, "CREATE", "UPDATE")]},
        "variables": _expressions(
            {
                "team": label("object", plan.team_label),
                "before": f"request.operation == 'CREATE' ? '' : {before}",
            }
        ),
        "validations": [_validation(f"variables.team == variables.before || {MAY_ASSIGN}", " + ".join(words))],
    }
    yield from _bound(plan, VALIDATING, NAMESPACES, spec)


def prod_priority_policy(plan: Plan) -> Iterator[Object]:
    """For the teams with a prod slice that may name that priority; nothing without `[access]`. Kubernetes serves this kind
    since 1.36."""
    priority = plan.prod_priority
    if priority is None or plan.access is None:
        return
    value = plan.priorities[priority]
    teams = [
        team.name
        for team in plan.teams
        if team.has_prod and (team.highest_priority is None or value <= team.highest_priority)
    ]
    if not teams:
        return
    path = f'"/metadata/labels/" + jsonpatch.escapeKey({text(PRIORITY)})'
    conditions = {
        "not-exempt": _not_exempt(plan),
        "in-prod": f"{label('object', QUEUE)} == {text(PROD_QUEUE)}",
        "names-no-priority": f"{label('object', PRIORITY)} == ''",
        "part-of-nothing": f"{jobs.owners('object')}.size() == 0",
    }
    of_teams = {"matchExpressions": [{"key": plan.team_label, "operator": "In", "values": teams}]}
    add = f'[JSONPatch{{op: "add", path: {path}, value: {text(priority)}}}]'
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"namespaceSelector": of_teams, "resourceRules": jobs.resource_rules("CREATE")},
        "matchConditions": _expressions(conditions),
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": add}}],
    }
    yield from _bound(plan, MUTATING, PROD_PRIORITY, spec)


def _not_exempt(plan: Plan) -> str:
    """Whether the object is in none of the namespaces that no rule is for."""
    system = set(SYSTEM_NAMESPACES) - {"default"}
    exempt = sorted(system.union(plan.access.exempt_namespaces if plan.access else ()))
    names = f"!(request.namespace in {texts(exempt)})"
    return " && ".join((names, *(f"!request.namespace.startsWith({text(entry)})" for entry in SYSTEM_PREFIXES)))


def _expressions(named: Mapping[str, str]) -> list[Object]:
    return [{"name": name, "expression": expression} for name, expression in named.items()]


def _validation(holds: str, message: str) -> Object:
    return {"expression": holds, "messageExpression": message, "reason": "Forbidden"}


def _bound(plan: Plan, kind: str, name: str, spec: Object) -> Iterator[Object]:
    """A policy does nothing without a binding; this one binds it everywhere."""
    labels = {AGREEMENT_LABEL: plan.cluster}
    actions = {"validationActions": ["Deny"]} if kind == VALIDATING else {}
    yield {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec}
    yield {
        "apiVersion": API_VERSION,
        "kind": f"{kind}Binding",
        "metadata": {"name": name, "labels": labels},
        "spec": {"policyName": name, **actions},
    }
