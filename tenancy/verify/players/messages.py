"""What Kueue says of a job, with the names that a person knows in place of UIDs and of the copies' names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..checks.model import JobGroup
from ..evidence.model import Condition
from . import kueue_job as job
from .observer import JOB_UID, Key, Object, condition

UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What Kueue says before it has looked, or while it makes room: no answer yet.
PENDING = re.compile(
    r"Pending the preemption of|pending evaluation|^(?:Local|Cluster)Queue \S+ (?:is inactive|doesn't exist)"
)


class Words:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.names: dict[str, str] = {}

    def know(self, workloads: Mapping[Key, Object], jobs: Mapping[Key, tuple[JobGroup, int]]) -> None:
        """Whose UIDs these are."""
        for key, workload in workloads.items():
            if key in jobs:
                name = _name(*jobs[key])
                self.names[workload["metadata"]["uid"]] = name
                self.names[(workload["metadata"].get("labels") or {}).get(JOB_UID, "")] = name

    def say(self, text: str) -> str:
        return UID.sub(lambda match: self.names.get(match[0], match[0]), text).replace(self.prefix, "")

    def told(self, jobs: JobGroup, number: int, workload: Object) -> Iterator[Condition]:
        """Why it waits, and why it was stopped; nothing while Kueue is not done with it."""
        reserved = condition(workload, "QuotaReserved")
        message = reserved.get("message", "")
        if reserved.get("status") != "False" or not message:
            return
        if PENDING.search(message):
            return
        for entry in (reserved, condition(workload, "Preempted"), condition(workload, "Evicted")):
            if entry:
                yield self._condition(_name(jobs, number), entry)

    def _condition(self, name: str, body: Mapping[str, Any]) -> Condition:
        return Condition(name, body["type"], body["status"], body.get("reason", ""), self.say(body.get("message", "")))


def _name(jobs: JobGroup, number: int) -> str:
    return f"{jobs.team}/{job.name(jobs, number)}"
