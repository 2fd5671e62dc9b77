"""In which order a change of guarantees is written.

An update is no single step for the cluster, and between two writes the guarantees may come to more than there is: if the
team that gets more is written before the one that gives, Kueue admits waiting jobs beyond the hardware (measured on 150
teams: 1,280 GPUs admitted of 1,200), and their pods wait on full nodes until something ends. The other way round a change
only leaves some capacity unpromised for a moment, and lowering a quota stops no job (kueue#5176). So whoever gets more waits
for all who give.

Three changes are beyond this order, because of the one that objects are deleted in, last, and of the root's, first: a team
that is removed, a prod slice that is removed, and capacity that goes from a team to the free pool. To move what they hold
without that moment, lower the team to 0 in an update before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tenancy.objects.identity import reference
from tenancy.text.quantity import amount, whole

from .objects import Object, written

Owned = Counter[tuple[str, str]]


def gives(before: Mapping[str, Object], now: Iterable[Object]) -> bool:
    """Whether a team's objects owned more of anything."""
    now = list(now)
    return bool(_owned(_were(before, now)) - _owned(now))


def gets(before: Mapping[str, Object], now: Iterable[Object]) -> bool:
    """Whether they own more of anything now."""
    now = list(now)
    return bool(_owned(now) - _owned(_were(before, now)))


def put_back(there: Mapping[str, Object], wanted: Iterable[Object]) -> list[Object]:
    """What somebody changed by hand, as the provider would write it, in the order in which it is written one by one."""
    return [written(body) for body in sorted(wanted, key=lambda body: not gives(there, [body]))]


def _were(before: Mapping[str, Object], now: Iterable[Object]) -> list[Object]:
    return [before[result] for body in now if (result := reference(body)) in before]


def _owned(objects: Iterable[Object]) -> Owned:
    """Nominal quota by flavor and resource, in thousandths. Memory follows the others, and may be too large for that."""
    owned: Owned = Counter()
    for body in objects:
        for group in body.get("spec", {}).get("resourceGroups", ()):  # of one that was imported, the record has no spec
            for flavor in group["flavors"]:
                for quota in flavor["resources"]:
                    if quota["name"] != "memory":
                        owned[flavor["name"], quota["name"]] += whole(amount(quota["nominalQuota"]) * 1000)
    return owned
