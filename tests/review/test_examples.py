"""The examples are agreements without a problem, and Venus is what the data says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.loading import load

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DATA = ROOT.parent / "shared" / "data" / "venus-quotas.csv"  # HeliosData's file, beside a developer's checkout


def plan(name: str) -> Plan:
    loaded = load(EXAMPLES / name)
    assert loaded.agreement, "\n".join(map(str, loaded.findings))
    return make_plan(loaded.agreement)


def guaranteed(name: str) -> dict[str, int]:
    return {team.display_name: share.guaranteed for team in plan(name).teams for share in team.shares.values()}


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_example_is_fine_and_listed(file: Path) -> None:
    layout = ("cluster", "guarantee_on")  # advised on wherever a team has prod
    assert [str(finding) for finding in load(file).findings if finding.path != layout] == []
    assert f"`{file.name}`" in (EXAMPLES / "README.md").read_text()


def test_venus_is_fully_given_out() -> None:
    venus = plan("venus.toml")
    assert (len(venus.teams), sum(guaranteed("venus.toml").values())) == (17, 1064)
    assert (venus.flavors[0].nodes, venus.flavors[0].units_per_node, venus.pool) == (133, 8, {"gpu": 0})


def test_venus_lends_all_and_borrows_freely() -> None:
    shares = [share for team in plan("venus.toml").teams for share in team.shares.values()]
    assert all(share.lendable == share.guaranteed for share in shares)
    assert all(share.borrowable is None and share.prod == 0 for share in shares)


def test_a_day_later_a_new_team_has_128_from_two_others() -> None:
    before, after = guaranteed("venus.toml"), guaranteed("venus-2020-07-21.toml")
    assert (len(after), sum(after.values())) == (18, 1064)
    moved = {team: after[team] - before.get(team, 0) for team in after}
    assert {team: change for team, change in moved.items() if change} == {"vcvGl": -80, "vcYVn": -48, "vcbIW": 128}


def test_venus_keeps_the_original_names() -> None:
    for file in ("venus.toml", "venus-2020-07-21.toml"):
        assert all(team.name == team.display_name.lower() for team in plan(file).teams)
        assert plan(file).team["vcvgl"].display_name == "vcvGl"


def test_venus_is_what_its_generator_makes() -> None:
    if not DATA.exists():
        pytest.skip(f"the data is not here: {DATA}")
    made = generator().agreements(DATA)
    assert {name: (EXAMPLES / name).read_text() for name in made} == made


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("venus", EXAMPLES / "venus.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
