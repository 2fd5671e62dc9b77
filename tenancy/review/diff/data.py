"""A difference for a program. Amounts are whole units of the flavor; `borrowable` null is no limit, numbers null: not there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...quota.jobs import Job
from .live_impact import Standing
from .model import Difference
from .words import story


def as_json(difference: Difference, stands: Standing | None = None) -> dict[str, Any]:
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
                    "fate": change.fate,
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
    return made | ({"live": _standing(stands)} if stands else {})


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "scheduler": standing.scheduler,
        "running": standing.running,
        "holds_new": standing.already,
        "unlike_old": list(standing.unlike),
        "above": [
            {
                "team": one.team,
                "flavor": one.flavor,
                "guaranteed": one.guaranteed,
                "used": one.used,
                "by_change": one.by_change,
                "jobs": [_job(job) for job in one.jobs],
            }
            for one in standing.above
        ],
        "asks": [
            {
                "team": one.team,
                "flavor": one.flavor,
                "amount": one.amount,
                "prod": one.prod,
                "starts": one.starts,
                "stopped": None if one.stopped is None else [_job(job) for job in one.stopped],
            }
            for one in standing.asks
        ],
        "leaving": [_job(job) for job in standing.leaving],
        "domains": [asdict(one) for one in standing.domains],
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
