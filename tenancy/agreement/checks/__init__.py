"""What one part of an agreement says against another, and against what an API server would refuse.

Each check takes the agreement and yields findings; none stops at the first, none depends on another's verdict. Limits an
API server enforces are checked here, before it, with the path in the agreement instead of the one in an object. What the
objects would be called is checked where objects are known (`objects.names`); `objects.loading` runs both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from ..findings import MOST_FINDINGS, Finding
from ..model import Agreement
from . import flavors, limits, naming, people, promises, sharing, topologies

Check = Callable[[Agreement], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    naming.team_label,
    naming.display_names,
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


def run(checks: Iterable[Check], agreement: Agreement) -> list[Finding]:
    """Every finding of these checks; of one kind no more than a person would ever read."""
    return [finding for check in checks for finding in islice(check(agreement), MOST_FINDINGS)]
