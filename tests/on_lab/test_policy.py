"""The policy pack on Pulumi's real engine: an agreement passes, and each broken rule fails the preview by name.

The objects are the builders' own, changed in one place, as a program that bypasses the agreement might write them. They
are rendered to a folder and not to a cluster, whose admission would refuse some of them before a policy sees them.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenancy.agreement.plan import Plan
from tenancy.objects import kai, kueue
from tenancy.objects.identity import AGREEMENT_LABEL

from .conftest import AGREEMENT, plan_of
from .stacks import ROOT, Project, Stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PROGRAM = """
import json, pathlib
import pulumi, pulumi_kubernetes as kubernetes
from components import KubernetesObject

opts = pulumi.ResourceOptions(
    provider=kubernetes.Provider("files", render_yaml_to_directory="rendered"),
    protect=pulumi.Config("tenancy").get_bool("protect"),
)
for body in json.loads(pathlib.Path("objects.json").read_text()):
    KubernetesObject(f"{body['kind']}-{body['metadata']['name']}", body, opts)
"""
Objects = dict[str, Any]


class Policed(Stack):
    """A program that writes any objects, and a pack to judge them."""

    def judged(self, bodies: list[Any], *arguments: str) -> str | None:
        """What the preview said of violations; None when it passed."""
        (self.folder / "objects.json").write_text(json.dumps(bodies))
        done = self.preview("--policy-pack", str(ROOT / "policy"), *arguments)
        violations = " ".join(done.said.partition("Policies:")[2].split())
        assert "Traceback" not in done.said
        assert (done.code != 0) == ("[mandatory]" in violations), done.said
        return violations if done.code else None

    def configured(self, **policies: Any) -> tuple[str, str]:
        """The arguments that give policies this configuration; `_` of their names stands for `-`."""
        file = self.folder / "policy.json"
        file.write_text(json.dumps({name.replace("_", "-"): policy for name, policy in policies.items()}))
        return "--policy-pack-config", str(file)


@pytest.fixture(scope="module")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Policed:
    """A stack named prod, whose queues are protected, with the agreement of the lab."""
    folder = tmp_path_factory.mktemp("policed")
    (folder / "Pulumi.yaml").write_text("name: policed\nruntime: python\n")
    (folder / "__main__.py").write_text(PROGRAM)
    (folder / "tenancy.toml").write_text(AGREEMENT)
    policed = Policed(folder, folder / "no-kubeconfig", stack="prod")
    del policed.environment["KUBECONFIG"]  # the provider renders to files, or has a cluster: not both
    policed.set(agreement="tenancy.toml", protect="true")
    return policed


def bodies(plan: Plan) -> Objects:
    return {
        f"{entry['kind']}/{entry['metadata']['name']}": entry for entry in [*kueue.objects(plan), *kai.objects(plan)]
    }


def gpus(one: Any) -> Any:
    """The row of its GPUs."""
    (group,) = one["spec"]["resourceGroups"]
    return next(row for row in group["flavors"][0]["resources"] if row["name"] == "nvidia.com/gpu")


def test_an_agreement_passes_with_prod_slices_and_departments_too(prod: Policed) -> None:
    assert prod.judged(list(bodies(plan_of(AGREEMENT)).values())) is None
    departments = (ROOT / "examples" / "departments.toml").read_text()
    try:
        (prod.folder / "tenancy.toml").write_text(departments)
        assert prod.judged(list(bodies(plan_of(departments)).values())) is None
    finally:
        (prod.folder / "tenancy.toml").write_text(AGREEMENT)


def lends(objects: Objects) -> None:
    gpus(objects["ClusterQueue/training"])["lendingLimit"] = "17"


def promises(objects: Objects) -> None:
    gpus(objects["ClusterQueue/research"])["nominalQuota"] = "12"


def adds(objects: Objects) -> None:
    rogue = copy.deepcopy(objects["ClusterQueue/research"])
    rogue["metadata"]["name"] = "researchers"
    rogue["spec"]["resourceGroups"] = []
    objects["rogue"] = rogue


def relabels(objects: Objects) -> None:
    objects["Queue/training"]["metadata"]["labels"][AGREEMENT_LABEL] = "other"


def leads_astray(objects: Objects) -> None:
    objects["local"] = {
        "apiVersion": kueue.API_VERSION,
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": "a"},
        "spec": {"clusterQueue": "trainings"},
    }


BROKEN: list[tuple[Callable[[Objects], None], str, str]] = [
    (
        lends,
        "no-lending-above-quota",
        r"ClusterQueue/training may lend more of flavor gpu than it has: 17 of 16 nvidia\.com/gpu; lower its lendingLimit",
    ),
    (
        promises,
        "no-guarantee-above-capacity",
        r"the guarantees of flavor gpu come to 36 nvidia\.com/gpu where there are 32 .*owned by ClusterQueue/research: lower",
    ),
    (
        adds,
        "no-queue-outside-agreement",
        r"ClusterQueue/researchers is not in the agreement of lab; did you mean ClusterQueue/research\?",
    ),
    (
        relabels,
        "no-queue-outside-agreement",
        r"Queue/training has the name of a queue of lab and carries tenancy\.dev/agreement=other",
    ),
    (
        leads_astray,
        "no-queue-outside-agreement",
        r"LocalQueue/default leads to ClusterQueue/trainings, which is not in the agreement of lab; did you mean",
    ),
]


@pytest.mark.parametrize(("breaks", "policy", "said"), BROKEN, ids=[entry[0].__name__ for entry in BROKEN])
def test_a_broken_rule_fails_the_preview_by_name(
    prod: Policed, breaks: Callable[[Objects], None], policy: str, said: str
) -> None:
    objects = bodies(plan_of(AGREEMENT))
    breaks(objects)
    violations = prod.judged(list(objects.values()))
    assert violations is not None
    assert set(re.findall(r"\[mandatory\] (?:tenancy\S* )?(no-\S+)", violations)) == {policy}, violations
    assert re.search(said, violations), violations


def test_an_unprotected_queue_in_prod_fails_the_preview_and_elsewhere_where_the_pack_is_told_so(prod: Policed) -> None:
    objects = list(bodies(plan_of(AGREEMENT)).values())
    prod.set(protect="false")
    try:
        violations = prod.judged(objects)
        assert violations is not None
        for name in ("ClusterQueue/training", "Cohort/lab", "Queue/shared"):
            assert f"{name} is not protected in stack prod" in violations
        assert "ResourceFlavor" not in violations
        elsewhere = prod.configured(no_unprotected_queue_in_prod={"stacks": ["staging"]})
        assert prod.judged(objects, *elsewhere) is None
    finally:
        prod.set(protect="true")


def test_without_an_agreement_the_pack_fails_and_says_how_to_name_one(prod: Policed) -> None:
    objects = list(bodies(plan_of(AGREEMENT)).values())
    there = prod.settings.pop("agreement")
    try:
        prod.set()
        violations = prod.judged(objects)
        assert violations is not None
        assert (
            "this stack has no tenancy:agreement to compare it with; name the file in --policy-pack-config"
            in violations
        )
        named = {"agreement": str(prod.folder / there)}
        arguments = prod.configured(no_guarantee_above_capacity=named, no_queue_outside_agreement=named)
        assert prod.judged(objects, *arguments) is None
    finally:
        prod.set(agreement=there)


def test_this_repos_program_passes_on_a_cluster(empty: Path, tmp_path: Path) -> None:
    """The pack sees what the provider made of the objects, and finds the project's folder by itself."""
    project = Project(tmp_path, empty)
    project.agree(AGREEMENT)
    done = project.preview("--policy-pack", str(ROOT / "policy")).ok()
    assert "tenancy" in done.said.partition("Policies:")[2]
    project.agree(AGREEMENT.replace("[teams.research]", "[teams.search]"))
    arguments = ("--policy-pack", str(ROOT / "policy"), "--policy-pack-config", str(tmp_path / "policy.json"))
    (tmp_path / "old.toml").write_text(AGREEMENT)
    (tmp_path / "policy.json").write_text(
        json.dumps({"no-queue-outside-agreement": {"agreement": str(tmp_path / "old.toml")}})
    )
    refused = project.preview(*arguments)
    assert refused.code != 0
    assert "ClusterQueue/search is not in the agreement of lab; did you mean ClusterQueue/research?" in " ".join(
        refused.said.split()
    )
