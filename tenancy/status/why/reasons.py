"""How a reason is recognized in what a scheduler says, and its sentences filled in. The rows are in `table`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...text.quantity import amount as quantity
from .amounts import amount_in_words
from .model import Reason


@dataclass(frozen=True)
class Row:
    key: str
    seen: str
    """The condition of a Workload or pod, the event, or what else it is read from."""
    message: str = ""
    """A pattern that is searched for in the message; a message may hold several."""
    reason: str = ""
    """A pattern that the reason of the condition or event is, whole; empty where any is meant."""
    means: str = ""
    help: str = ""
    never: bool = False
    """It does not start until somebody changes something."""


@dataclass(frozen=True)
class Match:
    row: Row
    groups: Mapping[str, str]


def match(table: tuple[Row, ...], seen: str, reason: str, message: str) -> Iterator[Match]:
    """What a condition or event says, in the order of its message; the first row that knows a place of it has it."""
    found: list[tuple[int, int, Match]] = []
    for row in table:
        if row.seen != seen or (row.reason and not re.fullmatch(row.reason, reason)):
            continue
        if not row.message:
            if not found:
                found.append((0, 0, Match(row, {})))
            continue
        for item in re.finditer(row.message, message):
            if not any(start < item.end() and item.start() < end for start, end, _ in found):
                found.append(
                    (item.start(), item.end(), Match(row, {key: text or "" for key, text in item.groupdict().items()}))
                )
    seen_already: list[Match] = []
    for _, _, one in sorted(found, key=lambda entry: entry[0]):
        if one not in seen_already:
            seen_already.append(one)
            yield one


_EXCLUDED = re.compile(r'(?P<kind>\w+)(?: "(?P<name>[^"]*)")?: (?P<count>\d+)')
_LACK = {"cpu": "CPUs", "memory": "memory", "nvidia.com/gpu": "GPUs", "pods": "places for pods"}
_WHY = {
    "nodeSelector": "the job's nodeSelector does not allow",
    "affinity": "its affinity does not allow",
    "topologyDomain": "lie elsewhere",
}


def _excluded(nodes: str, text: str) -> str:
    """`resource "cpu": 2, taint "a": 1` of 4 nodes, in words."""
    parts = []
    for match in _EXCLUDED.finditer(text):
        count, kind, name = match["count"], match["kind"], match["name"] or ""
        if kind == "resource":
            parts.append(f"{count} with too few free {_LACK.get(name, name)}")
        elif kind == "taint":
            parts.append(f"{count} with the taint {name}")
        else:
            parts.append(f"{count} that {_WHY.get(kind, kind)}")
    return f" (of {nodes} nodes {', '.join(parts)})" if parts else ""


def _taint(text: str) -> str:
    """Go's `{maintenance yes NoSchedule <nil>}` as kubectl writes it: `maintenance=yes:NoSchedule`."""
    parts = text.replace("<nil>", "").split()
    return f"{parts[0]}={parts[1]}:{parts[2]}" if len(parts) == 3 else ":".join(parts)


class _Known(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def explain(found: Match, context: Mapping[str, Any]) -> Reason:
    """The row's sentences with what is known in them."""
    known = _Known({**context, **_in_words(found.groups)})
    return Reason(found.row.key, found.row.means.format_map(known), found.row.help.format_map(known))


def _in_words(groups: Mapping[str, str]) -> dict[str, str]:
    """Amounts of a resource in words: the group `amount` of `nvidia.com/gpu` is `4 GPUs`."""
    words = dict(groups)
    words["on"] = f"{groups['flavor']}: " if groups.get("flavor") else ""
    if resource := groups.get("resource"):
        for name in ("amount", "most", "request"):
            if name in groups:
                words[name] = amount_in_words(resource, quantity(groups[name]))
    if "unit" in groups:
        one = groups["request"] == "1"
        words |= {"more": f"1 {groups['unit'].removesuffix('s')}" if one else f"{groups['request']} {groups['unit']}"}
        words["are"] = "is" if one else "are"
    if "what" in groups:
        words["what"] = {"GPU": "GPUs", "CPU": "CPUs"}.get(groups["what"], groups["what"])
    if "amount" in groups:
        words["are"] = "is" if quantity(groups["amount"]) == 1 else "are"
    if taint := groups.get("taint"):
        words["taint"] = _taint(taint)
    if groups.get("excluded"):
        words["excluded"] = _excluded(groups["nodes"], groups["excluded"])
    if "count" in groups:
        words["jobs"] = "job" if groups["count"] == "1" else "jobs"
    return words
