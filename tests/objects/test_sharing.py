"""`[sharing]` as objects and as Kueue's Configuration, and what is said of it."""

from __future__ import annotations

import pytest
import yaml
from samples import ONE_FLAVOR, findings, kueue_objects, plan

from tenancy.lab import tools
from tenancy.objects import configuration
from tenancy.objects.schedulers import Scheduler
from tenancy.review import fidelity
from tenancy.review.fidelity import Level
from tenancy.review.render import KUEUE_VALUES, rendered

FAIR = "[sharing]\npolicy = 'fair'\n"
TEAMS = """
[departments.d]
weight = 0.5
[teams.a]
department = 'd'
guaranteed = 8
weight = 2
[teams.b]
guaranteed = 8
prod = 2
weight = 0
"""
USAGE = (
    "[sharing.usage]\nhalf_life = '1h30m'\nsampling_interval = '10s'\nresource_weights = { cpu = 0, memory = 0.5 }\n"
)
TWO = ONE_FLAVOR + "[flavors.other]\nnodes = 1\ngpus_per_node = 8\nnode_labels = { a = 'b' }\n"
WITH_PROD = "[teams.a]\nguaranteed = { gpu = 8 }\nprod = { gpu = 2 }\n"


def weights(text: str) -> dict[str, str]:
    found = kueue_objects(text)
    return {
        name: one["spec"]["fairSharing"]["weight"]
        for name, one in found.items()
        if "fairSharing" in one.get("spec", {})
    }


def test_weights_stand_on_the_node_of_the_team_and_of_the_department() -> None:
    assert weights(ONE_FLAVOR + FAIR + TEAMS) == {"Cohort/d": "500m", "ClusterQueue/a": "2", "Cohort/b": "0"}


def test_weights_that_kueue_does_not_read_are_not_written_and_that_is_said() -> None:
    text = ONE_FLAVOR + TEAMS
    assert weights(text) == {}
    (verdict,) = [
        verdict
        for verdict in fidelity.verdicts(plan(text))
        if verdict.promise == "weights" and verdict.scheduler is Scheduler.KUEUE
    ]
    assert verdict.level is Level.REFUSED


def test_every_queue_orders_by_usage_where_that_is_agreed() -> None:
    found = kueue_objects(ONE_FLAVOR + USAGE + TEAMS)
    modes = {name: one["spec"].get("admissionScope") for name, one in found.items() if name.startswith("ClusterQueue/")}
    assert len(modes) == 3
    assert {str(mode) for mode in modes.values()} == {str({"admissionMode": "UsageBasedAdmissionFairSharing"})}


def test_the_configuration_is_as_the_agreement_shares() -> None:
    values = rendered(plan(ONE_FLAVOR + FAIR + USAGE + TEAMS))[KUEUE_VALUES]
    made = yaml.safe_load(yaml.safe_load(values)["managerConfig"]["controllerManagerConfigYaml"])
    assert made["fairSharing"] == {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    assert made["admissionFairSharing"] == {
        "usageHalfLifeTime": "5400s",
        "usageSamplingInterval": "10s",
        "resourceWeights": {"cpu": 0.0, "memory": 0.5},
    }
    assert {key: made[key] for key in configuration.CHART_DEFAULTS} == configuration.CHART_DEFAULTS


def test_without_sharing_kueue_needs_nothing() -> None:
    assert KUEUE_VALUES not in rendered(plan(ONE_FLAVOR + TEAMS))


@pytest.mark.lab
def test_the_defaults_are_those_of_the_chart() -> None:
    values = yaml.safe_load((tools.module_dir("kueue") / "charts/kueue/values.yaml").read_text())
    assert yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"]) == configuration.CHART_DEFAULTS


def test_a_guarantee_that_goes_by_shares_is_named() -> None:
    assert [finding for finding in findings(TWO + FAIR + WITH_PROD) if "sharing.policy" in finding]
    (verdict,) = [
        verdict for verdict in fidelity.verdicts(plan(TWO + FAIR + WITH_PROD)) if verdict.promise == "guaranteed"
    ][:1]
    assert verdict.level is Level.APPROXIMATE and verdict.subjects == ("a (gpu)",)


@pytest.mark.parametrize(
    "text",
    [
        TWO + WITH_PROD,
        TWO.replace("[flavors.gpu]", "guarantee_on = 'queue'\n[flavors.gpu]") + FAIR + WITH_PROD,
        ONE_FLAVOR + FAIR + "[teams.a]\nguaranteed = 8\nprod = 2\n",
        TWO + FAIR + "[teams.a]\nguaranteed = { gpu = 8 }\n",
    ],
    ids=["first come", "on the queue", "one flavor", "no prod"],
)
def test_a_guarantee_that_does_not_is_exact(text: str) -> None:
    assert not [finding for finding in findings(text) if "sharing.policy" in finding]
    (verdict,) = [verdict for verdict in fidelity.verdicts(plan(text)) if verdict.promise == "guaranteed"][:1]
    assert verdict.level is Level.EXACT
