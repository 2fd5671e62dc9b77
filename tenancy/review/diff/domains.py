"""Whole domains of a topology that a team can no longer fill: how large one is only the nodes of a cluster say.

A job that asks for one domain of a level (a rack, a scalable unit) has at most what the largest one holds. So a number that falls
below that takes away a size of job that is common just because of the hardware.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...agreement.hardware import HOSTNAME
from ...agreement.plan import Plan
from ...cluster.nodes import Node, levels_of, place, usable
from .gangs import Limit
from .numbers import rows

Domains = Mapping[tuple[str, str], int]
"""By flavor and level the units that jobs can have in the largest domain."""


@dataclass(frozen=True, slots=True)
class LostDomain:
    """A team whose reach (`ever`) or guarantee (`sure`) held a whole domain of `units` before, and no longer does."""

    team: str
    flavor: str
    level: str
    units: int
    limit: Limit


def largest_domains(plan: Plan, nodes: Iterable[Node]) -> Domains:
    """Of every level but the host, which is one node."""
    found: dict[tuple[str, str], int] = {}
    placed = place(plan, nodes)
    for flavor in plan.flavors:
        levels = levels_of(plan, flavor)
        for depth, level in enumerate(levels):
            if level == HOSTNAME:
                continue
            sizes: dict[tuple[str, ...], int] = {}
            for node in placed.by_flavor[flavor.name]:
                if units := usable(flavor, levels, node):
                    domain = tuple(node.labels[level] for level in levels[: depth + 1])
                    sizes[domain] = sizes.get(domain, 0) + units
            if sizes:
                found[flavor.name, level] = max(sizes.values())
    return found


def lost_domains(old: Plan, new: Plan, domains: Domains) -> Iterator[LostDomain]:
    """For each team and level the more that is lost: what can never start, else what is beyond the guarantee."""
    for row in rows(old, new):
        for (flavor, level), units in domains.items():
            if flavor != row.flavor or row.before is None or row.after is None:
                continue
            if row.after.reach < units <= row.before.reach:
                yield LostDomain(row.team, flavor, level, units, Limit.EVER)
            elif row.after.guaranteed < units <= row.before.guaranteed:
                yield LostDomain(row.team, flavor, level, units, Limit.SURE)
