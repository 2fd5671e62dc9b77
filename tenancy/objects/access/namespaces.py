"""What a team's namespace gets, once as plain objects and once as a template for the namespace operator.

`namespace_objects` says it for one namespace. LISTED calls it for each namespace of the agreement. OPERATOR calls it with
stand-ins for the namespace and the team, and makes of what comes out the one template of the one NamespaceConfig, in which
the operator (namespace-configuration-operator 1.2) puts each labelled namespace's name and team. Teams whose objects
differ in nothing but the team's name share one branch.

The template is written against what the operator does (its source, v1.2.6):
- it takes a YAML list for any number of objects, so `[]` is none. A template that comes out blank, or fails, makes it
  *delete* all that the namespace had. So every label value has a branch, the last one `[]`, and nothing in it can fail;
- it adds three excluded paths where they are missing, and would so change our object: they are written out;
- one NamespaceConfig has one controller for each object it makes: keep to one (60 of them used 7 GB, its issue 122).

A NamespaceConfig has the same name in every cluster: under another one the old would take with it what the new has made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...agreement.checks.people import SYSTEM_NAMESPACES
from ...agreement.plan import Plan, TeamPlan
from ..identity import AGREEMENT_LABEL, RUN_LABEL
from ..kinds import KINDS
from ..kueue import API_VERSION, PROD_SUFFIX
from ..manifest import dump_list
from . import quotas, rbac

CONFIG_NAME = "tenancy"
CONFIG_LABEL = "tenancy.dev/namespace-config"
DEFAULT_QUEUE, PROD_QUEUE = "default", "prod"
EXCLUDED_PATHS = (".metadata", ".status", ".spec.replicas")

# Stand-ins: control characters, which no text of an agreement may hold.
_NAMESPACE, _TEAM = "\x01", "\x02"
_IN_TEMPLATE = {json.dumps(_NAMESPACE)[1:-1]: "{{ .Name }}", json.dumps(_TEAM)[1:-1]: "{{ $team }}"}

Object = dict[str, Any]


def namespace(plan: Plan, team: TeamPlan, name: str) -> Object:
    """The namespace with its team's label, and nothing else of it: whoever made it may have put more there."""
    labels = {AGREEMENT_LABEL: plan.cluster, plan.team_label: team.name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def namespace_objects(plan: Plan, team: TeamPlan, namespace: str, *, kueue: bool = True) -> Iterator[Object]:
    """What a namespace of the team gets; LocalQueues only where Kueue is written for.

    `namespace` and `team.name` may be stand-ins: they may go into any text, but nothing may be looked up by them.
    """
    yield from rbac.role_bindings(plan, team, namespace)
    yield from quotas.limit_range(plan, namespace)
    if kueue:
        yield from local_queues(plan, team, namespace)


def local_queues(plan: Plan, team: TeamPlan, namespace: str) -> Iterator[Object]:
    """`default`, and `prod` for a team that has a prod slice."""
    yield _local_queue(plan, DEFAULT_QUEUE, namespace, team.name)
    if team.has_prod:
        yield _local_queue(plan, PROD_QUEUE, namespace, team.name + PROD_SUFFIX)


def namespace_config(plan: Plan, *, kueue: bool = True) -> Object:
    """What the operator makes in every namespace that carries a team's label, but for those that no queue is for. Namespaces of
    a run of `verify` have LocalQueues of their own, for copies of the queues."""
    not_for = [*SYSTEM_NAMESPACES, *(plan.access.exempt_namespaces if plan.access else ())]
    not_for += [team.machines.namespace for team in plan.teams if team.machines]
    selector = [
        {"key": plan.team_label, "operator": "Exists"},
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": sorted(set(not_for))},
        {"key": RUN_LABEL, "operator": "DoesNotExist"},
    ]
    template = {"objectTemplate": _template(plan, kueue), "excludedPaths": list(EXCLUDED_PATHS)}
    return {
        "apiVersion": KINDS["NamespaceConfig"].api_version,
        "kind": "NamespaceConfig",
        "metadata": {"name": CONFIG_NAME, "labels": {AGREEMENT_LABEL: plan.cluster}},
        "spec": {"labelSelector": {"matchExpressions": selector}, "templates": [template]},
    }


def _template(plan: Plan, kueue: bool) -> str:
    branches: dict[str, list[str]] = {}
    for team in plan.teams:
        made = namespace_objects(plan, replace(team, name=_TEAM), _NAMESPACE, kueue=kueue)
        if text := _as_template(map(_made_by_operator, made)):
            branches.setdefault(text, []).append(team.name)
    lines = [f"{{{{- $team := index .Labels {json.dumps(plan.team_label)} -}}}}"]
    for number, (text, teams) in enumerate(branches.items()):
        word = "else if" if number else "if"
        lines += [f"{{{{- {word} eq $team {' '.join(map(json.dumps, teams))} }}}}", text]
    lines += ["{{- else }}", "[]", "{{- end }}"] if branches else ["[]"]
    return "\n".join(lines) + "\n"


def _as_template(objects: Iterable[Object]) -> str:
    """A YAML list in which only the stand-ins are actions: a brace of the agreement's own before another, or before a
    stand-in, can only stand in double quotes, where `\\u007b` is the same character. Empty where there are no objects."""
    text = dump_list(objects).replace("{{", "{\\u007b")
    for stand_in, action in _IN_TEMPLATE.items():
        text = text.replace("{" + stand_in, "\\u007b" + stand_in).replace(stand_in, action)
    return text


def _made_by_operator(body: Object) -> Object:
    """Ours are the objects that we write; these are the operator's, and not what an update of ours has left."""
    labels = {key: label for key, label in body["metadata"].get("labels", {}).items() if key != AGREEMENT_LABEL}
    return {**body, "metadata": {**body["metadata"], "labels": {**labels, CONFIG_LABEL: CONFIG_NAME}}}


def _local_queue(plan: Plan, name: str, namespace: str, queue: str) -> Object:
    """With the `stopPolicy` that Kueue adds: without it, the operator finds a difference at each event (measured)."""
    return {
        "apiVersion": API_VERSION,
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace, "labels": {AGREEMENT_LABEL: plan.cluster}},
        "spec": {"clusterQueue": queue, "stopPolicy": "None"},
    }
