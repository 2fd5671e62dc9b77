"""The stack `prod` as it stands, on a lab of the production agreement's full size: preview, up, nothing to do, no way to destroy.

Only the cluster is another: the lab's kubeconfig in place of the context that the file names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components import TenancyAgreementArgs
from tenancy.agreement.plan import make_plan
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.lab.folder import Folder
from tenancy.objects.access import Namespaces
from tenancy.objects.loading import load
from tenancy.objects.schedulers import Scheduler

from .stacks import ROOT, Project, lacking

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SAVES = {"PULUMI_SKIP_CHECKPOINTS": "false"}
SKIPS = {"PULUMI_SKIP_CHECKPOINTS": "true"}


def prod() -> dict[str, str]:
    """What Pulumi.prod.yaml sets, as Pulumi hands it to a program."""
    config = yaml.safe_load((ROOT / "Pulumi.prod.yaml").read_text())["config"]
    made = {
        key.removeprefix("tenancy:"): value if isinstance(value, str) else json.dumps(value)
        for key, value in config.items()
    }
    made.pop("context")
    return made | {"agreement": str(ROOT / made["agreement"])}


def wanted() -> list[dict[str, Any]]:
    """Every object of the stack, as its builders make it."""
    settings = prod()
    loaded = load(settings["agreement"])
    assert loaded.agreement
    schedulers = tuple(map(Scheduler, json.loads(settings["schedulers"])))
    namespaces = Namespaces(settings["namespaces"])
    args = TenancyAgreementArgs(agreement=loaded.agreement, schedulers=schedulers, namespaces=namespaces)
    return [dict(one) for one in args.objects()]


def operator_kind() -> dict[str, Any]:
    """NamespaceConfig as a kind, for a cluster whose operator is not there: the API server keeps the object, nobody reads it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "NamespaceConfig", "listKind": "NamespaceConfigList", "plural": "namespaceconfigs"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "namespaceconfigs.redhatcop.redhat.io"},
        "spec": {
            "group": "redhatcop.redhat.io",
            "scope": "Cluster",
            "names": {**names, "singular": "namespaceconfig"},
            "versions": [version],
        },
    }


@pytest.fixture(scope="module")
def cluster(labs: Path) -> Iterator[Folder]:
    loaded = load(prod()["agreement"])
    assert loaded.agreement
    folder = lab.up(make_plan(loaded.agreement), "prod")
    apply(folder.kubeconfig, [operator_kind()])
    yield folder
    lab.down("prod")


@pytest.fixture(scope="module")
def stack(cluster: Folder, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("prod"), cluster.kubeconfig)
    project.set(**prod())
    return project


def test_prod_from_preview_to_a_destroy_that_is_refused(stack: Project) -> None:
    objects = wanted()
    assert "create" in stack.preview().ok().said
    assert not [
        one for one in objects if one["kind"] == "ClusterQueue" and stack.kubectl("get", "clusterqueues", "-o", "name")
    ]

    refused = stack.up(env=SKIPS)
    assert refused.code and "tenancy:checkpoints" in refused.said
    stack.up(env=SAVES).ok()
    for one in objects:
        kind, name = one["kind"], one["metadata"]["name"]
        space = one["metadata"].get("namespace")
        place = ["--namespace", space] if space else []
        there = json.loads(stack.kubectl("get", kind.lower(), name, *place, "--output=json"))
        assert list(lacking(one, there)) == [], f"{kind}/{name}"

    stack.preview("--refresh", "--expect-no-changes").ok()
    assert "unchanged" in stack.up(env=SAVES).ok().said

    before = stack.on_cluster()
    destroyed = stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress", env=SAVES)
    assert destroyed.code and "protect" in destroyed.said
    assert stack.on_cluster().keys() == before.keys()


def test_a_queue_that_left_the_stack_stays_and_is_named(stack: Project) -> None:
    """A team goes: refused while protected; once that is lifted its queue stays, with its quota, and no preview is silent."""
    text = Path(prod()["agreement"]).read_text()
    stack.agree(text[: text.index("[teams.platform]")])  # the last of the file
    stack.set(agreement="tenancy.toml")
    refused = stack.up(env=SAVES)
    assert refused.code and "protect" in refused.said, refused.said
    for urn in _of("platform", stack):
        stack.pulumi("state", "unprotect", urn, "--yes").ok()
    stack.up(env=SAVES).ok()
    assert "clusterqueue.kueue.x-k8s.io/platform" in stack.names("clusterqueues")
    left = stack.preview()
    assert left.code and "ClusterQueue/platform" in left.said


def _of(team: str, stack: Project) -> list[str]:
    state = json.loads(stack.pulumi("stack", "export").ok().said)["deployment"]["resources"]
    return [entry["urn"] for entry in state if entry.get("protect") and re.search(rf"-{team}(-|$)", entry["urn"])]
