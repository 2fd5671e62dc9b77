"""The arithmetic of KAI's tree: where each part of a promise stands, in units of its flavor.

KAI knows a quota (what a queue gets back), a limit (the most it may use), and no lending limit. Non-preemptible jobs
(priority 100 and more) must fit the quota of their queue and of every queue above it (capacity_policy/quota_check.go).
So a promise of G, of which L is lent and P is set aside for prod, comes apart into four numbers:

- what the team lends stands in the tree that is shared: L there;
- what it never lends stands outside, under a root of its own: G − L there, which nobody else ever reaches;
- the prod slice is a part of one of the two, or of both where neither alone is as large: first of what is never lent, where
  nobody else's job is ever in its way.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...agreement.hardware import Hardware
from ...agreement.mig import GPU
from ...agreement.plan import Plan, Share, TeamPlan

UNLIMITED = -1
MILLICORES = 1000
MIG = "nvidia.com/mig-"


@dataclass(frozen=True, slots=True)
class Parts:
    """Where a team's share of one flavor stands. `shared` and `reserved` are the quotas of the team's two places, and
    `prod_shared` and `prod_reserved` the parts of them that are the prod slice."""

    shared: int
    reserved: int
    prod_shared: int
    prod_reserved: int

    @property
    def regular_shared(self) -> int:
        return self.shared - self.prod_shared

    @property
    def regular_reserved(self) -> int:
        return self.reserved - self.prod_reserved


def parts(share: Share) -> Parts:
    """The prod slice whole in one place where one holds it, else what is never lent and as much of the rest as it takes."""
    if share.prod <= share.reserved:
        kept = share.prod
    elif share.prod <= share.lendable:
        kept = 0
    else:
        kept = share.reserved
    return Parts(share.lendable, share.reserved, share.prod - kept, kept)


def limit_in_shared(share: Share) -> int:
    """The most a team may use in the shared tree: L + B, or no limit."""
    return UNLIMITED if share.borrowable is None else share.lendable + share.borrowable


def shared_quota(plan: Plan, flavor: Hardware) -> int:
    """All that teams lend, and what no team is guaranteed. Without teams the root would be a leaf that takes anyone's jobs."""
    return plan.lent[flavor.name] + plan.pool[flavor.name] if plan.teams else 0


def reach_in_shared(plan: Plan, team: TeamPlan, flavor: Hardware) -> int:
    """The most that a team can use of the shared tree while nobody else does."""
    limit, whole = limit_in_shared(team.shares[flavor.name]), shared_quota(plan, flavor)
    return whole if limit == UNLIMITED else min(limit, whole)


def department_quota(plan: Plan, department: str, flavor: Hardware) -> int:
    """What a department's teams lend: a quota below that would void theirs against others."""
    return sum(team.shares[flavor.name].lendable for team in teams_of(plan, department))


def teams_of(plan: Plan, department: str) -> list[TeamPlan]:
    return [team for team in plan.teams if team.department == department]


def per_unit(flavor: Hardware) -> int:
    """What KAI counts for one unit: a GPU is 1; a slice `mig-Ng.Mgb` is N GPUs; a CPU is 1,000 millicores."""
    if flavor.unit == "cpu":
        return MILLICORES
    if flavor.resource == GPU:  # whole GPUs, and slices under the MIG strategy `single`
        return 1
    return int(flavor.resource.removeprefix(MIG).partition("g.")[0])  # common_info/resources/mig.go
