"""What breaks which promise on KAI: a change of the applied objects, the checks that must turn red, and some that must not.

A replica copies what is on the cluster, so a fault in an object is a fault of every copy. Checks that a change touches without
deciding them are in neither list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]
Change = Callable[[Spec], object]


@dataclass(frozen=True)
class Mutation:
    """`queues`: what becomes of a Queue's spec, by its name. `classes`: other values for PriorityClasses. `levels`: of Topologies."""

    name: str
    breaks: tuple[str, ...]
    """Checks, less the scheduler and the flavor `gpu`: `reach/research`, `slices/a/slice`."""
    spares: tuple[str, ...]
    queues: Mapping[str, Change] = ()  # type: ignore[assignment]
    classes: Mapping[str, int] = ()  # type: ignore[assignment]
    levels: Mapping[str, tuple[str, ...]] = ()  # type: ignore[assignment]


def gpus(**values: float) -> Change:
    return lambda spec: spec["resources"]["gpu"].update(values)


def field(**values: object) -> Change:
    return lambda spec: spec.update(values)


# On the lab's agreement: 32 GPUs; `shared` holds 16, training and research 8 of them each, inference none; training and inference
# keep 8 each to themselves.
ON_THE_LAB = (
    Mutation(
        "the limit of what is shared is lifted",
        ("reach/training", "never-lent/training", "over-quota/research", "gang/inference"),
        ("reserved/training", "non-preemptible/research", "fractions/inference"),
        {"shared": gpus(limit=-1)},
    ),
    Mutation(
        "training may use more than it never lends",
        ("reserved/training", "never-lent/inference"),
        ("reserved/inference", "never-lent/training", "reach/training"),
        {"training-never-lent": gpus(limit=10), "training-reserved": gpus(limit=10)},
    ),
    Mutation(
        "training's quota is lowered",
        ("guarantee/training", "kept/training", "non-preemptible/training", "whole/inference"),
        ("reach/training", "guarantee/inference", "non-preemptible/research"),
        {"training": gpus(quota=4)},
    ),
    Mutation(
        "what training never lends is put among what is shared",
        ("never-lent/training", "never-lent/inference", "guarantee/training"),  # it presses on what is shared, too
        ("reserved/training", "reserved/inference", "reach/training"),
        {"training-reserved": field(parentQueue="shared")},
    ),
    Mutation(
        "jobs are left alone for an hour before they are reclaimed",
        ("reclaim/training", "reclaim/research", "over-quota/inference", "weights/training"),
        ("reach/training", "reserved/training", "priority/inference"),
        {"shared": field(reclaimMinRuntime="1h")},
    ),
    Mutation(
        "training weighs nothing",
        ("weights/training",),
        ("reclaim/training", "reach/training", "over-quota/research"),
        {"training": gpus(overQuotaWeight=0)},
    ),
    Mutation(
        "inference's limit is one GPU short",
        ("reach/inference", "fractions/inference"),
        ("reach/research", "reserved/inference", "guarantee/inference"),
        {"inference": gpus(limit=15)},
    ),
    Mutation(
        "the lower priority is the higher, and a job that is never stopped may be",
        ("priority/inference", "non-preemptible/training", "non-preemptible/inference"),
        ("reach/research", "gang/inference", "kept/inference"),
        classes={"build-preemptible": 40, "build": 60},
    ),
)

BY_NAME = {mutation.name: mutation for mutation in ON_THE_LAB}
# Applied together where none decides what another is about.
TOGETHER = tuple(
    tuple(BY_NAME[name] for name in names)
    for names in (
        ("the limit of what is shared is lifted",),
        (
            "training may use more than it never lends",
            "training weighs nothing",
            "the lower priority is the higher, and a job that is never stopped may be",
        ),
        ("training's quota is lowered",),
        ("what training never lends is put among what is shared",),
        ("jobs are left alone for an hour before they are reclaimed",),
        ("inference's limit is one GPU short",),
    )
)


# What the lab's agreement has none of: a department, a prod slice, a cap on borrowing, a free pool, slices, a topology. `shared-gpu`
# holds 32, `d-gpu` 16 of them for a and b, c 8, 8 are nobody's; of the 56 slices each has 8.
REST = """
[cluster]
name = "lab"

[topologies.zonal]
levels = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]

[flavors.gpu]
nodes = 4
gpus_per_node = 8
topology = "zonal"

[flavors.slice]
nodes = 1
gpus_per_node = 8
mig = { gpu = "A100-80GB", profile = "1g.10gb" }
cpu_per_slice = 2
memory_per_slice = "15Gi"
topology = "zonal"

[departments.d]

[teams.a]
department = "d"
guaranteed = { gpu = 8, slice = 8 }

[teams.b]
department = "d"
guaranteed = { gpu = 8, slice = 8 }
borrowable = { gpu = 4, slice = 4 }

[teams.c]
guaranteed = { gpu = 8, slice = 8 }
prod = { gpu = 2 }
"""
REST_HOLDS = (
    "borrowable/b",
    "prod-slice/c",
    "prod-back/c",
    "prod-kept/c",
    "pool/a",
    "department/a",
    "topology/a",
    "slices/a/slice",
)
OF_THE_REST = (
    (
        Mutation(
            "b may borrow without a limit",
            ("borrowable/b",),
            ("non-preemptible/b", "non-preemptible/a/slice"),
            {"b-gpu": gpus(limit=-1)},
        ),
        Mutation("c's prod slice grows", ("prod-slice/c",), (), {"c-prod-gpu": gpus(quota=8, limit=8)}),
        Mutation("the free pool is nobody's", ("pool/a",), (), {"shared-gpu": gpus(limit=24)}),
        Mutation("slices are held back", ("slices/a/slice", "pool/a/slice"), (), {"shared-slice": gpus(limit=50)}),
    ),
    (
        Mutation(
            "c's prod slice owns nothing, comes last, and its jobs may be stopped",
            ("prod-kept/c", "prod-back/c"),
            ("reach/c", "borrowable/b"),
            {"c-prod-gpu": lambda spec: (gpus(quota=0)(spec), spec.update(priority=50))},
            {"build": 60},
        ),
        Mutation(
            "the department's slices are everybody's",
            ("department/a/slice",),
            ("department/a", "slices/a/slice"),
            {"d-slice": gpus(quota=0)},
        ),
        Mutation("no zones", ("topology/a",), (), levels={"zonal": ("kubernetes.io/hostname",)}),
    ),
)
