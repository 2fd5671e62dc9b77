"""Names are checked against what is really made: `check` finds nothing exactly where every object has a name of its own."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large import FILES, many_teams, plan_of
from samples import LAB, ONE_FLAVOR, PRODUCTION, findings, plan

from tenancy.agreement import Agreement, errors
from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import access, names
from tenancy.objects.access import Namespaces
from tenancy.objects.identity import kind_of, reference
from tenancy.objects.kinds import Part, versions
from tenancy.objects.loading import CHECKS, check, validate
from tenancy.objects.registry import OBJECTS, refusals
from tenancy.objects.schedulers import Scheduler
from tenancy.review.render import rendered

# Names that builders make of other names: of teams with a prod or a reserved part, of the cluster, of flavors, of KAI's chart.
TEAMS = (
    "a",
    "a-shared",
    "a-reserved",
    "a-prod",
    "a-never-lent",
    "a-prod-shared",
    "shared",
    "pool",
    "default",
    "b",
    "a-b",
)
TEAMS += ("default-queue", "default-parent-queue", "default-parent", "a-gpu", "c", "c-hosts", "gpu", "l" * 50, "l" * 57)
FLAVORS = ("gpu", "fast", "b-fast", "b-gpu", "shared-gpu", "queue", "reserved", "prod", "default", "pool", "l" * 58)
DEPARTMENTS = ("a", "d", "shared", "a-shared", "c", "a-prod", "default-queue")
POOLS = (None, None, None, "one", "default", "A_1", "gpu")
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", re.ASCII)


def some(items: tuple[Any, ...], most: int, least: int = 0) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(items), min_size=least, max_size=most, unique=True)


@st.composite
def adversarial(draw: st.DrawFn) -> dict[str, Any]:
    """The values of an agreement in whose names alone something may be wrong."""
    departments = draw(some(DEPARTMENTS, 2))
    flavors: dict[str, Any] = {}
    for name in draw(some(FLAVORS, 3, 1)):
        flavors[name] = {"nodes": 4, "gpus_per_node": 8}
        if pool := draw(st.sampled_from(POOLS)):
            flavors[name]["node_labels"] = {"kai.scheduler/node-pool": pool, "which": name}
        if draw(st.integers(0, 3)) == 0:
            flavors[name]["topology"] = "c-hosts"
    teams: dict[str, Any] = {}
    for name in draw(some(TEAMS, 4, 1)):
        parts = draw(st.sampled_from([(8, 0), (8, 4), (8, 8), (4, 4), (0, 0), (0, 8), (4, 8), (4, 0)]))
        of = draw(some(tuple(flavors), len(flavors)))
        teams[name] = {"guaranteed": dict.fromkeys(of, 8)}
        teams[name] |= {key: dict.fromkeys(of, part) for key, part in zip(("lendable", "prod"), parts, strict=True)}
        if departments and draw(st.booleans()):
            teams[name]["department"] = draw(st.sampled_from(departments))
    return {
        "cluster": {"name": draw(st.sampled_from(["c", "a", "shared"]))},
        "topologies": {"c-hosts": {"levels": ["kubernetes.io/hostname"]}},
        "flavors": flavors,
        "departments": {name: {} for name in departments},
        "priorities": {"a": 5},
        "teams": teams,
    }


def rendered_objects(plan: Plan) -> list[dict[str, Any]]:
    """All that `render` makes, whatever the names; of KAI also where the names are wrong."""
    return [one for scheduler in Scheduler for one in OBJECTS[scheduler].objects(plan)] + access.objects(
        plan, Namespaces.OPERATOR
    )


def are_fine(objects: list[dict[str, Any]]) -> bool:
    """Each name is given once, no chart makes it too, and a cluster takes it: the rules of the API server, not our table."""
    every = objects + [one for scheduler in Scheduler for one in OBJECTS[scheduler].chart()]
    once = max(Counter(map(reference, every)).values()) == 1
    queues = [one["metadata"]["name"] for one in objects if kind_of(one) in ("Queue", "SchedulingShard", "Cohort")]
    taken = all(NAME.fullmatch(one["metadata"]["name"]) for one in objects)
    return once and taken and all(len(name) <= 63 for name in queues)


@settings(max_examples=400, deadline=None)
@given(values=adversarial())
def test_check_finds_nothing_exactly_where_every_object_has_a_name_of_its_own(values: dict[str, Any]) -> None:
    agreement = Agreement.model_validate(values)
    made = make_plan(agreement)
    found = list(names.names(agreement))
    assert bool(found) is not are_fine(rendered_objects(made))
    assert len({(finding.path, finding.message) for finding in found}) == len(found)
    if not errors(check(agreement)):
        folders = {file.split("/")[0] for file in rendered(made)}
        assert {*folders, *refusals(made)} >= set(Scheduler)
        assert all("one node pool" in why for why in refusals(made).values())


@pytest.mark.parametrize("case", [*(file.name for file in FILES), "many teams"])
def test_what_is_checked_is_what_is_rendered(case: str) -> None:
    """The objects with their origins are those of the files, in the order in which a cluster needs them."""
    made = next((plan_of(file) for file in FILES if file.name == case), None) or many_teams(7, 3)
    for scheduler in Scheduler:
        row = OBJECTS[scheduler]
        assert [one for _, one in row.origins(made)] == [one for _, group in row.files(made) for one in group]
        assert {kind_of(one) for _, one in row.origins(made)} <= versions(Part.QUOTAS, scheduler).keys()
    wide = [one for _, one in access.cluster_origins(made)]
    operator = access.objects(made, Namespaces.OPERATOR)
    assert sorted(map(reference, wide)) == sorted(
        reference(entry)
        for entry in operator
        if "namespace" not in entry["metadata"] and entry["kind"] not in ("Namespace", "Profile")
    )


@pytest.mark.parametrize("file", [LAB, PRODUCTION.read_text("utf-8")], ids=["lab", "production"])
def test_every_path_is_a_place_of_the_agreement(file: str) -> None:
    made = plan(file)
    for scheduler in Scheduler:
        row = OBJECTS[scheduler]
        for path, body in row.origins(made):
            assert path[0] == "cluster" or str(path[1]) in body["metadata"]["name"]


def test_the_issues_own_example_is_refused_by_name() -> None:
    text = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 12\nprod = 8\n[teams.a-shared]\nguaranteed = 8\n"
    (advice, error) = findings(text, "t.toml")
    assert advice.startswith("t.toml:2:2: advice: cluster.guarantee_on")
    assert error == (
        "t.toml:11:8: teams.a-shared: its KAI Queue 'a-shared' is also made by teams.a; give one of them another name"
    )


TWO = ONE_FLAVOR + "[flavors.fast]\nnodes = 2\ngpus_per_node = 8\n[teams.b]\n"
# A whole agreement → what `check` says of it.
SAID: dict[str, tuple[str, list[str]]] = {
    "a flavor of the default shard's name": (
        TWO.replace("fast", "default"),
        [
            "flavors.default: its SchedulingShard 'default' is also made by KAI's own chart; give one of them another name"
        ],
    ),
    "two queues of one name": (
        TWO + "[flavors.b-fast]\nnodes = 1\ngpus_per_node = 8\n[teams.a]\n[teams.a-b]\n",
        ["teams.a-b: its KAI Queue 'a-b-fast' is also made by teams.a; give one of them another name"],
    ),
    "a queue of the chart's": (
        TWO.replace("fast", "queue") + "[teams.default]\n",
        ["teams.default: its KAI Queue 'default-queue' is also made by KAI's own chart; give one of them another name"],
    ),
    "a name too long for a label": (
        TWO + f"[teams.{'a' * 60}]\n",
        [f"teams.{'a' * 60}: its KAI Queue '{'a' * 20}…' has 64 characters; at most 63 are allowed"],
    ),
    "a pool that is no name": (
        ONE_FLAVOR + "node_labels = { 'kai.scheduler/node-pool' = 'A_1' }\n[teams.b]\n",
        [
            (
                "flavors.gpu.node_labels.\"kai.scheduler/node-pool\": its SchedulingShard 'A_1' is not a name that a cluster accepts; "
                "use lower-case letters, digits, '-' and '.', a letter or digit at both ends, for instance 'a-1'"
            )
        ],
    ),
    "a flavor of a bad name, and of each team's queues only that": (
        TWO.replace("fast", "Fast") + "[teams.c]\n",
        [
            (
                "flavors.Fast: 'Fast' is not a name that a cluster accepts; use lower-case letters, digits, '-' and '.', a letter or "
                "digit at both ends, for instance 'fast'"
            )
        ],
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_a_name_that_only_kai_would_refuse_is_said_of_its_part_of_the_agreement(case: str) -> None:
    text, expected = SAID[case]
    assert [finding for finding in findings(text) if not finding.startswith("advice")] == expected


def test_names_are_said_beside_everything_else_that_is_wrong() -> None:
    """Amounts above their whole make no queues that the mended agreement would not have."""
    text = ONE_FLAVOR.replace("[flavors", 'prod_priority = "none"\n[flavors') + (
        "[flavors.cut]\nnodes = 1\ngpus_per_node = 1\nmig = { gpu = 'A100-80GB', profile = 'none' }\n"
        "[teams.a]\nguaranteed = { gpu = 8 }\nlendable = { gpu = 12 }\nhighest_priority = 'none'\n"
        "[teams.a-reserved]\ndepartment = 'none'\n[teams.A]\n[teams.a-gpu]\n"
    )
    said = [finding.split(": ")[0] for finding in findings(text) if not finding.startswith("advice")]
    assert sorted(said) == [
        "cluster.prod_priority",
        "flavors.cut.mig.profile",
        "teams.A",
        "teams.a-reserved.department",
        "teams.a.highest_priority",
        "teams.a.lendable.gpu",
    ]


def test_whoever_reads_an_agreement_gets_the_checks_of_names() -> None:
    assert names.names in CHECKS
    values = {"cluster": {"name": "c"}, "flavors": {"gpu": {"nodes": 1, "gpus_per_node": 8}}, "teams": {"shared": {}}}
    _, found = validate(values)
    assert [finding.message for finding in errors(found)] == [
        "its KAI Queue 'shared' is also made by the agreement itself"
    ]
