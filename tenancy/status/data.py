"""A board for a program. Within a version keys are added, never renamed or removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from ..quota.lending import POOL
from .model import FlavorStatus, Part, StatusReport, TeamStatus, Violation, Waiting

VERSION = 1


def as_json(board: StatusReport) -> dict[str, Any]:
    """`teams` begin with what most needs attention. Times are in seconds."""
    seen = board.seen
    return {
        "version": VERSION,
        "scheduler": seen.scheduler,
        "at": seen.at.isoformat(),
        "attention": board.attention.value,
        "flavors": [_flavor(standing, seen.at) for standing in board.flavors],
        "teams": [_standing(standing, seen.at) for standing in board.statuses],
        "violated": [_short(short) for short in board.violations],
        "short": [_short(short) for short in board.violations],
        "not_known": list(seen.unread),
    }


def _flavor(standing: FlavorStatus, now: datetime) -> dict[str, Any]:
    return {
        "flavor": standing.flavor.name,
        "unit": standing.flavor.unit,
        "agreed": standing.flavor.capacity,
        "usable": standing.usable if standing.supply else None,
        "guaranteed": standing.guaranteed,
        "used": standing.used,
        "lent": standing.lent,
        "from_pool": standing.from_pool,
        "free": standing.free,
        "waiting": _waiting(standing.waiting, now),
    }


def _standing(standing: TeamStatus, now: datetime) -> dict[str, Any]:
    return {
        "team": standing.team.name,
        "display_name": standing.team.display_name,
        "flavor": standing.flavor_name,
        "unit": standing.flavor.unit if standing.flavor else None,
        "attention": standing.attention.value,
        "guaranteed": standing.share.guaranteed,
        "lendable": standing.share.lendable,
        "used": standing.use.total,
        "used_prod": standing.use.prod,
        "lent": standing.lent,
        "lent_to": _parts(standing.lent_to),
        "borrowed": standing.borrowed,
        "borrowed_from": _parts(standing.borrowed_from),
        "waiting": {**_waiting(standing.waiting, now), "within_guarantee": len(standing.owed)},
        "evictions": [{"job": one.name, "times": one.times, "why": one.why} for one in standing.evictions],
        "violated": [_short(one) for one in standing.violations],
        "short": [_short(one) for one in standing.violations],
    }


def _waiting(some: Collection[Waiting], now: datetime) -> dict[str, Any]:
    longest = max(((now - waiting.since).total_seconds() for waiting in some), default=0.0)
    return {
        "jobs": len(some),
        "units": sum(waiting.units for waiting in some),
        "longest_seconds": max(0, round(longest)),
    }


def _parts(some: Iterable[Part]) -> list[dict[str, Any]]:
    """`team` is null for the free pool; `about`: the split among several is not known."""
    return [
        {"team": part.team if part.team != POOL else None, "units": part.units, "about": part.about} for part in some
    ]


def _short(short: Violation) -> dict[str, Any]:
    return {
        "kind": short.kind.value,
        "team": short.team,
        "flavor": short.flavor,
        "why": short.why,
        "remedy": short.remedy,
    }
