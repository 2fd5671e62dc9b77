"""`why` reads what schedulers write: whatever that is, it is shown, and nothing is made of what is not known."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from why_cases import CASES, NAMES, answer, case

from tenancy.cluster.requests import of_pod
from tenancy.status.why import NotFound, Snapshot, Wanted, explain, text
from tenancy.status.why.amounts import amount_in_words
from tenancy.status.why.find import find
from tenancy.status.why.history import BY, UID
from tenancy.status.why.reasons import match
from tenancy.status.why.snapshot import event_time, time
from tenancy.status.why.table import KAI, KUEUE
from tenancy.status.why.times import clock
from tenancy.text.quantity import amount as quantity
from tenancy.text.quantity import whole

WORDS = st.text(max_size=300)
MESSAGES = st.lists(
    st.sampled_from(
        [
            "couldn't assign flavors to pod set main: ",
            "insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed",
            "insufficient unused quota for cpu in flavor h100, 32 more needed, ",
            "insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (0)",
            " + current podset request (24) > maximum capacity (16)",
            'topology "fabric" allows to fit only 1 out of 2 pod(s)',
            'topology "fabric" doesn\'t allow to fit any of 1 pod(s). Total nodes: 4; excluded: resource "cpu": 3, taint "a": 1',
            "untolerated taint {a b NoSchedule <nil>} in flavor a100",
            "flavor a100 doesn't match node affinity",
            "LocalQueue x doesn't exist",
            ". Pending the preemption of 1 workload(s)",
            "; {0} {x.y} %s \\",
            "OverLimit: shared quota has reached the allowable limit of GPUs. Limit is 16 GPUs, currently 16 GPUs allocated ",
            "and workload requested 1 GPUs.",
            "Pod a/b was preempted by workload training/pg-b-1.\n",
            "Resources were found for 1 pods while 2 are required for gang scheduling",
            "0f0f0f0f-0000-1111-2222-333344445555",
        ]
    )
    | st.text(max_size=40),
    max_size=6,
).map("".join)


# --- amounts


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("8", 8),
        ("1500m", Fraction(3, 2)),
        ("1k", 1000),
        ("2Gi", 2**31),
        ("0.5", Fraction(1, 2)),
        ("1e3", 1000),
        ("12E2", 1200),
    ],
)
def test_a_quantity_is_read_exactly(written: str, number: object) -> None:
    assert quantity(written) == number


@given(WORDS | st.none() | st.integers() | st.floats())
def test_what_is_no_quantity_is_nothing(anything: object) -> None:
    assert isinstance(quantity(anything), Fraction)


@given(st.integers(0, 10**12), st.integers(1, 1000))
def test_a_part_of_a_unit_counts_as_one(top: int, bottom: int) -> None:
    assert whole(Fraction(top, bottom)) == -(-top // bottom)


def test_amounts_have_the_words_of_the_agreement() -> None:
    assert amount_in_words("nvidia.com/gpu", Fraction(1)) == "1 GPU"
    assert amount_in_words("cpu", Fraction(3, 2)) == "1500m CPUs"
    assert amount_in_words("memory", Fraction(2**31)) == "2Gi of memory"
    assert amount_in_words("nvidia.com/mig-1g.5gb", Fraction(3)) == "3 nvidia.com/mig-1g.5gb"


def test_a_pod_asks_for_its_containers_or_its_largest_init_container() -> None:
    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1"), {"resources": {"limits": {"nvidia.com/gpu": "2"}}}],
        "initContainers": [container("5"), container("1", restartPolicy="Always")],
    }
    assert of_pod(spec) == {"cpu": 5, "nvidia.com/gpu": 2}


# --- times


def test_a_time_of_day_is_rounded_up() -> None:
    assert clock(datetime(2026, 1, 1, 12, 0, 1, tzinfo=UTC)) == "2026-01-01 12:01 UTC"
    assert clock(datetime(2026, 1, 1, 12, 0, tzinfo=UTC)) == "2026-01-01 12:00 UTC"


@given(WORDS)
def test_what_is_no_time_is_none(written: str) -> None:
    found = time(written)
    assert found is None or found.tzinfo is not None
    assert event_time({"metadata": {"creationTimestamp": written}}) == found or written == ""


# --- messages


@given(
    MESSAGES,
    st.sampled_from(["QuotaReserved", "Evicted", "Preempted", "Admitted", "PodScheduled", "Evict", "NotReady"]),
    WORDS,
)
def test_any_message_is_read(message: str, seen: str, reason: str) -> None:
    found = list(match((*KUEUE, *KAI), seen, reason, message))
    assert all(match.row.seen == seen for match in found)
    assert len(found) == len({(match.row.key, tuple(match.groups.items())) for match in found})
    BY.search(message), UID.findall(message)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NAMES), MESSAGES, MESSAGES)
def test_whatever_a_scheduler_says_is_shown_as_it_says_it(name: str, message: str, reason: str) -> None:
    plan, snapshot, wanted, scheduler = case(name)
    objects = copy.deepcopy({kind: list(several) for kind, several in snapshot.objects.items()})
    for kind in ("Workload", "Pod", "PodGroup"):
        for item in objects.get(kind, ()):
            for one in (item.get("status") or {}).get("conditions") or ():
                one["message"], one["reason"] = message, reason
    said = explain(plan, Snapshot(snapshot.now, objects), wanted, scheduler)
    assert max(map(len, text(said).splitlines())) <= max(100, *map(len, (message + reason).split()), 0) + 14
    target = find(snapshot, wanted)
    waits = said.state in ("waiting", "stopped", "held") and target.workload is not None
    if waits and message.strip() and not UID.search(message) and not _quota_is_reserved(target.workload):
        assert message in [entry.message for entry in said.said]


def _quota_is_reserved(workload: Any) -> bool:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return not any(condition["type"] == "QuotaReserved" and condition["status"] == "False" for condition in conditions)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_an_object_may_lack_anything(name: str, data: st.DataObject) -> None:
    """A status that is not written yet, a kind that the cluster does not know, a queue that is gone."""
    plan, snapshot, wanted, scheduler = case(name)
    objects = copy.deepcopy({kind: list(several) for kind, several in snapshot.objects.items()})
    for kind in data.draw(st.sets(st.sampled_from(sorted(objects)))):
        for entry in objects[kind]:
            for part in data.draw(st.sets(st.sampled_from(["status", "spec", "labels"]))):
                entry.pop(part, None)
                entry["metadata"].pop(part, None)
    for kind in data.draw(st.sets(st.sampled_from(sorted(set(objects) - {"Job", "Workload", "Pod", "PodGroup"})))):
        objects[kind] = []
    assert text(explain(plan, Snapshot(snapshot.now, objects), wanted, scheduler))


def test_words_that_no_row_knows_are_the_schedulers_own() -> None:
    plan, snapshot, wanted, scheduler = case("taint")
    objects = json.loads(json.dumps(dict(snapshot.objects)))
    for entry in objects["Workload"]:
        for one in entry["status"]["conditions"]:
            one["message"] = "the moon is in the wrong house"
    objects.pop("Event", None)
    said = explain(plan, Snapshot(snapshot.now, objects), wanted, scheduler)
    assert [reason.key for reason in said.reasons] == ["unknown"]
    assert said.said[0].message == "the moon is in the wrong house"


# --- names


@pytest.mark.parametrize(
    ("written", "namespace", "means"),
    [
        ("train", "", Wanted("train")),
        ("train", "research", Wanted("train", "research")),
        ("research/train", "", Wanted("train", "research")),
        ("job/train", "", Wanted("train", "", "job")),
        ("wl/train", "research", Wanted("train", "research", "workload")),
        ("pytorchjob/train", "", Wanted("train", "", "pytorchjob")),
        ("research/jobset/train", "", Wanted("train", "research", "jobset")),
    ],
)
def test_a_job_is_named_as_in_kubectl(written: str, namespace: str, means: Wanted) -> None:
    assert Wanted.parse(written, namespace) == means


@given(WORDS, st.sampled_from(["", "research"]))
def test_a_name_is_read_or_refused(written: str, namespace: str) -> None:
    try:
        found = Wanted.parse(written, namespace)
    except ValueError:
        found = None
    parts = written.split("/")
    assert (found is not None) == (all(parts) and len(parts) <= 3)


@pytest.mark.parametrize("wanted", ["more", "training/more", "job/more", "training/job/more", "workload/job-more-"])
def test_a_job_is_found_by_any_of_its_names(wanted: str) -> None:
    plan, snapshot, _, scheduler = case("nothing-idle")
    if wanted.endswith("-"):
        name = next(
            workload["metadata"]["name"]
            for workload in snapshot.of("Workload")
            if workload["metadata"]["name"].startswith("job-more-")
        )
        wanted = f"workload/{name}"
    assert explain(plan, snapshot, Wanted.parse(wanted), scheduler) == answer("nothing-idle")


def test_a_pod_means_its_job() -> None:
    plan, snapshot, _, scheduler = case("running")
    pod = snapshot.of("Pod")[0]["metadata"]["name"]
    assert explain(plan, snapshot, Wanted.parse(f"pod/{pod}"), scheduler) == answer("running")


def test_a_pod_of_a_job_of_a_jobset_of_a_trainjob_means_the_trainjob() -> None:
    def body(kind: str, name: str, owner: str = "") -> dict[str, Any]:
        owners = [{"kind": owner, "name": f"the-{owner.lower()}", "uid": owner}] if owner else []
        return {"metadata": {"name": name, "namespace": "research", "uid": kind, "ownerReferences": owners}}

    chain = {
        "Pod": [body("Pod", "the-pod", "Job")],
        "Job": [body("Job", "the-job", "JobSet")],
        "JobSet": [body("JobSet", "the-jobset", "TrainJob")],
        "TrainJob": [body("TrainJob", "the-trainjob")],
        "Workload": [body("Workload", "the-workload", "TrainJob")],
    }
    snapshot = Snapshot(datetime(2026, 1, 1, tzinfo=UTC), chain)
    found = {
        str(find(snapshot, Wanted.parse(f"research/{entry}")))
        for entry in ("the-pod", "the-job", "the-trainjob", "the-workload")
    }
    assert found == {"research/the-trainjob"}
    assert {"Pod", "Job", "JobSet"} <= find(snapshot, Wanted("the-trainjob")).uids


def test_a_name_that_is_not_there_has_its_neighbours_in_the_error() -> None:
    _, snapshot, _, _ = case("nothing-idle")
    with pytest.raises(
        NotFound, match=r"there is no job, Workload or pod mor in namespace training; there is training/more"
    ):
        find(snapshot, Wanted.parse("training/mor"))
    with pytest.raises(NotFound, match="there is no namespace trainin; there is training"):
        find(snapshot, Wanted.parse("trainin/more"))


def test_a_name_of_several_jobs_is_refused_with_all_of_them() -> None:
    _, snapshot, _, _ = case("nothing-idle")
    objects = json.loads(json.dumps(dict(snapshot.objects)))
    twin = json.loads(
        json.dumps(next(entry for entry in objects["Workload"] if entry["metadata"]["name"].startswith("job-more-")))
    )
    twin["metadata"] |= {"namespace": "research", "uid": "other"}
    twin["metadata"]["ownerReferences"][0]["uid"] = "another"
    objects["Workload"].append(twin)
    with pytest.raises(NotFound, match="may be any of research/job/more, training/job/more"):
        find(Snapshot(snapshot.now, objects), Wanted("more"))


@given(st.text(alphabet="abcdefghij-", min_size=1, max_size=20))
def test_any_absent_name_is_an_error_of_one_line(name: str) -> None:
    _, snapshot, _, _ = case("nothing-idle")
    with pytest.raises(NotFound) as error:
        find(snapshot, Wanted(name + "-not-there"))
    assert "\n" not in str(error.value)


# --- time limits


def test_a_time_limit_of_those_who_hold_is_a_bound() -> None:
    result = answer("time-limits")
    assert result.when and "research/till-nine, research/till-ten" in result.when.latest and "UTC" in result.when.latest


def test_without_one_of_the_limits_there_is_no_bound() -> None:
    plan, snapshot, wanted, scheduler = case("time-limits")
    objects = json.loads(json.dumps(dict(snapshot.objects)))
    for entry in objects["Job"]:
        entry["spec"].pop("activeDeadlineSeconds", None)
    said = explain(plan, Snapshot(snapshot.now + timedelta(0), objects), wanted, scheduler)
    assert said.when and said.when.latest == "no bound: research/till-ten has no time limit"


def test_no_text_is_left_of_a_case_that_is_gone() -> None:
    assert {path.stem for path in CASES.glob("*.txt")} == set(NAMES)
