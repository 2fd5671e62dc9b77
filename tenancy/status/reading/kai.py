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
from typing import Any

from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import Pod

from ...agreement.plan import Plan
from ...cluster.clients import KaiQueue
from ...cluster.usage import NotThere, kai_places, kai_uses
from ...objects import kai
from ...objects.schedulers import Place
from ...review.diff.running import POD_GROUP, QUEUE_LABEL, asks
from .. import Eviction, Short, Waiting
from . import objects
from .ask import Asked, Read, times

PodGroup = create_namespaced_resource("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups")

GANG_SIZE, ACTION = (
    "num-evicted-pods",
    "evictor-action-type",
)  # annotations of an event (pkg/scheduler/cache/status_updater)
WHY = {"reclaim": "taken back by its owner", "preempt": "higher priority in its queue", "consolidation": "moved"}


def read(asked: Asked, plan: Plan) -> Read:
    """Raises NotThere where the cluster has none of the agreement's queues, or does not let us read them."""
    if why := kai.refusal(plan):
        raise NotThere(f"KAI has no queues for this agreement: {why}")
    queues = {str(it.metadata.name): it for it in asked.must(KaiQueue)}
    places = kai_places(plan)
    if not queues.keys() & places.keys():
        raise NotThere(
            f"the cluster has no Queue of this agreement ({', '.join(list(places)[:3])}…): run pulumi up, or tenancy render and "
            "kubectl apply --server-side"
        )
    return Read(
        uses=kai_uses(plan, queues),
        waiting=tuple(_waiting(asked, plan, places)),
        evictions=tuple(_evictions(asked, plan, places)),
        shorts=tuple(_shorts(plan, queues)),
    )


def _waiting(asked: Asked, plan: Plan, places: Mapping[str, tuple[str, str, Place]]) -> Iterator[Waiting]:
    groups: dict[tuple[str, str], list[Any]] = defaultdict(list)
    pods = asked.may(
        Pod,
        "jobs that wait are not known",
        namespace="*",
        labels={QUEUE_LABEL: None},
        fields={"status.phase": "Pending"},
    )
    for pod in pods:
        if not pod.spec.nodeName and not pod.metadata.deletionTimestamp and pod.metadata.labels[QUEUE_LABEL] in places:
            name = (pod.metadata.annotations or {}).get(POD_GROUP, pod.metadata.name)
            groups[pod.metadata.namespace, name].append(pod)
    for (namespace, name), some in groups.items():
        first = min(some, key=lambda it: it.metadata.creationTimestamp)
        team, flavor, place = places[first.metadata.labels[QUEUE_LABEL]]
        owner = next(iter(first.metadata.ownerReferences or ()), None)
        yield Waiting(
            team=team,
            flavor=flavor,
            place=place,
            units=sum(asks(pod, plan.flavor[flavor].resource) for pod in some),
            since=first.metadata.creationTimestamp,
            name=f"{namespace}/{owner.name if owner else name if len(some) > 1 else first.metadata.name}",
            why=_why(first),
        )


def _why(pod: Pod) -> str:
    told = (pod.status and pod.status.conditions) or ()
    return next((it.message or "" for it in told if it.type == "PodScheduled" and it.status == "False"), "")


def _evictions(asked: Asked, plan: Plan, places: Mapping[str, tuple[str, str, Place]]) -> Iterator[Eviction]:
    events = [it for it in asked.events("PodGroup") if it.reason == "Evict"]
    if not events:
        return
    groups = {
        (it.metadata.namespace, it.metadata.name): (it["spec"].get("queue"), it)
        for it in asked.may(PodGroup, "whose jobs were stopped is not known", namespace="*")
    }
    teams = asked.teams(plan.team_label)
    stops: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    why: dict[tuple[str, str], str] = {}
    for event in events:
        key = event.involvedObject.namespace or "", event.involvedObject.name or ""
        told = event.metadata.annotations or {}
        size = told.get(GANG_SIZE, "1")
        stops[key] += Fraction(times(event), int(size) if size.isdecimal() and int(size) else 1)
        why[key] = WHY.get(told.get(ACTION, "").lower(), told.get(ACTION, ""))
    for key, count in stops.items():
        queue, group = groups.get(key, ("", None))
        team, flavor, _ = places.get(queue or "", (teams.get(key[0], ""), "", Place.REGULAR))
        owner = next(iter(group.metadata.ownerReferences or ()), None) if group else None
        if team in plan.team:
            yield Eviction(team, flavor, f"{key[0]}/{owner.name if owner else key[1]}", ceil(count), why[key])


def _shorts(plan: Plan, queues: Mapping[str, Mapping[str, Any]]) -> Iterator[Short]:
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
