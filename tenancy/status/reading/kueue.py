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

from ...agreement.plan import Plan
from ...cluster.fields import (
    NONE,
    Object,
    changed,
    condition,
    created,
    event_count,
    is_true,
    labels_of,
    namespace_of,
    spec_of,
    status_of,
)
from ...cluster.jobs import Job, JobState, of_workload
from ...cluster.listing import NotThere
from ...cluster.queues import Queue, by_name, local_queues, of_teams
from ...cluster.requests import ZERO
from ...cluster.usage import kueue_uses
from ...objects import kueue
from ...objects.identity import RUN_LABEL
from ...objects.schedulers import Scheduler
from ...quota.lending import Use
from ...text.quantity import whole
from .. import Eviction, Kind, Violation, Waiting
from . import objects
from .ask import HOUR, Asked, Read

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
    queues = by_name(asked.must("ClusterQueue"))
    teams = of_teams(plan, Scheduler.KUEUE)
    if not queues.keys() & teams.keys():
        raise NotThere(
            f"the cluster has no ClusterQueue of this agreement ({', '.join(list(teams)[:3])}…): run pulumi up, or tenancy render "
            "and kubectl apply --server-side"
        )
    uses = kueue_uses(plan, queues)
    jobs = _Jobs(asked, plan, teams, uses)
    return Read(
        uses=uses,
        waiting=tuple(jobs.waiting()),
        held_up=tuple(jobs.held_up()),
        evictions=tuple(jobs.evictions()),
        violations=tuple(_violations(asked, plan, queues)),
    )


# --- jobs


class _Jobs:
    """Every Workload, and which of them are in the agreement's queues."""

    def __init__(
        self, asked: Asked, plan: Plan, teams: Mapping[str, Queue], uses: Mapping[tuple[str, str], Use]
    ) -> None:
        self.asked, self.plan, self.uses = asked, plan, uses
        found = asked.may("LocalQueue", "which queue a job waits in is not known")
        local = local_queues(found)
        self.of_runs = {namespace_of(entry) for entry in found if RUN_LABEL in labels_of(entry)}
        """Namespaces in which `verify` is at work, on copies of queues."""
        workloads = asked.may("Workload", "jobs that wait and evictions are not known")
        self.jobs = [of_workload(workload, teams, local) for workload in workloads]

    def waiting(self) -> Iterator[Waiting]:
        strangers = 0
        for job in self.jobs:
            if job.state is not JobState.PENDING:
                continue
            if job.queue is None:
                strangers += job.namespace not in self.of_runs
                continue
            yield self._waiting(job, job.queue, job.since, condition(job.first, "QuotaReserved"))
        if strangers:
            self.asked.unread.append(
                f"{strangers} of the pending jobs name a queue that does not belong to the agreement"
            )

    def held_up(self) -> Iterator[Waiting]:
        """What Kueue's waitForPodsReady says; without it there is no such condition."""
        for job in self.jobs:
            ready, evicted = condition(job.first, "PodsReady"), is_true(job.first, "Evicted")
            if job.queue and is_true(job.first, "Admitted") and not evicted and ready.get("status") == "False":
                # The condition is there before a job has quota.
                times = (changed(job.first, kind) for kind in ("PodsReady", "Admitted"))
                yield self._waiting(job, job.queue, max(time for time in times if time), ready)

    def evictions(self) -> Iterator[Eviction]:
        events: dict[str, list[Object]] = defaultdict(list)
        for event in self.asked.events("Workload"):
            uid = _about(event).get("uid")
            if str(event.get("reason") or "").startswith(EVICTED_BY) and uid:
                events[str(uid)].append(event)
        for job in self.jobs:
            its = events.pop(job.uid, [])
            if job.queue and job.queue.team and (count := self._evicted(job, its)):
                yield Eviction(job.queue.team, self._flavor(job, job.queue)[0], str(job), count, _why(job.first, its))
        teams = self.asked.teams(self.plan.team_label) if events else {}
        for its in events.values():
            about = _about(its[0])
            team = teams.get(about.get("namespace") or "", "")
            if team in self.plan.team:
                count = sum(map(event_count, its))
                yield Eviction(team, "", f"{about.get('namespace')}/{about.get('name')}", count, _why(NONE, its))

    def _evicted(self, job: Job, events: Iterable[Object]) -> int:
        """How often within the hour."""
        told = sum(map(event_count, events))
        last = changed(job.first, "Evicted") if is_true(job.first, "Evicted") else None
        if last and self.asked.at - last <= HOUR:
            told = max(told, 1)
        stats = status_of(job.first).get("schedulingStats")
        if stats is None:  # an older Kueue does not count
            return told
        ever = sum(int(one["count"]) for one in stats.get("evictions") or ())
        made = created(job.first)
        return ever if made and self.asked.at - made <= HOUR else min(told, ever)

    def _waiting(self, job: Job, queue: Queue, since: datetime, condition: Object) -> Waiting:
        flavor, units = self._flavor(job, queue)
        return Waiting(
            team=queue.team or "",
            flavor=flavor,
            place=queue.place,
            units=units,
            since=since,
            name=str(job),
            why=str(condition.get("message") or ""),
            own_fault=condition.get("reason") in OWN_FAULT,
        )

    def _flavor(self, job: Job, queue: Queue) -> tuple[str, int]:
        """The flavor that a job has, or waits for, and the units of it; empty where it fits none."""
        for name, held in job.holds.items():
            if (flavor := self.plan.flavor.get(name)) and flavor.resource in held:
                return name, whole(held[flavor.resource])
        wanted = job.wants()
        devices = {flavor.resource for flavor in self.plan.flavors if flavor.unit != "cpu"} & wanted.keys()
        fits = []
        for flavor in self.plan.flavors:
            units = whole(wanted.get(flavor.resource, ZERO))
            allowed = all(pods.allows(flavor.node_labels) for pods in job.pod_sets)
            if units and (flavor.unit != "cpu" or not devices) and allowed:
                team = queue.team or ""
                share, use = self.plan.team[team].shares[flavor.name], self.uses.get((team, flavor.name), Use())
                fits.append((share.guaranteed - use.total < units, not share.guaranteed, flavor.name, units))
        if not fits:
            return "", 0
        _, _, name, units = min(fits, key=lambda one: one[:2])
        return name, units


def _about(event: Object) -> Object:
    return event.get("involvedObject") or NONE


def _why(workload: Object, events: Iterable[Object]) -> str:
    """`workload` is empty where it is gone."""
    reasons = [condition(workload, kind)["reason"] for kind in ("Preempted", "Evicted") if is_true(workload, kind)]
    for event in events:
        message = event.get("message") or ""
        reasons += [reason for words, reason in IN_WORDS.items() if words in message][:1]
        reasons.append(str(event.get("reason") or "").removeprefix(EVICTED_BY))
    stats = (status_of(workload).get("schedulingStats") or NONE).get("evictions") or ()
    reasons += [one["reason"] for one in stats]
    known = [reason for reason in reasons if reason in WHY]
    return WHY[known[0]] if known else (reasons[0] if reasons else "")


# --- queues


def _violations(asked: Asked, plan: Plan, queues: Mapping[str, Object]) -> Iterator[Violation]:
    there: dict[str, Mapping[str, Object]] = {"ClusterQueue": queues}
    for kind in ("Cohort", "ResourceFlavor"):
        if (found := asked.maybe(kind, f"whether each {kind} is as agreed is not known")) is not None:
            there[kind] = by_name(found)
    teams = of_teams(plan, Scheduler.KUEUE)
    for body in kueue.objects(plan):
        kind, name = body["kind"], body["metadata"]["name"]
        if kind not in there:
            continue
        team = name if kind == "Cohort" and name in plan.team else ""
        if kind == "ClusterQueue":
            team = teams[name].team or ""
        flavor = name if kind == "ResourceFlavor" else ""
        live = there[kind].get(name)
        if live is None:
            yield objects.missing(body, team, flavor)
            continue
        if short := objects.changed(live, body, team, flavor, plan.flavor):
            yield short
        if kind == "ClusterQueue":
            yield from _stopped(name, team, live)


def _stopped(name: str, team: str, live: Object) -> Iterator[Violation]:
    policy = spec_of(live).get("stopPolicy") or "None"
    if policy != "None":
        also = ", and those that ran were evicted" if policy == "HoldAndDrain" else ""
        remedy = f"""kubectl patch clusterqueue {name} --type merge -p '{{"spec":{{"stopPolicy":"None"}}}}'"""
        yield Violation(
            Kind.STOPPED, team, "", f"ClusterQueue/{name} is stopped ({policy}): its jobs do not start{also}", remedy
        )
        return
    active = condition(live, "Active")
    if active.get("status") == "False":
        why = f"ClusterQueue/{name} admits nothing: {active.get('message') or active.get('reason')}"
        yield Violation(Kind.INACTIVE, team, "", why)
