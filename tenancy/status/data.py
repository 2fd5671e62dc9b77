"""A board for a program. Within a version keys are added, never renamed or removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from ..quota.lending import POOL
from .model import Board, FlavorStanding, Part, Short, Standing, Waiting

VERSION = 1


def as_json(board: Board) -> dict[str, Any]:
    """`teams` begin with what most needs attention. Times are in seconds."""
    seen = board.seen
    return {
        "version": VERSION,
        "scheduler": seen.scheduler,
        "at": seen.at.isoformat(),
        "attention": board.attention.value,
        "flavors": [_flavor(it, seen.at) for it in board.flavors],
        "teams": [_standing(it, seen.at) for it in board.standings],
        "short": [_short(it) for it in board.shorts],
        "not_known": list(seen.unread),
    }


def _flavor(it: FlavorStanding, now: datetime) -> dict[str, Any]:
    return {
        "flavor": it.flavor.name,
        "unit": it.flavor.unit,
        "agreed": it.flavor.capacity,
        "usable": it.usable if it.supply else None,
        "guaranteed": it.guaranteed,
        "used": it.used,
        "lent": it.lent,
        "from_pool": it.from_pool,
        "free": it.free,
        "waiting": _waiting(it.waiting, now),
    }


def _standing(it: Standing, now: datetime) -> dict[str, Any]:
    return {
        "team": it.team.name,
        "display_name": it.team.display_name,
        "flavor": it.flavor_name,
        "unit": it.flavor.unit if it.flavor else None,
        "attention": it.attention.value,
        "guaranteed": it.share.guaranteed,
        "lendable": it.share.lendable,
        "used": it.use.total,
        "used_prod": it.use.prod,
        "lent": it.lent,
        "lent_to": _parts(it.lent_to),
        "borrowed": it.borrowed,
        "borrowed_from": _parts(it.borrowed_from),
        "waiting": {**_waiting(it.waiting, now), "within_guarantee": len(it.owed)},
        "evictions": [{"job": one.name, "times": one.times, "why": one.why} for one in it.evictions],
        "short": [_short(one) for one in it.shorts],
    }


def _waiting(some: Collection[Waiting], now: datetime) -> dict[str, Any]:
    longest = max(((now - it.since).total_seconds() for it in some), default=0.0)
    return {"jobs": len(some), "units": sum(it.units for it in some), "longest_seconds": max(0, round(longest))}


def _parts(some: Iterable[Part]) -> list[dict[str, Any]]:
    """`team` is null for the free pool; `about`: the split among several is not known."""
    return [{"team": it.team if it.team != POOL else None, "units": it.units, "about": it.about} for it in some]


def _short(it: Short) -> dict[str, Any]:
    return {"kind": it.kind.value, "team": it.team, "flavor": it.flavor, "why": it.why, "remedy": it.remedy}
