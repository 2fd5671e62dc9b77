"""What the quotas of a namespace with machines count, and whether that is what is there.

Kubernetes counts a quota in two places. The API server adds what it lets in, before it is there; the controller counts all that is
there when something goes, and else each five minutes. So a count at the wrong moment misses a pod that has just been let in, and
stays wrong until the next one: seen on the lab as `0` beside a machine's pod, and as one machine too many where the memory of the
first was not counted. It is therefore asked for another count, where the first has been wrong for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightkube import Client
from lightkube.types import PatchType

from ...cluster.clients import PodData, QuotaData, VirtualMachine, VirtualMachineInstance
from ...cluster.requests import of_pod
from ...text import quantity as quantities
from ..checks.machines import DEFINED, MEMORY, RUNNING
from ..play import Clock

LATE = 2.0  # seconds in which a quota counts what has just come or gone
UNUSED = "count/leases.coordination.k8s.io"  # nobody makes any there
ENDED = ("Succeeded", "Failed")  # phases of pods that no quota counts

Object = Mapping[str, Any]


class Counts:
    """Looked at again and again, by one thread."""

    def __init__(self, client: Client, namespace: str, clock: Clock) -> None:
        self.client, self.namespace, self.clock = client, namespace, clock
        self._wrong_since: float | None = None
        self._asked = 0

    @property
    def right(self) -> bool:
        """Whether the last look saw counted what was there."""
        return self._wrong_since is None

    def look(self) -> Mapping[str, int]:
        """What is counted, by the resource."""
        counted, now = self._counted(), self.clock.now()
        if all(counted.get(key, amount) == amount for key, amount in self._there().items()):
            self._wrong_since = None
        elif self._wrong_since is None:
            self._wrong_since = now
        elif now - self._wrong_since > LATE:
            self._wrong_since = now
            self._count_anew()
        return counted

    def _counted(self) -> dict[str, int]:
        found = {}
        for quota in self.client.list(QuotaData, namespace=self.namespace):
            for key, amount in ((quota.get("status") or {}).get("used") or {}).items():
                found[key] = int(quantities.amount(amount))
        return found

    def _there(self) -> dict[str, int]:
        kinds: Mapping[str, Any] = {DEFINED: VirtualMachine, RUNNING: VirtualMachineInstance}
        found = {key: len(list(self.client.list(kind, namespace=self.namespace))) for key, kind in kinds.items()}
        return {**found, MEMORY: sum(map(_memory, self.client.list(PodData, namespace=self.namespace)))}

    def _count_anew(self) -> None:
        """A quota is counted when what it limits changes; here it comes to limit something that nobody makes."""
        self._asked += 1
        change = {"spec": {"hard": {UNUSED: str(self._asked)}}}
        for quota in self.client.list(QuotaData, namespace=self.namespace):
            name = quota["metadata"]["name"]
            self.client.patch(QuotaData, name, change, namespace=self.namespace, patch_type=PatchType.MERGE)


def _memory(pod: Object) -> int:
    """What a launcher's pod counts for, in bytes."""
    ended = (pod.get("status") or {}).get("phase") in ENDED
    return 0 if ended else int(of_pod(pod["spec"]).get("memory", 0))
