"""How an object of the builders becomes a Pulumi resource: the only place that does it.

Three things decide this file.

`pulumi_kubernetes.apiextensions.CustomResource` knows `metadata` and `spec` only, and a WorkloadPriorityClass has its
`value` beside them. So the resource here takes the object as it is. Its type is the one that CustomResource would give,
`kubernetes:<apiVersion>:<kind>`, and the provider cannot tell the two apart.

The provider writes by server-side apply, under a field manager whose name is random for each resource and lives in the
state. An update that is killed loses that name: the next one writes under another, both own every field, and from then on a
changed number is a conflict and a number taken away stays. So the name is fixed, by the annotation the provider reads for
it, and the agreement wins where somebody else wrote a field: the objects carry our label, and nobody else's are touched
(`tenancy.cluster.preflight`). Deletion is in the background: these objects own no others, and the provider's choice, in the
foreground, waits for a garbage collector that needs half a minute to hear of new kinds. These three annotations are all that
a registered object has more than a rendered one.

The name of a resource is part of its URN, and two URNs for one object are a trap: Pulumi applies the object under the new
name, then deletes it under the old. So names are made of what the cluster calls the object, and of nothing that may change
while the object stays (a team's department, whether it has prod, which team a namespace is of). A replacement, as when the
provider is replaced, would fall into the same trap, so it deletes first.

A Namespace is somebody's, with all that is in it. What we write of it is a NamespacePatch: it makes the namespace where there is
none, owns the label and nothing else, and when it goes, takes the label off and leaves the namespace.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

import pulumi

from tenancy.objects.identity import FIELD_MANAGER, reference
from tenancy.objects.kinds import KINDS

WRITE_ANNOTATIONS: Mapping[str, str] = {
    "pulumi.com/patchFieldManager": FIELD_MANAGER,
    "pulumi.com/patchForce": "true",
    "pulumi.com/deletionPropagationPolicy": "background",
}
REPLACED_FOR: Mapping[str, tuple[str, ...]] = {
    kind: row.immutable.fields for kind, row in KINDS.items() if row.immutable and row.immutable.replaced
}
PATCHED = ("Namespace",)
RETAINED = ("Profile",)
"""What holds a person's work: Kubeflow deletes the namespace that it made for a Profile when the Profile goes."""
HOLDING = (
    *("Topology", "ResourceFlavor", "WorkloadPriorityClass", "Cohort", "ClusterQueue"),
    *("Queue", "SchedulingShard", "NamespaceConfig"),
)
"""What running jobs stand on. Only this is retained where a stack retains: a right that was taken away must not stay."""
PROVIDER_VERSION = version("pulumi-kubernetes")

Object = Mapping[str, Any]
T = TypeVar("T")


class KubernetesObject(pulumi.CustomResource):
    """One object of a builder."""

    def __init__(self, name: str, body: Object, opts: pulumi.ResourceOptions) -> None:
        self.reference = reference(body)
        self.name = str(body["metadata"]["name"])
        super().__init__(_type(body), name, written(body), opts)


def _type(body: Object) -> str:
    """As the SDK calls it: the group without a name is `core`."""
    version, kind = body["apiVersion"], body["kind"]
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{kind}{'Patch' if kind in PATCHED else ''}"


def written(body: Object) -> dict[str, Any]:
    """The object with what the provider reads to write it."""
    metadata = body["metadata"]
    annotations = {**metadata.get("annotations", {}), **WRITE_ANNOTATIONS}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def unwritten(body: Object) -> dict[str, Any]:
    """The object as its builder made it: `written`, taken back."""
    metadata = dict(body["metadata"])
    annotations = {key: value for key, value in metadata.pop("annotations", {}).items() if key not in WRITE_ANNOTATIONS}
    return {**body, "metadata": metadata | ({"annotations": annotations} if annotations else {})}


def register(
    parent: pulumi.ComponentResource,
    name: str,
    body: Object,
    given: pulumi.ResourceOptions | None,
    after: Sequence[pulumi.Resource] = (),
) -> KubernetesObject:
    """Registers `body` under `parent`, which was given these options, once everything in `after` is there.

    `protect`, `retain_on_delete` and the provider come from the parent by themselves, the former not for what a namespace gets
    (it is replaced when the namespace moves to another team), the latter only for what jobs stand on. Timeouts and dependencies do not, and are
    handed on. A dependency on the parent alone would do for making the object, but not for deleting it while the parent
    stays: Pulumi then knows only what the object itself depends on, and would delete a flavor before the queues that hold it.
    """
    inherited = given or pulumi.ResourceOptions()
    opts = pulumi.ResourceOptions(
        parent=parent,
        depends_on=list(after) or inherited.depends_on,
        custom_timeouts=inherited.custom_timeouts,
        delete_before_replace=True,
        replace_on_changes=list(REPLACED_FOR.get(body["kind"], ())),
        protect=False if _of_namespace(body) else None,
        retain_on_delete=True if body["kind"] in RETAINED else None if body["kind"] in HOLDING else False,
        version=PROVIDER_VERSION,
    )
    return KubernetesObject(name, body, opts)


def _of_namespace(body: Object) -> bool:
    return body["kind"] in PATCHED or "namespace" in body["metadata"]


def named(what: str, name: str, known: Mapping[str, T]) -> T:
    """The part of an agreement that has this name. Raises RunError, with the nearest name there is."""
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'none'}"
    raise pulumi.RunError(f"there is no {what} {name!r} in the agreement; {remedy}")
