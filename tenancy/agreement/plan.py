"""The agreement as numbers: every default resolved, per team, flavor and slice. Knows no scheduler.

Whoever reads a plan parses no quantity and asks of no key whether it was given. All amounts are whole units of their
flavor (GPUs, MIG slices, or CPUs); `None` stands only for "no limit".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from .hardware import Hardware, by_flavor, prod_priority, resolve
from .model import Access, Agreement, Machines, Sharing, Team
from .scalars import Amounts

GuaranteeOn = Literal["cohort", "queue"]


@dataclass(frozen=True, slots=True)
class Share:
    """What one team is promised of one flavor, in units of the flavor."""

    guaranteed: int
    lendable: int
    borrowable: int | None
    prod: int

    @property
    def reserved(self) -> int:
        """The part of the guarantee that nobody else ever uses."""
        return self.guaranteed - self.lendable

    @property
    def regular(self) -> int:
        """The part of the guarantee that is not set aside for prod."""
        return self.guaranteed - self.prod


@dataclass(frozen=True, slots=True)
class TeamPlan:
    """A team with its share of every flavor of the plan, in the plan's order."""

    name: str
    display_name: str
    department: str | None
    shares: Mapping[str, Share]
    weight: int = 1000
    """In thousandths: its part of what is lent, beside its siblings'."""
    highest_priority: int | None = None
    """The value of the highest priority its jobs may name; None: any."""
    members: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Those the agreement lists, its profiles' among them."""
    profiles: Mapping[str, str] = field(default_factory=dict)
    """Owner by name; the name is the namespace's too."""
    machines: Machines | None = None

    @property
    def has_prod(self) -> bool:
        return any(share.prod for share in self.shares.values())


@dataclass(frozen=True, slots=True)
class DepartmentPlan:
    name: str
    display_name: str
    weight: int = 1000


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    """Node label keys from the widest domain to the narrowest."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The whole agreement, resolved. Orders are those of the file, and so is every tuple made from it."""

    cluster: str
    team_label: str
    guarantee_on: GuaranteeOn
    topologies: tuple[TopologyPlan, ...]
    flavors: tuple[Hardware, ...]
    priorities: Mapping[str, int]
    prod_priority: str | None
    """What a job in a prod queue gets where it names none; None where there are no priorities."""
    sharing: Sharing
    access: Access | None
    departments: tuple[DepartmentPlan, ...]
    teams: tuple[TeamPlan, ...]

    @cached_property
    def flavor(self) -> Mapping[str, Hardware]:
        return {flavor.name: flavor for flavor in self.flavors}

    @cached_property
    def team(self) -> Mapping[str, TeamPlan]:
        return {team.name: team for team in self.teams}

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """Every resource that quota covers: cpu, memory, then the devices in the order of the flavors."""
        devices = dict.fromkeys(flavor.resource for flavor in self.flavors if flavor.resource != "cpu")
        return ("cpu", "memory", *devices)

    @cached_property
    def pool(self) -> Mapping[str, int]:
        """Per flavor, what no team is guaranteed: capacity that all may borrow."""
        return {
            flavor.name: flavor.capacity - sum(team.shares[flavor.name].guaranteed for team in self.teams)
            for flavor in self.flavors
        }

    @cached_property
    def lent(self) -> Mapping[str, int]:
        """Per flavor, the sum of what teams may lend."""
        return {flavor.name: sum(team.shares[flavor.name].lendable for team in self.teams) for flavor in self.flavors}


def make_plan(agreement: Agreement) -> Plan:
    """Resolve an agreement that has no errors (see `agreement.check`)."""
    flavors = tuple(resolve(name, flavor) for name, flavor in agreement.flavors.items())
    return Plan(
        cluster=agreement.cluster.name,
        team_label=agreement.cluster.team_label,
        guarantee_on=agreement.cluster.guarantee_on,
        topologies=tuple(TopologyPlan(name, topology.levels) for name, topology in agreement.topologies.items()),
        flavors=flavors,
        priorities=dict(agreement.priorities),
        prod_priority=prod_priority(agreement),
        sharing=agreement.sharing,
        access=agreement.access,
        departments=tuple(
            DepartmentPlan(name, department.display_name or name, department.weight)
            for name, department in agreement.departments.items()
        ),
        teams=tuple(_team(name, team, agreement) for name, team in agreement.teams.items()),
    )


def _team(name: str, team: Team, agreement: Agreement) -> TeamPlan:
    def counts(amounts: Amounts) -> dict[str, int]:
        return {flavor: amount.count for flavor, amount in by_flavor(amounts, agreement).items()}

    guaranteed, lendable, borrowable, prod = map(counts, (team.guaranteed, team.lendable, team.borrowable, team.prod))
    shares = {
        flavor: Share(
            guaranteed=guaranteed.get(flavor, 0),
            lendable=lendable.get(flavor, guaranteed.get(flavor, 0)),
            borrowable=borrowable.get(flavor),
            prod=prod.get(flavor, 0),
        )
        for flavor in agreement.flavors
    }
    return TeamPlan(
        name=name,
        display_name=team.display_name or name,
        department=team.department,
        shares=shares,
        weight=team.weight,
        highest_priority=_highest_priority(team, any(prod.values()), agreement),
        members=team.members,
        leads=team.leads,
        namespaces=tuple(dict.fromkeys((*team.namespaces, *team.profiles))),
        profiles=team.profiles,
        machines=team.machines,
    )


def _highest_priority(team: Team, has_prod: bool, agreement: Agreement) -> int | None:
    """What is named, else nothing above for a team with prod, else what stands below the prod priority."""
    if team.highest_priority is not None:
        return agreement.priorities[team.highest_priority]
    prod = prod_priority(agreement)
    if has_prod or prod is None:
        return None
    return agreement.priorities[prod] - 1
