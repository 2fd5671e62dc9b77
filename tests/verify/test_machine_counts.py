"""What a quota counts and what is there: for a moment they may differ, and what stays wrong is counted anew."""

from __future__ import annotations

from typing import Any

from tenancy.cluster.clients import PodData, QuotaData, VirtualMachine
from tenancy.verify.players.machine_counts import LATE, UNUSED, Counts

ONE_POD = {"spec": {"containers": [{"resources": {"requests": {"memory": "1Gi"}}}], "overhead": {"memory": "1Mi"}}}
ENDED = {**ONE_POD, "status": {"phase": "Succeeded"}}


class Cluster:
    """One machine with its pod, in a namespace with a quota. It is its own client, and its own clock."""

    def __init__(self, **used: str) -> None:
        self.used, self.time, self.hard = used, 0.0, dict[str, str]()
        self.pods: list[Any] = [ONE_POD, ENDED]

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def list(self, kind: Any, namespace: str) -> list[Any]:
        used = {key.replace("_", "/"): value for key, value in self.used.items()}
        quota = {"metadata": {"name": "machines"}, "status": {"used": used}}
        return {QuotaData: [quota], PodData: self.pods, VirtualMachine: [{}]}.get(kind, [])

    def patch(self, kind: Any, name: str, change: Any, **_: Any) -> None:
        self.hard |= change["spec"]["hard"]


def counts(cluster: Any) -> Counts:
    return Counts(cluster, "there", cluster)


RIGHT = {"requests.memory": str(2**30 + 2**20), "count_virtualmachines.kubevirt.io": "1"}


def test_what_is_counted_right_is_left_alone() -> None:
    """A pod that has ended counts for nothing."""
    cluster = Cluster(**RIGHT)
    count = counts(cluster)
    for _ in range(3):
        assert count.look() == {"requests.memory": 2**30 + 2**20, "count/virtualmachines.kubevirt.io": 1}
        assert count.right
        cluster.sleep(LATE)
    assert cluster.hard == {}


def test_a_count_that_is_late_is_waited_for() -> None:
    cluster = Cluster(**RIGHT | {"requests.memory": "0"})
    count = counts(cluster)
    count.look()
    cluster.sleep(LATE)
    count.look()
    assert (count.right, cluster.hard) == (False, {})
    cluster.used = RIGHT
    count.look()
    assert count.right


def test_one_that_stays_wrong_is_asked_for_again_and_again() -> None:
    cluster = Cluster(**RIGHT | {"count_virtualmachines.kubevirt.io": "2"})
    count = counts(cluster)
    asked = []
    for _ in range(5):
        count.look()
        asked.append(cluster.hard.get(UNUSED))
        cluster.sleep(LATE * 0.75)
    assert asked == [None, None, "1", "1", "2"]


def test_where_there_is_no_quota_nothing_is_wrong() -> None:
    count = counts(Cluster())
    assert count.look() == {}
    assert count.right
