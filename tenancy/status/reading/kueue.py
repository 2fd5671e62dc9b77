"""What Kueue says: usage of ClusterQueues, Workloads that wait and why, Workloads that were stopped, queues that are not as agreed.

- *Usage* is `status.flavorsUsage`: what is admitted.
- *A Workload waits* that has no quota, is not finished and not deactivated. Its flavor is chosen only when it gets quota; until then
  it is counted for the first flavor of the agreement that has its resource and that its nodeSelector lets it have, one in which it fits
  into its team's guarantee before others. It waits since it was submitted, or since it was stopped last.
- *Evictions*: `status.schedulingStats` counts them since a Workload was made, so that is the number for those made within the hour.
  Of older ones, and of those that are gone, events tell (an API server keeps them for an hour; of a series it may be told 6 minutes
  late), and the condition `Evicted`, which is there until the Workload has quota again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from lightkube.resources.core_v1 import Event

from ...agreement.plan import Plan
from ...cluster.clients import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from ...cluster.usage import NotThere, kueue_places, kueue_uses
from ...objects import kueue
from ...objects.identity import RUN_LABEL
from ...objects.schedulers import Place
from ...quota.lending import Use
from .. import Eviction, Kind, Short, Waiting
from . import objects
from .ask import HOUR, Asked, Read, asks, conditions, moment, times, whole

Object = Mapping[str, Any]

# Reasons of QuotaReserved by which a job would not start on an empty cluster either (apis/kueue/v1beta2, since 0.19).
OWN_FAULT = {"NoMatchingFlavor", "ExceedsMaxQuota", "Misconfigured", "AdmissionGated"}
# Why a job was stopped, by the reason of `Preempted`, else of `Evicted`; another one is shown as it is.
WHY = {
    "InClusterQueue": "higher priority in its queue",
    "InCohortReclamation": "taken back by its owner",
    "InCohortReclaimWhileBorrowing": "taken back by its owner",
    "InCohortFairSharing": "fair sharing",
    "Preempted": "preempted",
    "PodsReadyTimeout": "pods not ready in time",
    "ClusterQueueStopped": "queue stopped",
    "LocalQueueStopped": "LocalQueue stopped",
    "NodeFailures": "node failed",
    "AdmissionCheck": "admission check",
}
# What an event of a Workload that is gone says of why (pkg/scheduler/preemption, HumanReadablePreemptionReasons).
IN_WORDS = {
    "reclamation within the cohort while borrowing": "InCohortReclaimWhileBorrowing",
    "reclamation within the cohort": "InCohortReclamation",
    "Fair Sharing within the cohort": "InCohortFairSharing",
    "prioritization in the ClusterQueue": "InClusterQueue",
}
EVICTED_BY = "EvictedDueTo"  # begins the reason of an event


def read(asked: Asked, plan: Plan) -> Read:
    """Raises NotThere where the cluster has none of the agreement's queues, or does not let us read them."""
    queues = {str(it.metadata.name): it for it in asked.must(ClusterQueue)}
    places = kueue_places(plan)
    if not queues.keys() & places.keys():
        raise NotThere(
            f"the cluster has no ClusterQueue of this agreement ({', '.join(list(places)[:3])}…): run pulumi up, or tenancy render "
            "and kubectl apply --server-side"
        )
    uses = kueue_uses(plan, queues)
    jobs = _Jobs(asked, plan, places, uses)
    return Read(
        uses=uses,
        waiting=tuple(jobs.waiting()),
        held_up=tuple(jobs.held_up()),
        evictions=tuple(jobs.evictions()),
        shorts=tuple(_shorts(asked, plan, queues)),
    )


# --- jobs


class _Jobs:
    """Every Workload of the agreement's queues."""

    def __init__(
        self,
        asked: Asked,
        plan: Plan,
        places: Mapping[str, tuple[str, Place]],
        uses: Mapping[tuple[str, str], Use],
    ) -> None:
        self.asked, self.plan, self.places, self.uses = asked, plan, places, uses
        found = asked.may(LocalQueue, "which queue a job waits in is not known", namespace="*")
        self.local = {(it.metadata.namespace, it.metadata.name): it["spec"]["clusterQueue"] for it in found}
        self.of_runs = {it.metadata.namespace for it in found if RUN_LABEL in (it.metadata.labels or {})}
        """Namespaces in which `verify` is at work, on copies of queues."""
        self.workloads = asked.may(Workload, "jobs that wait and evictions are not known", namespace="*")

    def waiting(self) -> Iterator[Waiting]:
        strangers = 0
        for it in self.workloads:
            told = conditions(it)
            if _is(told, "QuotaReserved") or _is(told, "Finished") or it["spec"].get("active") is False:
                continue
            if (place := self._place(it)) is None:
                strangers += it.metadata.namespace not in self.of_runs
                continue
            reserved = told.get("QuotaReserved", {})
            yield self._waiting(it, place, _since(it, told), reserved)
        if strangers:
            self.asked.unread.append(f"{strangers} of the jobs that wait name a queue that is not the agreement's")

    def held_up(self) -> Iterator[Waiting]:
        """What Kueue's waitForPodsReady says; without it there is no such condition."""
        for it in self.workloads:
            told, place = conditions(it), self._place(it)
            ready = told.get("PodsReady", {})
            if place and _is(told, "Admitted") and not _is(told, "Evicted") and ready.get("status") == "False":
                # The condition is there before a job has quota.
                since = max(moment(one["lastTransitionTime"]) for one in (ready, told["Admitted"]))
                yield self._waiting(it, place, since, ready)

    def evictions(self) -> Iterator[Eviction]:
        events: dict[str, list[Event]] = defaultdict(list)
        for event in self.asked.events("Workload"):
            if (event.reason or "").startswith(EVICTED_BY) and event.involvedObject.uid:
                events[event.involvedObject.uid].append(event)
        for it in self.workloads:
            its = events.pop(it.metadata.uid or "", [])
            place = self._place(it)
            if place and (count := self._stopped(it, its)):
                yield Eviction(place[0], self._flavor(it, place[0])[0], _name(it), count, _why(it, its))
        teams = self.asked.teams(self.plan.team_label) if events else {}
        for its in events.values():
            about = its[0].involvedObject
            team = teams.get(about.namespace or "", "")
            if team in self.plan.team:
                count = sum(map(times, its))
                yield Eviction(team, "", f"{about.namespace}/{about.name}", count, _why({}, its))

    def _stopped(self, it: Any, events: Iterable[Event]) -> int:
        """How often within the hour."""
        told = sum(map(times, events))
        evicted = conditions(it).get("Evicted", {})
        if evicted.get("status") == "True" and self.asked.at - moment(evicted["lastTransitionTime"]) <= HOUR:
            told = max(told, 1)
        stats = (it.get("status") or {}).get("schedulingStats")
        if stats is None:  # an older Kueue does not count
            return told
        ever = sum(int(one["count"]) for one in stats.get("evictions") or ())
        return ever if self.asked.at - it.metadata.creationTimestamp <= HOUR else min(told, ever)

    def _place(self, it: Any) -> tuple[str, Place] | None:
        admission = (it.get("status") or {}).get("admission") or {}
        local = self.local.get((it.metadata.namespace, it["spec"].get("queueName")), "")
        return self.places.get(admission.get("clusterQueue") or local)

    def _waiting(self, it: Any, place: tuple[str, Place], since: datetime, condition: Object) -> Waiting:
        flavor, units = self._flavor(it, place[0])
        return Waiting(
            team=place[0],
            flavor=flavor,
            place=place[1],
            units=units,
            since=since,
            name=_name(it),
            why=str(condition.get("message") or ""),
            own_fault=condition.get("reason") in OWN_FAULT,
        )

    def _flavor(self, it: Any, team: str) -> tuple[str, int]:
        """The flavor that a job has, or waits for, and the units of it; empty where it fits none."""
        admission = (it.get("status") or {}).get("admission") or {}
        for pods in admission.get("podSetAssignments") or ():
            for resource, name in (pods.get("flavors") or {}).items():
                if name in self.plan.flavor and self.plan.flavor[name].resource == resource:
                    return name, sum(
                        whole((one.get("resourceUsage") or {}).get(resource)) for one in admission["podSetAssignments"]
                    )
        wanted = _wanted(it)
        devices = {flavor.resource for flavor in self.plan.flavors if flavor.unit != "cpu"} & wanted.keys()
        fits = []
        for flavor in self.plan.flavors:
            of_it = wanted.get(flavor.resource, 0)
            if of_it and (flavor.unit != "cpu" or not devices) and _selects(it, flavor.node_labels):
                share, use = self.plan.team[team].shares[flavor.name], self.uses.get((team, flavor.name), Use())
                fits.append((share.guaranteed - use.total < of_it, not share.guaranteed, flavor.name, of_it))
        if not fits:
            return "", 0
        _, _, name, units = min(fits, key=lambda one: one[:2])
        return name, units


def _is(told: Mapping[str, Object], kind: str) -> bool:
    return told.get(kind, {}).get("status") == "True"


def _since(it: Any, told: Mapping[str, Object]) -> datetime:
    """When it was stopped last, else when it was submitted."""
    if _is(told, "Evicted"):
        return moment(told["Evicted"]["lastTransitionTime"])
    created: datetime = it.metadata.creationTimestamp
    return created


def _name(it: Any) -> str:
    """`namespace/job`, by the job that owns it."""
    owner = next(iter(it.metadata.ownerReferences or ()), None)
    return f"{it.metadata.namespace}/{owner.name if owner else it.metadata.name}"


def _wanted(it: Any) -> dict[str, int]:
    """What all pods of a Workload ask for: as Kueue counted it, else as its pod templates say."""
    found: dict[str, int] = defaultdict(int)
    for pods in (it.get("status") or {}).get("resourceRequests") or ():
        for name, amount in (pods.get("resources") or {}).items():
            found[name] += whole(amount)
    if not found:
        for pods in it["spec"].get("podSets") or ():
            for name, amount in asks(pods["template"].get("spec") or {}):
                found[name] += amount * pods.get("count", 1)
    return found


def _selects(it: Any, labels: Mapping[str, str]) -> bool:
    """Whether its pods may have a flavor with these labels: Kueue looks only at the keys that the flavor has."""
    selectors = [
        (pods["template"].get("spec") or {}).get("nodeSelector") or {} for pods in it["spec"].get("podSets") or ()
    ]
    return all(selector.get(key, value) == value for selector in selectors for key, value in labels.items())


def _why(it: Object, events: Iterable[Event]) -> str:
    told = conditions(it)
    reasons = [told[kind]["reason"] for kind in ("Preempted", "Evicted") if _is(told, kind)]
    for event in events:
        reasons += [reason for words, reason in IN_WORDS.items() if words in (event.message or "")][:1]
        reasons.append((event.reason or "").removeprefix(EVICTED_BY))
    stats = ((it.get("status") or {}).get("schedulingStats") or {}).get("evictions") or ()
    reasons += [one["reason"] for one in stats]
    known = [reason for reason in reasons if reason in WHY]
    return WHY[known[0]] if known else (reasons[0] if reasons else "")


# --- queues


def _shorts(asked: Asked, plan: Plan, queues: Mapping[str, Object]) -> Iterator[Short]:
    there: dict[str, Mapping[str, Object]] = {"ClusterQueue": queues}
    for kind in (Cohort, ResourceFlavor):
        name = kind.__name__
        if (found := asked.maybe(kind, f"whether each {name} is as agreed is not known")) is not None:
            there[name] = {str(it.metadata.name): it for it in found}
    teams = kueue_places(plan)
    for body in kueue.objects(plan):
        kind, name = body["kind"], body["metadata"]["name"]
        if kind not in there:
            continue
        team = teams[name][0] if kind == "ClusterQueue" else name if kind == "Cohort" and name in plan.team else ""
        flavor = name if kind == "ResourceFlavor" else ""
        live = there[kind].get(name)
        if live is None:
            yield objects.missing(body, team, flavor)
            continue
        if short := objects.changed(live, body, team, flavor, plan.flavor):
            yield short
        if kind == "ClusterQueue":
            yield from _stopped(name, team, live)


def _stopped(name: str, team: str, live: Object) -> Iterator[Short]:
    policy = live["spec"].get("stopPolicy") or "None"
    if policy != "None":
        also = ", and those that ran were stopped" if policy == "HoldAndDrain" else ""
        remedy = f"""kubectl patch clusterqueue {name} --type merge -p '{{"spec":{{"stopPolicy":"None"}}}}'"""
        yield Short(
            Kind.STOPPED, team, "", f"ClusterQueue/{name} is stopped ({policy}): no job of it starts{also}", remedy
        )
        return
    active = conditions(live).get("Active", {})
    if active.get("status") == "False":
        why = f"ClusterQueue/{name} admits nothing: {active.get('message') or active.get('reason')}"
        yield Short(Kind.INACTIVE, team, "", why)
