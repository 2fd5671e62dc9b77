"""What Kueue says of a job that waits: rows of the table, and its words as they are.

Of jobs alike that wait in one queue Kueue tells only the first why (SchedulingEquivalenceHashing, on since 0.18): of the others
the answer is that one's. Where nodes have no room in a flavor Kueue looks at the rest of the flavors in a second attempt, and the
condition tells of that one only; the events tell of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

from ...agreement.hardware import HOSTNAME
from ...objects import kueue
from ...text.quantity import whole
from .case import Case, job_of
from .model import Reason, Said
from .reasons import Match, explain, match
from .snapshot import NONE, Object, condition, event_time, spec_of, time, uid_of
from .table import KUEUE, QUOTA

SAME_ATTEMPT = timedelta(seconds=5)  # events of the attempts that the condition tells the end of
UNTOLD = ("equal", "not-looked", "not-again")  # rows by which Kueue says that it says nothing
ROWS = {row.key: row for row in KUEUE}


def messages_of(case: Case) -> tuple[list[Match], list[Said], Reason | None]:
    """Rows, Kueue's words, and of which equal job they are."""
    matches, said = _told(case, case.workload)
    if _tells(matches) or (said and not matches):
        return matches, said, None
    for entry in case.line:
        if uid_of(entry) != uid_of(case.workload) and _shape(entry) == _shape(case.workload):
            others, words = _told(case, entry)
            if _tells(others):
                return others, words, explain(Match(ROWS["equal"], {}), {"other": job_of(entry)})
    return matches, said, None


def _tells(matches: list[Match]) -> bool:
    return any(match.row.key not in UNTOLD for match in matches)


def _told(case: Case, workload: Object) -> tuple[list[Match], list[Said]]:
    result = condition(workload, QUOTA)
    if result.get("status") != "False" or not result.get("message"):
        return [], []
    message, changed = str(result["message"]), time(result.get("lastTransitionTime")) or case.now
    found = [_placed(case, one) for one in match(KUEUE, QUOTA, str(result.get("reason")), message)]
    said = [Said("Kueue", QUOTA, str(result.get("reason")), case.names(message))]
    for event in case.snapshot.events(workload):
        at, text = event_time(event), str(event.get("message") or "")
        if not at or at < changed - SAME_ATTEMPT or text == message:
            continue
        nodes = [_placed(case, one) for one in match(KUEUE, QUOTA, "", text) if "topology" in one.groups]
        if news := [one for one in nodes if one not in found]:
            found = [*news, *found]
            said.append(Said("Kueue", "event", str(event.get("reason")), case.names(text)))
    return found, said


def _placed(case: Case, match: Match) -> Match:
    """With the flavor, where a message names a topology that only one of those that the job may have is in."""
    if (name := match.groups.get("topology")) is None:
        return match
    flavors = [
        one
        for one in case.availabilities.values()
        if (tree := kueue.topology_of(case.plan, one.flavor)) and tree.name == name
    ]
    return replace(match, groups={**match.groups, "flavor": flavors[0].flavor.name}) if len(flavors) == 1 else match


def sizes(case: Case) -> Iterator[Match]:
    """What no node can hold: the agreement says how large its nodes are."""
    for room in case.availabilities.values():
        flavor = room.flavor
        if flavor.unit == "cpu":
            continue
        known = {"flavor": flavor.name, "node": room.n(flavor.units_per_node), "total": room.n(room.asked)}
        for pods in case.asks.pods:
            each = whole(pods.requests.get(flavor.resource, Fraction(0)))
            if each > flavor.units_per_node:
                yield Match(ROWS["node-size"], {**known, "each": room.n(each)})
            elif pods.required and pods.level == HOSTNAME and pods.total(flavor.resource) > flavor.units_per_node:
                yield Match(ROWS["host-size"], known)


def _shape(workload: Object) -> Any:
    """What Kueue takes two jobs for equal by, as far as it can be seen."""
    spec = spec_of(workload)
    sets = [
        (entry.get("count"), entry.get("topologyRequest"), (entry.get("template") or NONE).get("spec"))
        for entry in spec.get("podSets") or ()
    ]
    return sets, spec.get("queueName"), spec.get("priority")
