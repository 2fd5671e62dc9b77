"""Small agreements for tests, and the shortest way from text to findings, plan and objects."""

from __future__ import annotations

import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import kai, kueue
from tenancy.objects.loading import loads

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "agreements"  # the examples of the format, beside a developer's checkout
PRODUCTION = ROOT / "examples" / "production.toml"

ONE_FLAVOR = """
[cluster]
name = "lab"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
"""
LAB = (
    ONE_FLAVOR
    + """
[teams.training]
guaranteed = 16
lendable = 8
[teams.research]
guaranteed = 8
lendable = 8
[teams.inference]
guaranteed = 8
lendable = 0
"""
)


def findings(text: str, file: str = "") -> list[str]:
    """What `check` says of a file with this text, each as it prints it (without a place where `file` is empty)."""
    found = loads(textwrap.dedent(text), file or "<agreement>").findings
    return [str(finding if file else finding.at("", 1, 1)) for finding in found]


def plan(text: str) -> Plan:
    loaded = loads(textwrap.dedent(text))
    assert loaded.agreement, "\n".join(map(str, loaded.findings))
    return make_plan(loaded.agreement)


def kueue_objects(text: str) -> dict[str, Any]:
    """The Kueue objects of an agreement by `Kind/name`."""
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in kueue.objects(plan(text))}


def kai_queues(text: str) -> dict[str, Any]:
    """The specs of the KAI Queues of an agreement by name."""
    return {one["metadata"]["name"]: one["spec"] for one in kai.objects(plan(text)) if one["kind"] == "Queue"}


def quotas(one: dict[str, Any], resource: str = "nvidia.com/gpu", flavor: str = "gpu") -> dict[str, str]:
    """The three numbers of one resource of one flavor in a ClusterQueue or Cohort."""
    (group,) = one["spec"]["resourceGroups"]
    (row,) = [row for row in group["flavors"] if row["name"] == flavor]
    (quota,) = [quota for quota in row["resources"] if quota["name"] == resource]
    return {key: value for key, value in quota.items() if key != "name"}


SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18} | {
    f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)
}


def number(quantity: str) -> Fraction:
    """A quantity as a number, read by the grammar of apimachinery and not by our own code."""
    digits = quantity.rstrip("kKMGTPEim")
    suffix = quantity[len(digits) :]
    return Fraction(digits) * (Fraction(1, 1000) if suffix == "m" else SUFFIXES[suffix])
