"""What is rendered and what Pulumi registers are the same objects."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml
from recorder import plain, run
from stack_agreements import AGREEMENTS

from components import TenancyAgreement, TenancyAgreementArgs
from components.objects import WRITE_ANNOTATIONS
from tenancy.agreement.plan import make_plan
from tenancy.objects import access
from tenancy.objects.access import Namespaces
from tenancy.objects.identity import kind_of, reference
from tenancy.objects.kinds import KINDS
from tenancy.objects.loading import load
from tenancy.objects.manifest import dump_all
from tenancy.objects.schedulers import Scheduler
from tenancy.review.render import KUEUE_VALUES, rendered

ROOT = Path(__file__).resolve().parents[2]
KUEUE, KAI = Scheduler.KUEUE, Scheduler.KAI
Objects = dict[str, Any]


def from_files(file: Path, *schedulers: Scheduler, namespaces: Namespaces = Namespaces.LISTED) -> Objects:
    """The objects of `tenancy render`, read back from the text it writes. It writes for all schedulers; for fewer, what
    people may do is told of fewer queues."""
    agreement = load(file).agreement
    assert agreement
    plan = make_plan(agreement)
    texts = {name: value for name, value in rendered(plan, namespaces).items() if name.endswith(".yaml")}
    if len(schedulers) == 1:
        made = access.files(plan, namespaces, kueue=KUEUE in schedulers, kai=KAI in schedulers)
        texts = {name: text for name, text in texts.items() if name.startswith(f"{schedulers[0]}/")}
        texts |= {name: dump_all(objects) for name, objects in made if objects}
    return by_name([one for name, text in texts.items() if name != KUEUE_VALUES for one in yaml.safe_load_all(text)])


def from_pulumi(file: Path, *schedulers: Scheduler, namespaces: Namespaces = Namespaces.LISTED) -> Objects:
    """The objects as they go over the wire to the provider, less what tells the provider how to write them."""
    agreement = load(file).agreement
    assert agreement
    args = TenancyAgreementArgs(agreement=agreement, schedulers=schedulers, namespaces=namespaces)
    found = [resource.inputs for resource in run(lambda: TenancyAgreement("a", args)) if resource.is_object]
    for one in found:
        annotations = one["metadata"]["annotations"]
        assert WRITE_ANNOTATIONS.items() <= annotations.items()
        one["metadata"]["annotations"] = {
            key: text for key, text in annotations.items() if key not in WRITE_ANNOTATIONS
        }
        if not one["metadata"]["annotations"]:
            del one["metadata"]["annotations"]
    return by_name(found)


def by_name(objects: list[Any]) -> Objects:
    named = {reference(one): plain(one) for one in objects}
    assert len(named) == len(objects)
    return named


@pytest.mark.parametrize(
    ("file", "scheduler"),
    [
        pytest.param(file, scheduler, id=f"{name}, {scheduler}")
        for name, (file, for_) in AGREEMENTS.items()
        for scheduler in for_
    ],
)
def test_rendered_and_registered_are_equal(file: Path, scheduler: Scheduler) -> None:
    files, registered = from_files(file, scheduler), from_pulumi(file, scheduler)
    assert sorted(files) == sorted(registered)
    for name, one in files.items():
        assert registered[name] == one, name


def test_what_the_operator_gets_is_equal_too() -> None:
    file = AGREEMENTS["namespaces"][0]
    files = from_files(file, KUEUE, namespaces=Namespaces.OPERATOR)
    assert "NamespaceConfig/tenancy" in files
    assert not any(file.startswith("LocalQueue/") for file in files)
    assert from_pulumi(file, KUEUE, namespaces=Namespaces.OPERATOR) == files


def test_both_schedulers_together_are_both_alone() -> None:
    file = AGREEMENTS["lab"][0]
    assert from_pulumi(file, KUEUE, KAI) == from_pulumi(file, KUEUE) | from_pulumi(file, KAI)


@pytest.mark.parametrize("namespaces", Namespaces)
@pytest.mark.parametrize("name", ["production", "namespaces"])
def test_what_the_preflight_asks_about_is_what_is_registered(name: str, namespaces: Namespaces) -> None:
    """Two kinds of Topology among them."""
    file = AGREEMENTS[name][0]
    agreement = load(file).agreement
    assert agreement
    args = TenancyAgreementArgs(agreement=agreement, schedulers=(KUEUE, KAI), namespaces=namespaces)
    assert by_name(args.objects()) == from_pulumi(file, KUEUE, KAI, namespaces=namespaces)
    for one in args.objects():
        assert args.kinds[kind_of(one)] == one["apiVersion"]
        assert kind_of(one) in KINDS


def test_components_build_no_object_of_their_own() -> None:
    """No literal in `components` has the keys of an object; they come from the builders."""
    keys = {
        (path.name, key.value)
        for path in (ROOT / "components").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    }
    assert not {key for _, key in keys} & {"apiVersion", "kind", "spec", "labels", "name", "resourceGroups"}
