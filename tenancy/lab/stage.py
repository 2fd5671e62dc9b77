"""The cluster as a scene uses it: two teams' namespaces, jobs for them, and what is seen to run.

Two things are read and must agree: what the scheduler says its queues use, and which pods run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.types import CascadeType

from ..agreement.hardware import Hardware
from ..agreement.plan import Plan, TeamPlan
from ..cluster import usage
from ..cluster.clients import LocalQueue
from ..objects import kai
from ..text.quantity import bytes_text, milli_text
from .folder import LabError

SCENE_LABEL = "tenancy.dev/scene"
PATIENCE, PER_JOB = 60.0, 2.0  # seconds for an act, and for each of its jobs: ten times what two idle cores take
CLEARING = 180.0  # seconds for namespaces and jobs to go
EVERY = 0.25  # seconds between two looks
STEADY = 4  # looks in a row that must show the same
IMAGE = "registry.invalid/nothing-runs-on-simulated-nodes"


@dataclass(frozen=True)
class Stage:
    """The cluster as the scene uses it."""

    client: Client
    plan: Plan
    flavor: Hardware
    size: int
    teams: tuple[TeamPlan, ...]
    scheduler: str

    @contextmanager
    def set(self) -> Iterator[None]:
        """The teams' namespaces; at the end nothing of the scene runs or is counted, and they are on their way out."""
        self._remove()
        self._wait("namespaces of an earlier scene are still there", lambda: not self._namespaces())
        try:
            for team in self.teams:
                self.client.create(from_dict(self._namespace(team)))
                if self.scheduler == "kueue":
                    self.client.create(LocalQueue.from_dict(self._local_queue(team)))
            yield
        finally:
            for team in self.teams:  # jobs first: a namespace waits long for workloads that Kueue has yet to let go
                self.client.deletecollection(Job, namespace=_namespace_of(team.name), cascade=CascadeType.BACKGROUND)
            idle = dict.fromkeys((team.name for team in self.teams), 0)
            self._wait("jobs of the scene do not end", lambda: self._shows(idle))
            self._remove()

    def rows(self) -> list[usage.Row]:
        return usage.who_has_what(self.client, self.plan, self.scheduler)

    def submit(self, team: TeamPlan, amount: int) -> None:
        """Jobs for an amount; on KAI first as many as the team's reserved queue holds, a queue of its own there."""
        size = self.size
        reserved = min(amount, self._reserved(team)) // size
        own = kai.reserved(self.plan, team, self.flavor) or ""
        queues = [own] * reserved + [kai.regular(self.plan, team, self.flavor)] * (amount // size - reserved)
        jobs = [from_dict(self._job(team, number, queue)) for number, queue in enumerate(queues)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.client.create, jobs))

    def until(self, expected: dict[str, int]) -> float | None:
        """Seconds until each team uses what is expected, nobody else anything, and as many pods run; None when it does
        not come, or does not stay."""
        started = time.monotonic()
        came, steady = 0.0, 0
        patience = PATIENCE + PER_JOB * sum(expected.values()) / self.size
        while time.monotonic() - started < patience:
            now = time.monotonic()
            seen = self._shows(expected)
            came = came if seen and steady else now
            steady = steady + 1 if seen else 0
            if steady == STEADY:
                return came - started
            time.sleep(EVERY)
        return None

    def running(self, team: str) -> int:
        """Pods of the team that run; each has one unit."""
        pods = self.client.list(Pod, namespace=_namespace_of(team), fields={"status.phase": "Running"})
        return sum(1 for pod in pods if pod.metadata and not pod.metadata.deletionTimestamp)

    def _shows(self, expected: dict[str, int]) -> bool:
        """Whether these teams use these amounts, nobody else anything, and as many pods run."""
        used = {row.team: row.used for row in self.rows() if row.flavor == self.flavor.name and row.used}
        wanted = {team: amount for team, amount in expected.items() if amount}
        return used == wanted and all(self.running(team) == amount for team, amount in expected.items())

    def _wait(self, otherwise: str, so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + CLEARING
        while not so():
            if time.monotonic() > deadline:
                raise LabError(f"after {CLEARING:.0f} s {otherwise}")
            time.sleep(EVERY)

    def _namespaces(self) -> list[str]:
        found = self.client.list(Namespace, labels={SCENE_LABEL: "true"})
        return [it.metadata.name for it in found if it.metadata and it.metadata.name]

    def _remove(self) -> None:
        for name in self._namespaces():
            try:
                self.client.delete(Namespace, name)
            except ApiError as error:  # it is gone, or already on its way
                if error.status.code not in (404, 409):
                    raise

    def _reserved(self, team: TeamPlan) -> int:
        """What KAI keeps in a queue of its own."""
        return team.shares[self.flavor.name].reserved if self.scheduler == "kai" else 0

    def _namespace(self, team: TeamPlan) -> dict[str, Any]:
        """On Kueue it belongs to the team by its label. For KAI the label would only make other controllers give it queues,
        but with `[access]` there are no GPUs without it."""
        owner = {self.plan.team_label: team.name} if self.scheduler == "kueue" or self.plan.access else {}
        metadata = {"name": _namespace_of(team.name), "labels": {SCENE_LABEL: "true", **owner}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def _local_queue(self, team: TeamPlan) -> dict[str, Any]:
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "default", "namespace": _namespace_of(team.name)},
            "spec": {"clusterQueue": team.name},
        }

    def _job(self, team: TeamPlan, number: int, queue: str) -> dict[str, Any]:
        """A Job of `size` pods with a unit each; without the annotation that ends them its pods run until deleted."""
        flavor, size = self.flavor, self.size
        of_kueue = self.scheduler == "kueue"
        pool = kai.pool(self.plan, flavor)
        of_kai = {"kai.scheduler/queue": queue, **({kai.NODE_POOL: pool} if pool else {})}
        unit = {} if flavor.unit == "cpu" else {flavor.resource: "1"}
        asks = {**unit, "cpu": milli_text(flavor.cpu), "memory": bytes_text(flavor.memory)}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": f"job-{number}",
                "namespace": _namespace_of(team.name),
                "labels": {"kueue.x-k8s.io/queue-name": "default"} if of_kueue else {},
            },
            "spec": {
                "parallelism": size,
                "completions": size,
                "backoffLimit": 1000,  # a pod that KAI stops counts as failed
                "template": {
                    "metadata": {
                        "labels": {} if of_kueue else of_kai,
                    },
                    "spec": {
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": 0,  # nothing runs in them that could end
                        **({} if of_kueue else {"schedulerName": "kai-scheduler"}),
                        "nodeSelector": dict(flavor.node_labels) if of_kueue else {},
                        "tolerations": [
                            {"key": it.key, "operator": "Equal", "value": it.value, "effect": it.effect}
                            for it in flavor.taints
                        ],
                        "containers": [
                            {"name": "work", "image": IMAGE, "resources": {"requests": asks, "limits": unit}},
                        ],
                    },
                },
            },
        }


def _namespace_of(team: str) -> str:
    return f"scene-{team}"[:63].rstrip("-.").replace(".", "-")
