"""An answer as text: each part under its name, in a hundred columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from .model import Answer

WIDTH = 100
LABEL = 11  # columns of the names of parts


def text(answer: Answer, width: int = WIDTH) -> str:
    lines = [*_wrapped(answer.headline, width, "", ""), ""]
    for label, several in _parts(answer):
        lines += _part(label, several, width)
    return "\n".join(lines) + "\n"


def _parts(answer: Answer) -> Iterator[tuple[str, Sequence[str]]]:
    about = [("asks", [answer.asks]), ("queue", [answer.queue]), ("stopped", answer.history)]
    yield from ((label, several) for label, several in about if any(several))
    more: list[tuple[str, Sequence[str]]] = [
        ("why", [reason.text for reason in answer.reasons]),
        ("who has it", [holder.text for holder in answer.holders]),
        ("take back", answer.reclaim),
        ("starts if", [f"or {value}" if place else value for place, value in enumerate(answer.help)]),
    ]
    yield from ((label, several) for label, several in more if several)
    if answer.when:
        lines = (
            [answer.when.earliest]
            if answer.when.never
            else [f"earliest: {answer.when.earliest}", f"latest: {answer.when.latest}"]
        )
        yield "when", lines
    if answer.unseen:
        yield "not seen", [answer.unseen]
    if answer.said:
        yield "in full", [f"{said.by}, {said.where} {said.reason}: {said.message}" for said in answer.said]


def _part(label: str, several: Sequence[str], width: int) -> Iterator[str]:
    for number, line in enumerate(several):
        first = label.ljust(LABEL) + " " if not number else " " * (LABEL + 1)
        yield from _wrapped(line, width, first, " " * (LABEL + 1) + ("  " if len(several) > 1 else ""))


def _wrapped(line: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        " ".join(line.split()), max(width, 40), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    ) or [first]
