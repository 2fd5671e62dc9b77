"""Of places: a gang inside one domain of its topology, and slices that are counted apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...agreement.hardware import HOSTNAME, Hardware
from ...agreement.plan import Plan, TeamPlan
from ...objects import kueue
from ...quota.reach import reach
from .builder import CheckBuilder, node_of, one, sizes
from .model import Check, JobGroup


def checks(plan: Plan) -> Iterator[Check]:
    for flavor in plan.flavors:
        yield from topology(plan, flavor)
        if flavor.profile:
            yield from slices(plan, flavor)


def topology(plan: Plan, flavor: Hardware) -> Iterator[Check]:
    """For each level a gang of two pods that must share a domain of it, on whole nodes where there are two; and a gang that no
    node can hold, which waits."""
    tree = kueue.topology_of(plan, flavor)
    team = max(plan.teams, key=lambda team: reach(plan, team, flavor.name), default=None)
    if tree is None or team is None:
        return
    most, node = reach(plan, team, flavor.name), flavor.units_per_node
    pairs = {}
    for level in tree.levels:
        whole = level != HOSTNAME and flavor.nodes > 1 and most >= 2 * node
        pair = JobGroup(_name(level), team.name, flavor.name, 1, node if whole else node // 2, 2, level=level)
        if 0 < pair.each <= most:
            pairs[level] = pair
    story = CheckBuilder()
    for group in [[*pairs]] if sum(jobs.each for jobs in pairs.values()) <= most else [[level] for level in pairs]:
        sizes_told = " and ".join(
            f"two pods of {flavor.count(pairs[entry].units)} in one {_short(entry)}" for entry in group
        )
        jobs = [pairs[level] for level in group]
        story.then(f"It starts {sizes_told}.", *jobs, together={pairs[level].name: level for level in group})
        story.then("They end.", remove=[job.name for job in jobs])
    too_large = JobGroup("no-host", team.name, flavor.name, 1, node // 2 + 1, 2, level=HOSTNAME)
    if tree.levels[-1] == HOSTNAME and too_large.each <= most:
        says = (
            f"Two pods of {flavor.count(too_large.units)} that must share a node of {node} wait, though there is quota."
        )
        story.then(says, too_large, waits=["no-host"], because={"no-host": "topology"})
    if story.steps:
        promise = f"A gang lands inside one domain of the level it names ({', '.join(tree.levels)}), or waits."
        yield story.check("topology", team.name, flavor.name, promise, f"resourceflavor/{flavor.name}")


def slices(plan: Plan, flavor: Hardware) -> Iterator[Check]:
    """All that a team can reach of one profile is in use, and of another flavor a unit is still there."""
    able = [team for team in plan.teams if reach(plan, team, flavor.name)]
    team = max(able, key=lambda team: team.shares[flavor.name].guaranteed, default=None)
    other = team and _other(plan, flavor, team)
    if not team or not other:
        return
    most = reach(plan, team, flavor.name)
    story = CheckBuilder().then(
        f"{team.name} uses all {flavor.count(most)} that it can reach.", sizes(flavor, most).jobs("all", team, most)
    )
    story.then("It asks for one more of them, and waits.", one("one-more", team, flavor), waits=["one-more"])
    story.then(f"{other.count(1)} of {other.name} is there.", replace(one("other", team, other)))
    promise = f"Slices of {flavor.profile} are counted by themselves: all in use, others are still there."
    yield story.check("slices", team.name, flavor.name, promise, node_of(team))


def _short(level: str) -> str:
    return level.rpartition("/")[2]


def _name(level: str) -> str:
    """A name for the jobs that go by a level."""
    letters = "".join(entry if entry.isalnum() else "-" for entry in _short(level).lower())
    return f"in-one-{letters}"[:40].rstrip("-")


def _other(plan: Plan, flavor: Hardware, team: TeamPlan) -> Hardware | None:
    """Another flavor the team can use: of slices rather than whole GPUs, and rather of few nodes."""
    able = [
        entry for entry in plan.flavors if entry is not flavor and entry.unit != "cpu" and reach(plan, team, entry.name)
    ]
    return min(able, key=lambda flavor: (flavor.profile is None, flavor.nodes), default=None)
