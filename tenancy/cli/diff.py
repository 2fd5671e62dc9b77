"""`diff`: two agreements compared, for people, for a pull request, for a program, and for a gate."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ..objects.schedulers import Scheduler, chosen
from . import common, revisions
from .common import NO, WRONG_INPUT, FileOption, Json, Schedulers
from .where import Context, Kubeconfig, Lab, kubeconfig_of

if TYPE_CHECKING:
    from ..agreement.plan import Plan
    from ..review.diff import Difference, LiveImpact


class FailOn(StrEnum):
    """What makes a difference an answer of no."""

    CHANGE = "change"
    LESS = "less"
    REFUSED = "refused"
    ABOVE = "above"


Old = Annotated[
    str | None,
    typer.Argument(
        metavar="[OLD]", help="A file, REV:PATH of git, or -. Default: the last commit's.", show_default=False
    ),
]
New = Annotated[
    str | None, typer.Argument(metavar="[NEW]", help="The same. Default: the file as it is.", show_default=False)
]
Fail = Annotated[
    list[FailOn] | None,
    typer.Option(
        "--fail-on",
        metavar="WHAT",
        help="Exit 1 on: change (anything), less (somebody has or may do less), refused (the cluster refuses to change an "
        "object), above (a team runs above its new guarantee). Repeatable.",
    ),
]


def diff(
    old: Old = None,
    new: New = None,
    named: FileOption = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="As a comment for a pull request; it always fits.")
    ] = False,
    json: Json = False,
    owners: Annotated[
        bool, typer.Option("--owners", help="Only the groups that lead teams whose numbers change.")
    ] = False,
    objects: Annotated[bool, typer.Option("--objects", help="Also each object and field that changes.")] = False,
    scheduler: Schedulers = None,
    namespaces: Annotated[
        str,
        typer.Option(
            "--namespaces", metavar="listed|operator", help="As for render: who writes what a namespace gets."
        ),
    ] = "listed",
    fail_on: Fail = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Also compare with the running jobs: who is above a new guarantee, which jobs would be preempted. The next three imply it.",
        ),
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
) -> None:
    """Show what a change of an agreement means: for whom, who pays for it, what becomes impossible, what it does to a cluster."""
    from ..objects.access import Namespaces
    from ..review.diff import compare

    if sum((markdown, json and not owners, owners)) > 1:
        common.stop("--markdown, --json and --owners: give one of them (--owners --json together are fine)")
    if namespaces not in set(Namespaces):
        common.stop(f"--namespaces {namespaces}: choose {' or '.join(Namespaces)}")
    schedulers = chosen(scheduler)
    live = live or [kubeconfig, context, lab] != [None] * 3
    wanted = set(fail_on or ())
    if FailOn.ABOVE in wanted and not live:
        common.stop("--fail-on above: which cluster? add --live, --context, --kubeconfig or --lab")
    was, becomes = _plans(*revisions.pair(*_names(old, new, named)))
    difference = compare(was, becomes, schedulers, Namespaces(namespaces))
    impact = _standing(was, becomes, schedulers, kubeconfig_of(kubeconfig, context, lab), context) if live else None
    if owners:
        _print_owners(difference, json)
    else:
        _print(difference, impact, markdown=markdown, json=json, objects=objects)
    if wanted & _is(difference, impact):
        raise typer.Exit(NO)


def _names(old: str | None, new: str | None, named: str | None) -> tuple[str | None, str | None]:
    """What is compared: --file names the new agreement, as everywhere, and a name beside it is the old one."""
    if named is None:
        return old, new
    return (old, common.file_of(new, named)) if old is not None else (named, None)


def _plans(old: str, new: str) -> tuple[Plan, Plan]:
    """Both, or all that is wrong with either."""
    from ..agreement.plan import make_plan

    if old == new == revisions.STDIN:
        common.stop("- is one agreement: name the other one too")
    found = [revisions.loaded(entry) for entry in (old, new)]
    agreements = [loaded.agreement for loaded in found]
    for item in found:
        for finding in item.findings if item.agreement is None else ():
            print(finding, file=sys.stderr)
    was, becomes = agreements
    if was is None or becomes is None:
        raise typer.Exit(WRONG_INPUT)
    return make_plan(was), make_plan(becomes)


def _standing(
    old: Plan, new: Plan, schedulers: list[Scheduler], kubeconfig: str | None, context: str | None
) -> LiveImpact:
    from ..cluster import clients, usage
    from ..cluster import connection as reach
    from ..review.diff import running
    from ..review.diff.live_impact import live_impact

    try:
        client = clients.connect(kubeconfig, context)
        there = schedulers[0] if len(schedulers) == 1 else Scheduler(usage.present(client))
        now = running.read(client, old, new, there)
    except (reach.Unreachable, usage.NotThere) as error:
        common.stop(str(error), WRONG_INPUT)
    return live_impact(old, new, there, now.jobs, now.unlike, now.already, now.domains)


def _print(difference: Difference, impact: LiveImpact | None, *, markdown: bool, json: bool, objects: bool) -> None:
    if json:
        from ..review.diff.data import as_json

        common.print_json(as_json(difference, impact))
    elif markdown:
        from ..review.diff.markdown import markdown as as_markdown

        print(as_markdown(difference, impact), end="")
    else:
        import shutil

        from ..review.diff.text import text

        print(text(difference, shutil.get_terminal_size((120, 24)).columns, impact, detail=objects), end="")


def _print_owners(difference: Difference, json: bool) -> None:
    """A group on each line, for a program that asks them; a team that names none is said to a person."""
    from ..review.diff.owners import owners

    found = owners(difference)
    if json:
        common.print_json({team: list(groups) for team, groups in found.items()})
        return
    for group in dict.fromkeys(group for groups in found.values() for group in groups):
        print(group)
    for team, groups in found.items():
        if not groups:
            print(
                f"{team}: its numbers change, but the agreement names no leads and no members for it", file=sys.stderr
            )


def _is(difference: Difference, impact: LiveImpact | None) -> set[FailOn]:
    """All that the difference is, of what can be asked for."""
    is_so = {
        FailOn.CHANGE: not difference.is_empty,
        FailOn.LESS: difference.is_less,
        FailOn.REFUSED: bool(difference.refused),
        FailOn.ABOVE: impact is not None and (any(above.by_change for above in impact.above) or bool(impact.leaving)),
    }
    return {fail_on for fail_on, so in is_so.items() if so}
