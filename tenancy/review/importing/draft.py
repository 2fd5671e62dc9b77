"""What was read, before it is an agreement: per flavor and team the numbers that the objects hold, in whole units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...agreement.hardware import Unit

DEFAULT_MEMORY_PER_CPU = 4 * 2**30
DEFAULT_TEAM_LABEL = "tenancy.dev/team"


@dataclass(frozen=True, slots=True)
class Shape:
    """Nodes of a flavor, and the units of one. `exact`: a person said so, and it holds even against the quotas."""

    nodes: int
    units: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class FlavorDraft:
    """One flavor. `cpu` in milli-CPUs and `memory` in bytes, both per unit; None where nothing says them."""

    unit: Unit
    resource: str
    cpu: int | None = None
    memory: int | None = None
    node_labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    topology: str | None = None
    pool: int = 0
    """Units that stand on the root, or on a Cohort that the agreement gives nothing: nobody is guaranteed them."""


@dataclass(frozen=True, slots=True)
class ShareDraft:
    guaranteed: int = 0
    lendable: int = 0
    borrowable: int | None = None
    prod: int = 0


@dataclass(frozen=True, slots=True)
class TeamDraft:
    shares: Mapping[str, ShareDraft]
    display_name: str | None = None
    department: str | None = None
    weight: int = 1000
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DepartmentDraft:
    display_name: str | None = None
    weight: int = 1000


@dataclass(slots=True)
class Draft:
    """The parts of an agreement that were found, and `left`: why an object has no part in it, by reference."""

    cluster: str
    team_label: str = DEFAULT_TEAM_LABEL
    guarantee_on: str = "cohort"
    topologies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    flavors: dict[str, FlavorDraft] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    sharing: dict[str, Any] = field(default_factory=dict)
    departments: dict[str, DepartmentDraft] = field(default_factory=dict)
    teams: dict[str, TeamDraft] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
