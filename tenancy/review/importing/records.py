"""What `pulumi import --file` takes: for each object that is there, the resource that the program will call it by.

Pulumi then has the objects in its record before the program runs, and a preview shows an update of each, field by field, where
without it there is a creation. A resource is known by its URN, which is made of its type, its name and the types above it; so
types, names and parents here are those of `components` (a test holds the two together). The components themselves are
records too, without an object. What names the provider is in `nameTable`: it must be in the stack's record already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...agreement.plan import Plan
from ...objects import access, kai, kueue
from ...objects.identity import reference
from .objects import Object

NAME = "agreement"  # the component in the program of this repo
PROVIDER = "cluster"
PATCHED = ("Namespace",)  # nothing is made there but a label, by a resource of another type

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stack:
    """Where the objects are imported to."""

    name: str
    project: str = "tenancy"

    @property
    def provider(self) -> str:
        """The URN of the provider in the program of this repo."""
        return f"urn:pulumi:{self.name}::{self.project}::pulumi:providers:kubernetes::{PROVIDER}"


def bulk(plan: Plan, given: Mapping[str, Object], stack: Stack) -> dict[str, Any]:
    """The file's content: the objects that were given and that the agreement makes, under their components."""
    made: list[Record] = [_component("TenancyAgreement", NAME, None)]
    for component, name, body, resource in _registered(plan):
        if reference(body) not in given or body["kind"] in PATCHED:
            continue
        parent = _key("TenancyAgreement", NAME)
        if component:
            parent = _key(component, name)
            if not any(entry["name"] == parent for entry in made):
                made.append(_component(component, name, _key("TenancyAgreement", NAME)))
        made.append(_object(body, resource, parent))
    return {"nameTable": {PROVIDER: stack.provider}, "resources": made}


def _registered(plan: Plan) -> Iterator[tuple[str, str, Object, str]]:
    """Every object of Kueue's and KAI's, and of the namespaces that are listed: its component's type and name (empty where it
    hangs under the agreement's own), the object, the resource's name."""
    body: Object
    for body in kueue.cluster_objects(plan):
        name = f"{NAME}-{body['metadata']['name']}"
        component = {"Topology": "TopologyTree", "ResourceFlavor": "GpuFlavor"}.get(body["kind"], "")
        yield component, name, body, name
    teams = {body["metadata"]["name"] for team in plan.teams for body in _of_kai(plan, team.name)}
    for body in kai.objects(plan):
        if body["metadata"]["name"] not in teams:
            yield "", "", body, f"{NAME}-{body['metadata']['name']}"
    for team in plan.teams:
        for body in (*kueue.team_objects(plan, team), *_of_kai(plan, team.name)):
            suffix = str(body["metadata"]["name"]).removeprefix(team.name)
            yield "TeamQuota", f"{NAME}-{team.name}", body, f"{NAME}-{team.name}{suffix}"
        for namespace in access.namespaces_of(team):
            for body in access.in_namespace(plan, team, namespace, access.Namespaces.LISTED):
                name = f"{NAME}-{namespace}"
                yield "TeamNamespace", name, body, f"{name}/{body['metadata']['name']}"


def _of_kai(plan: Plan, team: str) -> list[Object]:
    if kai.refusal(plan):
        return []
    return [body for flavor in plan.flavors for body in kai.team_objects(plan, plan.team[team], flavor)]


def _key(component: str, name: str) -> str:
    """What the file itself calls a component by: a resource and its component may have one name."""
    return f"{component} {name}"


def _component(component: str, name: str, parent: str | None) -> Record:
    made = {"type": f"tenancy:index:{component}", "name": _key(component, name), "logicalName": name, "component": True}
    return made | ({"parent": parent} if parent else {})


def _object(body: Object, name: str, parent: str) -> Record:
    metadata = body["metadata"]
    return {
        "type": f"kubernetes:{body['apiVersion']}:{body['kind']}",
        "name": reference(body),
        "logicalName": name,
        "id": "/".join(filter(None, (metadata.get("namespace"), metadata["name"]))),
        "parent": parent,
        "provider": PROVIDER,
    }
