"""What a job asks for beside the flavors of an agreement, and amounts in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan
from ...cluster.jobs import PodSet
from ...text.quantity import bytes_text, milli_text, whole

DEVICES = ("nvidia.com/",)  # what a flavor may be counted in, but for CPUs


@dataclass(frozen=True)
class Requests:
    """What a job asks for: all of it, or it does not start."""

    pods: tuple[PodSet, ...]

    def total(self, resource: str) -> Fraction:
        return sum((pod_set.total(resource) for pod_set in self.pods), Fraction(0))

    @property
    def count(self) -> int:
        """Pods."""
        return sum(pod_set.count for pod_set in self.pods)

    def units(self, flavor: Hardware) -> int:
        return whole(self.total(flavor.resource))

    def largest(self, flavor: Hardware) -> int:
        """Units of the pod that asks for most."""
        return max((whole(pod_set.requests.get(flavor.resource, Fraction(0))) for pod_set in self.pods), default=0)

    @property
    def devices(self) -> bool:
        return any(self.total(name) for pod_set in self.pods for name in pod_set.requests if name.startswith(DEVICES))

    def flavors(self, plan: Plan) -> list[Hardware]:
        """Those that its pods may be given: they have the device, and no pod names other nodes. A flavor of CPUs is for jobs
        that ask for no device."""
        asked = [flavor for flavor in plan.flavors if self.units(flavor) and (flavor.unit != "cpu" or not self.devices)]
        return [flavor for flavor in asked if all(pods.allows(flavor.node_labels) for pods in self.pods)]

    def others(self, plan: Plan) -> list[Hardware]:
        """Flavors that have what it asks for, and that its pods exclude by naming other nodes."""
        mine = self.flavors(plan)
        return [flavor for flavor in plan.flavors if self.units(flavor) and flavor.unit != "cpu" and flavor not in mine]

    def in_words(self, plan: Plan) -> str:
        """`16 GPUs: 2 pods, each with 8 GPUs, 64 CPUs, 512Gi`."""
        kinds = [each_in_words(pod_set.requests) for pod_set in self.pods]
        parts = [
            f"{pod_set.count} {'pod' if pod_set.count == 1 else 'pods'}{', each' if pod_set.count > 1 else ''} with {kind}"
            for pod_set, kind in zip(self.pods, kinds, strict=True)
        ]
        resources = dict.fromkeys(
            flavor.resource
            for flavor in plan.flavors
            if self.units(flavor) and (flavor.unit != "cpu" or not self.devices)
        )
        total = " and ".join(amount_in_words(name, self.total(name)) for name in resources)
        return f"{total}: {'; '.join(parts)}" if total else "; ".join(parts)


def each_in_words(asks: Mapping[str, Fraction]) -> str:
    devices = sorted(
        (name for name in asks if name not in ("cpu", "memory")), key=lambda ask: (not ask.startswith(DEVICES), ask)
    )
    names = [name for name in (*devices, "cpu", "memory") if asks.get(name)]
    return ", ".join(amount_in_words(name, asks[name]) for name in names) or "nothing"


def amount_in_words(resource: str, amount: Fraction) -> str:
    if resource == "memory":
        return f"{bytes_text(whole(amount))} of memory"
    if resource == "cpu":
        return f"{milli_text(whole(amount * 1000))} {'CPU' if amount == 1 else 'CPUs'}"
    number = str(whole(amount)) if amount.denominator == 1 else f"{float(amount):g}"
    if resource == "nvidia.com/gpu":
        return f"{number} {'GPU' if amount == 1 else 'GPUs'}"
    return f"{number} {resource}"
