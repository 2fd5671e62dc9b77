"""Topologies: levels in an order a cluster can have, from the widest domain to the single host."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding
from ..hardware import HOSTNAME
from ..model import Agreement
from ..names import label_key_problem

MAX_LEVELS = 16  # Topology.spec.levels, kueue v1beta2
MAX_LEVEL_LENGTH = 316  # Topology.spec.levels[].nodeLabel
# Widest first. Kubernetes "Well-Known Labels": zones lie within regions, hosts within zones.
KNOWN_ORDER = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", HOSTNAME)


def levels(agreement: Agreement) -> Iterator[Finding]:
    for name, topology in agreement.topologies.items():
        path = ("topologies", name, "levels")
        if not 1 <= len(topology.levels) <= MAX_LEVELS:
            yield Finding(path, f"has {len(topology.levels)} levels", f"1 to {MAX_LEVELS} are possible")
        seen: set[str] = set()
        for index, level in enumerate(topology.levels):
            if problem := label_key_problem(level):
                yield Finding((*path, index), *problem)
            elif len(level) > MAX_LEVEL_LENGTH:
                yield Finding((*path, index), f"has {len(level)} characters", f"at most {MAX_LEVEL_LENGTH} are allowed")
            if level in seen:
                yield Finding((*path, index), f"{level!r} is listed twice", "name each level once")
            seen.add(level)
        if HOSTNAME in topology.levels[:-1]:
            yield Finding(path, f"{HOSTNAME!r} is not the last level", "a host holds nothing narrower: put it last")
        known = [level for level in topology.levels if level in KNOWN_ORDER[:-1]]
        if known != sorted(known, key=KNOWN_ORDER.index):
            yield Finding(
                path,
                f"{known[0]!r} is listed before {known[1]!r}, which is wider",
                "order the levels from widest to narrowest",
            )
