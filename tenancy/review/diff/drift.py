"""What somebody changed on a cluster by hand, in the agreement's words: `training: guaranteed 16 → 99 GPUs`.

The builders backwards, for the fields that are different only: a quota of a flavor's device is what the agreement gives the node's
team of it (docs/review.md has the words), a Cohort that a node hangs under is a department. What the agreement has no word for
(the CPU that comes with GPUs, a selector) is told as the field that it is. Who wrote it is what the API server has noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...agreement.plan import Plan, TeamPlan
from ...objects.difference import spoken_of
from ...objects.identity import FIELD_MANAGER, reference
from ...objects.kueue import PROD_SUFFIX
from ...text.quantity import parse
from .objects import differing
from .words import POOL

Object = Mapping[str, Any]
Quota = tuple[str, str, str]
"""Flavor, resource, and which of its three numbers."""

LIMITS: Mapping[str, str] = {"lendingLimit": "lendable", "borrowingLimit": "borrowable"}
UNLIMITED: Mapping[str, str] = {"lendable": "all", "borrowable": "no limit"}  # where there is no such number


def drift(plan: Plan, wanted: Object, live: Object) -> list[str]:
    """Each change of an object, from what the agreement wants to what is there; `live` may have more, which is the server's."""
    node = _Node.of(plan, wanted)
    changes = [*_quotas(plan, node, wanted, live), *_others(plan, node, wanted, live)]
    by = f", by {writer}" if (writer := _writer(live)) else ""
    return [f"{change} ({reference(wanted)}{by})" for change in changes]


@dataclass(frozen=True, slots=True)
class _Node:
    """Whose an object is. `owns`: what its nominalQuota is a part of, in the agreement's word; empty where it has none."""

    subject: str
    team: TeamPlan | None = None
    owns: str = ""
    is_top: bool = False
    """Whether it is the team's own place in the tree, which has the limits and hangs under a department or the root."""

    @classmethod
    def of(cls, plan: Plan, body: Object) -> _Node:
        kind, name = body["kind"], str(body["metadata"]["name"])
        if kind == "Cohort" and name == plan.cluster:
            return cls(POOL, owns=POOL)
        if kind not in ("Cohort", "ClusterQueue"):
            return cls(name)
        if team := plan.team.get(name):
            return cls(name, team, "guaranteed", is_top=(kind == "Cohort") == team.has_prod)
        if kind == "ClusterQueue" and (team := plan.team.get(name.removesuffix(PROD_SUFFIX))):
            return cls(team.name, team, "prod")
        return cls(name)

    def agreed(self, plan: Plan, word: str, flavor: str) -> int | None:
        return plan.pool[flavor] if word == POOL else getattr(self.team.shares[flavor], word) if self.team else None


def _quotas(plan: Plan, node: _Node, wanted: Object, live: Object) -> Iterator[str]:
    was, now = _numbers(wanted), _numbers(live)
    for quota in dict.fromkeys((*was, *now)):
        if was.get(quota) != now.get(quota):
            yield _word(plan, node, quota, was.get(quota), now.get(quota))


def _word(plan: Plan, node: _Node, quota: Quota, was: str | None, now: str | None) -> str:
    flavor, resource, number = quota
    hardware = plan.flavor.get(flavor)
    word = node.owns if number == "nominalQuota" else LIMITS[number] if node.is_top and number in LIMITS else ""
    try:
        before, there = (None if entry is None else float(parse(entry)) for entry in (was, now))
    except ValueError:  # no quantity at all
        hardware = None
    if hardware is None or resource != hardware.resource or not word:
        return f"{node.subject}: {resource} of {flavor}, {number} {was or 'none'} → {now or 'none'}"
    agreed = node.agreed(plan, word, flavor)
    if number == "nominalQuota":  # a part of the whole that the agreement speaks of
        there = (agreed or 0) + (there or 0) - (before or 0)
    said = [UNLIMITED.get(word, "0") if entry is None else f"{entry:g}" for entry in (agreed, there)]
    unit = hardware.count(2).partition(" ")[2]
    of = f" of {flavor}" if len(plan.flavors) > 1 else ""
    subject = "" if node.owns == POOL else f"{node.subject}: "
    return f"{subject}{word} {said[0]} → {said[1]} {unit}{of}"


def _numbers(body: Object) -> dict[Quota, str]:
    return {
        (flavor["name"], resource["name"], number): str(amount)
        for group in (body.get("spec") or {}).get("resourceGroups") or ()
        for flavor in group["flavors"]
        for resource in flavor["resources"]
        for number, amount in resource.items()
        if number != "name"
    }


def _others(plan: Plan, node: _Node, wanted: Object, live: Object) -> Iterator[str]:
    """All that is no quota of Kueue."""
    for path, was, now in differing(_without_quotas(wanted), spoken_of(live, _without_quotas(wanted))):
        if path in ("cohortName", "parentName") and node.is_top:
            yield f"{node.subject}: department {_place(plan, was)} → {_place(plan, now)}"
        elif path == "fairSharing.weight":
            yield f"{node.subject}: weight {was} → {now or '1'}"
        else:
            yield f"{node.subject}: {path} {was or 'none'} → {now or 'none'}"


def _without_quotas(body: Object) -> Object:
    spec = {key: value for key, value in (body.get("spec") or {}).items() if key != "resourceGroups"}
    metadata = {key: value for key, value in body["metadata"].items() if key in ("labels", "annotations")}
    return {**{key: value for key, value in body.items() if key != "status"}, "metadata": metadata, "spec": spec}


def _place(plan: Plan, cohort: str) -> str:
    if cohort in (department.name for department in plan.departments):
        return cohort
    return "none" if cohort == plan.cluster else f"none, but Cohort {cohort}" if cohort else "none, and no Cohort"


def _writer(live: Object) -> str:
    """Who last wrote what is wanted otherwise, as the API server has noted it: the last one that is not us."""
    entries = [
        field
        for field in live["metadata"].get("managedFields") or ()
        if field.get("manager") != FIELD_MANAGER and not field.get("subresource") and field.get("time")
    ]
    last = max(entries, key=lambda entry: str(entry["time"]), default=None)
    if last is None:
        return ""
    at = datetime.fromisoformat(str(last["time"])).astimezone(UTC)
    return f"{last.get('manager') or 'somebody'}, {at:%Y-%m-%d %H:%M} UTC"
