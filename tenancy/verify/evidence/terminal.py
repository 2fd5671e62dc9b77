"""A run on the terminal: how far it is while it goes, then kinds × teams, then what was broken, with its evidence.

Where the stream is no terminal the live part is a line for each check that ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import IO, TYPE_CHECKING, Protocol

from ...text.console import console
from ...text.counts import some
from ...text.durations import measured
from ...text.plain import plain
from .matrix import Matrix, matrix
from .model import Event, Run, Verdict
from .words import narration, story, summary

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

MOST_LINES = 12  # checks under way that are shown at once
STYLES = {Verdict.HELD: "green", Verdict.BROKEN: "bold red", Verdict.NOT_RUN: "yellow"}
SIGNS = {Verdict.HELD: "✓", Verdict.BROKEN: "✗", Verdict.NOT_RUN: "–"}
ASCII = {Verdict.HELD: "ok", Verdict.BROKEN: "X", Verdict.NOT_RUN: "-"}


class Tell(Protocol):
    def __call__(self, event: Event) -> None: ...


class Progress:
    """What is under way. `tell` may be called from any thread."""

    def __init__(self, total: int, console: Console) -> None:
        self.total, self.console = total, console
        self.began = time.monotonic()
        self.ended: list[Event] = []
        self.under_way: dict[str, tuple[Event, float]] = {}
        """By the check's name, with when it began."""
        self._lock = Lock()

    def tell(self, event: Event) -> None:
        with self._lock:
            name = event.check.name
            if event.outcome:
                self.under_way.pop(name, None)
                self.ended.append(event)
                if event.outcome.verdict is Verdict.BROKEN or not self.console.is_terminal:
                    self._line(event)
            else:
                since = self.under_way[name][1] if name in self.under_way else event.seconds
                self.under_way[name] = (event, since)

    def _line(self, event: Event) -> None:
        from rich.text import Text

        assert event.outcome
        verdict = event.outcome.verdict
        took = f"{measured(event.outcome.seconds):>7}" if verdict is not Verdict.NOT_RUN else " " * 7
        far = f"{len(self.ended)}/{self.total}"
        why = f"  {plain(event.outcome.why)}" if event.outcome.why else ""
        self.console.print(
            Text.assemble(
                f"{far:>{2 * len(str(self.total)) + 1}}  ",
                (f"{verdict:<7}", STYLES[verdict]),
                f"  {took}  {plain(event.check.name)}{why}",
            ),
            soft_wrap=True,
        )

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        with self._lock:
            now = time.monotonic() - self.began
            done, going = len(self.ended), list(self.under_way.values())
            broken = sum(1 for event in self.ended if event.outcome and event.outcome.verdict is Verdict.BROKEN)
        head = Table.grid(padding=(0, 1))
        told = f"{done} of {self.total} promises, {len(going)} under way, {measured(now)}"
        head.add_row(
            ProgressBar(self.total, done, width=24), Text(told), Text(f"{broken} broken" if broken else "", "bold red")
        )
        lines = Table.grid(padding=(0, 2))
        for event, since in going[:MOST_LINES]:
            steps = event.check.steps
            step = (
                f"{event.step}/{len(steps)} {plain(steps[event.step - 1].says)}"
                if 0 < event.step <= len(steps)
                else "its objects are made"
            )
            lines.add_row(
                Text(f"  {plain(event.check.name)}", no_wrap=True),
                Text(measured(max(0.0, now - since)), justify="right", no_wrap=True),
                Text(step, "dim", no_wrap=True, overflow="ellipsis"),
            )
        more = len(going) - MOST_LINES
        return Group(head, lines, *([Text(f"  and {more} more", "dim")] if more > 0 else []))


@contextmanager
def progress(total: int, stream: IO[str]) -> Iterator[Tell]:
    """Shows a run of so many checks while it goes; yields what its events are told to."""
    from rich.live import Live

    result = Progress(total, console(stream))
    if not result.console.is_terminal:
        yield result.tell
        return
    with Live(result, console=result.console, refresh_per_second=4, transient=True):
        yield result.tell


def show(run: Run, stream: IO[str], *, narrate: bool = False) -> None:
    """Kinds × teams, what was broken and why, what was not run and why, and the sum; with `narrate` first what happened in
    each check that passed."""
    from rich.text import Text

    out = console(stream)
    for outcome in run.outcomes if narrate else ():
        if outcome.verdict is Verdict.HELD:
            out.print(Text(plain(outcome.check.promise), "bold"), soft_wrap=True)
            for line in narration(outcome):
                out.print(Text(f"  {line}"), soft_wrap=True)
    if run.outcomes:
        out.print(_table(matrix(run.outcomes), out))
    broken = [outcome for outcome in run.outcomes if outcome.verdict is Verdict.BROKEN]
    for outcome in broken:
        out.print(
            Text.assemble(("BROKEN  ", STYLES[Verdict.BROKEN]), (plain(outcome.check.name), "bold")), soft_wrap=True
        )
        for line in (plain(outcome.check.promise), *story(outcome)):
            out.print(Text(f"  {line}"), soft_wrap=True)
        out.print()
    reasons: dict[str, list[str]] = {}
    for outcome in run.outcomes:
        if outcome.verdict is Verdict.NOT_RUN:
            reasons.setdefault(plain(outcome.why), []).append(plain(outcome.check.name))
    for why, names in reasons.items():
        out.print(Text.assemble(("not run ", STYLES[Verdict.NOT_RUN]), f"{some(names, 3)}: {why}"), soft_wrap=True)
    out.print(Text(summary(run), "bold red" if broken else "bold"), soft_wrap=True)


def _table(matrix: Matrix, out: Console) -> Table:
    """Kinds × teams; the teams together where they do not fit side by side."""
    from rich import box
    from rich.table import Table

    narrow = (
        sum(max(len(team), 5) + 2 for team in matrix.teams) + max(len(kind) for _, kind in matrix.rows) + 12 > out.width
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("scheduler")
    table.add_column("kind", no_wrap=True)
    heads = [str(verdict) for verdict in Verdict] if narrow else [plain(team) or "(all)" for team in matrix.teams]
    for head in heads:
        table.add_column(_text(head), justify="right", no_wrap=True)
    before = ""
    for scheduler, kind in matrix.rows:
        found = [matrix.cells.get((scheduler, kind, team)) for team in matrix.teams]
        cells = (
            [_sum(verdict, sum(one[verdict] for one in found if one)) for verdict in Verdict]
            if narrow
            else [_cell(one, out.options.ascii_only) for one in found]
        )
        table.add_row(scheduler if scheduler != before else "", _text(kind), *cells)
        before = scheduler
    return table


def _text(text: str) -> RenderableType:
    from rich.text import Text

    return Text(plain(text))


def _sum(verdict: Verdict, count: int) -> RenderableType:
    from rich.text import Text

    return Text(str(count), STYLES[verdict] if count else "dim")


def _cell(found: dict[Verdict, int] | None, ascii_only: bool) -> RenderableType:
    """`✓`, `✓ 10 ✗ 2`: a number where there are several."""
    from rich.text import Text

    if not found:
        return Text("")
    several = sum(found.values()) > 1
    signs = ASCII if ascii_only else SIGNS
    cell = Text()
    for verdict, count in found.items():
        if count:
            cell.append(f"{' ' if cell else ''}{signs[verdict]}{f' {count}' if several else ''}", STYLES[verdict])
    return cell
