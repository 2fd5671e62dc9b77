"""`render`: the manifests and the fidelity report, written or compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..objects.schedulers import TITLES, Scheduler, chosen
from . import common
from .common import NO, WRONG_INPUT, File, FileOption, Schedulers

if TYPE_CHECKING:
    from ..review.fidelity import Verdict

MOST_LINES = 60


def render(
    file: File = None,
    named: FileOption = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder that holds the rendered files.")] = Path(
        "rendered"
    ),
    namespaces: Annotated[
        str,
        typer.Option(
            "--namespaces",
            metavar="listed|operator",
            help="Who writes what a team's namespace gets: these files, for those FILE lists, or the namespace operator.",
        ),
    ] = "listed",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 where DIR and FILE disagree.")] = False,
    scheduler: Schedulers = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if a scheduler refuses a promise.")] = False,
) -> None:
    """Write DIR/kueue/*.yaml, DIR/kai/*.yaml, DIR/access/*.yaml and DIR/fidelity.md, or compare them with what is there.

    Exit 1 where a scheduler refuses the agreement, so that its folder is left out, unless --scheduler names only others.
    """
    from ..objects.access import Namespaces
    from ..objects.registry import refusals
    from ..review import fidelity
    from ..review import render as rendering

    if namespaces not in set(Namespaces):
        common.stop(f"--namespaces {namespaces}: choose {' or '.join(Namespaces)}")
    plan = common.plan_of(common.file_of(file, named))
    schedulers = chosen(scheduler)
    files = rendering.rendered(plan, Namespaces(namespaces), schedulers)
    refused = fidelity.refused(fidelity.verdicts(plan, schedulers))
    left_out = {scheduler: why for scheduler, why in refusals(plan).items() if scheduler in schedulers}
    if check:
        _compare(out, files)
    else:
        try:
            rendering.write(out, files)
        except (rendering.RenderRefused, OSError) as error:
            common.stop(f"{out}: nothing was written: {error}", WRONG_INPUT)
        print(f"{out}: {len(files)} files")
    for (name, how), promises in _by_reason(refused).items():
        print(f"{name} refuses {', '.join(promises)}: {how}", file=sys.stderr)
    for folder, why in left_out.items():
        others = " ".join(f"--scheduler {scheduler}" for scheduler in Scheduler if scheduler not in left_out)
        message = (
            f"{out / folder} was not written: {TITLES[folder]} refuses this agreement: {why}; {others} leaves it out"
        )
        print(message, file=sys.stderr)
    if left_out or (strict and refused):
        raise typer.Exit(NO)


def _by_reason(refused: list[Verdict]) -> dict[tuple[str, str], list[str]]:
    """Which promises a scheduler refuses for one reason; the report has for whom."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for verdict in refused:
        promises = reasons.setdefault((verdict.scheduler, verdict.how), [])
        if verdict.promise not in promises:
            promises.append(verdict.promise)
    return reasons


def _compare(out: Path, files: dict[str, str]) -> None:
    from ..review import render as rendering

    found = list(rendering.differences(out, files))
    for difference in found:
        print(f"{out / difference.file}: {_WORDS[difference.kind]}")
        for line in difference.lines[:MOST_LINES]:
            print(f"  {line}")
        if difference.kind == "changed" and not difference.lines:
            print("  only in how lines end")
        if len(difference.lines) > MOST_LINES:
            print(f"  … and {len(difference.lines) - MOST_LINES} more lines")
    if found:
        print(
            f"{out} and the agreement disagree on {len(found)} of {len(files)} files; `tenancy render` without --check fixes it"
        )
        raise typer.Exit(NO)
    print(f"{out}: {len(files)} files agree")


_WORDS = {
    "missing": "is missing",
    "unexpected": "should not be there: the agreement does not make it",
    "changed": "differs (- in the folder, + from the agreement)",
}
