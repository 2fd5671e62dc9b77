"""Agreements of files, and one of a hundred teams."""

from __future__ import annotations

from pathlib import Path

from samples import ROOT, plan

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.loading import load

FILES = [
    ROOT / "tenancy.toml",
    *(ROOT / "examples" / f"{entry}.toml" for entry in ("departments", "venus", "production")),
]


def plan_of(file: Path) -> Plan:
    agreement = load(str(file)).agreement
    assert agreement
    return make_plan(agreement)


def many_teams(teams: int = 100, flavors: int = 11) -> Plan:
    """Teams that all have something of every flavor; every other one has a prod slice, every third lends half."""
    names = [f"a100-80-{at}0gb" for at in range(flavors)]

    def amounts(count: int) -> str:
        return "{ " + ", ".join(f"{name} = {count}" for name in names) + " }"

    text = ['[cluster]\nname = "many"', *(f"[departments.dep-{at}]" for at in range(8))]
    text += [f"[flavors.{name}]\nnodes = 400\ngpus_per_node = 8\nnode_labels = {{ pool = '{name}' }}" for name in names]
    for at in range(teams):
        text.append(f"[teams.team-{at}]\ndepartment = 'dep-{at % 8}'\nguaranteed = {amounts(16)}")
        text += [f"lendable = {amounts(8)}"] * (at % 3 == 0) + [f"prod = {{ {names[0]} = 8 }}"] * (at % 2 == 0)
    return plan("\n".join(text))
