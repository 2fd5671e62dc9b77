"""Where a component's agreement comes from, and how what is wrong with it is told."""

from __future__ import annotations

from pathlib import Path

import pulumi
import pytest
from recorder import run

from components import (
    TeamQuota,
    TeamQuotaArgs,
    agreement_from_file,
    agreement_from_text,
    agreement_from_values,
    plan_of,
)
from tenancy.agreement import Agreement, Cluster, Flavor, Team
from tenancy.objects.loading import load

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tenancy.toml"
TABLES = {
    "cluster": {"name": "lab"},
    "flavors": {"gpu": {"nodes": 4, "gpus_per_node": 8}},
    "teams": {
        "training": {"guaranteed": 16, "lendable": 8},
        "research": {"guaranteed": 8, "lendable": 8},
        "inference": {"guaranteed": 8, "lendable": 0},
    },
}


def test_a_file_its_text_and_its_tables_are_one_agreement() -> None:
    agreement = load(FILE).agreement
    assert agreement
    assert (
        agreement_from_file(FILE) == agreement_from_text(FILE.read_text()) == agreement_from_values(TABLES) == agreement
    )


def test_the_only_number_of_other_languages_is_read_as_the_integer_it_is() -> None:
    as_sent = {**TABLES, "flavors": {"gpu": {"nodes": 4.0, "gpus_per_node": 8.0}}}
    assert agreement_from_values(as_sent) == agreement_from_values(TABLES)
    with pytest.raises(pulumi.RunError, match=r"flavors\.gpu\.nodes"):
        agreement_from_values({**TABLES, "flavors": {"gpu": {"nodes": 4.5, "gpus_per_node": 8}}})


def test_a_wrong_file_is_told_with_every_place(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text(FILE.read_text().replace("lendable   = 8", "lendable   = 17"))
    with pytest.raises(pulumi.RunError) as caught:
        agreement_from_file(file)
    assert str(caught.value).splitlines() == [
        f"{file}:11:14: teams.training.lendable: 17 is more than guaranteed (16); write at most 16, or raise guaranteed",
        f"{file}:15:14: teams.research.lendable: 17 is more than guaranteed (8); write at most 8, or raise guaranteed",
    ]
    with pytest.raises(pulumi.RunError, match=r"^other:11:14: "):
        agreement_from_text(file.read_text(), "other")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(pulumi.RunError, match=r"^nowhere\.toml:1:1: cannot be read"):
        agreement_from_file("nowhere.toml")


def test_an_output_of_another_resource_is_refused_with_its_place() -> None:
    def program() -> None:
        waiting = pulumi.Output.from_input("lab")
        with pytest.raises(pulumi.RunError, match=r"^teams\.training\.guaranteed: is an output of another resource"):
            agreement_from_values({**TABLES, "teams": {"training": {"guaranteed": waiting}}})

    run(program)


def test_a_component_takes_an_agreement_built_in_python_and_checks_it() -> None:
    def built(guaranteed: int) -> Agreement:
        return Agreement(
            cluster=Cluster(name="lab"),
            flavors={"gpu": Flavor(nodes=4, gpus_per_node=8)},
            teams={"training": Team(guaranteed=guaranteed)},
        )

    made = run(lambda: TeamQuota("x", TeamQuotaArgs(agreement=built(16), team="training")))
    assert [resource.inputs["metadata"]["name"] for resource in made if resource.is_object] == ["training"]
    with pytest.raises(pulumi.RunError, match=r"^flavors\.gpu: teams are guaranteed 33 GPUs"):
        plan_of(built(33))
