"""The examples for library users, each run as its user would run it: Python from an installed wheel, YAML, TypeScript."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import wheels
import yaml

from components import TenancyAgreementArgs, agreement_from_file
from tenancy.agreement import Agreement, Cluster, Flavor, Team
from tenancy.agreement.plan import make_plan
from tenancy.objects.manifest import dump_all
from tenancy.review.render import rendered

from .stacks import ROOT, Stack, lacking

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EXAMPLES = ROOT / "examples"
# What the Python and the TypeScript example make of their headcount, 12, 6 and 6 people for 32 GPUs.
BY_HEADCOUNT = Agreement(
    cluster=Cluster(name="lab"),
    flavors={"gpu": Flavor(nodes=4, gpus_per_node=8)},
    teams={
        team: Team(guaranteed=32 * people // 24)
        for team, people in (("training", 12), ("research", 6), ("inference", 6))
    },
)


@pytest.fixture
def example(empty: Path, tmp_path: Path) -> Path:
    """An empty folder where an example would lie in a checkout, with what examples refer to in its place."""
    for name in ("provider", "tenancy.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    folder = tmp_path / "examples" / "it"
    folder.parent.mkdir()
    return folder


def copied(name: str, folder: Path) -> Path:
    left = shutil.ignore_patterns("node_modules", "sdks", "Pulumi.*.yaml", "__pycache__")
    shutil.copytree(EXAMPLES / name, folder, ignore=left)
    return folder


def whole_life(stack: Stack, agreement: Agreement, env: Mapping[str, str] | None = None) -> None:
    """`up` makes what `tenancy render` writes, a second one changes nothing, `destroy` leaves nothing."""
    plan = make_plan(agreement)
    files = [text for name, text in rendered(plan).items() if name.startswith("kueue/")]
    queues = [body for text in files for body in yaml.safe_load_all(text)]
    access = [
        entry for entry in TenancyAgreementArgs(agreement=agreement).objects() if "kueue" not in entry["apiVersion"]
    ]
    wanted = {f"{queue['kind']}/{queue['metadata']['name']}": queue for queue in [*queues, *access]}
    try:
        stack.up().ok()
        assert sorted(stack.on_cluster()) == sorted(f"{queue['kind']}/{queue['metadata']['name']}" for queue in queues)
        there = live(stack, wanted)
        assert [entry for name, body in wanted.items() for entry in lacking(body, there.get(name), name)] == []
        outputs = yaml.safe_load(stack.pulumi("stack", "output", "--json", env=env).ok().said)
        assert outputs["queues"] == {team.name: team.name for team in plan.teams}
        stack.up("--expect-no-changes", env=env).ok()
        stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress", env=env).ok()
        assert live(stack, wanted) == {}
    finally:
        stack.wipe()


def live(stack: Stack, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Those of these objects that are on the cluster."""
    given = dump_all(list(wanted.values()))
    found = stack.kubectl("get", "--filename=-", "--ignore-not-found", "--output=json", given=given)
    items = json.loads(found)["items"] if found.strip() else []
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in items}


def test_python_from_an_installed_wheel(empty: Path, example: Path) -> None:
    copied("library", example)
    python = installed(example.parent)
    (example / "Pulumi.yaml").write_text(
        "name: gpus\nruntime: {name: python, options: {virtualenv: ../venv}}\n"  # nothing of the checkout is in it
    )
    stack = Stack(example, empty)
    whole_life(stack, BY_HEADCOUNT)
    where = "import gpu_tenancy, gpu_tenancy.components as parts; print(parts.__path__[0], gpu_tenancy.__path__[0])"
    for package in subprocess.check_output([python, "-c", where], cwd=example, text=True).split():
        assert Path(package).is_relative_to(example.parent / "venv")
        assert (Path(package) / "py.typed").exists()


def installed(folder: Path) -> Path:
    """A new environment with the wheel of this checkout and what its `pulumi` extra asks for, at the locked versions."""
    locked = folder / "constraints.txt"
    pins = [line.partition(" ;")[0].rstrip(" \\") for line in (ROOT / "requirements.lock").read_text().splitlines()]
    locked.write_text("\n".join(pin for pin in pins if pin[:1].isalpha()))
    return wheels.environment(folder, "--constraint", locked, f"{wheels.built(folder)}[pulumi]")


def test_a_yaml_program(empty: Path, example: Path) -> None:
    stack = Stack(copied("yaml", example), empty, languages=("languages",))
    whole_life(stack, agreement_from_file(ROOT / "tenancy.toml"))


def test_a_yaml_program_with_a_wrong_agreement_is_told_in_its_own_words(empty: Path, example: Path) -> None:
    """One stack, several mistakes: each of them fails the preview, and none shows a stack of calls."""
    stack = Stack(copied("yaml", example), empty, languages=("languages",))
    program = yaml.safe_load((example / "Pulumi.yaml").read_text())
    given = program["resources"]["gpus"]["properties"]
    tables = {
        "cluster": {"name": "lab"},
        "flavors": {"gpu": {"nodes": 4, "gpus_per_node": 8}},
        "teams": {"training": {"guaranteed": 16, "lendable": 17}},
    }
    lends_too_much = "teams.training.lendable: 17 is more than guaranteed (16); write at most 16, or raise guaranteed"
    text = '[cluster]\nname = "lab"\n[flavors.gpu]\nnodes = 4\ngpus_per_node = 8\n[teams.training]\nguaranteed = 16\nlendable = 17\n'
    for agreement, said in (
        ({"file": "nowhere.toml"}, "nowhere.toml:1:1: cannot be read"),
        ({"text": text}, f"<agreement>:8:12: {lends_too_much}"),
        ({"tables": tables}, lends_too_much),
        ({"file": "../../tenancy.toml", "tables": tables}, "agreement: has file and tables; give it as one of"),
    ):
        given["agreement"] = agreement
        (example / "Pulumi.yaml").write_text(yaml.safe_dump(program))
        done = stack.preview()
        assert done.code != 0, done.said
        assert said in done.said
        assert "Traceback" not in done.said and 'File "' not in done.said


def test_the_parts_of_an_agreement_from_yaml(empty: Path, example: Path) -> None:
    """A team that brings its own queue beside a root that is another stack's: the component writes the team and no more."""
    example.mkdir()
    (example / "Pulumi.yaml").write_text(PARTS)
    stack = Stack(example, empty, languages=("languages",))
    try:
        stack.up().ok()
        assert sorted(stack.on_cluster()) == [
            "ClusterQueue/ranking",
            "ClusterQueue/ranking-prod",
            "Cohort/ranking",
            "ResourceFlavor/gpu",
            "Topology/zonal",
        ]
        queues = json.loads(stack.kubectl("get", "localqueues", "--namespace=nightly", "--output=json"))["items"]
        found = {queue["metadata"]["name"]: queue["spec"]["clusterQueue"] for queue in queues}
        assert found == {"default": "ranking", "prod": "ranking-prod"}
        shown = yaml.safe_load(stack.pulumi("stack", "output", "--json").ok().said)
        assert shown == {"queue": "ranking", "prod": "ranking-prod", "flavor": "gpu", "topology": "zonal"}
        stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress").ok()
    finally:
        stack.wipe()


PARTS = """
name: parts
runtime: yaml
packages: {tenancy: ../../provider}
variables:
  agreement:
    text: |
      [cluster]
      name = "lab"
      [topologies.zonal]
      levels = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
      [flavors.gpu]
      nodes = 4
      gpus_per_node = 8
      topology = "zonal"
      [teams.ranking]
      guaranteed = 16
      prod = 8
resources:
  tree: {type: "tenancy:TopologyTree", properties: {agreement: "${agreement}", topology: zonal}}
  hardware: {type: "tenancy:GpuFlavor", properties: {agreement: "${agreement}", flavor: gpu}, options: {dependsOn: ["${tree}"]}}
  ranking: {type: "tenancy:TeamQuota", properties: {agreement: "${agreement}", team: ranking}, options: {dependsOn: ["${hardware}"]}}
  nightly: {type: "tenancy:TeamNamespace", properties: {agreement: "${agreement}", team: ranking, namespace: nightly}, options: {dependsOn: ["${ranking}"]}}
outputs:
  queue: ${ranking.queueName}
  prod: ${ranking.prodQueueName}
  flavor: ${hardware.flavorName}
  topology: ${tree.topologyName}
"""


def test_a_typescript_program(empty: Path, example: Path) -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("Node.js is not installed")
    stack = Stack(copied("typescript", example), empty, languages=("languages",))
    lock = (example / "package-lock.json").read_text()
    stack.pulumi("install").ok()
    assert (example / "package-lock.json").read_text() == lock  # what is committed is what npm makes of package.json
    assert '"resolved": "http' not in lock
    # The first run checks types, as a user's does; the later ones would only check the same ones again, and take as long.
    whole_life(stack, BY_HEADCOUNT, {"PULUMI_NODEJS_TRANSPILE_ONLY": "true"})
