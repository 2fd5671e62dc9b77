"""Clusters as `status` sees them, made up: a small one, and a hundred teams with eleven flavors."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tenancy.agreement.plan import Plan
from tenancy.objects.schedulers import Place
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.lending import Use
from tenancy.status import Eviction, Kind, Observed, StatusReport, Violation, Waiting, board

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def seen(
    uses: Mapping[str, int | Use] | None = None, *, flavor: str = "gpu", scheduler: str = "kueue", **more: Any
) -> Observed:
    """By team what it uses of one flavor."""
    made = {(team, flavor): use if isinstance(use, Use) else Use(use) for team, use in (uses or {}).items()}
    return Observed(scheduler=scheduler, at=NOW, uses=made, **more)


def waits(
    team: str, units: int, minutes: float, *, flavor: str = "gpu", place: Place = Place.REGULAR, **more: Any
) -> Waiting:
    name = more.pop("name", f"{team}/job-{minutes:g}")
    return Waiting(team, flavor, place, units, NOW - timedelta(minutes=minutes), name, **more)


def late(plan: Plan, seen: Observed) -> StatusReport:
    """As a second look sees it."""
    return board(plan, seen, before=[one.name for one in seen.waiting])


def busy(plan: Plan, seed: int = 1) -> Observed:
    """Every queue has some jobs, as many as Kueue would let it have; some wait, some were stopped, a few promises are short."""
    dice = random.Random(seed)
    uses, waiting, evictions = {}, [], []
    for flavor in plan.flavors:
        model = KueueModel(plan, flavor.name)
        for team in dice.sample(plan.teams, len(plan.teams)):
            if dice.random() < 0.6:
                model.run(team.name, dice.randint(0, 30))
            if team.has_prod and dice.random() < 0.5:
                model.run(team.name, dice.randint(0, 8), prod=True)
        for team in plan.teams:
            prod = model.queue(team.name, True).usage if team.has_prod else 0
            uses[team.name, flavor.name] = Use(model.queue(team.name).usage, prod)
            if dice.random() < 0.05:
                minutes = dice.randint(0, 3000)
                waiting.append(
                    waits(team.name, 64, minutes, flavor=flavor.name, name=f"{team.name}/{flavor.name}-{minutes}")
                )
            if dice.random() < 0.02:
                evictions.append(
                    Eviction(
                        team.name, flavor.name, f"{team.name}/train-7", dice.randint(1, 3), "taken back by its owner"
                    )
                )
    stopped = plan.teams[3].name
    violations = (
        Violation(
            Kind.STOPPED,
            stopped,
            "",
            f"ClusterQueue/{stopped} is stopped (Hold): no job of it starts",
            "kubectl patch …",
        ),
    )
    return Observed("kueue", NOW, uses, tuple(waiting), (), tuple(evictions), violations)
