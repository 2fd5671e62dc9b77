"""Promises: to flavors that exist, in their unit, within each other and within what the nodes hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...text.spelling import did_you_mean
from ..findings import Finding, Path, Severity
from ..hardware import UNIT_WORDS, Hardware, amount_path, by_flavor, resolve
from ..model import Agreement
from ..scalars import Amount

PROMISES = ("guaranteed", "lendable", "borrowable", "prod")


def references(agreement: Agreement) -> Iterator[Finding]:
    """Departments and flavors that are not there, amounts in a unit that is not the flavor's."""
    hardware = _hardware(agreement)
    if not agreement.teams:
        yield Finding(("teams",), "has no teams", "add a table such as [teams.research]", Severity.ADVICE)
    for name, team in agreement.teams.items():
        if team.department is not None and team.department not in agreement.departments:
            remedy = did_you_mean(team.department, agreement.departments, f"add [departments.{team.department}]")
            message = f"{team.department!r} is not a department of this agreement"
            yield Finding(("teams", name, "department"), message, remedy)
        for promise in PROMISES:
            amounts = getattr(team, promise)
            if isinstance(amounts, Amount) and len(agreement.flavors) > 1:
                example = f"write a table such as {{ {next(iter(agreement.flavors))} = {amounts.count} }}"
                message = f"does not say which of the {len(agreement.flavors)} flavors it counts"
                yield Finding(("teams", name, promise), message, example)
            for flavor, amount in by_flavor(amounts, agreement).items():
                path = amount_path(name, promise, amounts, flavor)
                if flavor not in hardware:
                    message = f"{flavor!r} is not a flavor of this agreement"
                    yield Finding(path, message, did_you_mean(flavor, hardware, "add the flavor"), on_key=True)
                else:
                    yield from _unit(path, amount, hardware[flavor])


def _unit(path: Path, amount: Amount, hardware: Hardware) -> Iterator[Finding]:
    if amount.unit == hardware.unit or (amount.unit == "" and hardware.unit != "cpu"):
        return
    right = f'"{amount.count} cpu"' if hardware.unit == "cpu" else str(amount.count)
    what = f"is in {UNIT_WORDS[amount.unit][1]}" if amount.unit else "has no unit"
    yield Finding(
        path, f"{what}, but flavor {hardware.name!r} is counted in {UNIT_WORDS[hardware.unit][1]}", f"write {right}"
    )


def within_guarantee(agreement: Agreement) -> Iterator[Finding]:
    """Lendable and prod are parts of guaranteed."""
    for name, team in agreement.teams.items():
        guaranteed = by_flavor(team.guaranteed, agreement)
        for promise in ("lendable", "prod"):
            amounts = getattr(team, promise)
            for flavor, amount in by_flavor(amounts, agreement).items():
                most = guaranteed[flavor].count if flavor in guaranteed else 0
                if amount.count > most and flavor in agreement.flavors:
                    yield Finding(
                        amount_path(name, promise, amounts, flavor),
                        f"{amount.count} is more than guaranteed ({most})",
                        f"write at most {most}, or raise guaranteed",
                    )


def within_capacity(agreement: Agreement) -> Iterator[Finding]:
    """What is guaranteed of a flavor, all teams together, is there."""
    hardware = _hardware(agreement)
    sums: dict[str, dict[str, int]] = defaultdict(dict)
    for name, team in agreement.teams.items():
        for flavor, amount in by_flavor(team.guaranteed, agreement).items():
            if amount.count:
                sums[flavor][name] = amount.count
    for flavor, by_team in sums.items():
        found = hardware.get(flavor)
        total = sum(by_team.values())
        if found is None or total <= found.capacity or not found.capacity:
            continue
        largest = sorted(by_team, key=lambda team: -by_team[team])[:3]
        shares = " + ".join(f"{team} {by_team[team]}" for team in largest)
        more = f" + {len(by_team) - 3} more" if len(by_team) > 3 else ""
        yield Finding(
            ("flavors", flavor),
            f"teams are guaranteed {found.count(total)} ({shares}{more}), but "
            f"{found.nodes} nodes of {found.units_per_node} have {found.capacity}",
            f"lower guarantees by {total - found.capacity}, or add nodes",
        )


def node_shapes(agreement: Agreement) -> Iterator[Finding]:
    """Advice: a guarantee that is not whole nodes serves whole-node jobs with less than its number."""
    hardware = _hardware(agreement)
    for name, team in agreement.teams.items():
        for flavor, amount in by_flavor(team.guaranteed, agreement).items():
            found = hardware.get(flavor)
            if found is None or found.unit != "gpu" or not amount.count:
                continue
            rest = amount.count % found.units_per_node
            if not rest:
                continue
            whole = amount.count - rest
            above = whole + found.units_per_node
            yield Finding(
                amount_path(name, "guaranteed", team.guaranteed, flavor),
                f"{found.count(amount.count)} is not a multiple of the node size ({found.units_per_node}), so "
                f"jobs that request whole nodes can use only {whole} of them",
                f"{whole} or {above} would be whole nodes" if whole else f"{above} would be a whole node",
                Severity.ADVICE,
            )


_NEWEST = (
    "when a prod slice takes GPUs back, Kueue preempts the newest job in any queue that uses more than its own quota"
)
_HIT_FIRST = {
    "cohort": (
        f"{_NEWEST}; here a team's regular queue has no quota of its own, so reclaiming prod may first preempt the team's own "
        "regular job, which then preempts a borrower"
    ),
    "queue": f"{_NEWEST}: a job that borrows, or a job of the same team beyond guaranteed - prod",
}
_SPARED = {
    "cohort": 'with guarantee_on = "queue" a team\'s jobs within guaranteed - prod are not preempted',
    "queue": "",
}


def hit_first(agreement: Agreement) -> Iterator[Finding]:
    """Advice: whose jobs are stopped when prod comes back, which follows from where the guarantee stands (measured on
    Kueue 0.17 and 0.19: candidates are queues above their nominalQuota, the newest job first)."""
    prod = [by_flavor(team.prod, agreement) for team in agreement.teams.values()]
    if any(amount.count for amounts in prod for amount in amounts.values()):
        layout = agreement.cluster.guarantee_on
        yield Finding(("cluster", "guarantee_on"), _HIT_FIRST[layout], _SPARED[layout], Severity.ADVICE)


def nothing_promised(agreement: Agreement) -> Iterator[Finding]:
    """Advice: a team that can never run anything, a department without teams."""
    for name, team in agreement.teams.items():
        guaranteed, borrowable = by_flavor(team.guaranteed, agreement), by_flavor(team.borrowable, agreement)
        if (
            agreement.flavors
            and not any(amount.count for amount in guaranteed.values())
            and all(flavor in borrowable and not borrowable[flavor].count for flavor in agreement.flavors)
        ):
            message = "is guaranteed nothing and may borrow nothing, so none of its jobs will ever start"
            yield Finding(("teams", name), message, "give it guaranteed or borrowable", Severity.ADVICE, on_key=True)
    used = {team.department for team in agreement.teams.values()}
    for name in agreement.departments:
        if name not in used:
            remedy = "name it in a team's department, or remove it"
            yield Finding(("departments", name), "has no team", remedy, Severity.ADVICE, on_key=True)


def _hardware(agreement: Agreement) -> dict[str, Hardware]:
    return {name: resolve(name, flavor) for name, flavor in agreement.flavors.items()}
