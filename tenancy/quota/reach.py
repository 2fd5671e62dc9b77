"""How far teams get on an empty cluster: what nobody else uses is theirs to borrow, up to their limits.

For one team that is what Kueue calls the potential of its queue: its guarantee, and of the pool and what all others lend as much as
it may borrow. A larger job never starts. Several teams of a Cohort do not add up: they borrow of the same idle capacity, so their
reach together is what they hold when all of them have taken all they can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..agreement.plan import Plan, TeamPlan
from .kueue_model import KueueModel


def reach(plan: Plan, team: TeamPlan, flavor: str) -> int:
    """The most that one team can use of a flavor. Who asks for many teams asks `reaches`, which builds the tree once."""
    return KueueModel(plan, flavor).queue(team.name).potential


def reaches(plan: Plan, flavor: str) -> Mapping[str, int]:
    """By team."""
    model = KueueModel(plan, flavor)
    return {team.name: model.queue(team.name).potential for team in plan.teams}


def reach_together(model: KueueModel, teams: Iterable[TeamPlan]) -> int:
    """The most that these teams can use at once, in a model where nothing runs: each takes all that it still can, in whichever
    order. The model is left as it was."""
    held = {team.name: model.run(team.name) for team in teams}
    for team, units in held.items():
        model.queue(team).usage -= units
    return sum(held.values())
