"""What is known of a job on Kueue: its Workload, its queue and who is before it there, its team and what that has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from ...agreement.hardware import HOSTNAME, Hardware
from ...agreement.plan import Plan, TeamPlan
from ...cluster.jobs import pod_sets
from ...objects.access.namespaces import DEFAULT_QUEUE
from ...objects.kueue import topology_of
from ...text.durations import duration
from . import admitted as holding
from .amounts import Requests
from .availability import JobAvailability
from .find import Target
from .history import PreemptionHistory
from .model import State
from .snapshot import (
    NONE,
    Object,
    Snapshot,
    condition,
    created,
    is_true,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    spec_of,
    status_of,
    time,
    uid_of,
)
from .times import since


@dataclass(frozen=True)
class Case:
    """What the answer is made of."""

    plan: Plan
    snapshot: Snapshot
    target: Target

    @property
    def workload(self) -> Object:
        assert self.target.workload is not None
        return self.target.workload

    @property
    def now(self) -> datetime:
        return self.snapshot.now

    @property
    def named(self) -> str:
        return f"{self.target} ({self.target.kind})"

    @cached_property
    def asks(self) -> Requests:
        return Requests(pod_sets(self.workload))

    @cached_property
    def held(self) -> list[holding.Admitted]:
        return holding.of_kueue(self.plan, self.snapshot)

    @cached_property
    def team(self) -> TeamPlan | None:
        """Whose queue it is in."""
        return self.plan.team.get(self.place[0]) if self.place else None

    @property
    def place(self) -> tuple[str, bool] | None:
        return holding.queues(self.plan).get(self.cluster_queue)

    @property
    def local(self) -> str:
        return str(spec_of(self.workload).get("queueName") or "")

    @cached_property
    def cluster_queue(self) -> str:
        return cluster_queue_of(self.snapshot, self.workload)

    @property
    def counted(self) -> bool:
        """Whether all that holds quota was read, so that amounts can be said."""
        return "Workload" not in self.snapshot.unseen

    @property
    def owner(self) -> str:
        """The team of the namespace; empty where it is nobody's."""
        if "Namespace" in self.snapshot.unseen:  # then by the queues that it has
            mine = (queue for queue in self.snapshot.of("LocalQueue") if namespace_of(queue) == self.target.namespace)
            teams = (holding.queues(self.plan).get(str(spec_of(entry).get("clusterQueue"))) for entry in mine)
            return next((team[0] for team in teams if team), "")
        space = self.snapshot.get("Namespace", self.target.namespace)
        return labels_of(space).get(self.plan.team_label, "") if space else ""

    @property
    def state(self) -> State:
        workload = self.workload
        if is_true(workload, "Finished"):
            return State.FINISHED
        if is_true(workload, "QuotaReserved"):
            if is_true(workload, "Evicted"):
                return State.STOPPING
            if not is_true(workload, "Admitted"):
                return State.STARTING
            pods = self.pods
            running = [pod for pod in pods if status_of(pod).get("phase") in ("Running", "Succeeded")]
            return State.RUNNING if len(running) >= self.asks.count else State.STARTING
        if spec_of(workload).get("active") is False:
            return State.HELD
        return State.STOPPED if is_true(workload, "Evicted") else State.WAITING

    @cached_property
    def story(self) -> PreemptionHistory:
        return PreemptionHistory(self.plan, self.snapshot, self.workload)

    @cached_property
    def pods(self) -> list[Object]:
        def mine(pod: Object) -> bool:
            return uid_of(pod) in self.target.uids or any(entry["uid"] in self.target.uids for entry in owners_of(pod))

        return [pod for pod in self.snapshot.of("Pod") if namespace_of(pod) == self.target.namespace and mine(pod)]

    # --- the waiting queue

    @cached_property
    def line(self) -> list[Object]:
        """All that waits in its ClusterQueue, in Kueue's order: priority, then age."""
        waiting = [
            workload
            for workload in self.snapshot.of("Workload")
            if not is_true(workload, "QuotaReserved")
            and not is_true(workload, "Finished")
            and spec_of(workload).get("active") is not False
            and cluster_queue_of(self.snapshot, workload) == self.cluster_queue
        ]
        return sorted(
            waiting,
            key=lambda entry: (
                -int(spec_of(entry).get("priority") or 0),
                str(entry["metadata"].get("creationTimestamp")),
                uid_of(entry),
            ),
        )

    @property
    def before(self) -> list[str]:
        names: list[str] = []
        for entry in self.line:
            if uid_of(entry) == uid_of(self.workload):
                return names
            names.append(job_of(entry))
        return []

    def queue_text(self) -> str:
        local = f"LocalQueue {self.target.namespace}/{self.local}" if self.local else "no LocalQueue"
        if not self.cluster_queue:
            return local
        text = f"{self.cluster_queue} ({local})"
        if self.team and self.place and self.place[1]:
            text += f", the prod slice of {self.team.name}"
        if len(self.line) > 1 and not is_true(self.workload, "QuotaReserved") and not self.plan.sharing.usage:
            before = self.before
            text += f"; {_nth(len(before) + 1)} of {len(self.line)} that wait there"
            if before:
                text += f", after {', '.join(before[:3])}{' and more' if len(before) > 3 else ''}"
        return text

    # --- in words

    def headline(self) -> str:
        state = self.state
        at = {
            name: since(time(condition(self.workload, name).get("lastTransitionTime")), self.now)
            for name in ("Admitted", "QuotaReserved")
        }
        flavors = sorted(
            {flavor for assignment in self.assignments() for flavor in (assignment.get("flavors") or {}).values()}
        )
        on = f" on {', '.join(flavors)}" if flavors else ""
        if state is State.RUNNING:
            return f"{self.named} runs{on}. It started {at['Admitted']}."
        if state is State.STARTING:
            return f"{self.named} got its quota{on} {at['QuotaReserved']}, and does not run yet."
        if state is State.STOPPING:
            return f"{self.named} is being evicted."
        waited = duration(self.now - (created(self.workload) or self.now))
        if state is State.HELD:
            return (
                f"{self.named} was evicted, and Kueue does not start it again."
                if self.story.stop
                else f"{self.named} is switched off."
            )
        if state is State.STOPPED and self.story.stop:
            return f"{self.named} was evicted {self.story.stop.ago}, and waits to start again."
        return f"{self.named} waits. It was submitted {waited} ago."

    def assignments(self) -> list[Object]:
        return list((status_of(self.workload).get("admission") or NONE).get("podSetAssignments") or ())

    def asks_text(self) -> str:
        flavors = self.asks.flavors(self.plan)
        text = self.asks.in_words(self.plan)
        if flavors and len(flavors) < len(self.plan.flavors):
            text += f"; flavor {' or '.join(flavor.name for flavor in flavors)}"
        priority = str((spec_of(self.workload).get("priorityClassRef") or NONE).get("name") or "")
        return text + (f"; priority {priority}" if priority else "")

    def names(self, message: str) -> str:
        return self.story.names(message)

    # --- by the agreement

    @cached_property
    def availabilities(self) -> Mapping[str, JobAvailability]:
        """By flavor, those that its pods may have; those of which its team can have none only where there are no others."""
        availabilities = {flavor.name: room for flavor in self.asks.flavors(self.plan) if (room := self.room(flavor))}
        return {name: room for name, room in availabilities.items() if room.most} or availabilities

    def room(self, flavor: Hardware) -> JobAvailability | None:
        """None where its queue is not the agreement's."""
        if self.team is None or self.place is None:
            return None
        priority = int(spec_of(self.workload).get("priority") or 0)
        jobs = [held.job for held in self.held]
        return JobAvailability(
            self.plan, flavor, self.team, self.place[1], self.asks.units(flavor), priority, jobs, self.held
        )

    def fits_nodes(self, flavor: Hardware) -> bool:
        """Whether its pods are no larger than the flavor's nodes, which have the level that it requires."""
        tree = topology_of(self.plan, flavor)
        levels = tree.levels if tree else ()
        required = {pod_set.level for pod_set in self.asks.pods if pod_set.required}
        return self.asks.largest(flavor) <= flavor.units_per_node and required <= set(levels)

    @property
    def not_before(self) -> datetime | None:
        return time((status_of(self.workload).get("requeueState") or NONE).get("requeueAt"))

    @cached_property
    def context(self) -> Mapping[str, Any]:
        plan, team, space = self.plan, self.team.name if self.team else "", self.target.namespace
        local = [name_of(queue) for queue in self.snapshot.of("LocalQueue") if namespace_of(queue) == space]
        labels = (
            f"{flavor.name}: {', '.join(f'{key}={value}' for key, value in flavor.node_labels.items())}"
            for flavor in plan.flavors
        )
        levels = sorted(
            {"host" if pod_set.level == HOSTNAME else pod_set.level for pod_set in self.asks.pods if pod_set.level}
        )
        required = any(pod_set.required for pod_set in self.asks.pods)
        return {
            "job": str(self.target),
            "team": team,
            "namespace": space,
            "queue": self.cluster_queue,
            "queues": " or ".join(local) or f"{DEFAULT_QUEUE} (the namespace has no LocalQueue yet)",
            "team_label": plan.team_label,
            "owner": team or "TEAM",
            "outsider": self._outsider(),
            "resources": ", ".join(plan.resources),
            "selectors": "; ".join(labels),
            "topologies": ", ".join(dict.fromkeys(level for topology in plan.topologies for level in topology.levels))
            or "it has none",
            "levels": f"all its pods must share one {' and one '.join(levels)}; " if levels and required else "",
            "together": f"enough in one {levels[0]}" if levels and required else "enough for all its pods",
            "wider": " or a wider level" if levels and required else "",
            "excluded": "",
            "checks": self._checks(),
            "stopped": self._stop_policy(),
        }

    def _outsider(self) -> str:
        space, owner = self.target.namespace, self.owner
        if owner:
            return f"Namespace {space} belongs to {owner}, and the queue {self.cluster_queue} does not."
        return f"Namespace {space} belongs to no team (it has no label {self.plan.team_label}), so it may not use the queue {self.cluster_queue}."

    def _checks(self) -> str:
        checks = status_of(self.workload).get("admissionChecks") or ()
        return ", ".join(
            f"{check.get('name')} is {check.get('state')}{': ' + check['message'] if check.get('message') else ''}"
            for check in checks
        )

    def _stop_policy(self) -> str:
        queue = self.snapshot.get("ClusterQueue", self.cluster_queue) or NONE
        local = self.snapshot.get("LocalQueue", self.local, self.target.namespace) or NONE
        for item in (queue, local):
            policy = spec_of(item).get("stopPolicy") or "None"
            if policy != "None":
                return f" (stopPolicy: {policy})"
        for entry in (queue, local):
            active = condition(entry, "Active")
            if active.get("status") == "False" and active.get("message"):
                return f" ({active['message']})"
        return ""


def cluster_queue_of(snapshot: Snapshot, workload: Object) -> str:
    if admission := status_of(workload).get("admission"):
        return str(admission.get("clusterQueue"))
    local = snapshot.get("LocalQueue", str(spec_of(workload).get("queueName") or ""), namespace_of(workload))
    return str(spec_of(local).get("clusterQueue") or "") if local else ""


def job_of(workload: Object) -> str:
    return f"{namespace_of(workload)}/{holding.owner(workload)[1]}"


def _nth(number: int) -> str:
    return f"{number}{'th' if number % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
