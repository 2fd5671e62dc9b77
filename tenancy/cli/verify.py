"""`verify`: prove the agreement's promises on a running cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..verify.checks.model import Scheduler
from . import common
from .common import NO, WRONG_INPUT, File, FileOption
from .where import Context, Kubeconfig, Lab, kubeconfig_of

if TYPE_CHECKING:
    from ..agreement.plan import Plan
    from ..verify.checks.model import Check
    from ..verify.evidence.model import Run
    from ..verify.evidence.terminal import Tell
    from ..verify.session import Session

Schedulers = Annotated[
    list[Scheduler] | None,
    common.scheduler_option(Scheduler, "Whose promises; may be given again. Default: those that are on the cluster."),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="KIND|PATTERN",
        help="Only checks of this kind (reclaim), or whose name the pattern matches (kueue/*/training/*); may be given again.",
    ),
]
Teams = Annotated[
    list[str] | None, typer.Option("--team", metavar="NAME", help="Only this team's promises; may be given again.")
]
Flavors = Annotated[
    list[str] | None, typer.Option("--flavor", metavar="NAME", help="Only of this flavor; may be given again.")
]
Sample = Annotated[
    int | None,
    typer.Option(
        "--sample", metavar="N", min=1, help="At most N checks, of every kind some; the same ones every time."
    ),
]
AtOnce = Annotated[
    int | None, typer.Option("--at-once", metavar="N", min=1, help="How many checks are played side by side.")
]
JsonOut = Annotated[bool, typer.Option("--json", help="Print the evidence as JSON; progress goes to stderr.")]
Junit = Annotated[str | None, typer.Option("--junit", metavar="PATH", help="Also write JUnit XML, for CI.")]
Html = Annotated[str | None, typer.Option("--html", metavar="PATH", help="Also write a page with all evidence.")]
Allow = Annotated[
    str | None,
    typer.Option(
        "--allow-cluster",
        metavar="NAME",
        help="Run on this cluster of the kubeconfig although it is not marked for it.",
    ),
]
Clean = Annotated[
    bool, typer.Option("--clean", help="Remove what killed runs left on the cluster, and do nothing else.")
]
Narrate = Annotated[bool, typer.Option("--narrate", help="Also tell each step of every check, with its time.")]
List = Annotated[bool, typer.Option("--list", help="Say what would be checked; needs no cluster.")]


def verify(
    file: File = None,
    named: FileOption = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    scheduler: Schedulers = None,
    only: Only = None,
    team: Teams = None,
    flavor: Flavors = None,
    sample: Sample = None,
    at_once: AtOnce = None,
    narrate: Narrate = False,
    json: JsonOut = False,
    junit: Junit = None,
    html: Html = None,
    allow_cluster: Allow = None,
    clean: Clean = False,
    list_: List = False,
) -> None:
    """Prove every promise of the agreement on a cluster, with real jobs in namespaces and queues of their own.

    Exit code 0 when none was broken, 1 when one was, 2 when the input is wrong, 130 after Ctrl-C.
    """
    for option, path in (("--junit", junit), ("--html", html)):
        _writable(option, path)
    if clean:
        with _told():
            _clean(kubeconfig_of(kubeconfig, context, lab), context)
        return
    name = common.file_of(file, named)
    plan = common.plan_of(name)
    schedulers = [entry for entry in Scheduler if entry in (scheduler or ())]
    choice = Choice(tuple(only or ()), tuple(team or ()), tuple(flavor or ()), sample)
    if list_:
        _list(choice.of(plan, schedulers or list(Scheduler)), json)
        return
    with _told():
        session = _session(plan, kubeconfig_of(kubeconfig, context, lab), context)
        checks = choice.of(plan, _present(session, schedulers))
        run, signal = session.prove(checks, _watch, agreement=name, allow=allow_cluster, at_once=at_once)
    _show(run, json, junit, html, narrate)
    if signal or not run.kept:
        raise typer.Exit(128 + signal if signal else NO)


@dataclass(frozen=True)
class Choice:
    """Which of an agreement's checks are meant."""

    only: tuple[str, ...]
    teams: tuple[str, ...]
    flavors: tuple[str, ...]
    sample: int | None

    def of(self, plan: Plan, schedulers: Sequence[Scheduler]) -> Sequence[Check]:
        """Stops where a name is none of the agreement's, or nothing is left to check."""
        from ..verify.checks.select import select

        common.known("team", self.teams, plan.team)
        common.known("flavor", self.flavors, plan.flavor)
        made = [check for scheduler in schedulers for check in _checks(plan, scheduler)]
        found = select(made, only=self.only, teams=self.teams, flavors=self.flavors, sample=self.sample)
        if not found:
            common.stop("no promise of this agreement is chosen: tenancy verify --list says which there are")
        return found


def _checks(plan: Plan, scheduler: Scheduler) -> Sequence[Check]:
    from ..verify.checks import kai, kueue, machines

    match scheduler:
        case Scheduler.KUEUE:
            return kueue.kueue_checks(plan)
        case Scheduler.KAI:
            return kai.kai_checks(plan)
        case Scheduler.KUBEVIRT:
            return machines.kubevirt_checks(plan)


def _present(session: Session, named: Sequence[Scheduler]) -> Sequence[Scheduler]:
    """Those that are named, or all that are there; stops where there is none, or one that is named is not."""
    there = session.present()
    missing: list[str] = [scheduler for scheduler in named if scheduler not in there]
    if missing or not there:
        common.stop(
            f"verify: {session.where} holds nothing of the agreement of {session.plan.cluster} for "
            f"{' or '.join(missing) or 'any scheduler'}: pulumi up, or tenancy render and kubectl apply --server-side"
        )
    return named or there


def _session(plan: Plan, kubeconfig: str | None, context: str | None) -> Session:
    from ..cluster import clients
    from ..cluster import connection as reach
    from ..verify.session import Session

    where = reach.where(kubeconfig, context)
    return Session(clients.connect(kubeconfig, context), plan, where, _say)


def _watch(total: int) -> AbstractContextManager[Tell]:
    from ..verify.evidence.terminal import progress

    return progress(total, sys.stderr)


def _clean(kubeconfig: str | None, context: str | None) -> None:
    from ..cluster import clients
    from ..cluster.api import Api
    from ..verify.session import remove_dead

    remove_dead(Api(clients.connect(kubeconfig, context)), print)


def _list(checks: Sequence[Check], json: bool) -> None:
    """The checks, one on a line."""
    if json:
        common.print_json(
            [{"name": check.name, "promise": check.promise, "not_run": check.not_run} for check in checks]
        )
        return
    width = max(len(check.name) for check in checks)
    for entry in checks:
        print(f"{entry.name:<{width}}  {entry.promise}" + (f" (not run: {entry.not_run})" if entry.not_run else ""))
    print(f"{len(checks)} checks")


def _show(run: Run, json: bool, junit: str | None, html: str | None, narrate: bool) -> None:
    """Prints the run, and writes the files that are asked for."""
    from ..verify.evidence import document, terminal
    from ..verify.evidence.junit import junit as junit_of
    from ..verify.evidence.page import page

    if json:
        common.print_json(document.as_json(run))
    else:
        terminal.show(run, sys.stdout, narrate=narrate)
    for path, form in ((junit, junit_of), (html, page)):
        if path is not None:
            try:
                Path(path).write_text(form(run), encoding="utf-8")
            except OSError as error:
                common.stop(f"{path}: cannot be written: {error.strerror}")
            _say(f"{path}: written")


def _writable(option: str, path: str | None) -> None:
    """Stops where a file cannot be written, before minutes are spent on what would be in it."""
    if path is not None and (Path(path).is_dir() or not os.access(Path(path).parent, os.W_OK)):
        common.stop(f"{option}: {path}: cannot be written: it is a folder, or its folder is not there or not yours")


@contextmanager
def _told() -> Iterator[None]:
    """What cannot be done on this cluster is a sentence, never a traceback."""
    import httpx2
    from lightkube import ApiError

    from ..cluster.connection import Unreachable
    from ..cluster.listing import Unreadable
    from ..verify.clean import Stuck
    from ..verify.safety import NotAllowed

    try:
        yield
    except (Unreachable, NotAllowed) as error:
        common.stop(f"verify: {error}", WRONG_INPUT)
    except Stuck as error:
        common.stop(f"verify: {error}", NO)
    except (ApiError, httpx2.HTTPError, Unreadable) as error:
        common.stop(f"verify: the cluster did not do what was asked: {error}", NO)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
