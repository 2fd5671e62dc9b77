"""`status`: who has what, on a running cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from . import common
from .common import NO, WRONG_INPUT, File, FileOption, Json, Schedulers
from .where import Context, Kubeconfig, Lab, kubeconfig_of

if TYPE_CHECKING:
    from rich.console import Console

    from ..status import StatusReport

SYNONYMS = {"violated": "short"}
"""Newer words for a state; the old word works on."""
FAIL_ON = ("short", "below", "evicted", "waiting")
"""As in `standing.Attention`, the worst first; what comes after them is nothing to fail on."""

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")]
Every = Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.5, help="With --watch: between two looks.")]
Teams = Annotated[
    list[str] | None, typer.Option("--team", metavar="TEAM", help="Only this team, with its jobs. Repeatable.")
]
Flavors = Annotated[list[str] | None, typer.Option("--flavor", metavar="FLAVOR", help="Only this flavor. Repeatable.")]
All = Annotated[bool, typer.Option("--all", help="Every line, also of teams that need no attention.")]
Prometheus = Annotated[bool, typer.Option("--prometheus", help="Print Prometheus' text format.")]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="STATE",
        help="Exit 1 if a team is in this state or a worse one: violated (or short), below, evicted, waiting.",
    ),
]
Reclaim = Annotated[
    float,
    typer.Option(
        "--reclaim",
        metavar="SECONDS",
        min=0,
        help="A promise is violated if a job within the guarantee waits longer than this.",
    ),
]


def status(
    file: File = None,
    named: FileOption = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    scheduler: Schedulers = None,
    team: Teams = None,
    flavor: Flavors = None,
    every_line: All = False,
    watch: Watch = False,
    every: Every = 5.0,
    reclaim: Reclaim = 120.0,
    fail_on: FailOn = None,
    json: Json = False,
    prometheus: Prometheus = False,
) -> None:
    """Compare the agreement with the cluster: who uses, lends and borrows what, which jobs wait or were evicted, which promises are violated.

    What most needs attention comes first. The command exits 0 in every state, unless you give --fail-on.
    """
    plan = common.plan_of(common.file_of(file, named))
    common.known("team", team or (), plan.team)
    common.known("flavor", flavor or (), plan.flavor)
    if json and prometheus:
        common.stop("--json and --prometheus: choose one")
    if prometheus and (team or flavor):
        common.stop("--prometheus prints every team and flavor: leave out --team and --flavor, and choose in the query")
    if watch and (prometheus or fail_on):
        common.stop("--watch shows what there is until Ctrl-C: leave out --prometheus and --fail-on")
    fail_on = SYNONYMS.get(fail_on, fail_on) if fail_on else fail_on
    if fail_on is not None and fail_on not in FAIL_ON:
        common.stop(f"--fail-on {fail_on}: choose {', '.join((*SYNONYMS, *FAIL_ON))}")
    from ..cluster import clients, usage
    from ..cluster import connection as reach
    from ..status.reading.watch import boards, now

    teams, flavors = frozenset(team or ()), frozenset(flavor or ())
    within = timedelta(seconds=reclaim)
    try:
        client = clients.connect(kubeconfig_of(kubeconfig, context, lab), context)
        read = common.one_scheduler(scheduler) or usage.present(client)
        if watch:
            found = boards(client, plan, read, within, lambda: time.sleep(every))
            chosen = (board if isinstance(board, str) else board.only(teams, flavors) for board in found)
            _watch(chosen, json, detail=bool(teams), every=every_line)
            return
        board = now(client, plan, read, within).only(teams, flavors)
    except (reach.Unreachable, usage.NotThere) as error:
        common.stop(str(error), WRONG_INPUT)

    from ..status import data, terminal
    from ..status import prometheus as metrics

    if json:
        common.print_json(data.as_json(board))
    elif prometheus:
        print(metrics.text(board), end="")
    else:
        terminal.show(board, detail=bool(teams), every=every_line)
    if fail_on and board.attention.rank <= FAIL_ON.index(fail_on):
        raise typer.Exit(NO)


def _watch(boards: Iterator[StatusReport | str], json: bool, *, detail: bool, every: bool) -> None:
    """Until Ctrl-C: a table that redraws itself on a terminal, else a line for each change; with --json a line for each look."""
    from ..status import data
    from ..text.console import console

    out = console()
    try:
        if json:
            for board in boards:
                found = {"error": board} if isinstance(board, str) else data.as_json(board)
                print(dumps(found, ensure_ascii=False), flush=True)
        elif out.is_terminal:
            _watch_screen(boards, out, detail, every)
        else:
            _watch_lines(boards, detail, every)
    except KeyboardInterrupt:
        return


def _watch_screen(boards: Iterator[StatusReport | str], out: Console, detail: bool, every: bool) -> None:
    from rich.console import Group, RenderableType
    from rich.live import Live
    from rich.text import Text

    from ..status import terminal

    shown: RenderableType = ""
    with Live(console=out, auto_refresh=False, vertical_overflow="crop") as live:
        for board in boards:
            if isinstance(board, str):
                live.update(Group(Text(board, "bold red"), shown), refresh=True)
                continue
            most = None if every else max(5, out.height - terminal.AROUND)
            shown = terminal.render(board, out, detail=detail, most=most)
            live.update(shown, refresh=True)


def _watch_lines(boards: Iterator[StatusReport | str], detail: bool, every: bool) -> None:
    from ..status import terminal
    from ..status.changes import changes

    before: StatusReport | None = None
    silent = ""
    for board in boards:
        if isinstance(board, str):
            if board != silent:
                print(board, flush=True)
            silent = board
            continue
        if before is None:
            terminal.show(board, detail=detail, every=every)
        else:
            for line in changes(before, board):
                print(line)
        sys.stdout.flush()
        before, silent = board, ""
