"""What changes from one agreement to the other: numbers, who pays, what becomes impossible, what else is said, and objects."""

from __future__ import annotations

import csv
import importlib.util
import itertools

import pytest
from hypothesis import given, settings
from samples import LAB, ONE_FLAVOR, PRODUCTION, ROOT, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import make_plan
from tenancy.objects.schedulers import Scheduler
from tenancy.review.diff import Action, Difference, Limit, Party, compare
from tenancy.review.diff.facts import renamed
from tenancy.review.diff.owners import owners
from tenancy.review.diff.words import story

VENUS = ROOT / "examples" / "venus.toml"
VENUS_LATER = ROOT / "examples" / "venus-2020-07-21.toml"
QUOTAS = ROOT.parent / "shared" / "data" / "venus-quotas.csv"  # beside a developer's checkout


def change(*edits: tuple[str, str], of: str = LAB) -> Difference:
    """What it makes of an agreement when these texts in it become others."""
    text = of
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return compare(plan(of), plan(text))


def told(difference: Difference) -> str:
    return " ".join(story(difference))


# --- the change as a person tells it


def test_the_change_of_venus_reads_as_a_person_would_tell_it() -> None:
    difference = compare(plan(VENUS.read_text()), plan(VENUS_LATER.read_text()))
    assert story(difference) == [
        "vcbIW is new and gets 128 GPUs: 80 from vcvGl, 48 from vcYVn.",
        "All other teams are unchanged: 15 teams.",
    ]


def test_the_way_back_says_who_leaves_what_to_whom() -> None:
    difference = compare(plan(VENUS_LATER.read_text()), plan(VENUS.read_text()))
    assert story(difference)[0] == "vcbIW leaves the agreement and frees 128 GPUs: 80 to vcvGl, 48 to vcYVn."


def test_every_change_of_the_real_quotas_is_told_with_all_who_give_and_get() -> None:
    if not QUOTAS.exists():
        pytest.skip(f"{QUOTAS} is not there")
    spec = importlib.util.spec_from_file_location("venus", ROOT / "examples" / "venus.py")
    assert spec and spec.loader
    venus = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(venus)
    with QUOTAS.open(newline="") as stream:
        days = {row["date"]: venus.quotas(row) for row in csv.DictReader(stream)}
    dates = list(days)
    moved = [(a, b) for a, b in itertools.pairwise(dates) if days[a] != days[b]]
    assert moved
    for a, b in moved:
        before, after = days[a], days[b]
        difference = compare(*(plan(_venus(venus, entry)) for entry in (before, after)))
        changes = {team: after.get(team, 0) - before.get(team, 0) for team in {*before, *after}}
        (balance,) = difference.balances
        sides = {side.team: side.amount for side in balance.takers} | {
            side.team: -side.amount for side in balance.givers
        }
        capacity = sum(before.values()) - sum(after.values())
        wanted = {team.lower(): gpus for team, gpus in changes.items() if gpus} | ({"": capacity} if capacity else {})
        assert sides == wanted
        sentence = told(difference)
        assert all(team in sentence for team, gpus in changes.items() if gpus), f"{a}: {sentence}"


def _venus(venus: object, quotas: dict[str, int]) -> str:
    text: str = venus.agreement("2020-04-01", {"2020-04-01": quotas})  # type: ignore[attr-defined]
    return text


def test_the_same_agreement_has_no_change() -> None:
    difference = change()
    assert difference.is_empty and not difference.is_less and told(difference) == "Nothing changes."


def test_what_is_lent_borrowed_and_set_aside_is_told_where_it_is_not_the_guarantee_s() -> None:
    difference = change(
        ("guaranteed = 16\nlendable = 8", "guaranteed = 16\nlendable = 4\nborrowable = 2\nprod = 4"),
    )
    assert story(difference)[:3] == [
        "training lends 4 of its 16 GPUs (before 8 of 16).",
        "training sets 4 GPUs aside for prod (before 0).",
        "training may borrow at most 2 GPUs (before no limit).",
    ]


def test_a_guarantee_that_takes_what_it_lends_along_is_told_once() -> None:
    assert told(change(("guaranteed = 8\nlendable = 8", "guaranteed = 4\nlendable = 4"))) == (
        "4 GPUs are no longer guaranteed to anybody and are open to all teams: all from research. All other teams are unchanged: 2 teams."
    )


def test_a_display_name_stands_beside_the_name_that_the_file_has() -> None:
    of = ONE_FLAVOR + '[teams.asr]\ndisplay_name = "Speech to Text"\nguaranteed = 8\n'
    assert told(change(("guaranteed = 8", "guaranteed = 16"), of=of)) == (
        "Speech to Text (asr) gets 8 more GPUs: all from the free pool."
    )


def test_new_nodes_pay_for_what_they_bring() -> None:
    difference = change(("nodes = 4", "nodes = 6"), ("guaranteed = 16", "guaranteed = 24"))
    assert story(difference)[0] == "16 GPUs are added by 2 new nodes: 8 to training, 8 to the free pool."


# --- who pays


@settings(deadline=None)
@given(agreements(), agreements())
def test_what_some_gain_is_what_others_lose(old: dict, new: dict) -> None:  # type: ignore[type-arg]
    before, after = make_plan(as_agreement(old)), make_plan(as_agreement(new))
    for balance in compare(before, after).balances:
        assert (
            sum(side.amount for side in balance.givers)
            == sum(side.amount for side in balance.takers)
            == balance.moved
            > 0
        )
        for side in (*balance.givers, *balance.takers):
            was, becomes = (
                plan.team[side.team].shares[balance.flavor].guaranteed
                if side.team in plan.team and balance.flavor in plan.flavor
                else 0
                for plan in (before, after)
            )
            if side.party is Party.TEAM:
                assert becomes - was == (side.amount if side in balance.takers else -side.amount)


@settings(deadline=None)
@given(agreements())
def test_nothing_is_different_from_itself(values: dict) -> None:  # type: ignore[type-arg]
    plan = make_plan(as_agreement(values))
    difference = compare(plan, make_plan(as_agreement(values)))
    assert difference.is_empty and not difference.is_less and not difference.changed_teams


@settings(deadline=None)
@given(agreements(), agreements())
def test_a_change_and_the_way_back_say_the_same_of_both_sides(old: dict, new: dict) -> None:  # type: ignore[type-arg]
    a, b = make_plan(as_agreement(old)), make_plan(as_agreement(new))
    there, back = compare(a, b), compare(b, a)
    assert {(row.team, row.flavor, row.before, row.after) for row in there.rows} == {
        (row.team, row.flavor, row.after, row.before) for row in back.rows
    }
    assert {(balance.flavor, frozenset(balance.givers)) for balance in there.balances} == {
        (balance.flavor, frozenset(balance.takers)) for balance in back.balances
    }


def test_amounts_of_another_unit_are_not_set_against_each_other() -> None:
    of = ONE_FLAVOR + "[teams.a]\nguaranteed = 8\n"
    cut = 'gpus_per_node = 8\nmig = { gpu = "A100-80GB", profile = "1g.10gb" }'
    difference = change(("gpus_per_node = 8", cut), of=of)
    assert not difference.balances and not difference.gangs and difference.is_less
    assert any(fact.what == "counted in" for fact in difference.facts)


# --- what a team could reach, and what becomes impossible


def test_who_lends_less_takes_from_what_the_others_reach() -> None:
    difference = change(("lendable = 8\n[teams.research]", "lendable = 4\n[teams.research]"))
    assert [(row.team, row.was.reach, row.becomes.reach) for row in difference.reached] == [
        ("research", 16, 12),
        ("inference", 24, 20),
    ]


def test_a_gang_that_fitted_and_no_longer_does_is_named() -> None:
    difference = change(("lendable = 8\n[teams.research]", "lendable = 4\n[teams.research]"))
    found = {(gang.team, gang.limit): gang for gang in difference.gangs if not gang.scheduler}
    assert (found["research", Limit.EVER].before, found["research", Limit.EVER].after) == (16, 12)
    assert found["research", Limit.EVER].common == [16] and found["inference", Limit.EVER].common == []


def test_beyond_the_guarantee_is_said_apart_from_impossible() -> None:
    difference = change(("guaranteed = 16", "guaranteed = 12"))
    assert {(gang.team, gang.limit) for gang in difference.gangs if not gang.scheduler} == {("training", Limit.SURE)}


def test_on_kai_a_job_has_one_of_two_queues() -> None:
    """training has 8 that it lends and 8 that it keeps; with 10 and 6 its largest certain job grows there."""
    smaller = change(("guaranteed = 16\nlendable = 8", "guaranteed = 16\nlendable = 10")).gangs
    assert not [gang for gang in smaller if gang.scheduler is Scheduler.KAI and gang.team == "training"]
    kept = change(("guaranteed = 16\nlendable = 8", "guaranteed = 16\nlendable = 16"))
    back = compare(kept.new, kept.old)
    (sure,) = [gang for gang in back.gangs if gang.scheduler and gang.team == "training" and gang.limit is Limit.SURE]
    assert (sure.before, sure.after) == (16, 8)


def test_smaller_nodes_take_a_size_of_pod() -> None:
    difference = change(("nodes = 4\ngpus_per_node = 8", "nodes = 8\ngpus_per_node = 4"))
    assert [(gang.team, gang.limit, gang.before, gang.after) for gang in difference.gangs] == [("", Limit.POD, 8, 4)]


def test_a_level_that_a_flavor_loses_is_named() -> None:
    text = PRODUCTION.read_text()
    difference = change(('"network.example.com/leaf", ', ""), of=text)
    assert [(lost_level.flavor, lost_level.level) for lost_level in difference.lost_levels] == [
        ("hgx-h100", "network.example.com/leaf")
    ]


# --- what else is said


FACTS = [
    (('department = "search"\nguaranteed = { hgx-h100 = 128', "guaranteed = { hgx-h100 = 128"), "team embeddings: department search → none"),
    (('members    = ["asr"]', 'members    = ["asr", "voice"]'), "team asr: members +voice"),
    (('leads      = ["asr-leads"]\n', ""), "team asr: leads −asr-leads"),
    (('namespaces = ["tts"]', 'namespaces = ["tts", "more"]'), "team tts: namespaces +more"),
    (("prod-workload = 1000", "prod-workload = 2000"), "priority prod-workload: value 1000 → 2000"),
    (("prod-workload = 1000", "prod-workload = 1000\nlow = 1"), "priority low: is new"),
    (("[departments.search]", '[departments.search]\nweight = 2.5'), "department search: weight 1 → 2.5"),
    (("[access]", '[sharing]\npolicy = "fair"\n[access]'), "sharing: policy first → fair"),
    (('platform_groups = ["gpu-platform"]', 'platform_groups = ["others"]'), "access: platform_groups +others, −gpu-platform"),
    (("cpu_per_gpu = 14\nmemory_per_gpu = \"120Gi\"", "cpu_per_gpu = 12\nmemory_per_gpu = \"120Gi\""), "flavor a100-80g: CPU with each 14 → 12"),
    (("[flavors.a100-40g]\nnodes = 8", "[flavors.a100-40g]\nnodes = 9"), "flavor a100-40g: nodes 8 → 9"),
    (("count = 4", "count = 6"), "team platform: machines 4 in platform-machines → 6 in platform-machines"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "said"), FACTS, ids=[said for _, said in FACTS])
def test_every_other_word_of_an_agreement_is_compared(edit: tuple[str, str], said: str) -> None:
    difference = change(edit, of=PRODUCTION.read_text())
    assert any(str(fact).startswith(said) for fact in difference.facts), [*map(str, difference.facts)]


def test_a_namespace_that_changes_hands_is_said_once() -> None:
    of = LAB.replace("lendable = 0", 'lendable = 0\nnamespaces = ["alice"]')
    difference = change(('lendable = 0\nnamespaces = ["alice"]', "lendable = 0"), ("guaranteed = 16", 'namespaces = ["alice"]\nguaranteed = 16'), of=of)  # fmt: skip
    assert [str(fact).partition(";")[0] for fact in difference.facts] == ["namespace alice: team inference → training"]


def test_a_team_by_another_name_is_recognised_and_told_as_two() -> None:
    difference = change(("[teams.research]", "[teams.science]"))
    assert renamed(difference.old, difference.new) == {"research": "science"}
    assert story(difference)[0] == "science is new and gets 8 GPUs: all from research, which leaves the agreement."


def test_two_teams_that_look_alike_are_no_rename() -> None:
    of = ONE_FLAVOR + "[teams.a]\nguaranteed = 8\n[teams.b]\nguaranteed = 8\n"
    difference = change(("[teams.a]", "[teams.c]"), ("[teams.b]", "[teams.d]"), of=of)
    assert renamed(difference.old, difference.new) == {}


# --- objects


def fates(difference: Difference, group: str) -> dict[str, Action]:
    return {change.reference: change.action for change in difference.objects[group]}


def test_a_team_that_gains_prod_gets_a_cohort_above_its_queue() -> None:
    difference = change(("guaranteed = 16", "guaranteed = 16\nprod = 4"))
    assert fates(difference, "kueue") == {
        "Cohort/training": Action.CREATE,
        "ClusterQueue/training-prod": Action.CREATE,
        "ClusterQueue/training": Action.UPDATE,
    }
    (queue,) = [change for change in difference.objects["kueue"] if change.reference == "ClusterQueue/training"]
    assert ("cohortName", "lab", "training") in queue.fields and "no job is preempted" in queue.cost


def test_a_queue_that_goes_says_what_it_waits_for() -> None:
    difference = change(("[teams.inference]\nguaranteed = 8\nlendable = 0\n", ""))
    (queue,) = [change for change in difference.objects["kueue"] if change.reference == "ClusterQueue/inference"]
    assert queue.action is Action.DELETE and "last job has ended" in queue.cost


def test_levels_that_nobody_can_change_are_refused() -> None:
    difference = change(('"network.example.com/leaf", ', ""), of=PRODUCTION.read_text())
    assert fates(difference, "kueue")["Topology/infiniband"] is Action.REFUSED
    assert {change.reference for change in difference.refused} == {
        "Topology/infiniband",
        "Topology.kai.scheduler/infiniband",
    }


def test_a_priority_class_of_kubernetes_is_replaced_and_kueue_s_is_changed() -> None:
    difference = change(("prod-workload = 1000", "prod-workload = 2000"), of=PRODUCTION.read_text())
    assert fates(difference, "kai") == {"PriorityClass/prod-workload": Action.REPLACE}
    assert fates(difference, "kueue") == {"WorkloadPriorityClass/prod-workload": Action.UPDATE}


def test_labels_of_a_flavor_are_fixed_only_with_a_topology() -> None:
    edit = ("gpus_per_node = 8\n", 'gpus_per_node = 8\nnode_labels = { x = "y" }\n')
    assert fates(change(edit), "kueue")["ResourceFlavor/gpu"] is Action.UPDATE
    packed = (
        LAB.replace("nodes = 4", 'nodes = 4\ntopology = "t"') + '[topologies.t]\nlevels = ["kubernetes.io/hostname"]\n'
    )
    assert fates(change(edit, of=packed), "kueue")["ResourceFlavor/gpu"] is Action.REFUSED


def test_a_namespace_that_changes_hands_has_its_local_queue_replaced() -> None:
    of = LAB.replace("lendable = 0", 'lendable = 0\nnamespaces = ["alice"]')
    difference = change(('lendable = 0\nnamespaces = ["alice"]', "lendable = 0"), ("guaranteed = 16", 'namespaces = ["alice"]\nguaranteed = 16'), of=of)  # fmt: skip
    assert fates(difference, "access") == {"Namespace/alice": Action.UPDATE, "LocalQueue/alice/default": Action.REPLACE}


def test_the_second_flavor_gives_every_kai_queue_another_name() -> None:
    difference = change(("[teams.training]\nguaranteed = 16\nlendable = 8", "[flavors.b]\nnodes = 1\ngpus_per_node = 8\n[teams.training]\nguaranteed = { gpu = 16 }\nlendable = { gpu = 8 }"), ("guaranteed = 8\nlendable = 8", "guaranteed = { gpu = 8 }"), ("guaranteed = 8\nlendable = 0", "guaranteed = { gpu = 8 }\nlendable = { gpu = 0 }"))  # fmt: skip
    queues = {name: action for name, action in fates(difference, "kai").items() if name.startswith("Queue/")}
    assert set(queues.values()) == {Action.CREATE, Action.DELETE}


def test_only_the_scheduler_asked_for_is_compared() -> None:
    old, new = plan(LAB), plan(LAB.replace("guaranteed = 16", "guaranteed = 12"))
    assert compare(old, new, [Scheduler.KUEUE]).objects.keys() == {"kueue"}
    assert compare(old, new, [Scheduler.KAI]).objects.keys() == {"kai"}


# --- who is asked


def test_the_leads_of_teams_whose_numbers_change_are_asked() -> None:
    of = PRODUCTION.read_text()
    difference = change(
        ("guaranteed = { hgx-h100 = 128, h100 = 64,", "guaranteed = { hgx-h100 = 120, h100 = 64,"), of=of
    )
    assert owners(difference) == {"asr": ("asr-leads",)}


def test_a_team_without_leads_is_asked_by_its_members_and_one_without_either_by_name_only() -> None:
    of = LAB.replace("guaranteed = 16", 'members = ["t"]\nguaranteed = 16')
    assert owners(change(("guaranteed = 16", "guaranteed = 12"), of=of)) == {"training": ("t",)}
    assert owners(change(("guaranteed = 16", "guaranteed = 12"))) == {"training": ()}


@pytest.mark.parametrize(
    ("key", "before", "after", "less"),
    [
        ("cpu_per_gpu", "9", "14", False),
        ("cpu_per_gpu", "14", "9", True),
        ("memory_per_gpu", '"64Gi"', '"128Gi"', False),
        ("memory_per_gpu", '"2Ti"', '"128Gi"', True),
    ],
)
def test_less_cpu_or_memory_with_each_unit_is_less(key: str, before: str, after: str, less: bool) -> None:
    """By the amounts, not by the texts that a person reads: "9" comes after "14"."""
    flavor = "[flavors.gpu]\n"
    assert flavor in LAB
    was, becomes = (plan(LAB.replace(flavor, f"{flavor}{key} = {amount}\n")) for amount in (before, after))
    (fact,) = compare(was, becomes).facts
    assert fact.less is less
