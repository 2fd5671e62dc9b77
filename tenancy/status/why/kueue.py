"""A job on Kueue: what its Workload says, by the table of reasons and the agreement's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ...agreement.plan import Plan
from ...quota.availability import Bound
from ...text.counts import counted
from .amounts import each_in_words
from .availability import JobAvailability, ratio
from .case import Case
from .find import Target
from .messages import messages_of, sizes
from .model import Answer, Reason, Said, State
from .outside import outside
from .reasons import Match, explain, match
from .snapshot import Snapshot, condition, name_of, spec_of, status_of, time
from .table import ADMITTED, KUEUE
from .times import since
from .when import when

QUOTA_KEYS = ("short", "maximum")
UNSEEN = (
    "You may not list the Workloads of the whole cluster, so this answer does not say which team has what the job lacks, from which "
    "team it may take it back, or when it starts. Ask whoever runs the platform to run this command for your job."
)
ELSEWHERE = {"short", "maximum", "topology-some", "topology-none", "not-told"}  # where another flavor may help


def answer(plan: Plan, snapshot: Snapshot, target: Target) -> Answer:
    case = Case(plan, snapshot, target)
    if target.workload is None:
        return outside(case)
    answers = {State.FINISHED: _finished, State.RUNNING: _started, State.STARTING: _started, State.STOPPING: _started}
    return answers.get(case.state, _waits)(case)


def _about(case: Case, headline: str = "") -> Answer:
    """What is said of every job."""
    return Answer(
        job=str(case.target),
        kind=case.target.kind,
        scheduler="kueue",
        state=case.state,
        headline=headline or case.headline(),
        asks=case.asks_text(),
        queue=case.queue_text(),
        history=tuple(case.story.lines()),
    )


# --- it waits


def _waits(case: Case) -> Answer:
    told, said, equal = messages_of(case)
    matches = [*sizes(case), *told]
    never = case.state is State.HELD or _never(case, matches)
    reasons = _why(case, matches, said)
    if equal and case.state is not State.HELD:
        reasons.insert(0, equal)
    # What is free or taken is beside the point where the queue itself is shut to the job, or nobody looks at it.
    shut = never and (case.state is State.HELD or any(_final(match) for match in matches))
    settled = shut or any(match.row.key == "making-room" for match in matches)
    availabilities = case.availabilities if case.counted and not settled else {}
    holders = [
        holder
        for room in availabilities.values()
        if room.missing and room.bound is not Bound.MAXIMUM
        for holder in room.holders(case.now)
    ]
    return replace(
        _about(case),
        reasons=tuple(reasons),
        holders=tuple(holders),
        reclaim=tuple(dict.fromkeys(line for room in availabilities.values() for line in room.reclaims())),
        help=tuple(dict.fromkeys(_help(case, reasons, availabilities))),
        when=when(
            case.now,
            list(availabilities.values()),
            {reason.key for reason in reasons},
            never,
            case.before,
            case.not_before,
        ),
        said=tuple(said),
        unseen=UNSEEN if not (case.counted or settled) else "",
    )


def _why(case: Case, matches: Sequence[Match], said: Sequence[Said]) -> list[Reason]:
    if case.state is State.HELD:
        return [_held(case)]
    reasons = list(_reasons(case, matches))
    if head := _head(case):
        return [head, *reasons]
    if not reasons and said and not matches:
        return [Reason("unknown", "This version does not know Kueue's message; it is shown in full below.")]
    if not reasons and not case.counted:
        return [Reason("not-told", "Kueue has not said why.")]
    if not reasons:  # it has not looked, or tells of flavors that do not matter
        numbers = [room.sentence() for room in case.availabilities.values()]
        return [Reason("not-told", f"Kueue has not said why. By the agreement's numbers: {text}") for text in numbers]
    return reasons


def _reasons(case: Case, matches: Sequence[Match]) -> Iterator[Reason]:
    too_large = {match.groups["flavor"] for match in matches if match.row.seen == "spec"}
    short = {
        (match.groups.get("flavor"), match.groups.get("resource")) for match in matches if match.row.key in QUOTA_KEYS
    }
    for entry in matches:
        flavor, resource = entry.groups.get("flavor", ""), entry.groups.get("resource", "")
        room = case.availabilities.get(flavor)
        if entry.row.key in ("nodes", "topology-level") and case.availabilities and not room:
            continue  # the job names its flavor: of the others nothing is to be said
        if "topology" in entry.groups and flavor in too_large:
            continue  # no node could, so none does
        if room and (gone := room.flavor.nodes - int(entry.groups.get("nodes") or room.flavor.nodes)) > 0:
            reason, there = explain(entry, case.context), counted(room.flavor.nodes, "node")
            missing = (
                f"The agreement has {there} of it: {gone} {'is' if gone == 1 else 'are'} gone, broken or not labelled."
            )
            yield replace(reason, text=f"{reason.text} {missing}")
        elif room is None or entry.row.key not in QUOTA_KEYS:
            yield explain(entry, case.context)
        elif resource == room.flavor.resource:
            reason = explain(entry, case.context)
            yield replace(reason, text=room.sentence()) if case.counted else reason
        elif text := ratio(case.asks, room.flavor, resource, room.team.name):
            yield Reason("ratio", text, _ratio_help(room))
        elif (flavor, room.flavor.resource) not in short:  # else CPU and memory follow the units
            yield explain(entry, case.context)


def _ratio_help(room: JobAvailability) -> str:
    each = {"cpu": Fraction(room.flavor.cpu, 1000), "memory": Fraction(room.flavor.memory)}
    one = room.flavor.count(1).removeprefix("1 ")
    return f"its pods ask for at most {each_in_words(each).replace(', ', ' and ')} for each {one}"


def _never(case: Case, matches: Sequence[Match]) -> bool:
    """Whether no flavor has hope: a reason that no other job's end removes, in each that it may have, or of no flavor."""
    stuck = {match.groups.get("flavor", "") for match in matches if match.row.never}
    if any(_final(match) for match in matches):
        return True
    elsewhere = {match.groups["flavor"] for match in matches if match.row.key == "nodes"}
    return bool(matches) and (set(case.availabilities) or elsewhere) <= stuck | elsewhere


def _final(match: Match) -> bool:
    """A reason of no flavor that does not go by itself."""
    return match.row.never and not match.groups.keys() & {"flavor", "topology"}


def _head(case: Case) -> Reason | None:
    queue = case.snapshot.get("ClusterQueue", case.cluster_queue)
    strategy = str(spec_of(queue).get("queueingStrategy") or "") if queue else ""
    if not case.before:
        return None
    found = match(KUEUE, "ClusterQueue.queueingStrategy", strategy, "")
    return next((explain(match, {**case.context, "head": case.before[0]}) for match in found), None)


def _held(case: Case) -> Reason:
    key = case.story.stop.key if case.story.stop else "stopped-hand"
    text = (
        "Its Workload is switched off (spec.active: false): Kueue does not look at it until spec.active is true again."
    )
    return Reason(key, text, "it is submitted anew, or its Workload's spec.active is set to true")


def _help(case: Case, reasons: Sequence[Reason], availabilities: Mapping[str, JobAvailability]) -> Iterator[str]:
    for room in availabilities.values():
        if room.missing and room.bound is not Bound.MAXIMUM:
            are = "is" if room.missing == 1 else "are"
            yield f"{room.n(room.missing)} of {room.flavor.name} {are} given back by {_whose(room)}"
        if smaller := room.smaller(case.asks):
            yield smaller
    yield from (
        reason.help
        for reason in reasons
        if reason.help and not (reason.key == "short" and case.counted and case.availabilities)
    )
    if availabilities and ELSEWHERE & {reason.key for reason in reasons}:
        yield from _elsewhere(case)


def _whose(room: JobAvailability) -> str:
    if room.bound is Bound.PROD:
        return "jobs of the prod slice"
    return f"{room.team.name}'s own jobs" if room.bound is Bound.BORROWABLE else "any of these jobs"


def _elsewhere(case: Case) -> Iterator[str]:
    """Flavors that have room for it, and that it excludes by naming nodes."""
    for flavor in case.asks.others(case.plan):
        room = case.room(flavor)
        if room and not room.missing and case.fits_nodes(flavor):
            yield f"its nodeSelector also allows flavor {flavor.name}: {room.n(room.free)} are free to {room.team.name} there"


# --- it has its quota, or had it


def _started(case: Case) -> Answer:
    reasons, said = _starting(case) if case.state is State.STARTING else ([], [])
    return replace(
        _about(case),
        reasons=tuple(reasons),
        help=tuple(dict.fromkeys(one.help for one in reasons if one.help)),
        said=tuple(said),
    )


def _starting(case: Case) -> tuple[list[Reason], list[Said]]:
    result = condition(case.workload, ADMITTED)
    if result.get("status") != "True":
        unready = [one for one in status_of(case.workload).get("admissionChecks") or () if one.get("state") != "Ready"]
        reason = "UnsatisfiedAdmissionChecks" if unready else str(result.get("reason") or "")
        said = [Said("Kueue", ADMITTED, reason, case.names(str(result["message"])))] if result.get("message") else []
        return [explain(one, case.context) for one in match(KUEUE, ADMITTED, reason, "")], said
    waiting = [pod for pod in case.pods if status_of(pod).get("phase") == "Pending"]
    for pod in waiting:
        result = condition(pod, "PodScheduled")
        if result.get("status") == "False":
            message, reason = str(result.get("message") or ""), str(result.get("reason") or "")
            context = {**case.context, "waiting": f"{len(waiting)} of its {counted(case.asks.count, 'pod')}"}
            rows = match(KUEUE, "PodScheduled", reason, message)
            return [explain(one, context) for one in rows], [
                Said("the scheduler of pods", f"pod {name_of(pod)}", reason, message)
            ]
    return [], []


def _finished(case: Case) -> Answer:
    result = condition(case.workload, "Finished")
    how = {"Succeeded": "has ended", "Failed": "has failed"}.get(str(result.get("reason")), "is finished")
    ago = since(time(result.get("lastTransitionTime")), case.now)
    message = case.names(str(result.get("message") or ""))
    return _about(case, f"{case.named} {how}, {ago}{f': {message}' if message else '.'}")
