"""What became different between two boards, a line for each: `--watch` where nobody sees a table that redraws itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .model import StatusReport, TeamStatus
from .words import parts, short_text

Key = tuple[str, str]
NUMBERS: Mapping[str, Callable[[TeamStatus], int]] = {
    "in use": lambda standing: standing.use.total,
    "lent": lambda standing: standing.lent,
    "borrowed": lambda standing: standing.borrowed,
    "jobs wait": lambda standing: len(standing.waiting),
    "evicted": lambda standing: standing.evicted,
}


def changes(before: StatusReport, after: StatusReport) -> Iterator[str]:
    """In the order of the later board."""
    time = f"{after.seen.at:%H:%M:%S}"
    # Of a sentence only what it is about counts: it goes on to say how long a job has waited.
    was, now = (
        {(short.kind, short.team, short.flavor): short for short in one.all_violations} for one in (before, after)
    )
    for (_, team, flavor), short in now.items():
        if (short.kind, team, flavor) not in was:
            yield f"{time} VIOLATED {_who(team, flavor)}: {short_text(short.why)}"
    for kind, team, flavor in was:
        if (kind, team, flavor) not in now:
            yield f"{time} no longer violated ({kind}): {_who(team, flavor)}"
    earlier = {_key(standing): standing for standing in before.statuses}
    for standing in after.statuses:
        if told := list(_numbers(earlier.get(_key(standing)), standing)):
            yield f"{time} {_who(*_key(standing))}: {', '.join(told)}"


def _numbers(old: TeamStatus | None, new: TeamStatus) -> Iterator[str]:
    for name, number in NUMBERS.items():
        was, now = (number(old) if old else 0), number(new)
        if was != now:
            of = new.lent_to if name == "lent" else new.borrowed_from if name == "borrowed" else ()
            yield f"{name} {was} → {now}{f' ({parts(of)})' if of else ''}"


def _key(standing: TeamStatus) -> Key:
    return standing.team.name, standing.flavor_name


def _who(team: str, flavor: str) -> str:
    return " ".join(filter(None, (team, flavor))) or "all"
