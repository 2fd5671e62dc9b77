"""A queue, whether the agreement made it or somebody else did: whose it is, which of a team's places, and where it hangs.

Which queue is which team's is said here only. On Kueue a team has one ClusterQueue, and one more for prod; a queue is of all flavors.
On KAI each flavor has a tree of its own, and what a team never lends stands in a queue apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..agreement.plan import Plan
from ..objects import kai
from ..objects.kueue import PROD_SUFFIX
from ..objects.schedulers import PerScheduler, Place, Scheduler
from .fields import NONE, Object, name_of, namespace_of, spec_of


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue, a Cohort or a LocalQueue of Kueue, or a Queue of KAI."""

    kind: str
    name: str
    namespace: str = ""
    team: str | None = None
    """None: the agreement gives it to no team."""
    place: Place = Place.REGULAR
    flavor: str = ""
    """KAI: the one that it is of."""
    parent: str = ""
    """What it hangs under, or a LocalQueue's ClusterQueue; empty: nothing."""
    body: Object = field(default_factory=dict, compare=False, repr=False)
    """As the cluster has it; empty where it was not read."""

    @property
    def prod(self) -> bool:
        return self.place is Place.PROD


def of_teams(plan: Plan, scheduler: Scheduler) -> dict[str, Queue]:
    """By name, the queues of the agreement that jobs are in: each is a team's."""
    made = _PLACES[scheduler](plan)
    return {queue.name: queue for queue in made}


def live(bodies: Iterable[Object], plan: Plan, scheduler: Scheduler) -> list[Queue]:
    """Queues as a cluster has them, also somebody else's."""
    teams = of_teams(plan, scheduler)
    cohorts = {team.name for team in plan.teams if team.has_prod}
    found = []
    for body in bodies:
        kind, name, spec = str(body["kind"]), name_of(body), spec_of(body)
        parent = next((str(spec[key]) for key in _PARENTS if spec.get(key)), "")
        queue = Queue(kind, name, namespace_of(body), parent=parent, body=body)
        known = teams.get(parent if kind == "LocalQueue" else name) if kind != "Cohort" else None
        if known:
            queue = replace(queue, team=known.team, place=known.place, flavor=known.flavor)
        elif kind == "Cohort" and scheduler is Scheduler.KUEUE and name in cohorts:
            queue = replace(queue, team=name)
        found.append(queue)
    return found


def local_queues(bodies: Iterable[Object]) -> dict[tuple[str, str], str]:
    """The ClusterQueue of each LocalQueue, by its namespace and name."""
    return {(namespace_of(body), name_of(body)): str(spec_of(body).get("clusterQueue") or "") for body in bodies}


def by_name(bodies: Iterable[Object]) -> Mapping[str, Object]:
    return {name_of(body): body for body in bodies}


_PARENTS = ("clusterQueue", "cohortName", "parentName", "parentQueue")


def _kueue(plan: Plan) -> Iterator[Queue]:
    for team in plan.teams:
        yield Queue("ClusterQueue", team.name, team=team.name, body=NONE)
        if team.has_prod:
            yield Queue("ClusterQueue", team.name + PROD_SUFFIX, team=team.name, place=Place.PROD, body=NONE)


def _kai(plan: Plan) -> Iterator[Queue]:
    for flavor in plan.flavors:
        for team in plan.teams:
            prod, reserved = kai.prod_queues(plan, team, flavor), kai.reserved(plan, team, flavor)
            for name in kai.job_queues(plan, team, flavor):
                place = Place.PROD if name in prod else Place.RESERVED if name == reserved else Place.REGULAR
                yield Queue("Queue", name, team=team.name, place=place, flavor=flavor.name, body=NONE)


_PLACES = PerScheduler(kueue=_kueue, kai=_kai)
