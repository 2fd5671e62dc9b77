"""Why a job was stopped: by whom, and by which promise. Kueue names the one who did by UID; here it has its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...agreement.plan import Plan
from .admitted import owner, queues
from .reasons import explain, match
from .snapshot import (
    Object,
    Snapshot,
    condition,
    event_time,
    is_true,
    labels_of,
    namespace_of,
    owners_of,
    status_of,
    time,
    uid_of,
)
from .table import EVICTED, KUEUE, PREEMPTED
from .times import since

UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
BY = re.compile(
    r"a workload \(UID: (?P<uid>[^,)]*)(?:, JobUID: (?P<job>[^)]*))?\) due to (?P<why>[^;]*)(?:; preemptor path: (?P<path>[^;\s]*))?"
)
JOB_UID = "kueue.x-k8s.io/job-uid"
# What a condition's message calls the reason, which a later one no longer has as such (pkg/scheduler/preemption).
WORDS = {
    "prioritization in the ClusterQueue": "InClusterQueue",
    "reclamation within the cohort": "InCohortReclamation",
    "Fair Sharing within the cohort": "InCohortFairSharing",
    "reclamation within the cohort while borrowing": "InCohortReclaimWhileBorrowing",
}


@dataclass(frozen=True)
class Stop:
    key: str
    ago: str
    text: str
    """By whom, or why."""

    @property
    def sentence(self) -> str:
        return self.text if self.text.endswith(".") else f"{self.text}."


@dataclass(frozen=True)
class PreemptionHistory:
    plan: Plan
    snapshot: Snapshot
    workload: Object

    @cached_property
    def known(self) -> dict[str, str]:
        """Jobs by UID: of the Workload, of the job, and of what events tell of those that are gone."""
        found: dict[str, str] = {}
        for workload in self.snapshot.of("Workload"):
            name = f"{namespace_of(workload)}/{owner(workload)[1]}"
            found[uid_of(workload)] = name
            found |= {str(one["uid"]): name for one in owners_of(workload)}
            if uid := labels_of(workload).get(JOB_UID):
                found[uid] = name
        for event in self.snapshot.of("Event"):
            about = event.get("involvedObject") or {}
            if about.get("uid") and about.get("name"):
                found.setdefault(str(about["uid"]), f"{about.get('namespace')}/{about['name']}")
        return found

    def names(self, message: str) -> str:
        return UID.sub(lambda match: self.known.get(match[0], match[0]), message)

    @cached_property
    def stop(self) -> Stop | None:
        """The latest; of those before it Kueue keeps only how many they were."""
        result = condition(self.workload, EVICTED)
        message = str(result.get("message") or "")
        if not message:
            return None
        ago = since(time(result.get("lastTransitionTime")), self.snapshot.now)
        by = BY.search(message)
        reason = WORDS.get(by["why"].strip(), "") if by else ""
        context = {**self._by(by), "team": self._team()} if by else {}
        for one in match(KUEUE, PREEMPTED if by else EVICTED, reason, message):
            return Stop(one.row.key, ago, explain(one, context).text)
        return Stop("unknown", ago, f"Kueue says: {self.names(message)}")

    def lines(self) -> Iterator[str]:
        again = not is_true(self.workload, EVICTED)
        if stop := self.stop:
            yield f"before: {stop.sentence}" if again else f"{stop.ago}: {stop.sentence}"
        evictions = (status_of(self.workload).get("schedulingStats") or {}).get("evictions") or ()
        if (total := sum(int(eviction.get("count") or 0) for eviction in evictions)) > 1:
            yield f"{total} times in all"

    def _by(self, match: re.Match[str]) -> dict[str, str]:
        name = self.known.get(match["uid"]) or self.known.get(match["job"] or "") or self._by_event()
        queue = (match["path"] or "").rpartition("/")[2]
        team, prod = queues(self.plan).get(queue, ("", False))
        if not team and name:
            team = self._team_of(name.partition("/")[0])
        whose = f"{team}'s prod slice" if prod else team
        return {"by": name or (f"A job of {whose}" if whose else "A job that is gone"), "by_team": whose or "its team"}

    def _by_event(self) -> str:
        """The one who stopped it says so in an event of its own, by this Workload's UID."""
        mine = uid_of(self.workload)
        found = [
            event
            for event in self.snapshot.of("Event")
            if event.get("reason") == "PreemptedWorkload" and mine in str(event.get("message"))
        ]
        for entry in sorted(found, key=lambda one: event_time(one) or self.snapshot.now, reverse=True):
            about = entry["involvedObject"]
            return f"{about.get('namespace')}/{about.get('name')}"
        return ""

    def _team(self) -> str:
        return self._team_of(namespace_of(self.workload))

    def _team_of(self, namespace: str) -> str:
        space = self.snapshot.get("Namespace", namespace)
        return (labels_of(space).get(self.plan.team_label) if space else None) or namespace
