"""Who has what, now: each team's promise of a flavor beside what it uses, borrows, and has lent.

A scheduler's status says what each queue uses, and no more: neither Kueue nor KAI says of whose capacity a borrower
lives (kueue#7538). What can be said follows from the agreement's tree:

- *used* is the usage of all the team's queues;
- *borrowed* is what it uses beyond its guarantee;
- *lent*: borrowers take the free pool first, then what others lend and do not use themselves. That total is exact. Its
  parts are not observable where several teams lend at once, so it is shared out in proportion to what each has idle,
  in whole units, by largest remainder, ties in the agreement's order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import httpx2
from lightkube import ApiError, Client
from lightkube.utils.quantity import parse_quantity

from .. import kai
from ..agreement.hardware import Hardware, Unit
from ..kueue import PROD_SUFFIX
from ..plan import Plan, TeamPlan
from .clients import ClusterQueue, KaiQueue

if TYPE_CHECKING:
    from rich.table import Table

SCHEDULERS = ("kueue", "kai")


class NotThere(RuntimeError):
    """The cluster does not hold the agreement. The text says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Row:
    """One team and flavor, in whole units of the flavor."""

    team: str
    display_name: str
    flavor: str
    unit: Unit
    guaranteed: int
    lendable: int
    used: int
    lent: int
    borrowed: int


def who_has_what(client: Client, plan: Plan, scheduler: str | None = None) -> list[Row]:
    """Every team with every flavor, in the agreement's order, as one scheduler sees it (None: the one that is there).

    Raises NotThere when the scheduler does not hold the agreement's queues.
    """
    scheduler = scheduler or present(client)
    usage = _READERS[scheduler](client, plan)
    rows = []
    for flavor in plan.flavors:
        rows += _rows(plan, flavor, {team.name: usage.get((team.name, flavor.name), 0) for team in plan.teams})
    order = {team.name: place for place, team in enumerate(plan.teams)}
    return sorted(rows, key=lambda row: order[row.team])


def present(client: Client) -> str:
    """The scheduler whose queues are in the cluster; Kueue where both have some. Raises NotThere when neither has."""
    for scheduler, kind in (("kueue", ClusterQueue), ("kai", KaiQueue)):
        if _queues(client, kind):
            return scheduler
    raise NotThere("neither Kueue nor KAI has a queue in this cluster: pulumi up, or tenancy render and kubectl apply")


def idle_lendable(plan: Plan, team: TeamPlan, flavor: str, used: int) -> int:
    """What of its lendable part the team does not use itself; it uses what it keeps to itself first."""
    share = team.shares[flavor]
    return min(share.lendable, max(0, share.guaranteed - used))


def shared_out(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """A total in whole parts in proportion to the weights, none larger than its weight; largest remainder first."""
    whole = sum(weights.values())
    total = min(total, whole)
    exact = {name: Fraction(total * weight, whole) if whole else Fraction(0) for name, weight in weights.items()}
    parts = {name: floor(part) for name, part in exact.items()}
    rest = total - sum(parts.values())
    for name in sorted(exact, key=lambda it: parts[it] - exact[it])[:rest]:
        parts[name] += 1
    return parts


def _rows(plan: Plan, flavor: Hardware, used: Mapping[str, int]) -> list[Row]:
    borrowed = {team.name: max(0, used[team.name] - team.shares[flavor.name].guaranteed) for team in plan.teams}
    idle = {team.name: idle_lendable(plan, team, flavor.name, used[team.name]) for team in plan.teams}
    lent = shared_out(max(0, sum(borrowed.values()) - plan.pool[flavor.name]), idle)
    return [
        Row(
            team=team.name,
            display_name=team.display_name,
            flavor=flavor.name,
            unit=flavor.unit,
            guaranteed=team.shares[flavor.name].guaranteed,
            lendable=team.shares[flavor.name].lendable,
            used=used[team.name],
            lent=lent[team.name],
            borrowed=borrowed[team.name],
        )
        for team in plan.teams
    ]


def _kueue(client: Client, plan: Plan) -> dict[tuple[str, str], int]:
    """Units by (team, flavor): what ClusterQueues say is admitted."""
    queues = _queues(client, ClusterQueue)
    wanted = {team.name: [team.name, *([team.name + PROD_SUFFIX] if team.has_prod else [])] for team in plan.teams}
    _require("ClusterQueue", wanted, queues)
    usage: dict[tuple[str, str], int] = {}
    for team, names in wanted.items():
        for name in names:
            for entry in (queues[name].get("status") or {}).get("flavorsUsage") or ():
                flavor = plan.flavor.get(entry["name"])
                for resource in entry.get("resources") or ():
                    if flavor and resource["name"] == flavor.resource:
                        key = (team, flavor.name)
                        usage[key] = usage.get(key, 0) + _whole(resource.get("total"))
    return usage


def _kai(client: Client, plan: Plan) -> dict[tuple[str, str], int]:
    """Units by (team, flavor): what Queues say is allocated of the flavor's resource (a status counts slices as they are,
    only quota counts them as GPUs). A part of a unit counts as a whole one."""
    if why := kai.refusal(plan):
        raise NotThere(f"KAI has no queues for this agreement: {why}")
    queues = _queues(client, KaiQueue)
    wanted = {
        (team.name, flavor.name): kai.job_queues(plan, team, flavor) for flavor in plan.flavors for team in plan.teams
    }
    _require("Queue", wanted, queues)

    def allocated(queue: str, flavor: str) -> int:
        status = queues[queue].get("status") or {}
        return _whole((status.get("allocated") or {}).get(plan.flavor[flavor].resource))

    return {key: sum(allocated(name, key[1]) for name in names) for key, names in wanted.items()}


_READERS = {"kueue": _kueue, "kai": _kai}


def _queues(client: Client, kind: Any) -> dict[str, Mapping[str, Any]]:
    """Every object of a cluster-wide kind by name; none where the cluster does not know the kind."""
    try:
        return {one.metadata.name: one for one in client.list(kind)}
    except ApiError as error:
        if error.status.code == 404:
            return {}
        raise NotThere(f"the cluster does not let us read: {error.status.message}") from None
    except httpx2.HTTPStatusError as error:
        if error.response.status_code == 404:
            return {}
        raise NotThere(f"the cluster does not let us read: {error}") from None


def _require(kind: str, wanted: Mapping[Any, Iterable[str]], there: Mapping[str, Any]) -> None:
    missing = [name for names in wanted.values() for name in names if name not in there]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise NotThere(
            f"the cluster has no {kind} {shown}: it does not hold this agreement. "
            "Run pulumi up, or tenancy render and kubectl apply --server-side"
        )


def _whole(quantity: str | None) -> int:
    return ceil(parse_quantity(quantity or "0") or 0)


# Printing -------------------------------------------------------------------------------------------------------------


def table(rows: Iterable[Row]) -> Table:
    """The rows as a table; the flavor is a column where there are several."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    several = len({row.flavor for row in rows}) > 1
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("team", *(["flavor"] if several else [])):
        made.add_column(name, overflow="fold")
    for name in ("guaranteed", "lendable", "used", "lent", "borrowed"):
        made.add_column(name, justify="right")
    for row in rows:
        if several and not (row.guaranteed or row.used):
            continue
        numbers = (row.guaranteed, row.lendable, row.used, row.lent, row.borrowed)
        made.add_row(Text(row.display_name), *([row.flavor] if several else []), *map(str, numbers))
    return made


def show(rows: Iterable[Row]) -> None:
    """Prints the table; aligned text where stdout is no terminal."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=160, color_system=None)
    console.print(table(rows))


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows for a program."""
    return [asdict(row) for row in rows]
