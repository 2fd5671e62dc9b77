"""Amounts of a flavor as the quotas of every resource that Kueue covers, in canonical text.

A flavor's device, its CPU and its memory are one amount times a fixed ratio; a resource the flavor does not have stands
there as 0, because a resource group lists the same resources for each of its flavors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..agreement.hardware import Hardware
from ..agreement.plan import Plan
from ..text.quantity import bytes_text, count_text, milli_text

Amounts = Mapping[str, int]


def resource_quotas(
    plan: Plan, flavor: Hardware, nominal: Amounts, borrowing: Amounts, lending: Amounts
) -> list[dict[str, str]]:
    """The `resources` of one flavor in a resource group: nominalQuota, and the limits where the flavor is in them.

    Limits stand only on resources the flavor has: of the others there is nothing to lend or to borrow.
    """
    quotas = []
    nominal_text = _texts(flavor.resource, flavor.cpu, flavor.memory, nominal.get(flavor.name, 0))
    limits = [
        (key, _texts(flavor.resource, flavor.cpu, flavor.memory, amounts[flavor.name]))
        for key, amounts in (("borrowingLimit", borrowing), ("lendingLimit", lending))
        if flavor.name in amounts
    ]
    for resource in plan.resources:
        quota = {"name": resource, "nominalQuota": nominal_text.get(resource, "0")}
        for key, texts in limits:
            if resource in texts:
                quota[key] = texts[resource]
        quotas.append(quota)
    return quotas


@lru_cache(maxsize=65536)
def _texts(resource: str, cpu: int, memory: int, amount: int) -> Mapping[str, str]:
    """Resource → quantity for `amount` units of a flavor with this device and these ratios."""
    texts = {"cpu": milli_text(amount * cpu), "memory": bytes_text(amount * memory)}
    return texts if resource == "cpu" else {**texts, resource: count_text(amount)}
