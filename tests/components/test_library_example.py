"""examples/library is a program that runs, and its agreement is the one it means to build."""

from __future__ import annotations

import runpy
from pathlib import Path

from recorder import run

import components

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "library" / "__main__.py"


def test_the_library_example_shares_four_nodes_by_headcount() -> None:
    found = {
        resource.inputs["metadata"]["name"]: resource
        for resource in run(lambda: runpy.run_path(str(PROGRAM)))
        if resource.is_object
    }
    assert set(found) == {"gpu", "lab", "training", "research", "inference"}
    owned = {team: gpus_of(found[team].inputs) for team in ("training", "research", "inference")}
    assert owned == {"training": "16", "research": "8", "inference": "8"}


def gpus_of(queue: dict) -> str:  # type: ignore[type-arg]
    (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
    return next(one["nominalQuota"] for one in flavor["resources"] if one["name"] == "nvidia.com/gpu")


def test_everything_that_is_exported_has_a_line_in_the_documentation() -> None:
    page = (PROGRAM.parents[2] / "docs" / "library.md").read_text()
    assert [name for name in components.__all__ if f"`{name}`" not in page] == []
