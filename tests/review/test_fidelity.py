"""The fidelity report says of each promise how exactly a scheduler keeps it, and leaves none out."""

from __future__ import annotations

from samples import LAB, ONE_FLAVOR, PRODUCTION, plan

from tenancy.objects.schedulers import Scheduler
from tenancy.review.fidelity import Level, Verdict, markdown, refused, verdicts


def found(text: str, scheduler: Scheduler, promise: str) -> dict[str, Verdict]:
    """The verdicts on a promise by whom they are for."""
    return {
        subject: verdict
        for verdict in verdicts(plan(text))
        if verdict.scheduler is scheduler and verdict.promise == promise
        for subject in verdict.subjects or ("all",)
    }


def levels(text: str, scheduler: Scheduler, promise: str) -> dict[str, str]:
    return {subject: verdict.level.value for subject, verdict in found(text, scheduler, promise).items()}


def test_kueue_keeps_the_lab_exactly() -> None:
    for promise in ("guaranteed", "lendable"):
        assert set(levels(LAB, Scheduler.KUEUE, promise).values()) == {"exact"}


def test_kai_splits_a_guarantee_of_which_part_is_lent() -> None:
    assert levels(LAB, Scheduler.KAI, "guaranteed") == {
        "training": "approximate",
        "research": "exact",
        "inference": "exact",  # it keeps all of it back, in one queue
    }


def test_kai_says_how_large_a_job_fits_a_split_guarantee() -> None:
    how = found(ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 12\n", Scheduler.KAI, "guaranteed")["a"].how
    assert how == (
        "exact in counts, in two queues: 12 in 'a' and 4 in 'a-reserved'; "
        "a job has one queue, so none larger than 12 fits the guarantee"
    )


def test_kai_keeps_a_prod_slice_exactly_where_one_queue_holds_it() -> None:
    text = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nprod = 8\n"
    assert levels(text, Scheduler.KAI, "prod") == levels(text, Scheduler.KUEUE, "prod") == {"a": "exact"}
    two = found(ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 8\nprod = 12\n", Scheduler.KAI, "prod")["a"]
    assert (two.level, two.how.startswith("in two queues, so no job larger than 8 fits the slice")) == (
        Level.APPROXIMATE,
        True,
    )


def test_kai_takes_a_prod_slice_back_from_others_no_sooner_than_the_agreement_lets_it() -> None:
    text = "[sharing]\nreclaim_min_runtime = '1m'\n" + ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nprod = 8\n"
    verdict = found(text, Scheduler.KAI, "prod")["a"]
    assert (verdict.level, "only after reclaim_min_runtime" in verdict.how) == (Level.APPROXIMATE, True)


def test_kai_is_judged_flavor_by_flavor() -> None:
    """In production only asr keeps part of a guarantee back, on one flavor; a slice's GPUs are said where it has several."""
    text = PRODUCTION.read_text()
    assert {name for name, level in levels(text, Scheduler.KAI, "guaranteed").items() if level != "exact"} == {
        "asr (hgx-h100)"
    }
    how = found(text, Scheduler.KAI, "guaranteed")["embeddings (a100-80-20gb)"].how
    assert how.endswith("KAI counts a slice of 2g.20gb as 2 GPUs")
    assert levels(text, Scheduler.KAI, "flavors") == {"all": "approximate"}
    assert refused(verdicts(plan(text))) == []


def test_kai_takes_nothing_back_for_a_prod_team_beyond_its_guarantee() -> None:
    """Seen on KAI 0.12 (decision 24): its regular queue stands a level below the department's."""
    text = ONE_FLAVOR + '[departments.d]\n[teams.a]\ndepartment = "d"\nguaranteed = 8\n[teams.b]\nguaranteed = 8\n'
    assert list(levels(text, Scheduler.KAI, "departments").values()) == ["exact"]
    assert list(levels(text + "prod = 2\n", Scheduler.KAI, "departments").values()) == ["exact"]
    inside = text.replace("guaranteed = 8\n[teams.b]", "guaranteed = 8\nprod = 2\n[teams.b]")
    assert list(levels(inside, Scheduler.KAI, "departments").values()) == ["approximate"]


def test_kai_refuses_everything_where_two_flavors_are_one_pool() -> None:
    labels = "node_labels = {{ 'kai.scheduler/node-pool' = 'one', a = '{}' }}\n"
    other = "[flavors.other]\nnodes = 1\ngpus_per_node = 8\n" + labels.format("other")
    text = ONE_FLAVOR + labels.format("gpu") + other + "[teams.a]\nguaranteed = { gpu = 8 }\n"
    assert set(levels(text, Scheduler.KAI, "guaranteed").values()) == {"refused"}
    assert levels(text, Scheduler.KAI, "all else") == {"all": "refused"}


def test_kai_refuses_a_priority_that_no_priority_class_may_have() -> None:
    text = LAB + "[priorities]\nurgent = 5\nabove-all = 2000000000\n"
    (verdict,) = refused(verdicts(plan(text)))
    assert (verdict.promise, verdict.how) == (
        "priorities",
        "'above-all' is no PriorityClass: 2000000000 is above 1,000,000,000, the highest that a PriorityClass may have",
    )


def test_kai_has_past_usage_only_in_shards_of_ours() -> None:
    usage = "[sharing.usage]\n"
    assert levels(usage + LAB, Scheduler.KAI, "usage") == {"all": "refused"}
    two = ONE_FLAVOR + "[flavors.b]\nnodes = 1\ngpus_per_node = 8\n[teams.a]\nguaranteed = { gpu = 8 }\n"
    assert levels(usage + two, Scheduler.KAI, "usage") == {"all": "approximate"}


def test_kai_divides_by_weight_whether_asked_to_or_not() -> None:
    assert levels(LAB, Scheduler.KAI, "first come") == {"all": "approximate"}
    assert levels(LAB, Scheduler.KAI, "weights") == {}
    assert levels(LAB + "weight = 2\n", Scheduler.KAI, "weights") == {"all": "exact"}
    fair = "[sharing]\npolicy = 'fair'\n" + LAB
    assert (levels(fair, Scheduler.KAI, "weights"), levels(fair, Scheduler.KAI, "first come")) == ({"all": "exact"}, {})


def test_the_lab_has_nothing_refused() -> None:
    assert refused(verdicts(plan(LAB))) == []


def test_flavors_with_a_topology_beside_others_without_serve_every_job() -> None:
    """Production has both kinds; kueue#7491."""
    assert set(levels(PRODUCTION.read_text(), Scheduler.KUEUE, "guaranteed").values()) == {"exact"}
    assert "kueue#7491" in found(PRODUCTION.read_text(), Scheduler.KUEUE, "topologies")["all"].how
    assert levels(PRODUCTION.read_text(), Scheduler.KUEUE, "whole or not at all") == {"all": "exact"}


def test_only_with_a_topology_down_to_the_host_on_every_flavor_a_job_starts_whole() -> None:
    def packed(levels: str) -> str:
        return LAB.replace("gpus_per_node = 8", f'gpus_per_node = 8\ntopology = "t"\n[topologies.t]\nlevels = {levels}')

    def level(text: str) -> str:
        return levels(text, Scheduler.KUEUE, "whole or not at all")["all"]

    assert level(packed('["a", "kubernetes.io/hostname"]')) == "exact"
    assert level(packed('["a"]')) == "approximate"
    assert level(LAB) == "approximate"


def test_a_promise_nobody_was_given_has_no_row() -> None:
    promises = {verdict.promise for verdict in verdicts(plan(LAB))}
    assert {"borrowable", "prod", "free pool", "topologies", "taints", "priorities"} & promises == set()


def test_every_promise_somebody_was_given_has_a_row_for_each_scheduler() -> None:
    text = ONE_FLAVOR + "[teams.a]\nguaranteed = 16\nlendable = 8\nborrowable = 4\nprod = 8\n"
    for scheduler in Scheduler:
        promises = [verdict.promise for verdict in verdicts(plan(text)) if verdict.scheduler is scheduler]
        assert promises[:5] == ["guaranteed", "lendable", "borrowable", "prod", "free pool"]


def test_each_promise_of_each_team_is_judged_once() -> None:
    for scheduler in Scheduler:
        for promise in ("guaranteed", "lendable", "borrowable", "prod"):
            subjects = [
                subject
                for verdict in verdicts(plan(PRODUCTION.read_text()))
                if (verdict.scheduler, verdict.promise) == (scheduler, promise)
                for subject in verdict.subjects
            ]
            assert len(subjects) == len(set(subjects)) > 0


def test_the_report_is_a_table_of_one_row_each() -> None:
    lab = plan(LAB)
    rows = [line for line in markdown(lab, verdicts(lab)).splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(verdicts(lab))
    assert all(row.count("|") == 6 for row in rows)


def test_a_level_is_one_of_three_words() -> None:
    assert [level.value for level in Level] == ["exact", "approximate", "refused"]


# --- what Kubernetes keeps ------------------------------------------------------------------------------------------

PEOPLE = (
    ONE_FLAVOR
    + """
[priorities]
prod-workload = 1000
[teams.a]
guaranteed = 8
prod = 2
machines = { namespace = "vms", count = 2, vcpus = 1, memory = "1Gi" }
"""
)
TABLE = '[access]\nplatform_groups = ["gpu-platform"]\n'


def test_without_access_nobody_gives_a_prod_job_its_priority() -> None:
    assert levels(PEOPLE, Scheduler.KUEUE, "prod priority") == {"all": "approximate"}
    assert levels(PEOPLE + TABLE, Scheduler.KUEUE, "prod priority") == {"all": "exact"}
    assert "1.36" in found(PEOPLE + TABLE, Scheduler.KUEUE, "prod priority")["all"].how
    assert levels(PEOPLE, Scheduler.KUEUE, "who may do what") == {}


def test_a_full_quota_of_machines_has_no_room_for_a_migration() -> None:
    assert "live migration" in found(PEOPLE, Scheduler.KUEUE, "machines")["all"].how
    assert levels(LAB, Scheduler.KUEUE, "machines") == {}


def test_policies_do_not_see_every_owner_that_kai_believes() -> None:
    with_access, without = (found(text, Scheduler.KAI, "own namespaces")["all"] for text in (PEOPLE + TABLE, PEOPLE))
    assert with_access.level is without.level is Level.APPROXIMATE
    assert "topmost owner" in with_access.how
    assert "topmost owner" not in without.how
