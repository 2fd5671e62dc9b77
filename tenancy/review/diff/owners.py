"""Who must agree to a change: the leads of the teams whose numbers it changes."""

from __future__ import annotations

from collections.abc import Mapping

from .model import Difference


def owners(difference: Difference) -> Mapping[str, tuple[str, ...]]:
    """By team the groups that lead it, before or after, else those of its members; none where the agreement names nobody. A team
    that only could reach another amount of others' is not asked."""
    teams = dict.fromkeys(row.team for row in difference.promised)
    return {team: _groups(difference, team) for team in teams}


def _groups(difference: Difference, team: str) -> tuple[str, ...]:
    there = [plan.team[team] for plan in (difference.old, difference.new) if team in plan.team]
    leads = dict.fromkeys(group for team in there for group in team.leads)
    return tuple(leads or dict.fromkeys(group for team in there for group in team.members))
