"""The kinds of job that the admission policies know, and what they read of one, as CEL over a variable that holds it.

A row says where a kind has its pod templates. Everything else (does it ask for GPUs, which queue does it name, whose part
is it) is the same for all of them. `vouches` says that what such a job's controller makes for it need not be judged again:
Kueue counts the job as a whole, and its parts carry no queue.

A Deployment and a StatefulSet vouch for nothing: Kueue counts each of their pods, which must name a queue themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

DEVICES = "nvidia.com/"  # every device of an agreement is one of these; others are GPUs all the same
FRACTIONS = ("gpu-fraction", "gpu-memory")  # KAI's annotations for a part of a GPU, which no resource names
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
KAI_QUEUE = "kai.scheduler/queue"
KAI_PRIORITY = "priorityClassName"
OWNERS = "metadata.?ownerReferences.orValue([])"


@dataclass(frozen=True, slots=True)
class Kind:
    """`templates` is CEL for the pod templates of the job `{0}`. A pod is its own."""

    group: str
    resource: str
    kind: str
    templates: str
    vouches: bool = True

    @property
    def name(self) -> str:
        return f"{self.group}/{self.kind}"


_RAY_CLUSTER = (
    "({0}.?headGroupSpec.hasValue() ? [{0}.headGroupSpec.template] : [])"
    " + {0}.?workerGroupSpecs.orValue([]).map(g, g.template)"
)
_REPLICAS = "{0}.spec.?{1}.orValue({{}}).map(r, {0}.spec.{1}[r].template)"
_KUBEFLOW = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}
KINDS = (
    Kind("", "pods", "Pod", "[{0}]", vouches=False),
    Kind("batch", "jobs", "Job", "[{0}.spec.template]"),
    Kind("apps", "deployments", "Deployment", "[{0}.spec.template]", vouches=False),
    Kind("apps", "statefulsets", "StatefulSet", "[{0}.spec.template]", vouches=False),
    Kind(
        "jobset.x-k8s.io",
        "jobsets",
        "JobSet",
        "{0}.spec.?replicatedJobs.orValue([]).map(j, j.template.spec.template)",
    ),
    Kind(  # its other templates are its runtime's, which no policy sees: see `asks`
        "trainer.kubeflow.org",
        "trainjobs",
        "TrainJob",
        "[dyn({{'spec': {{'containers': [{{'resources': {0}.spec.?trainer.?resourcesPerNode.orValue({{}})}}]}}}})]",
    ),
    *(
        Kind("kubeflow.org", f"{kind.lower()}s", kind, _REPLICAS.replace("{1}", field))
        for kind, field in _KUBEFLOW.items()
    ),
    Kind("kubeflow.org", "notebooks", "Notebook", "[{0}.spec.template]"),
    Kind(
        "ray.io",
        "rayjobs",
        "RayJob",
        "({0}.spec.?submitterPodTemplate.hasValue() ? [{0}.spec.submitterPodTemplate] : [])"
        " + ({0}.spec.?rayClusterSpec.hasValue() ? "
        + _RAY_CLUSTER.replace("{0}", "{0}.spec.rayClusterSpec")
        + " : [])",
    ),
    Kind("ray.io", "rayclusters", "RayCluster", _RAY_CLUSTER.replace("{0}", "{0}.spec")),
)
# Kueue takes an object for a part of its controller, if that is of a kind it knows (jobframework, FindAncestorJobManagedByKueue).
FOLLOWED = (
    *dict.fromkeys(kind.group for kind in KINDS),
    "leaderworkerset.x-k8s.io",
    "workload.codeflare.dev",
    "sparkoperator.k8s.io",
)


def text(value: str) -> str:
    """Text as a CEL literal: JSON's escapes are CEL's too, but for pairs of surrogates, which this leaves out."""
    return json.dumps(value, ensure_ascii=False)


def texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(text, values))}]"


def mapping(values: Mapping[str, str]) -> str:
    """Text → what is CEL already."""
    return f"{{{', '.join(f'{text(key)}: {value}' for key, value in values.items())}}}"


def resource_rules(*operations: str) -> list[dict[str, list[str]]]:
    """Every kind, as a policy's `matchConstraints` name them."""
    groups: dict[str, list[str]] = {}
    for kind in KINDS:
        groups.setdefault(kind.group, []).append(kind.resource)
    return [resource_rule(group, resources, *operations) for group, resources in groups.items()]


def resource_rule(group: str, resources: list[str], *operations: str) -> dict[str, list[str]]:
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": list(operations), "resources": resources}


def templates(job: str) -> str:
    """Its pod templates."""
    cases = [f"{job}.kind == {text(kind.kind)} ? {kind.templates.format(job)}" for kind in KINDS]
    return " : ".join((*cases, "[]"))


def asks(found: str) -> str:
    """Whether one of these pod templates asks for a GPU, or for a part of one."""
    resources = "[c.?resources.?limits.orValue({}), c.?resources.?requests.orValue({})]"
    wants = f"{resources}.exists(r, r.exists(k, k.startsWith({text(DEVICES)}) && string(r[k]) != '0'))"
    containers = (
        f"[t.?spec.?containers.orValue([]), t.?spec.?initContainers.orValue([])].exists(l, l.exists(c, {wants}))"
    )
    part = f"t.?metadata.?annotations.orValue({{}}).exists(a, a in {texts(FRACTIONS)})"
    return f"{found}.exists(t, {containers} || {part})"


def label(job: str, key: str) -> str:
    """The label's value; empty without it."""
    return f"{job}.?metadata.?labels[?{text(key)}].orValue('')"


def labels(job: str, found: str, key: str) -> str:
    """Every value that the job and its pod templates have of a label."""
    others = f"({job}.kind == 'Pod' ? [] : {found})"
    return f"([{label(job, key)}] + {others}.map(t, {label('t', key)})).filter(v, v != '')"


def owners(job: str) -> str:
    """The controller that a job is a part of, as `group/Kind`; one at most."""
    group = "(o.apiVersion.contains('/') ? o.apiVersion.split('/')[0] : '')"
    return f"{job}.{OWNERS}.filter(o, o.?controller.orValue(false)).map(o, {group} + '/' + o.kind)"
