"""All of it: per flavor what is agreed, found and usable, then what is not as agreed, then which teams are short."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...agreement.findings import Finding, Severity
from ...agreement.hardware import Hardware
from ...agreement.plan import Plan
from ...cluster.nodes import Node, alike, has, levels_of, place, takes_jobs, units
from ...quota.shortfall import Shortfall, TeamShort, shortfall
from . import problems
from .problems import Kind, Problem


@dataclass(frozen=True, slots=True)
class FlavorSupply:
    """A flavor beside the nodes that count for it: how many there are, how many take jobs, how many devices these have, and
    what becomes of the promises with the whole units among them (a device with its CPU and memory). `counted`: Kueue
    counts these nodes itself, as it does where a flavor of the agreement has a topology."""

    flavor: Hardware
    nodes: int
    nodes_usable: int
    counted: bool
    devices: int
    promises: Shortfall

    @property
    def lost(self) -> int:
        return max(0, self.flavor.capacity - self.promises.usable)

    @property
    def overlent(self) -> int:
        """What quota goes on lending though it is not there."""
        return 0 if self.counted else self.promises.overlent

    @property
    def pool_agreed(self) -> int:
        return self.flavor.capacity - self.promises.guaranteed


@dataclass(frozen=True, slots=True)
class Report:
    """`flavors` and `problems` begin with what most needs attention; `promises` are the sentences on what is short, of a
    flavor (the team is None) and of its teams."""

    nodes: int
    flavors: tuple[FlavorSupply, ...]
    problems: tuple[Problem, ...]
    promises: tuple[tuple[FlavorSupply, TeamShort | None, Finding], ...]

    @property
    def as_agreed(self) -> bool:
        return not self.problems and not self.promises


def compare(plan: Plan, nodes: Iterable[Node]) -> Report:
    nodes = list(nodes)
    placed = place(plan, nodes)
    looks_like = alike(plan, placed)
    supplies, found = [], {}
    for flavor in plan.flavors:
        its, levels = placed.by_flavor[flavor.name], levels_of(plan, flavor)
        open_ = [node for node in its if takes_jobs(flavor, levels, node)]
        near = [node for node in placed.strays if looks_like.get(node.name) is flavor]
        found[flavor.name] = list(problems.of_flavor(placed, flavor, levels, near))
        supplies.append(
            FlavorSupply(
                flavor=flavor,
                nodes=len(its),
                nodes_usable=len(open_),
                counted=bool(levels),
                devices=sum(has(flavor, node)[0] for node in open_),
                promises=shortfall(
                    flavor.capacity,
                    sum(units(flavor, node) for node in open_),
                    {team.name: team.shares[flavor.name] for team in plan.teams},
                ),
            )
        )
    supplies.sort(key=lambda supply: (-supply.promises.short, -supply.lost, not found[supply.flavor.name]))
    order = list(Kind)
    listed = [
        one for supply in supplies for one in sorted(found[supply.flavor.name], key=lambda one: order.index(one.kind))
    ]
    lost = [node for node in placed.strays if node.has_gpus and node.name not in looks_like]
    return Report(
        nodes=len(nodes),
        flavors=tuple(supplies),
        problems=(*listed, *problems.strays(lost)),
        promises=tuple(said for supply in supplies for said in _promises(plan, supply)),
    )


def _promises(plan: Plan, supply: FlavorSupply) -> Iterable[tuple[FlavorSupply, TeamShort | None, Finding]]:
    flavor, promises = supply.flavor, supply.promises
    if not supply.lost:
        return
    yield supply, None, _flavor_finding(supply)
    for team in promises.teams:
        path = ("teams", team.team, "guaranteed", *([flavor.name] if len(plan.flavors) > 1 else []))
        yield supply, team, Finding(path, _team_text(flavor, team))


def _flavor_finding(supply: FlavorSupply) -> Finding:
    """What becomes of the guarantees together, and of what quota goes on lending where Kueue counts no nodes."""
    flavor, promises = supply.flavor, supply.promises
    path = ("flavors", flavor.name, "nodes")
    usable = f"{promises.usable or 'none'} {'is' if promises.usable < 2 else 'are'} usable"
    if supply.devices > promises.usable:
        usable += f" with the CPU and memory agreed for each, {supply.devices} without"
    if promises.short:
        message = f"{promises.short} of {flavor.count(promises.guaranteed)} guaranteed cannot be kept at once: {usable}"
        message += f"; {supply.overlent} more while quota lends units that are not there" if supply.overlent else ""
        if promises.prod_short:
            message += f"; nor can {promises.prod_short} of the prod slices, even if all other jobs stop"
        return Finding(path, message, "fix the problems above, or agree on less")
    message = f"every guarantee can be kept, the free pool is {promises.pool} instead of {supply.pool_agreed}: {usable}"
    if not supply.overlent:
        return Finding(path, message, "fix the problems above", Severity.ADVICE)
    message += f"; but quota lends {supply.overlent} that are not there, and a team can miss as many of its own"
    nodes = promises.usable // flavor.units_per_node
    enough = nodes * flavor.units_per_node >= promises.guaranteed and nodes < flavor.nodes
    remedy = f"fix the problems above{f', or write nodes = {nodes} until then' if enough else ''}"
    return Finding(path, message, remedy)


def _team_text(flavor: Hardware, team: TeamShort) -> str:
    how_much = f"up to {team.at_most}" if team.at_least < team.at_most else f"{team.at_most}"
    if 0 < team.at_least < team.at_most:
        how_much = f"at least {team.at_least} and {how_much}"
    text = f"short by {how_much} of {flavor.count(team.guaranteed)}"
    left = f"{team.left or 'nothing'} {'is' if team.left < 2 else 'are'} left"
    text += f": {left} when all others use theirs" if team.at_least < team.at_most else f", whatever others use: {left}"
    if not team.prod:
        return text
    if team.prod_at_most:
        return f"{text}, and {team.prod_at_most} of its prod slice of {team.prod} are missing"
    return f"{text}, enough for its prod slice of {team.prod} if its other jobs make room"
