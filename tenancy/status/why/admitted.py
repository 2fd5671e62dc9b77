"""The jobs that hold quota, and when those that have a time limit must have ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from ...agreement.plan import Plan
from ...objects import kai
from ...objects.kueue import PROD_SUFFIX
from ...quota.jobs import Job
from ...text.quantity import amount as quantity
from ...text.quantity import whole
from .amounts import of_pod, with_part
from .snapshot import (
    Object,
    Snapshot,
    condition,
    created,
    is_true,
    labels_of,
    name_of,
    notes_of,
    owners_of,
    space_of,
    spec_of,
    status_of,
    time,
    uid_of,
)

KAI_QUEUE, KAI_GROUP = "kai.scheduler/queue", "pod-group-name"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Held:
    """`ends`: no later than this, by a limit of its own; None where it has none."""

    job: Job
    ends: datetime | None = None

    def units(self, flavor: str) -> int:
        return self.job.units.get(flavor, 0)


def queues(plan: Plan) -> dict[str, tuple[str, bool]]:
    """Team and whether it is for prod, by ClusterQueue."""
    found = {team.name: (team.name, False) for team in plan.teams}
    return found | {team.name + PROD_SUFFIX: (team.name, True) for team in plan.teams if team.has_prod}


def owner(workload: Object) -> tuple[str, str]:
    """Kind and name of the job that a Workload stands for; its own where it stands for itself."""
    it = next(iter(owners_of(workload)), None)
    return (it["kind"], it["name"]) if it else ("Workload", name_of(workload))


def of_kueue(plan: Plan, snapshot: Snapshot) -> list[Held]:
    """In the order in which they got their quota."""
    places = queues(plan)
    found = []
    for it in snapshot.of("Workload"):
        admission = status_of(it).get("admission")
        if not admission or not is_true(it, "QuotaReserved") or is_true(it, "Finished"):
            continue
        if (place := places.get(admission["clusterQueue"])) is None:
            continue
        kind, name = owner(it)
        since = time(condition(it, "QuotaReserved").get("lastTransitionTime")) or EPOCH
        job = Job(
            namespace=space_of(it),
            name=name,
            kind=kind,
            team=place[0],
            prod=place[1],
            units=_units(plan, admission),
            priority=int(spec_of(it).get("priority") or 0),
            since=since,
            evicted=is_true(it, "Evicted"),
            uid=uid_of(it),
        )
        found.append(Held(job, _first(_limit(it), _deadline(snapshot, it))))
    return sorted(found, key=lambda one: (one.job.since, one.job.uid))


def of_kai(plan: Plan, snapshot: Snapshot) -> list[Held]:
    """Pods that run in a queue of the agreement, those of one job together. They have no limit that KAI knows."""
    places = {
        name: (team.name, flavor, name in kai.prod_queues(plan, team, flavor))
        for flavor in plan.flavors
        for team in plan.teams
        for name in kai.job_queues(plan, team, flavor)
    }
    found: dict[tuple[str, str, str], Held] = {}
    for pod in snapshot.of("Pod"):
        place = places.get(labels_of(pod).get(KAI_QUEUE, ""))
        if place is None or status_of(pod).get("phase") != "Running":
            continue
        team, flavor, prod = place
        kind, name = owner(pod) if owners_of(pod) else ("Pod", notes_of(pod).get(KAI_GROUP) or name_of(pod))
        asks = with_part(of_pod(spec_of(pod)), notes_of(pod))
        units = whole(asks.get(flavor.resource, Fraction(0)))
        since = time(status_of(pod).get("startTime")) or created(pod) or EPOCH
        key = (space_of(pod), kind, name)
        before = found.get(key)
        held = dict(before.job.units) if before else {}
        held[flavor.name] = held.get(flavor.name, 0) + units
        since = min(since, before.job.since) if before else since
        found[key] = Held(Job(space_of(pod), name, kind, team, prod, held, 0, since, uid=uid_of(pod)))
    return sorted(found.values(), key=lambda one: (one.job.since, one.job.uid))


def _units(plan: Plan, admission: Object) -> Mapping[str, int]:
    units: dict[str, int] = {}
    for pods in admission.get("podSetAssignments") or ():
        for resource, flavor in (pods.get("flavors") or {}).items():
            if (it := plan.flavor.get(flavor)) and it.resource == resource:
                units[flavor] = units.get(flavor, 0) + whole(quantity((pods.get("resourceUsage") or {}).get(resource)))
    return units


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
    uids = {it["uid"] for it in owners_of(workload)}
    job = next((it for it in snapshot.of("Job") if uid_of(it) in uids), None)
    if job is None or not (allowed := spec_of(job).get("activeDeadlineSeconds")):
        return None
    start = time(status_of(job).get("startTime"))
    return start + timedelta(seconds=int(allowed)) if start else None


def _first(*times: datetime | None) -> datetime | None:
    return min((it for it in times if it), default=None)


def in_order(several: Iterable[Held]) -> list[Held]:
    """By when they must have ended; those without a limit last."""
    return sorted(several, key=lambda it: (it.ends is None, it.ends or EPOCH, it.job.uid))
