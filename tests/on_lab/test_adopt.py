"""A live set that somebody else applied becomes an agreement and the stack's own, and no object is made anew."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tenancy.agreement.plan import Plan
from tenancy.cli import app
from tenancy.lab import lab

from .stacks import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

THEIRS = textwrap.dedent("""
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ResourceFlavor
    metadata: {name: h100}
    spec: {nodeLabels: {tenancy.dev/flavor: gpu}}
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata: {name: vision}
    spec:
      cohortName: theirs
      namespaceSelector: {matchLabels: {tenancy.dev/team: vision}}
      flavorFungibility: {whenCanBorrow: TryNextFlavor}
      preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
      resourceGroups:
      - coveredResources: [cpu, memory, nvidia.com/gpu]
        flavors:
        - name: h100
          resources:
          - {name: cpu, nominalQuota: 128}
          - {name: memory, nominalQuota: 1Ti}
          - {name: nvidia.com/gpu, nominalQuota: 16}
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata: {name: speech}
    spec:
      cohortName: theirs
      namespaceSelector: {matchLabels: {tenancy.dev/team: speech}}
      preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
      resourceGroups:
      - coveredResources: [cpu, memory, nvidia.com/gpu]
        flavors:
        - name: h100
          resources:
          - {name: cpu, nominalQuota: 128, borrowingLimit: 64}
          - {name: memory, nominalQuota: 1Ti, borrowingLimit: 512Gi}
          - {name: nvidia.com/gpu, nominalQuota: 16, borrowingLimit: 8}
    ---
    apiVersion: v1
    kind: Namespace
    metadata: {name: their-speech, labels: {tenancy.dev/team: speech}}
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: default, namespace: their-speech}
    spec: {clusterQueue: speech}
""")
AGREED = """\
[cluster]
name = "theirs"

[flavors.h100]
nodes = 4
gpus_per_node = 8
node_labels = {"tenancy.dev/flavor" = "gpu"}

[teams.speech]
guaranteed = 16
borrowable = 8
namespaces = ["their-speech"]

[teams.vision]
guaranteed = 16
"""


THEIR_KAI = textwrap.dedent("""
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata: {name: shared}
    spec:
      displayName: everybody
      resources:
        gpu: {quota: 32, limit: 32, overQuotaWeight: 1}
        cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
        memory: {quota: -1, limit: -1, overQuotaWeight: 1}
    ---
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata: {name: vision, labels: {their: mark}}
    spec:
      parentQueue: shared
      resources:
        gpu: {quota: 16, limit: -1, overQuotaWeight: 1}
        cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
        memory: {quota: -1, limit: -1, overQuotaWeight: 1}
    ---
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata: {name: speech}
    spec:
      parentQueue: shared
      resources:
        gpu: {quota: 16, limit: 24, overQuotaWeight: 1}
        cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
        memory: {quota: -1, limit: -1, overQuotaWeight: 1}
""")
QUEUES = "queues.scheduling.run.ai"


@pytest.fixture
def project(empty: Path, tmp_path: Path) -> Iterator[Project]:
    """A stack of the program, on a cluster with their queues."""
    result = Project(tmp_path, empty)
    result.wipe()
    result.kubectl("apply", "--filename=-", given=THEIRS)
    result.kubectl("label", "clusterqueue", "vision", "their=mark", "--field-manager=their-tool")
    yield result
    result.wipe()
    result.kubectl("delete", "namespace", "their-speech", "--wait=false")


def read(project: Project) -> dict[str, Any]:
    """What `tenancy import` says, with the agreement and the import file in the project."""
    agreement, records = project.folder / "tenancy.toml", project.folder / "import.json"
    files = ["--out", str(agreement), "--pulumi", str(records), "--stack", project.stack]
    done = CliRunner().invoke(app, ["import", "--kubeconfig", str(project.kubeconfig), "--json", *files])
    assert done.exit_code == 1, done.stderr
    return dict(json.loads(done.stdout))


def ids(project: Project) -> dict[str, str]:
    return {name: value["metadata"]["uid"] for name, value in project.on_cluster().items()}


def test_queues_of_others_are_adopted_and_none_is_made_anew(project: Project) -> None:
    said = read(project)
    assert said["agreement"].split("\n\n", 1)[1] == AGREED
    told = {(entry["object"], entry["path"]): (entry["fate"], entry["becomes"]) for entry in said["unsaid"]}
    borrow = "spec.flavorFungibility.whenCanBorrow"
    assert told == {
        ("ClusterQueue/vision", "metadata.labels[their]"): ("kept", None),
        ("ClusterQueue/vision", borrow): ("changed", "MayStopSearch"),
    }
    before = ids(project)

    # The provider first: a record names the provider that its object is written with.
    project.set(adopt="true")
    provider = f"urn:pulumi:{project.stack}::tenancy::pulumi:providers:kubernetes::cluster"
    project.up("--target", provider).ok()
    project.set(adopt="false")
    assert ids(project) == before
    quiet = ("--yes", "--skip-preview", "--generate-code=false", "--protect=false")
    project.pulumi("import", "--file", "import.json", *quiet).ok()

    preview = json.loads(project.pulumi("preview", "--json").ok().said)
    steps = {step["urn"].rpartition("$")[2]: step["op"] for step in preview["steps"]}
    assert set(steps.values()) == {"same", "update", "create"}
    assert [name for name, op in steps.items() if op == "create"] == [  # a root that was only named, and a label
        "kubernetes:kueue.x-k8s.io/v1beta2:Cohort::agreement-theirs",
        "kubernetes:core/v1:NamespacePatch::agreement-their-speech",
    ]
    project.up().ok()
    assert {**ids(project), **before} == ids(project), "no object is another now"
    vision = project.on_cluster()["ClusterQueue/vision"]
    assert vision["metadata"]["labels"]["their"] == "mark"
    assert vision["spec"]["flavorFungibility"]["whenCanBorrow"] == "MayStopSearch"
    assert "unchanged" in project.preview("--refresh", "--expect-no-changes").ok().said


def test_a_stack_that_adopts_needs_no_record_and_takes_what_kubectl_wrote_with_its_first_update(
    project: Project,
) -> None:
    read(project)
    before, borrow = ids(project), "MayStopSearch"
    project.set(adopt="true")
    project.up().ok()
    assert {**ids(project), **before} == ids(project)
    assert project.on_cluster()["ClusterQueue/vision"]["spec"]["flavorFungibility"]["whenCanBorrow"] == "TryNextFlavor"
    said = read(project)
    assert {entry["path"]: entry["becomes"] for entry in said["unsaid"]} == {
        "metadata.labels[their]": None,
        "spec.flavorFungibility.whenCanBorrow": borrow,
    }
    assert said["agreement"].split("\n\n", 1)[1] == AGREED

    project.agree(AGREED.replace("[teams.vision]\nguaranteed = 16", "[teams.vision]\nguaranteed = 8"))
    project.up().ok()
    vision = project.on_cluster()["ClusterQueue/vision"]
    assert vision["spec"]["flavorFungibility"]["whenCanBorrow"] == borrow
    assert vision["metadata"]["labels"]["their"] == "mark"


@pytest.fixture
def on_kai(labs: Path, plan: Plan, tmp_path: Path) -> Iterator[Project]:
    """The same for KAI."""
    project = Project(tmp_path, lab.up(plan, "adopt-kai", ("kai",)).kubeconfig)
    project.kubectl("apply", "--filename=-", given=THEIR_KAI)
    project.set(schedulers='["kai"]', adopt="true")
    yield project
    lab.down("adopt-kai")


def test_queues_of_kai_are_adopted_too(on_kai: Project) -> None:
    def queues() -> dict[str, Any]:
        found = json.loads(on_kai.kubectl("get", QUEUES, "--output=json"))["items"]
        return {entry["metadata"]["name"]: entry for entry in found}

    before = queues()
    said = read(on_kai)
    assert "[teams.speech]\nguaranteed = 16\nborrowable = 8\n" in said["agreement"]
    on_kai.up().ok()
    after = queues()
    assert {name: value["metadata"]["uid"] for name, value in after.items()} == {
        name: value["metadata"]["uid"] for name, value in before.items()
    }
    assert {name: value["spec"]["resources"] for name, value in after.items()} == {
        name: value["spec"]["resources"] for name, value in before.items()
    }
    assert after["vision"]["metadata"]["labels"]["their"] == "mark"
    assert "unchanged" in on_kai.preview("--refresh", "--expect-no-changes").ok().said
