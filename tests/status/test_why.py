"""`why` on cases that were recorded on a real Kueue and a real KAI: tests/status/why/NAME.json is what was read, NAME.txt what is said.

A text that changes on purpose is written anew: `WHY_WRITE=1 pytest tests/status/test_why.py`. It is then read aloud.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from why_cases import CASES, NAMES, answer, case

from tenancy.status.why import Answer, Snapshot, explain, text
from tenancy.status.why.case import Case
from tenancy.status.why.find import find
from tenancy.status.why.history import PreemptionHistory
from tenancy.status.why.kai import Case as OnKai
from tenancy.status.why.messages import messages_of
from tenancy.status.why.model import State
from tenancy.status.why.reasons import match
from tenancy.status.why.table import EVICT, KAI, KUEUE

# Rows of which no case is recorded, and why. Nothing else may be missing.
UNRECORDED: dict[str, str] = {}


def stopped_by(name: str) -> Iterator[str]:
    """The row that says why a job of a case was stopped."""
    plan, snapshot, wanted, scheduler = case(name)
    target = find(snapshot, wanted)
    if scheduler == "kai":
        for event in OnKai(plan, snapshot, target).evictions:
            yield from (entry.row.key for entry in match(KAI, EVICT, EVICT, event["message"]))
    elif target.workload and (stop := PreemptionHistory(plan, snapshot, target.workload).stop):
        yield stop.key


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_a_real_case(name: str) -> None:
    said, file = text(answer(name)), CASES / f"{name}.txt"
    if os.environ.get("WHY_WRITE"):
        file.write_text(said)
    assert said == file.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_fits_and_names_no_uid(name: str) -> None:
    said = text(answer(name))
    assert max(map(len, said.splitlines())) <= 100
    assert "{" not in said.partition("\nin full")[0], "a word of a row that nobody filled in"
    for workload in case(name)[1].of("Workload"):
        assert workload["metadata"]["uid"] not in said


def test_every_reason_in_the_table_has_a_real_case() -> None:
    told = {reason.key for name in NAMES for reason in answer(name).reasons}
    told |= {key for name in NAMES for key in stopped_by(name)}
    assert {row.key for row in (*KUEUE, *KAI)} - told == set(UNRECORDED)


def test_keys_are_of_one_row_each() -> None:
    keys = [row.key for row in (*KUEUE, *KAI)]
    assert len(keys) == len(set(keys))


# --- what the texts must be right about, in numbers


def test_what_is_missing_is_what_kueue_says_is_missing() -> None:
    """Two arithmetics, the model's over the agreement and Kueue's own, of the same moment."""
    found = 0
    for name in NAMES:
        plan, snapshot, wanted, _ = case(name)
        target = find(snapshot, wanted)
        if target.workload is None:
            continue
        result = Case(plan, snapshot, target)
        for one in messages_of(result)[0]:
            room = result.availabilities.get(one.groups.get("flavor", ""))
            if room is None or one.groups.get("resource") != room.flavor.resource:
                continue
            if one.row.key == "short":
                assert room.missing == int(one.groups["amount"]), name
                found += 1
            elif one.row.key == "maximum":
                assert room.most == int(one.groups["most"]), name
                found += 1
    assert found >= 8


def test_a_job_that_was_stopped_says_who_by_which_promise() -> None:
    result = answer("reclaimed")
    assert result.state is State.STOPPED
    assert "training/pretrain took back what training is guaranteed" in result.history[0]
    assert "research/urgent has a higher priority in the same queue" in answer("higher-priority").history[0]


def test_a_limit_of_the_team_is_not_the_others_fault() -> None:
    result = answer("borrow-limit")
    assert {one.team for one in result.holders} == {"research"}
    assert result.when and not result.when.never and "research/sweep has no time limit" in result.when.latest


def test_an_equal_job_has_the_answer_of_the_one_that_kueue_looked_at() -> None:
    result = answer("equal-job")
    assert result.reasons[0].key == "equal" and "training/more," in result.reasons[0].text
    assert result.reasons[1:] == answer("nothing-idle").reasons
    assert result.queue.endswith("2nd of 2 that wait there, after training/more")


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_told_to_ask_for_nothing(name: str) -> None:
    assert "at most 0" not in text(answer(name))


def test_a_job_with_a_queue_that_kueue_does_not_know_hears_so() -> None:
    plan, snapshot, wanted, scheduler = case("nothing-idle")
    said = explain(plan, Snapshot(snapshot.now, {**snapshot.objects, "Workload": []}), wanted, scheduler)
    assert [reason.key for reason in said.reasons] == ["no-workload"] and said.when is None


@pytest.mark.parametrize("name", ["maximum", "affinity", "taint", "queue-absent", "no-team", "cpu-maximum", "no-label"])
def test_what_cannot_start_as_it_is_gets_no_time(name: str) -> None:
    result = answer(name)
    assert result.when and result.when.never and result.help


# --- who may not see everything


def own_only(name: str, *, kinds: set[str]) -> Answer:
    """As a member of the team asks: of these kinds it sees its namespace."""
    plan, snapshot, wanted, scheduler = case(name)
    objects = {
        kind: [
            entry for entry in several if kind not in kinds or entry["metadata"].get("namespace") == wanted.namespace
        ]
        for kind, several in snapshot.objects.items()
    }
    return explain(plan, Snapshot(snapshot.now, objects, frozenset(kinds)), wanted, scheduler)


def test_a_member_hears_why_and_that_others_are_not_seen() -> None:
    answer = own_only("nothing-idle", kinds={"Workload", "Namespace", "ClusterQueue"})
    assert [one.text for one in answer.reasons] == ["h100: it can get 4 GPUs less than it asks for now."]
    assert not answer.holders and not answer.reclaim and answer.when is None
    assert "You may not list" in answer.unseen and "not seen" in text(answer)


def test_a_member_s_job_that_cannot_start_hears_so_all_the_same() -> None:
    answer = own_only("queue-absent", kinds={"Workload", "Namespace", "ClusterQueue"})
    assert answer.when and answer.when.never and not answer.unseen
    answer = own_only("no-label", kinds={"Workload", "Namespace", "ClusterQueue"})
    assert [one.key for one in answer.reasons] == ["no-label"]


def test_a_member_on_kai_hears_why() -> None:
    answer = own_only("kai-over-limit", kinds={"Pod", "Namespace", "Queue"})
    assert [one.key for one in answer.reasons] == ["limit"] and answer.unseen and not answer.holders


# --- KAI


def test_kai_names_who_took_a_pods_place() -> None:
    (line,) = answer("kai-stopped").history
    assert "8 pods: training/back took back what training is guaranteed" in line
    (line,) = answer("kai-higher-priority").history
    assert "4 pods: research/urgent has a higher priority" in line


def test_a_queue_that_is_not_there_is_said_though_kai_says_nothing() -> None:
    result = answer("kai-no-queue")
    assert [one.key for one in result.reasons] == ["no-kai-queue"] and not result.said
    assert result.when and result.when.never


def test_in_use_is_counted_by_pods_as_a_queues_status_comes_late() -> None:
    """The Queue said 9 when 16 pods ran."""
    assert answer("kai-over-limit").queue.startswith("research: 16 in use, quota 8; in shared: 16 in use")
