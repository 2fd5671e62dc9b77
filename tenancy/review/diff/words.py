"""What teams, flavors and amounts are called in a comparison, and a change's story in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...agreement.hardware import Hardware
from ...text import counts
from .balance import Balance, Party, Side
from .facts import NONE
from .model import Difference
from .numbers import Row

POOL = "the free pool"
MOST_PARTIES = 8  # on one side of a balance, by name
MOST_TERMS = 12  # sentences on what is lent, borrowed and set aside; of more the table alone tells


class Names:
    """People read display names; a team's own name stands beside one that is not the same but for case."""

    def __init__(self, difference: Difference) -> None:
        self._old, self._new = difference.old, difference.new
        self._flavors: dict[str, Hardware] = {**self._old.flavor, **self._new.flavor}
        self.several = len(self._flavors) > 1

    def team(self, name: str) -> str:
        there = self._new.team.get(name) or self._old.team[name]
        shown = there.display_name
        return shown if shown.casefold() == name.casefold() else f"{shown} ({name})"

    def teams(self, names: Iterable[str]) -> str:
        return listed([self.team(name) for name in names])

    def units(self, flavor: str, amount: int, more: str = "") -> str:
        """`128 GPUs`, with several flavors `128 GPUs of h100`; `more` stands before the unit: `8 more GPUs`."""
        count, unit = self._flavors[flavor].count(amount).split(" ", 1)
        said = f"{int(count):,}{f' {more}' if more else ''} {unit}"
        return f"{said} of {flavor}" if self.several else said

    def is_new(self, team: str) -> bool:
        return team not in self._old.team

    def is_gone(self, team: str) -> bool:
        return team not in self._new.team

    def hardware(self, flavor: str) -> str:
        """What came or went: `8 nodes`."""
        was, becomes = (plan.flavor[flavor].nodes if flavor in plan.flavor else 0 for plan in (self._old, self._new))
        count = abs(becomes - was)
        return (
            f"{count:,} {'new ' if becomes > was else ''}node{'s' * (count != 1)}"
            if count
            else "a change of its node size"
        )


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return counts.listed(items) or NONE


def story(difference: Difference) -> list[str]:
    """The change as a person tells it: who gets what from whom, what else a team may do or not, and what stays."""
    if difference.is_empty:
        return ["Nothing changes."]
    names = Names(difference)
    told = [_balance(balance, names) for balance in difference.balances]
    told += _without_guarantee(difference, names)
    terms = [sentence for row in difference.promised for sentence in _terms(row, names)]
    told += (
        terms
        if len(terms) <= MOST_TERMS
        else [f"What teams lend, may borrow or set aside for prod changes in {len(terms):,} places."]
    )
    unchanged = len(difference.unchanged_teams)
    if unchanged:
        others = difference.facts or difference.kept or difference.reached
        teams = counts.counted(unchanged, "team")
        told.append(
            f"{teams} {'is' if unchanged == 1 else 'are'} unchanged."
            if others
            else f"All other teams are unchanged: {teams}."
        )
    return told


# --- who pays


def _balance(balance: Balance, names: Names) -> str:
    if len(balance.takers) == 1:
        return _taken(balance, balance.takers[0], names)
    if len(balance.givers) == 1:
        return _given(balance, balance.givers[0], names)
    takers, givers = (
        _parties(sides, lambda who, amount: f"{who} {amount}", balance, names)
        for sides in (balance.takers, balance.givers)
    )
    return f"{names.units(balance.flavor, balance.moved)} move: to {takers}; from {givers}."


def _taken(balance: Balance, taker: Side, names: Names) -> str:
    givers = _parties(balance.givers, lambda who, amount: f"{amount} from {who}", balance, names)
    if len(balance.givers) == 1:
        givers = f"all from {_party(balance.givers[0], balance.flavor, names)}"
    match taker.party:
        case Party.TEAM if names.is_new(taker.team):
            return f"{names.team(taker.team)} is new and gets {names.units(balance.flavor, taker.amount)}: {givers}."
        case Party.TEAM:
            return f"{names.team(taker.team)} gets {names.units(balance.flavor, taker.amount, 'more')}: {givers}."
        case Party.POOL:
            return f"{names.units(balance.flavor, taker.amount)} are no longer guaranteed to anybody and are open to all teams: {givers}."
        case _:
            return (
                f"{names.units(balance.flavor, taker.amount)} are lost with {names.hardware(balance.flavor)}: {givers}."
            )


def _given(balance: Balance, giver: Side, names: Names) -> str:
    takers = _parties(balance.takers, lambda who, amount: f"{amount} to {who}", balance, names)
    amount = names.units(balance.flavor, giver.amount)
    match giver.party:
        case Party.TEAM if names.is_gone(giver.team):
            return f"{names.team(giver.team)} leaves the agreement and frees {amount}: {takers}."
        case Party.TEAM:
            return f"{names.team(giver.team)} gives {amount}: {takers}."
        case Party.POOL:
            return f"The free pool gives {amount}: {takers}."
        case _:
            return f"{amount} are added by {names.hardware(balance.flavor)}: {takers}."


def _parties(sides: Sequence[Side], say: Callable[[str, str], str], balance: Balance, names: Names) -> str:
    """Each with its amount; of many the largest, and the rest together, so that the sum can be read."""
    shown, rest = sides, sides[:0]
    if len(sides) > MOST_PARTIES:
        by_size = sorted(sides, key=lambda side: -side.amount)
        shown, rest = by_size[:MOST_PARTIES], by_size[MOST_PARTIES:]
    said = [say(_party(side, balance.flavor, names), f"{side.amount:,}") for side in shown]
    if rest:
        said.append(say(f"{len(rest):,} more", f"{sum(side.amount for side in rest):,}"))
    return ", ".join(said)


def _party(side: Side, flavor: str, names: Names) -> str:
    match side.party:
        case Party.TEAM:
            said = names.team(side.team)
            return (
                f"{said}, which leaves the agreement"
                if names.is_gone(side.team)
                else f"{said}, which is new"
                if names.is_new(side.team)
                else said
            )
        case Party.POOL:
            return POOL
        case _:
            return names.hardware(flavor)


# --- what else a promise says


def _without_guarantee(difference: Difference, names: Names) -> Iterator[str]:
    """Teams that come or go without a balance that names them: they are guaranteed nothing, or of flavors that are counted anew."""
    named = {side.team for balance in difference.balances for side in (*balance.takers, *balance.givers)}
    for team in difference.changed_teams:
        if team not in named and names.is_new(team):
            yield f"{names.team(team)} is new; no other team has less because of it."
        elif team not in named and names.is_gone(team):
            yield f"{names.team(team)} leaves the agreement; no other team has more because of it."


def _terms(row: Row, names: Names) -> Iterator[str]:
    """What the team lends, may borrow, or has set aside for prod in another way than its guarantee alone says: by default all is
    lent, borrowing has no limit, and nothing is set aside."""
    if row.after is None:
        return
    was, becomes, team = row.was, row.becomes, names.team(row.team)
    if was.reserved != becomes.reserved:
        yield f"{team} lends {becomes.lendable:,} of its {names.units(row.flavor, becomes.guaranteed)}{_before(row, f'{was.lendable:,} of {was.guaranteed:,}')}."
    if was.prod != becomes.prod:
        yield f"{team} sets {names.units(row.flavor, becomes.prod)} aside for prod{_before(row, f'{was.prod:,}')}."
    borrowed = was.borrowable if row.before else None
    if borrowed != becomes.borrowable:
        most = (
            "without limit" if becomes.borrowable is None else f"at most {names.units(row.flavor, becomes.borrowable)}"
        )
        yield f"{team} may borrow {most}{_before(row, limit(borrowed))}."


def _before(row: Row, said: str) -> str:
    return f" (before {said})" if row.before else ""


def limit(borrowable: int | None) -> str:
    return "no limit" if borrowable is None else f"{borrowable:,}"
