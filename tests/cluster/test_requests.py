"""What a pod requests, beside Kubernetes' rules told a second time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenancy.cluster.requests import claims, of_pod

GPU = "nvidia.com/gpu"


def container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}}


def gpus(count: int) -> dict[str, Any]:
    return container({GPU: str(count)})


def sidecar(count: int) -> dict[str, Any]:
    return {**gpus(count), "restartPolicy": "Always"}


def test_an_init_container_counts_where_it_requests_more_than_the_others() -> None:
    assert of_pod({"initContainers": [gpus(4)], "containers": [gpus(2)]}) == {GPU: 4}
    assert of_pod({"initContainers": [gpus(1)], "containers": [gpus(2), gpus(1)]}) == {GPU: 3}


def test_a_sidecar_adds_to_the_containers() -> None:
    assert of_pod({"initContainers": [sidecar(1)], "containers": [gpus(2)]}) == {GPU: 3}


def test_a_sidecar_adds_to_the_init_containers_that_start_after_it() -> None:
    assert of_pod({"initContainers": [sidecar(1), gpus(4)], "containers": [gpus(2)]}) == {GPU: 5}
    assert of_pod({"initContainers": [gpus(4), sidecar(1)], "containers": [gpus(2)]}) == {GPU: 4}


def test_a_limit_counts_for_each_resource_without_a_request() -> None:
    assert of_pod({"containers": [container({"cpu": "4"}, {GPU: "8", "cpu": "6"})]}) == {GPU: 8, "cpu": 4}


def test_a_runtime_takes_its_overhead() -> None:
    spec = {"containers": [container({"cpu": "1", "memory": "1Gi"})], "overhead": {"cpu": "250m"}}
    assert of_pod(spec) == {"cpu": Fraction(5, 4), "memory": 2**30}


def test_amounts_of_the_pod_replace_the_sum_of_its_containers_for_what_they_may_name() -> None:
    spec = {
        "containers": [container({"cpu": "1", GPU: "2"}), container({"cpu": "1"})],
        "resources": {"requests": {"cpu": "8", GPU: "4"}, "limits": {"cpu": "9", "memory": "4Gi"}},
        "overhead": {"cpu": "1"},
    }
    assert of_pod(spec) == {"cpu": 9, GPU: 2, "memory": 4 * 2**30}


@pytest.mark.parametrize(
    ("annotations", "amount"),
    [
        ({"gpu-fraction": "0.5"}, Fraction(1, 2)),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "4"}, Fraction(2)),
        ({"gpu-memory": "20480"}, Fraction(1, 4)),
        ({"gpu-memory": "20480", "gpu-fraction-num-devices": "2"}, Fraction(1, 2)),
    ],
)
def test_a_part_of_a_gpu_on_kai_is_exact(annotations: dict[str, str], amount: Fraction) -> None:
    assert of_pod({"containers": [container({"cpu": "1"})]}, annotations, gpu_memory=81920) == {"cpu": 1, GPU: amount}


def test_memory_of_a_gpu_of_unknown_size_counts_as_a_whole_gpu() -> None:
    assert of_pod({"containers": []}, {"gpu-memory": "20480"}) == {GPU: 1}


def test_claims_are_listed() -> None:
    claimed = [
        {"name": "a", "resourceClaimName": "mine"},
        {"name": "b", "resourceClaimTemplateName": "one-gpu"},
    ]
    assert claims({"resourceClaims": claimed}) == ("mine", "one-gpu")
    assert claims({}) == ()


# --- a second model: a pod's life, moment by moment


CONTAINERS = st.lists(st.integers(0, 9), max_size=3)
INITS = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=5)


@given(CONTAINERS, INITS)
def test_a_pod_requests_the_most_that_it_uses_at_any_moment(
    containers: list[int], inits: list[tuple[bool, int]]
) -> None:
    staying, moments = 0, [0]
    for stays, count in inits:
        moments.append(staying + count)
        staying += count if stays else 0
    moments.append(staying + sum(containers))
    spec = {
        "initContainers": [sidecar(count) if stays else gpus(count) for stays, count in inits],
        "containers": [gpus(count) for count in containers],
    }
    assert of_pod(spec).get(GPU, 0) == max(moments)
