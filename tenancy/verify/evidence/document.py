"""A run as JSON for a program to read. The shape is described in docs/verify.md; a key is never renamed within a `version`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .model import Outcome, Run
from .words import counts

VERSION = 1


def as_json(run: Run) -> dict[str, Any]:
    """Plain data. Seconds are of the run's own clock; `started`, `ended`, `since` and `until` count from `began`."""
    return {
        "version": VERSION,
        "agreement": run.agreement,
        "cluster": run.cluster,
        "began": run.began,
        "seconds": _rounded(run.seconds),
        "kept": run.kept,
        "stopped": run.stopped,
        "counts": {str(verdict): count for verdict, count in counts(run.outcomes).items()},
        "checks": [_check(outcome) for outcome in run.outcomes],
        "held": [{**asdict(held), "since": _rounded(held.since), "until": _rounded(held.until)} for held in run.held],
    }


def _check(outcome: Outcome) -> dict[str, Any]:
    check = outcome.check
    return {
        "name": check.name,
        "scheduler": str(check.scheduler),
        "kind": check.kind,
        "team": check.team,
        "flavor": check.flavor,
        "promise": check.promise,
        "verdict": str(outcome.verdict),
        "why": outcome.why,
        "look_at": check.look_at,
        "started": _rounded(outcome.started),
        "seconds": _rounded(outcome.seconds),
        "steps": [
            {
                "says": step.says,
                "submitted": list(step.submitted),
                "seconds": _rounded(step.seconds),
                "ended": _rounded(step.ended),
                "running": dict(step.running),
                "waiting": dict(step.waiting),
                "stopped": dict(step.stopped),
                "usage": dict(step.usage),
                "conditions": [asdict(condition) for condition in step.conditions],
            }
            for step in outcome.steps
        ],
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
