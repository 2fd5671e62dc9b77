"""The jobs that hold quota, and when those that have a time limit must have ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ...agreement.plan import Plan
from ...cluster import jobs
from ...cluster.jobs import JobState
from ...cluster.queues import of_teams
from ...objects.schedulers import Scheduler
from ...quota.jobs import Job
from .snapshot import Object, Snapshot, condition, is_true, name_of, owners_of, spec_of, status_of, time, uid_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Admitted:
    """`ends`: no later than this, by a limit of its own; None where it has none."""

    job: Job
    ends: datetime | None = None

    def units(self, flavor: str) -> int:
        return self.job.units.get(flavor, 0)


def queues(plan: Plan) -> dict[str, tuple[str, bool]]:
    """Team and whether it is for prod, by ClusterQueue."""
    return {name: (queue.team or "", queue.prod) for name, queue in of_teams(plan, Scheduler.KUEUE).items()}


def owner(workload: Object) -> tuple[str, str]:
    """Kind and name of the job that a Workload stands for; its own where it stands for itself."""
    result = next(iter(owners_of(workload)), None)
    return (result["kind"], result["name"]) if result else ("Workload", name_of(workload))


def of_kueue(plan: Plan, snapshot: Snapshot) -> list[Admitted]:
    """In the order in which they got their quota."""
    teams = of_teams(plan, Scheduler.KUEUE)
    found = []
    for body in snapshot.of("Workload"):
        job = jobs.of_workload(body, teams)
        if job.queue and job.state in (JobState.ADMITTED, JobState.RUNNING, JobState.EVICTED):
            ends = _first(_limit(body), _deadline(snapshot, body))
            found.append(Admitted(jobs.in_quota(job, _resources(plan)), ends))
    return sorted(found, key=lambda one: (one.job.since, one.job.uid))


def of_kai(plan: Plan, snapshot: Snapshot) -> list[Admitted]:
    """Pods that run in a queue of the agreement, those of one owner together. They have no limit that KAI knows."""
    running = (pod for pod in snapshot.of("Pod") if status_of(pod).get("phase") == "Running")
    groups: dict[tuple[str, str, str], list[jobs.Job]] = defaultdict(list)
    for job in jobs.of_pods(running, of_teams(plan, Scheduler.KAI)):
        if job.queue:
            named = job if owners_of(job.first) else replace(job, name=job.group)
            groups[named.namespace, named.kind, named.name].append(named)
    found = []
    for several in groups.values():
        sets = tuple(pods for job in several for pods in job.pod_sets)
        whole = replace(several[0], pod_sets=sets, since=min(job.since for job in several), priority=0)
        found.append(Admitted(jobs.in_quota(whole, _resources(plan))))
    return sorted(found, key=lambda one: (one.job.since, one.job.uid))


def _resources(plan: Plan) -> dict[str, str]:
    return {flavor.name: flavor.resource for flavor in plan.flavors}


def _limit(workload: Object) -> datetime | None:
    """`kueue.x-k8s.io/max-exec-time-seconds`, less what it ran before it was stopped."""
    allowed = spec_of(workload).get("maximumExecutionTimeSeconds")
    start = time(condition(workload, "Admitted").get("lastTransitionTime"))
    if not allowed or not start or not is_true(workload, "Admitted"):
        return None
    return start + timedelta(
        seconds=int(allowed) - int(status_of(workload).get("accumulatedPastExecutionTimeSeconds") or 0)
    )


def _deadline(snapshot: Snapshot, workload: Object) -> datetime | None:
    """`activeDeadlineSeconds` of its Job."""
    uids = {entry["uid"] for entry in owners_of(workload)}
    job = next((job for job in snapshot.of("Job") if uid_of(job) in uids), None)
    if job is None or not (allowed := spec_of(job).get("activeDeadlineSeconds")):
        return None
    start = time(status_of(job).get("startTime"))
    return start + timedelta(seconds=int(allowed)) if start else None


def _first(*times: datetime | None) -> datetime | None:
    return min((time for time in times if time), default=None)


def in_order(several: Iterable[Admitted]) -> list[Admitted]:
    """By when they must have ended; those without a limit last."""
    return sorted(several, key=lambda held: (held.ends is None, held.ends or EPOCH, held.job.uid))
