"""What Kueue answers, by the agreement's numbers: the tree that it builds from an agreement, for one flavor.

- The root Cohort owns the free pool; a department is a Cohort that owns nothing and limits nothing.
- A team is one node with its guarantee and its two limits: a queue, or, with a prod slice, a Cohort with two queues in it. The
  prod queue owns the slice and borrows nothing; the regular one owns the rest, or (`guarantee_on = "cohort"`) borrows it of its
  Cohort.

How Kueue counts in it is in `tree`. The model reads the plan and not the objects that are made of it, so that what a cluster does
with the objects can be held against it (tests/on_lab/test_kueue_model_on_lab.py). All amounts are whole units of the flavor.
"""

from __future__ import annotations

from ..agreement.plan import Plan, TeamPlan
from .tree import Node


class KueueModel:
    """The tree of a plan for one flavor, in which nothing runs yet."""

    def __init__(self, plan: Plan, flavor: str) -> None:
        self.plan, self.flavor = plan, flavor
        self.root = Node(plan.cluster, False, plan.pool[flavor])
        self.departments = {
            department.name: Node(department.name, False, 0, parent=self.root) for department in plan.departments
        }
        self.teams: dict[str, Node] = {}
        """Each team's own place: its queue, or the Cohort of its queues."""
        self.queues: dict[tuple[str, bool], Node] = {}
        """By team, and whether it is the prod queue."""
        for team in plan.teams:
            self._add(team)

    def queue(self, team: str, prod: bool = False) -> Node:
        return self.queues[team, prod]

    def run(self, team: str, units: int | None = None, *, each: int = 1, prod: bool = False) -> int:
        """Runs as many jobs of `each` units as the queue can get without a preemption, `units` at most; returns their units."""
        node = self.queue(team, prod)
        fits = max(node.available, 0) // each * each
        amount = fits if units is None else min(fits, units // each * each)
        node.usage += amount
        return amount

    def _add(self, team: TeamPlan) -> None:
        share = team.shares[self.flavor]
        parent = self.departments[team.department] if team.department else self.root
        if not team.has_prod:
            own = Node(team.name, True, share.guaranteed, share.lendable, share.borrowable, parent)
            self.teams[team.name] = self.queues[team.name, False] = own
            return
        on_cohort = self.plan.guarantee_on == "cohort"
        cohort = Node(team.name, False, share.regular * on_cohort, share.lendable, share.borrowable, parent)
        self.teams[team.name] = cohort
        self.queues[team.name, False] = Node(team.name, True, share.regular * (not on_cohort), parent=cohort)
        self.queues[team.name, True] = Node(f"{team.name}-prod", True, share.prod, borrowing=0, parent=cohort)
