"""Every check of an agreement on Kueue."""

from __future__ import annotations

from ...agreement.plan import Plan
from . import guarantees, jobs, lending, placement, prod, sharing
from .model import Check


def kueue_checks(plan: Plan) -> tuple[Check, ...]:
    """What the plan promises, by family: per team and flavor where that makes a difference. What the plan excludes is left out
    (nobody lends, so nothing is taken back); what jobs cannot show has `not_run`."""
    families = (guarantees, lending, prod, jobs, placement, sharing)
    return tuple(check for family in families for check in family.checks(plan))
