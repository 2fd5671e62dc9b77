"""A difference for a program. Older names of a key (`fate`, `stopped`) stay beside the new ones. Amounts are whole units of the flavor; `borrowable` null is no limit, numbers null: not there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...quota.jobs import Job
from .live_impact import LiveImpact
from .model import Difference
from .objects import FATES
from .words import story


def as_json(difference: Difference, impact: LiveImpact | None = None) -> dict[str, Any]:
    made = {
        "cluster": difference.new.cluster,
        "changes": not difference.is_empty,
        "less": difference.is_less,
        "story": story(difference),
        "numbers": [
            {
                "team": row.team,
                "flavor": row.flavor,
                "before": row.before and asdict(row.before),
                "after": row.after and asdict(row.after),
                "of_promise": row.of_promise,
                "less": row.is_less,
            }
            for row in difference.rows
        ],
        "unchanged_teams": list(difference.unchanged_teams),
        "balances": [asdict(balance) for balance in difference.balances],
        "gangs": [asdict(gang) for gang in difference.gangs],
        "lost_levels": [asdict(lost_level) for lost_level in difference.lost_levels],
        "facts": [asdict(fact) for fact in difference.facts],
        "fidelity": [asdict(kept) for kept in difference.kept],
        "objects": {
            name: [
                {
                    "object": change.reference,
                    "action": change.action.value,
                    "fate": FATES[change.action],
                    "fields": [
                        {"field": where, "before": was, "after": becomes} for where, was, becomes in change.fields
                    ],
                    "cost": change.cost,
                }
                for change in changes
            ]
            for name, changes in difference.objects.items()
        },
    }
    return made | ({"live": _standing(impact)} if impact else {})


def _standing(impact: LiveImpact) -> dict[str, Any]:
    return {
        "scheduler": impact.scheduler,
        "running": impact.running,
        "holds_new": impact.already,
        "unlike_old": list(impact.unlike),
        "above": [
            {
                "team": one.team,
                "flavor": one.flavor,
                "guaranteed": one.guaranteed,
                "used": one.used,
                "by_change": one.by_change,
                "jobs": [_job(job) for job in one.jobs],
            }
            for one in impact.above
        ],
        "asks": [
            {
                "team": one.team,
                "flavor": one.flavor,
                "amount": one.amount,
                "prod": one.prod,
                "starts": one.starts,
                "preempted": (preempted := None if one.preempted is None else [_job(job) for job in one.preempted]),
                "stopped": preempted,
            }
            for one in impact.asks
        ],
        "leaving": [_job(job) for job in impact.leaving],
        "domains": [asdict(one) for one in impact.domains],
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "namespace": job.namespace,
        "name": job.name,
        "kind": job.kind,
        "team": job.team,
        "prod": job.prod,
        "units": dict(job.units),
        "priority": job.priority,
        "since": job.since.isoformat(),
    }
