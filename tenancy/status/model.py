"""What was seen of a cluster, and what it comes to for each team and flavor. All amounts are whole units of the flavor."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from ..agreement.hardware import Hardware
from ..agreement.plan import Plan, Share, TeamPlan
from ..objects.schedulers import Place
from ..quota.lending import Use
from ..review.nodes import FlavorSupply, Report


class Attention(StrEnum):
    """What a team and flavor needs, most urgent first."""

    SHORT = "short"
    """A promise is not kept."""
    BELOW = "below"
    """It uses less than its guarantee, and jobs of it that fit into the rest wait: they should start within a reclaim."""
    EVICTED = "evicted"
    """Jobs of it were stopped in the last hour."""
    WAITING = "waiting"
    """Jobs wait for more than is guaranteed."""
    BORROWING = "borrowing"
    QUIET = "quiet"

    @property
    def rank(self) -> int:
        return list(Attention).index(self)


class Kind(StrEnum):
    """Why a promise is short."""

    STOPPED = "stopped"
    """A queue takes no jobs: somebody stopped it."""
    MISSING = "missing"
    """An object of the agreement is not on the cluster."""
    CHANGED = "changed"
    """An object is not as the agreement has it."""
    INACTIVE = "inactive"
    """Kueue says of a queue that it admits nothing."""
    NODES = "nodes"
    """Less is usable than is guaranteed."""
    LATE = "late"
    """Jobs within the guarantee wait longer than a reclaim takes."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that is not kept now. `team` empty: it is of all teams or nobody knows of which; `flavor` empty: of all."""

    kind: Kind
    team: str
    flavor: str
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits. `flavor` is empty where it fits none of the agreement's; `since` is when it was submitted, or stopped last.
    `own_fault`: it would not start on an empty cluster either. `why` is the scheduler's own text."""

    team: str
    flavor: str
    place: Place
    units: int
    since: datetime
    name: str
    why: str = ""
    own_fault: bool = False


@dataclass(frozen=True, slots=True)
class Eviction:
    """A job that was stopped, `times` times in the last hour. `flavor` is empty where nothing says it any more."""

    team: str
    flavor: str
    name: str
    times: int
    why: str


@dataclass(frozen=True)
class Observed:
    """A cluster at one moment, by one scheduler. `held_up` are jobs that have quota and whose pods do not run; `supply` is None where
    nodes could not be read; `unread` says what else is not known, in sentences."""

    scheduler: str
    at: datetime
    uses: Mapping[tuple[str, str], Use]
    """By team and flavor; none is 0."""
    waiting: tuple[Waiting, ...] = ()
    held_up: tuple[Waiting, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    violations: tuple[Violation, ...] = ()
    supply: Report | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Of what a team lends or borrows, what goes to or comes from one other (empty: the free pool)."""

    team: str
    units: int
    about: bool


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """One team and flavor. `flavor` None: what is of all flavors, or of nobody knows which."""

    team: TeamPlan
    flavor: Hardware | None
    share: Share
    use: Use
    lent: int
    lent_about: bool
    lent_to: tuple[Part, ...]
    borrowed: int
    borrowed_from: tuple[Part, ...]
    waiting: tuple[Waiting, ...]
    """Longest first."""
    owed: tuple[Waiting, ...]
    """Those of them that fit into what is left of the guarantee."""
    held_up: tuple[Waiting, ...]
    evictions: tuple[Eviction, ...]
    violations: tuple[Violation, ...]
    attention: Attention

    @property
    def flavor_name(self) -> str:
        return self.flavor.name if self.flavor else ""

    @property
    def evicted(self) -> int:
        return sum(eviction.times for eviction in self.evictions)

    @property
    def waiting_units(self) -> int:
        return sum(waiting.units for waiting in self.waiting)

    @property
    def beyond(self) -> int:
        """What it uses that is nobody's to lend."""
        return self.borrowed - sum(part.units for part in self.borrowed_from)

    def counted(self, units: int) -> str:
        """An amount in words; the bare number where no flavor says of what."""
        return self.flavor.count(units) if self.flavor else str(units)


@dataclass(frozen=True, slots=True)
class FlavorStatus:
    """A flavor, all teams together. `supply` is None where nodes could not be read."""

    flavor: Hardware
    guaranteed: int
    used: int
    lent: int
    from_pool: int
    waiting: tuple[Waiting, ...]
    violations: tuple[Violation, ...]
    supply: FlavorSupply | None

    @property
    def usable(self) -> int:
        return self.supply.promises.usable if self.supply else self.flavor.capacity

    @property
    def free(self) -> int:
        return max(0, self.usable - self.used)


@dataclass(frozen=True)
class StatusReport:
    """All of it. `statuses` begin with what most needs attention; `violations` are those of no one team."""

    plan: Plan
    seen: Observed
    statuses: tuple[TeamStatus, ...]
    flavors: tuple[FlavorStatus, ...]
    violations: tuple[Violation, ...]

    def only(self, teams: Collection[str] = (), flavors: Collection[str] = ()) -> StatusReport:
        """The same with these teams and flavors, all where none are named. What is short of no one team stays where one of them is
        promised something of it."""

        def meant(flavor: str) -> bool:
            return not flavors or not flavor or flavor in flavors

        def theirs(flavor: str) -> bool:
            return not teams or not flavor or any(self.plan.team[name].shares[flavor].guaranteed for name in teams)

        return replace(
            self,
            statuses=tuple(
                standing
                for standing in self.statuses
                if (not teams or standing.team.name in teams) and meant(standing.flavor_name)
            ),
            flavors=tuple(standing for standing in self.flavors if meant(standing.flavor.name)),
            violations=tuple(short for short in self.violations if meant(short.flavor) and theirs(short.flavor)),
        )

    @property
    def all_violations(self) -> tuple[Violation, ...]:
        return (*self.violations, *(short for standing in self.statuses for short in standing.violations))

    @property
    def attention(self) -> Attention:
        """The most urgent of all."""
        if self.violations:
            return Attention.SHORT
        return min(
            (standing.attention for standing in self.statuses),
            key=lambda attention: attention.rank,
            default=Attention.QUIET,
        )
