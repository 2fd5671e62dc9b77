"""What a namespace may hold: virtual machines by number and memory, and what a container asks for that says nothing.

KubeVirt runs a machine in a virt-launcher pod that asks for more memory than its guest has, and Kubernetes' quota counts
the pod. So the quota of a team's machines is their number times what such a pod asks for, to the byte: with one byte less
the last machine would stay out. The arithmetic is KubeVirt's `GetMemoryOverhead`, for amd64, with graphics and the guest
console log, both of which are on unless a machine or the cluster says otherwise. Its fixed part has grown once: the quota
goes by the larger, and has room for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...agreement.plan import Plan, TeamPlan
from ...text.quantity import bytes_text, count_text, milli_text
from ..identity import AGREEMENT_LABEL

MEBIBYTE = 2**20
# virt-launcher and its monitor, virtlogd, virtqemud, QEMU: of KubeVirt 1.8.0 and 1.9.0, and of those after (both measured)
LAUNCHERS = (220 * MEBIBYTE, 240 * MEBIBYTE)
PER_VCPU = IO_THREAD = 8 * MEBIBYTE
GRAPHICS = 32 * MEBIBYTE
CONSOLE_LOG = 35 * 10**6  # the container guest-console-log: 35M
QUOTA, LIMITS = "tenancy-machines", "tenancy-defaults"

Object = dict[str, Any]


def launcher_memory(memory: int, vcpus: int, launcher: int = max(LAUNCHERS)) -> int:
    """What the pod of a machine with `memory` bytes and `vcpus` asks for, in bytes: 1,412,828,864 for 1Gi and 1."""
    page_tables = -(-memory // 1000) * 1000 // 512  # KubeVirt first rounds up to kilobytes
    return memory + page_tables + launcher + PER_VCPU * vcpus + IO_THREAD + GRAPHICS + CONSOLE_LOG


def machines_quota(plan: Plan, team: TeamPlan) -> Iterator[Object]:
    """The team's machines in their namespace, and no GPUs there; nothing for a team without machines."""
    if machines := team.machines:
        devices = [resource for resource in plan.resources if resource not in ("cpu", "memory")]
        hard = {
            "count/virtualmachines.kubevirt.io": count_text(machines.count),
            "count/virtualmachineinstances.kubevirt.io": count_text(machines.count),
            "requests.memory": bytes_text(machines.count * launcher_memory(machines.memory, machines.vcpus)),
            **{f"requests.{resource}": "0" for resource in devices},
        }
        yield _object(plan, "ResourceQuota", QUOTA, machines.namespace, {"hard": hard})


def limit_range(plan: Plan, namespace: str) -> Iterator[Object]:
    """What a container in a team's namespace asks for where it says nothing: Kueue counts that, so it must be something."""
    if plan.access:
        asks = {"cpu": milli_text(plan.access.default_cpu), "memory": bytes_text(plan.access.default_memory)}
        spec = {"limits": [{"type": "Container", "defaultRequest": asks}]}
        yield _object(plan, "LimitRange", LIMITS, namespace, spec)


def _object(plan: Plan, kind: str, name: str, namespace: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": {AGREEMENT_LABEL: plan.cluster}}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
