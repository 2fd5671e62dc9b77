"""KAI on the lab: GPU fractions on simulated nodes, through its real admission and binder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.resources.core_v1 import Namespace, Pod

GROUP = "runai-gpu-group"
PLAIN = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "work", "image": "none"}]}}


def _pod(namespace: str, name: str, fraction: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kai.scheduler/queue": "research"},
            "annotations": {"gpu-fraction": fraction},
        },
        "spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "work", "image": "none"}]},
    }


def _takes_pods(client: Client, name: str) -> bool:
    """Pods need a ServiceAccount, and that Kueue's webhook has heard of their namespace."""
    try:
        client.create(from_dict({**PLAIN, "metadata": {"name": "probe", "namespace": name}}), dry_run=True)
    except ApiError as error:
        if "not found" not in str(error):
            raise
        return False
    return True


@pytest.fixture
def namespace(client: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    name = request.node.name.replace("_", "-")
    client.create(from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
    deadline = time.monotonic() + 30
    while not _takes_pods(client, name):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    yield name
    client.delete(Namespace, name)


def test_halves_share_a_gpu(client: Client, namespace: str) -> None:
    """Of three halves two share one GPU and the third has another."""
    for number in range(3):
        client.create(from_dict(_pod(namespace, f"half-{number}", "0.5")))
    deadline = time.monotonic() + 90
    while True:
        pods = [pod for pod in client.list(Pod, namespace=namespace) if pod.status.phase == "Running"]
        if len(pods) == 3:
            break
        assert time.monotonic() < deadline, [pod.status for pod in client.list(Pod, namespace=namespace)]
        time.sleep(0.3)
    groups = Counter(pod.metadata.labels[GROUP] for pod in pods)
    assert sorted(groups.values()) == [1, 2]


def test_admission_refuses_a_fraction_that_is_none(client: Client, namespace: str) -> None:
    with pytest.raises(ApiError, match="gpu-fraction"):
        client.create(from_dict(_pod(namespace, "whole", "1.5")))
