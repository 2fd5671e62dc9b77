"""`status`: who has what, on a running cluster."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from . import common
from .common import DEFAULT_FILE, WRONG_INPUT, File, Json

Kubeconfig = Annotated[
    str | None, typer.Option("--kubeconfig", metavar="PATH", help="Default: KUBECONFIG, else the lab's.")
]
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="The context; default: the current one.")
]
Lab = Annotated[str | None, typer.Option("--lab", metavar="NAME", help="Read this lab of the project.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="kueue|kai", help="Whose queues; default: the one that has some.")
]


def status(
    file: File = DEFAULT_FILE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    scheduler: Scheduler = None,
    json: Json = False,
) -> None:
    """Show each team's guaranteed, lendable, used, lent and borrowed GPUs."""
    from ..live import clients, reach, usage

    plan = common.plan_of(file)
    if scheduler is not None and scheduler not in usage.SCHEDULERS:
        common.stop(f"--scheduler {scheduler}: there are {' and '.join(usage.SCHEDULERS)}")
    try:
        client = clients.connect(kubeconfig_of(kubeconfig, context, lab), context)
        scheduler = scheduler or usage.present(client)
        rows = usage.who_has_what(client, plan, scheduler)
    except (reach.Unreachable, usage.NotThere) as error:
        common.stop(str(error), WRONG_INPUT)
    if json:
        common.print_json({"scheduler": scheduler, "teams": usage.as_json(rows)})
    else:
        usage.show(rows)


def kubeconfig_of(kubeconfig: str | None, context: str | None, lab: str | None) -> str | None:
    """The kubeconfig that is meant: the one given, else the lab's where it is asked for or nothing else is said."""
    from ..lab import folder

    if kubeconfig:
        return kubeconfig
    try:
        it = folder.folder(lab or "lab")
    except folder.LabError as error:
        common.stop(str(error))
    if lab:
        if not it.kubeconfig.exists():
            common.stop(f"there is no lab {lab} in {it.path.parent}: tenancy lab up --name {lab}")
        return str(it.kubeconfig)
    nothing_said = not context and not os.environ.get("KUBECONFIG")
    return str(it.kubeconfig) if nothing_said and it.kubeconfig.exists() else None
