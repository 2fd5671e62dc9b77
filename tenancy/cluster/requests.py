"""What one pod requests, summed as Kubernetes and KAI sum it: the one sum in this project.

Kubernetes (k8s.io/component-helpers `resource/helpers.go`, PodRequests): init containers run one after the other before the
others, so the largest of them counts where that is more than all containers together. A sidecar (an init container that is
restarted always) stays: it adds to the containers, and to each init container after it. Amounts for the pod as a whole replace
the sum, for the resources that they may name; what its runtime takes comes on top. A limit stands for a request of the same
resource that is not given, since the API server writes it there.

KAI (pkg/scheduler/api/pod_info): a part of a GPU stands in annotations and not in resources.

Amounts are exact: half a GPU is 1/2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from ..agreement.mig import GPU
from ..text.quantity import amount as quantity
from .fields import NONE, Object, annotations_of, spec_of

Requests = Mapping[str, Fraction]
"""By resource, in its own unit: CPUs, bytes, devices."""

ZERO = Fraction(0)
# KAI's annotations of a pod (pkg/common/constants).
FRACTION, MEMORY, DEVICES = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
FOR_A_POD = ("cpu", "memory")  # what a pod may request as a whole, and pages of memory
HUGE_PAGES = "hugepages-"


def of_pod(spec: Object, annotations: Mapping[str, str] = NONE, gpu_memory: int = 0) -> dict[str, Fraction]:
    """Of a pod's spec or a template's. `annotations` are read where KAI schedules the pod; `gpu_memory` is that of one GPU in MiB,
    which a request for memory is a part of: where it is not known, a part counts as a whole GPU."""
    requests = _containers(spec)
    for name, amount in _for_the_pod(spec.get("resources") or NONE, requests).items():
        requests[name] = amount
    requests = _sum([requests, _amounts(spec.get("overhead") or NONE)])
    part = _part(annotations, gpu_memory)
    return {**requests, GPU: part} if part else requests


def of(pod: Object) -> dict[str, Fraction]:
    """Of a pod that KAI schedules."""
    return of_pod(spec_of(pod), annotations_of(pod))


def claims(spec: Object) -> tuple[str, ...]:
    """Devices that are claimed and not counted (DRA): each the name of the claim, or of the template that it is made from."""
    claimed = spec.get("resourceClaims") or ()
    names = (
        entry.get("resourceClaimName") or entry.get("resourceClaimTemplateName") or entry["name"] for entry in claimed
    )
    return tuple(str(name) for name in names)


def _containers(spec: Object) -> dict[str, Fraction]:
    total = _sum(_requests(container.get("resources") or NONE) for container in spec.get("containers") or ())
    sidecars: dict[str, Fraction] = {}
    largest: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        requests = _requests(container.get("resources") or NONE)
        if container.get("restartPolicy") == "Always":
            total, sidecars = _sum([total, requests]), _sum([sidecars, requests])
            starting = sidecars
        else:
            starting = _sum([sidecars, requests])
        largest = _most(largest, starting)
    return _most(total, largest)


def _requests(resources: Object) -> dict[str, Fraction]:
    """A limit counts for each resource that has no request."""
    return _amounts({**(resources.get("limits") or NONE), **(resources.get("requests") or NONE)})


def _for_the_pod(resources: Object, containers: Requests) -> dict[str, Fraction]:
    """A limit counts where neither the pod nor a container requests the resource."""
    limits = {name: text for name, text in (resources.get("limits") or NONE).items() if name not in containers}
    amounts = _amounts({**limits, **(resources.get("requests") or NONE)})
    return {name: amount for name, amount in amounts.items() if name in FOR_A_POD or name.startswith(HUGE_PAGES)}


def _part(annotations: Mapping[str, str], gpu_memory: int) -> Fraction:
    """GPUs that KAI's annotations request; 0 where they do not."""
    devices = quantity(annotations.get(DEVICES, "1")) or Fraction(1)
    if fraction := quantity(annotations.get(FRACTION)):
        return fraction * devices
    if memory := quantity(annotations.get(MEMORY)):
        return (memory / gpu_memory if gpu_memory else Fraction(1)) * devices
    return ZERO


def _amounts(texts: Mapping[str, object]) -> dict[str, Fraction]:
    return {name: quantity(text) for name, text in texts.items()}


def _sum(several: Iterable[Requests]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for one in several:
        for name, amount in one.items():
            total[name] = total.get(name, ZERO) + amount
    return total


def _most(one: Requests, other: Requests) -> dict[str, Fraction]:
    return {name: max(one.get(name, ZERO), other.get(name, ZERO)) for name in dict.fromkeys([*one, *other])}
