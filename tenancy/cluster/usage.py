"""Who has what, now: each team's promise of a flavor beside what it uses, borrows, and has lent.

Queues' own status says what each uses. What a team borrows and of whose capacity follows from the agreement's tree
(`standing.lending`). `live.status` reads what else there is to know: who waits, who was stopped, what is short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
from lightkube import ApiError, Client

from ..agreement.hardware import Hardware, Unit
from ..agreement.plan import Plan
from ..objects import kai
from ..objects.kueue import PROD_SUFFIX
from ..objects.schedulers import Place
from ..quota.lending import POOL, Use, lending
from ..text.quantity import amount, whole
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
    uses = _READERS[scheduler](client, plan)
    rows = []
    for flavor in plan.flavors:
        rows += _rows(plan, flavor, {team.name: uses.get((team.name, flavor.name), Use()) for team in plan.teams})
    order = {team.name: place for place, team in enumerate(plan.teams)}
    return sorted(rows, key=lambda row: order[row.team])


def present(client: Client) -> str:
    """The scheduler whose queues are in the cluster; Kueue where both have some. Raises NotThere when neither has."""
    for scheduler, kind in (("kueue", ClusterQueue), ("kai", KaiQueue)):
        if _queues(client, kind):
            return scheduler
    raise NotThere("neither Kueue nor KAI has a queue in this cluster: pulumi up, or tenancy render and kubectl apply")


def kueue_places(plan: Plan) -> dict[str, tuple[str, Place]]:
    """The team and the place of every ClusterQueue of the agreement."""
    found = {}
    for team in plan.teams:
        found[team.name] = (team.name, Place.REGULAR)
        if team.has_prod:
            found[team.name + PROD_SUFFIX] = (team.name, Place.PROD)
    return found


def kueue_uses(plan: Plan, queues: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Use]:
    """By team and flavor, what ClusterQueues say is admitted; one that is not there uses nothing."""
    units: dict[tuple[str, str], dict[Place, int]] = defaultdict(lambda: defaultdict(int))
    for name, (team, place) in kueue_places(plan).items():
        for entry in (queues.get(name, {}).get("status") or {}).get("flavorsUsage") or ():
            flavor = plan.flavor.get(entry["name"])
            for resource in entry.get("resources") or ():
                if flavor and resource["name"] == flavor.resource:
                    units[team, flavor.name][place] += _whole(resource.get("total"))
    return {key: Use(by[Place.REGULAR], by[Place.PROD]) for key, by in units.items()}


def kai_places(plan: Plan) -> dict[str, tuple[str, str, Place]]:
    """The team, the flavor and the place of every Queue of the agreement that jobs name."""
    found = {}
    for flavor in plan.flavors:
        for team in plan.teams:
            prod, kept = kai.prod_queues(plan, team, flavor), kai.reserved(plan, team, flavor)
            for name in kai.job_queues(plan, team, flavor):
                place = Place.PROD if name in prod else Place.RESERVED if name == kept else Place.REGULAR
                found[name] = (team.name, flavor.name, place)
    return found


def kai_uses(plan: Plan, queues: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Use]:
    """By team and flavor, what Queues say is allocated of the flavor's resource (a status counts slices as they are, only quota
    counts them as GPUs). A part of a unit counts as a whole one."""
    units: dict[tuple[str, str], dict[Place, int]] = defaultdict(lambda: defaultdict(int))
    kept: dict[tuple[str, str], int] = defaultdict(int)
    for name, (team, flavor, place) in kai_places(plan).items():
        status = queues.get(name, {}).get("status") or {}
        amount = _whole((status.get("allocated") or {}).get(plan.flavor[flavor].resource))
        units[team, flavor][place] += amount
        # Of two queues of a prod slice the first is that of what is never lent (kai.names.prod_bases).
        first = next(iter(kai.prod_queues(plan, plan.team[team], plan.flavor[flavor])), "")
        if place is Place.RESERVED or (name == first and kai.parts(plan.team[team].shares[flavor]).prod_reserved):
            kept[team, flavor] += amount
    return {key: Use(by[Place.REGULAR], by[Place.PROD], by[Place.RESERVED], kept[key]) for key, by in units.items()}


def _rows(plan: Plan, flavor: Hardware, uses: Mapping[str, Use]) -> list[Row]:
    lent: dict[str, int] = defaultdict(int)
    for loan in lending(plan, flavor, uses):
        if loan.lender != POOL:
            lent[loan.lender] += loan.units
    return [
        Row(
            team=team.name,
            display_name=team.display_name,
            flavor=flavor.name,
            unit=flavor.unit,
            guaranteed=team.shares[flavor.name].guaranteed,
            lendable=team.shares[flavor.name].lendable,
            used=uses[team.name].total,
            lent=lent[team.name],
            borrowed=uses[team.name].borrowed(team.shares[flavor.name]),
        )
        for team in plan.teams
    ]


def _kueue(client: Client, plan: Plan) -> dict[tuple[str, str], Use]:
    queues = _queues(client, ClusterQueue)
    _require("ClusterQueue", kueue_places(plan), queues)
    return kueue_uses(plan, queues)


def _kai(client: Client, plan: Plan) -> dict[tuple[str, str], Use]:
    if why := kai.refusal(plan):
        raise NotThere(f"KAI has no queues for this agreement: {why}")
    queues = _queues(client, KaiQueue)
    _require("Queue", kai_places(plan), queues)
    return kai_uses(plan, queues)


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


def _require(kind: str, wanted: Iterable[str], there: Mapping[str, Any]) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise NotThere(
            f"the cluster has no {kind} {shown}: it does not hold this agreement. "
            "Run pulumi up, or tenancy render and kubectl apply --server-side"
        )


def _whole(quantity: str | None) -> int:
    return whole(amount(quantity))


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
