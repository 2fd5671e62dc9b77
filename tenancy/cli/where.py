"""Which cluster a command reads: `--kubeconfig`, `--context` and `--lab`, alike in every command that reads one."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from . import common

Kubeconfig = Annotated[
    str | None, typer.Option("--kubeconfig", metavar="PATH", help="Default: KUBECONFIG, else the lab's.")
]
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="The context; default: the current one.")
]
Lab = Annotated[str | None, typer.Option("--lab", metavar="NAME", help="Read this lab of the project.")]


def kubeconfig_of(kubeconfig: str | None, context: str | None, lab: str | None) -> str | None:
    """The kubeconfig that is meant: the one given, else the lab's where it is asked for or nothing else is said."""
    from ..lab import folder

    if kubeconfig:
        return kubeconfig
    try:
        result = folder.folder(lab or "lab")
    except folder.LabError as error:
        common.stop(str(error))
    if lab:
        if not result.kubeconfig.exists():
            common.stop(f"there is no lab {lab} in {result.path.parent}: tenancy lab up --name {lab}")
        return str(result.kubeconfig)
    nothing_said = not context and not os.environ.get("KUBECONFIG")
    return str(result.kubeconfig) if nothing_said and result.kubeconfig.exists() else None
