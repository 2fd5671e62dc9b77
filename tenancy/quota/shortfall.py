"""What of a flavor's promises can be kept with what is usable of it. All amounts are whole units of the flavor.

Let C be the agreed capacity, U what is usable of it, g the guarantee of a team, G the sum of all guarantees (G ≤ C).

- U < C takes from the free pool first: of C − G it leaves max(0, U − G). As long as U ≥ G every guarantee can be kept.
- With U < G, S = G − U units of the guarantees cannot be kept at once. That sum is certain.
- Who goes short is not: a scheduler stops no team within its guarantee for another one within its own, so whoever comes
  last lacks. If all others use theirs, U − (G − g) = g − S is left to a team, or nothing. So a team lacks at most
  min(g, S), and any team can be the one; and it lacks at least max(0, g − U), also when nobody else uses anything.
- A prod slice p is a part of g. The team's own regular jobs can give way to it, others' guaranteed ones cannot, so in the
  worst case it lacks p less what is left to the team. Of all slices together max(0, sum of p − U) cannot be kept, even if
  every regular job stops.

- What is lent comes back before a lender is short, with one exception (measured on Kueue 0.19.2): quota is a number, and goes
  on lending what is broken of the free pool. Where Kueue does not count nodes itself (no flavor has a topology) it
  admits both the borrowers of the whole pool and the teams; whose pods come last lack nodes. Until the agreement's `nodes`
  follow, a team can so lack up to min(g, C − U), and C − U − S of that is `overlent`.

Units are counted, not whether a gang fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..agreement.plan import Share


@dataclass(frozen=True, slots=True)
class TeamShort:
    """A team that can go short of a flavor: by at least and at most how much; what is `left` to it in the worst case; of
    its slice `prod`, what is lacking then, when all that is left goes to it."""

    team: str
    guaranteed: int
    at_least: int
    at_most: int
    prod: int
    prod_at_most: int

    @property
    def left(self) -> int:
        return self.guaranteed - self.at_most


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A flavor's promises beside what is usable: `short` of the guarantees and `prod_short` of the prod slices cannot be
    kept at once; of the free pool `pool` is left, and `overlent` is gone that quota still lends."""

    usable: int
    guaranteed: int
    pool: int
    overlent: int
    short: int
    prod_short: int
    teams: tuple[TeamShort, ...]


def shortfall(capacity: int, usable: int, shares: Mapping[str, Share]) -> Shortfall:
    """Of one flavor, by what is agreed and each team's share. `teams` has only those that can go short even with nothing
    lent, in the order of `shares`."""
    guaranteed = sum(share.guaranteed for share in shares.values())
    short = max(0, guaranteed - usable)
    return Shortfall(
        usable=usable,
        guaranteed=guaranteed,
        pool=max(0, usable - guaranteed),
        overlent=max(0, capacity - usable - short),
        short=short,
        prod_short=max(0, sum(share.prod for share in shares.values()) - usable),
        teams=tuple(
            _team(name, share, usable, short) for name, share in shares.items() if min(share.guaranteed, short)
        ),
    )


def _team(name: str, share: Share, usable: int, short: int) -> TeamShort:
    at_most = min(share.guaranteed, short)
    return TeamShort(
        team=name,
        guaranteed=share.guaranteed,
        at_least=max(0, share.guaranteed - usable),
        at_most=at_most,
        prod=share.prod,
        prod_at_most=max(0, share.prod - (share.guaranteed - at_most)),
    )
