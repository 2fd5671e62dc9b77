"""A stack's configuration, and the program that reads it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import set_all_config

from components import Settings, TenancyAgreementArgs
from tenancy.objects.access import Namespaces
from tenancy.objects.loading import load
from tenancy.objects.schedulers import Scheduler

ROOT = Path(__file__).resolve().parents[2]


def settings(monkeypatch: pytest.MonkeyPatch, **values: str) -> Settings:
    """The settings of a stack whose configuration file says this; Pulumi hands a program text only."""
    config = {f"tenancy:{key}": value for key, value in values.items()}
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(config))
    set_all_config(config)
    return Settings.of_stack()


def test_an_agreement_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings(monkeypatch, agreement="tenancy.toml") == Settings(agreement="tenancy.toml")


def test_nothing_is_protected_adopted_or_removed_unless_a_stack_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = settings(monkeypatch, agreement="tenancy.toml")
    assert (setting.protect, setting.adopt, setting.prune) == (False, False, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["kai"]', ("kai",)),
        ('["kueue", "kai"]', ("kueue", "kai")),
        ("kai", ("kai",)),
        ("kueue, kai", ("kueue", "kai")),
    ],
)
def test_schedulers_are_a_list_or_what_config_set_leaves(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: tuple[str, ...]
) -> None:
    assert settings(monkeypatch, agreement="x", schedulers=value).schedulers == tuple(map(Scheduler, expected))


@pytest.mark.parametrize(("skips", "refused"), [("true", True), ("1", True), ("false", False), ("", False)])
def test_an_update_without_checkpoints_is_refused_where_a_stack_says_so(
    monkeypatch: pytest.MonkeyPatch, skips: str, refused: bool
) -> None:
    monkeypatch.setenv("PULUMI_SKIP_CHECKPOINTS", skips)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)
    assert settings(monkeypatch, agreement="x").checkpoints is False
    if refused:
        with pytest.raises(pulumi.RunError, match="unset it for this stack"):
            settings(monkeypatch, agreement="x", checkpoints="true")
    else:
        assert settings(monkeypatch, agreement="x", checkpoints="true").checkpoints
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    assert settings(monkeypatch, agreement="x", checkpoints="true").checkpoints


def test_all_that_is_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        settings(monkeypatch, protct="true", schedulers='["kueu"]')
    assert str(refused.value).splitlines() == [
        "tenancy:protct is not a setting; did you mean tenancy:protect?",
        "tenancy:schedulers: 'kueu' is not a scheduler; choose from kueue, kai",
        "tenancy:agreement is not set: pulumi config set tenancy:agreement tenancy.toml",
    ]


@pytest.mark.parametrize("value", ["listed", "operator"])
def test_who_writes_what_a_namespace_gets(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert settings(monkeypatch, agreement="x", namespaces=value).namespaces == Namespaces(value)
    assert settings(monkeypatch, agreement="x").namespaces is Namespaces.LISTED


def test_an_unknown_writer_is_told_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pulumi.RunError, match="tenancy:namespaces: 'opreator' is not one of listed, operator"):
        settings(monkeypatch, agreement="x", namespaces="opreator")


def test_one_timeout_is_for_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts = settings(monkeypatch, agreement="x", timeout="5m").options(provider=None).custom_timeouts  # type: ignore[arg-type]
    assert timeouts
    assert (timeouts.create, timeouts.update, timeouts.delete) == ("5m", "5m", "5m")


# --- the stacks of this repo ------------------------------------------------------------------------------------------


def stack(name: str) -> dict[str, Any]:
    config = yaml.safe_load((ROOT / f"Pulumi.{name}.yaml").read_text())["config"]
    return {key.removeprefix("tenancy:"): value for key, value in config.items()}


@pytest.mark.parametrize("name", ["dev", "prod", "rehearsal"])
def test_a_stack_of_this_repo_sets_what_there_is(name: str) -> None:
    assert set(stack(name)) <= {field.name for field in fields(Settings)}


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_a_stack_of_this_repo_can_be_written(name: str) -> None:
    agreement = load(ROOT / stack(name)["agreement"]).agreement
    assert agreement
    TenancyAgreementArgs(agreement=agreement, schedulers=tuple(map(Scheduler, stack(name)["schedulers"])))


def test_prod_protects_removes_nothing_waits_no_longer_than_it_says_and_names_its_cluster() -> None:
    prod = stack("prod")
    assert (prod["protect"], prod["adopt"], prod["prune"]) == ("true", "false", "false")
    assert prod["timeout"]
    assert prod["namespaces"] == "operator"
    assert prod["context"]


def test_the_program_is_short() -> None:
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 60
