"""A board as Prometheus' text format (version 0.0.4), for a textfile collector or a gateway.

Units of a flavor are GPUs, MIG slices or CPUs: the label `unit` says which. Loans are written only where there are some, so that a
hundred teams do not make ten thousand series.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..quota.lending import POOL
from .model import Attention, Kind, StatusReport, TeamStatus

Labels = Mapping[str, str]
Sample = tuple[Labels, float]

HELP: Mapping[str, str] = {
    "tenancy_guaranteed": "Units that a team is guaranteed of a flavor.",
    "tenancy_used": "Units that a team's queues use of a flavor.",
    "tenancy_lent": "Units of a team's that others use.",
    "tenancy_borrowed": "Units that a team uses beyond its guarantee.",
    "tenancy_loan": "Units of a lender (empty: the free pool) that a borrower uses; shared out where several lend or borrow.",
    "tenancy_waiting_jobs": "Jobs of a team that wait.",
    "tenancy_waiting_units": "Units that these jobs wait for.",
    "tenancy_waiting_longest_seconds": "How long the first of them has waited.",
    "tenancy_waiting_within_guarantee_jobs": "Jobs that wait though they fit into what is left of the guarantee.",
    "tenancy_evictions_last_hour": "How often jobs of a team were stopped in the last hour.",
    "tenancy_promise_short": "Promises that are not kept now, by why; team or flavor is empty where it is of all.",
    "tenancy_capacity": "Units of a flavor by the agreement.",
    "tenancy_usable": "Units of a flavor on nodes that take jobs.",
    "tenancy_status_timestamp_seconds": "When the cluster was looked at.",
}
"""All are gauges."""


def text(board: StatusReport) -> str:
    """Every metric with HELP and TYPE, in the order of the table above."""
    found: dict[str, list[Sample]] = {name: [] for name in HELP}
    for name, labels, value in _samples(board):
        found[name].append(({"agreement": board.plan.cluster, **labels}, value))
    lines = []
    for name, told in HELP.items():
        lines += [f"# HELP {name} {told}", f"# TYPE {name} gauge"]
        lines += [_line(name, labels, value) for labels, value in found[name]]
    return "\n".join(lines) + "\n"


def _samples(board: StatusReport) -> Iterator[tuple[str, Labels, float]]:
    seen = board.seen
    yield "tenancy_status_timestamp_seconds", {"scheduler": seen.scheduler}, seen.at.timestamp()
    for entry in board.flavors:
        labels = {"flavor": entry.flavor.name, "unit": entry.flavor.unit}
        yield "tenancy_capacity", labels, entry.flavor.capacity
        if entry.supply:
            yield "tenancy_usable", labels, entry.usable
    order = {team.name: place for place, team in enumerate(board.plan.teams)}
    for standing in sorted(board.statuses, key=lambda standing: order[standing.team.name]):
        if standing.share.guaranteed or standing.use.total or standing.attention is not Attention.QUIET:
            yield from _of_team_status(board, standing)
    for kind, team, flavor in _kinds(board):
        count = sum((short.kind, short.team, short.flavor) == (kind, team, flavor) for short in board.all_violations)
        yield "tenancy_promise_short", {"team": team, "flavor": flavor, "kind": kind}, count


def _of_team_status(board: StatusReport, standing: TeamStatus) -> Iterable[tuple[str, Labels, float]]:
    labels = {
        "team": standing.team.name,
        "flavor": standing.flavor_name,
        "unit": standing.flavor.unit if standing.flavor else "",
    }
    longest = max(((board.seen.at - one.since).total_seconds() for one in standing.waiting), default=0.0)
    yield "tenancy_guaranteed", labels, standing.share.guaranteed
    yield "tenancy_used", labels, standing.use.total
    yield "tenancy_lent", labels, standing.lent
    yield "tenancy_borrowed", labels, standing.borrowed
    yield "tenancy_waiting_jobs", labels, len(standing.waiting)
    yield "tenancy_waiting_units", labels, standing.waiting_units
    yield "tenancy_waiting_longest_seconds", labels, max(0, round(longest))
    yield "tenancy_waiting_within_guarantee_jobs", labels, len(standing.owed)
    yield "tenancy_evictions_last_hour", labels, standing.evicted
    for part in standing.borrowed_from:
        lender = part.team if part.team != POOL else ""
        between = {
            "lender": lender,
            "borrower": standing.team.name,
            "flavor": standing.flavor_name,
            "unit": labels["unit"],
        }
        yield "tenancy_loan", between, part.units


def _kinds(board: StatusReport) -> Iterable[tuple[Kind, str, str]]:
    return dict.fromkeys((short.kind, short.team, short.flavor) for short in board.all_violations)


def _line(name: str, labels: Labels, value: float) -> str:
    told = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
    return f"{name}{{{told}}} {value:.15g}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
