"""What one part of an agreement says against another, and against what an API server would refuse.

Each check takes the agreement and yields findings; none stops at the first, none depends on another's verdict. Limits an
API server enforces are checked here, before it, with the path in the agreement instead of the one in an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from ..findings import MOST_FINDINGS, Finding
from ..model import Agreement
from . import flavors, limits, naming, people, promises, sharing, topologies

CHECKS: tuple[Callable[[Agreement], Iterator[Finding]], ...] = (
    naming.names,
    naming.display_names,
    naming.collisions,
    topologies.levels,
    flavors.shape,
    flavors.labels,
    flavors.overlap,
    flavors.slices_as_gpus,
    flavors.ratios,
    promises.references,
    promises.within_guarantee,
    promises.within_capacity,
    promises.node_shapes,
    promises.nothing_promised,
    promises.hit_first,
    people.priorities,
    people.namespaces,
    people.groups,
    people.without_access,
    people.machines,
    sharing.fair,
    sharing.guarantees,
    sharing.usage,
    limits.objects,
    limits.quantities,
)


def check(agreement: Agreement) -> list[Finding]:
    """Every finding on a well-typed agreement; of one kind no more than a person would ever read."""
    return [finding for one in CHECKS for finding in islice(one(agreement), MOST_FINDINGS)]
