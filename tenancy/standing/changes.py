"""What became different between two boards, a line for each: `--watch` where nobody sees a table that redraws itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from .model import Board, Standing
from .words import parts, short_text

Key = tuple[str, str]
NUMBERS: Mapping[str, Callable[[Standing], int]] = {
    "in use": lambda it: it.use.total,
    "lent": lambda it: it.lent,
    "borrowed": lambda it: it.borrowed,
    "jobs wait": lambda it: len(it.waiting),
    "evicted": lambda it: it.evicted,
}


def changes(before: Board, after: Board, teams: Collection[str] = (), flavors: Collection[str] = ()) -> Iterator[str]:
    """In the order of the later board."""
    time = f"{after.seen.at:%H:%M:%S}"

    def meant(team: str, flavor: str) -> bool:
        return (not teams or not team or team in teams) and (not flavors or not flavor or flavor in flavors)

    # Of a sentence only the beginning counts: it goes on to say how long a job has waited.
    was, now = ({(it.kind, it.team, it.flavor): it for it in one.all_shorts} for one in (before, after))
    for key in now.keys() - was.keys():
        if meant(*key[1:]):
            yield f"{time} SHORT {_who(*key[1:])}: {short_text(now[key].why)}"
    for key in was.keys() - now.keys():
        if meant(*key[1:]):
            yield f"{time} no longer short ({key[0]}): {_who(*key[1:])}"
    earlier = {_key(it): it for it in before.standings}
    for standing in after.standings:
        old = earlier.get(_key(standing))
        if meant(*_key(standing)) and (told := list(_numbers(old, standing))):
            yield f"{time} {_who(*_key(standing))}: {', '.join(told)}"


def _numbers(old: Standing | None, new: Standing) -> Iterator[str]:
    for name, number in NUMBERS.items():
        was, now = (number(old) if old else 0), number(new)
        if was != now:
            of = new.lent_to if name == "lent" else new.borrowed_from if name == "borrowed" else ()
            yield f"{name} {was} → {now}{f' ({parts(of)})' if of else ''}"


def _key(it: Standing) -> Key:
    return it.team.name, it.flavor_name


def _who(team: str, flavor: str) -> str:
    return " ".join(filter(None, (team, flavor))) or "all"
