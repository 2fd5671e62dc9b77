"""What KAI says: allocation of Queues, pods that wait, PodGroups of which pods were stopped, queues that are not as agreed.

- A *job* is a PodGroup. KAI makes one of each pod of a batch Job, unless the Job sets a minimum of members.
- *It waits* while pods of it that name a queue of the agreement are Pending and on no node, since the first of them was made.
- *Evictions* come from events of PodGroups (reason `Evict`), one for each pod; of a gang they are divided by its size. KAI writes
  25 events of an object at once, then one in five minutes: of more there are at least so many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil

from ...agreement.plan import Plan
from ...cluster.fields import (
    NONE,
    Object,
    annotations_of,
    condition,
    event_count,
    labels_of,
    name_of,
    namespace_of,
    owner_of,
    spec_of,
)
from ...cluster.jobs import KAI_QUEUE, Job, of_pods
from ...cluster.listing import NotThere
from ...cluster.queues import Queue, by_name, of_teams
from ...cluster.requests import ZERO
from ...cluster.usage import kai_uses
from ...objects import kai
from ...objects.schedulers import Scheduler
from ...text.quantity import whole
from .. import Eviction, Violation, Waiting
from . import objects
from .ask import Asked, Read

GANG_SIZE, ACTION = (
    "num-evicted-pods",
    "evictor-action-type",
)  # annotations of an event (pkg/scheduler/cache/status_updater)
WHY = {"reclaim": "taken back by its owner", "preempt": "higher priority in its queue", "consolidation": "moved"}


def read(asked: Asked, plan: Plan) -> Read:
    """Raises NotThere where the cluster has none of the agreement's queues, or does not let us read them."""
    if why := kai.refusal(plan):
        raise NotThere(f"KAI has no queues for this agreement: {why}")
    queues = by_name(asked.must("Queue"))
    teams = of_teams(plan, Scheduler.KAI)
    if not queues.keys() & teams.keys():
        raise NotThere(
            f"the cluster has no Queue of this agreement ({', '.join(list(teams)[:3])}…): run pulumi up, or tenancy render and "
            "kubectl apply --server-side"
        )
    return Read(
        uses=kai_uses(plan, queues),
        waiting=tuple(_waiting(asked, plan, teams)),
        evictions=tuple(_evictions(asked, plan, teams)),
        violations=tuple(_violations(plan, queues)),
    )


def _waiting(asked: Asked, plan: Plan, teams: Mapping[str, Queue]) -> Iterator[Waiting]:
    pods = asked.may("Pod", "jobs that wait are not known", labels=KAI_QUEUE, fields="status.phase=Pending")
    waiting = [
        pod
        for pod in pods
        if not spec_of(pod).get("nodeName")
        and "deletionTimestamp" not in pod["metadata"]
        and labels_of(pod)[KAI_QUEUE] in teams
    ]
    for job in of_pods(waiting, teams):
        if (queue := job.queue) is None or queue.team is None:
            continue
        resource = plan.flavor[queue.flavor].resource
        yield Waiting(
            team=queue.team,
            flavor=queue.flavor,
            place=queue.place,
            units=whole(job.wants().get(resource, ZERO)),
            since=job.since,
            name=f"{job.namespace}/{_name(job)}",
            why=_why(job.first),
        )


def _name(job: Job) -> str:
    """The owner's; a gang that nobody owns goes by its PodGroup."""
    return job.group if not owner_of(job.first) and len(job.bodies) > 1 else job.name


def _why(pod: Object) -> str:
    said = condition(pod, "PodScheduled")
    return str(said.get("message") or "") if said.get("status") == "False" else ""


def _evictions(asked: Asked, plan: Plan, queues: Mapping[str, Queue]) -> Iterator[Eviction]:
    events = [event for event in asked.events("PodGroup") if event.get("reason") == "Evict"]
    if not events:
        return
    found = asked.may("PodGroup", "whose jobs were evicted is not known")
    groups = {(namespace_of(entry), name_of(entry)): entry for entry in found}
    teams = asked.teams(plan.team_label)
    evicted: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    why: dict[tuple[str, str], str] = {}
    for event in events:
        about, noted = event.get("involvedObject") or NONE, annotations_of(event)
        key = str(about.get("namespace") or ""), str(about.get("name") or "")
        size = noted.get(GANG_SIZE, "1")
        evicted[key] += Fraction(event_count(event), int(size) if size.isdecimal() and int(size) else 1)
        why[key] = WHY.get(noted.get(ACTION, "").lower(), noted.get(ACTION, ""))
    for (namespace, name), count in evicted.items():
        group = groups.get((namespace, name))
        queue = queues.get(str(spec_of(group).get("queue") or "")) if group else None
        team, flavor = (queue.team, queue.flavor) if queue else (teams.get(namespace, ""), "")
        owner = owner_of(group) if group else None
        if team in plan.team:
            job = f"{namespace}/{owner['name'] if owner else name}"
            yield Eviction(team or "", flavor, job, ceil(count), why[namespace, name])


def _violations(plan: Plan, queues: Mapping[str, Object]) -> Iterator[Violation]:
    owners = {
        body["metadata"]["name"]: (team.name, flavor.name)
        for team in plan.teams
        for flavor in plan.flavors
        for body in kai.team_objects(plan, team, flavor)
    }
    for body in kai.objects(plan):
        if body["kind"] != "Queue":
            continue
        name = body["metadata"]["name"]
        team, flavor = owners.get(name, ("", ""))
        if (live := queues.get(name)) is None:
            yield objects.missing(body, team, flavor)
        elif short := objects.changed(live, body, team, flavor, plan.flavor):
            yield short
