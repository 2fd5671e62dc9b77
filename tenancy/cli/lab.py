"""`lab up|down|status`: a real control plane on this machine, with the agreement's hardware simulated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from . import common
from .common import NO, File, FileOption, Json

app = typer.Typer(
    help="A real API server, Kueue and KAI on this machine, with simulated nodes.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
Name = Annotated[
    str, typer.Option("--name", "--lab", metavar="NAME", help="The lab's name; each has its own processes.")
]
With = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="CONTROLLER", help="Also run kai, jobset, trainer, or one of TENANCY_CONTROLLERS."),
]
On = Annotated[
    str, typer.Option("--on", metavar="kwok|kind", help="Processes on this machine, or a kind cluster in Docker.")
]


@contextmanager
def told() -> Iterator[None]:
    """What the lab cannot do is a sentence and exit 1, never a traceback."""
    import httpx2
    from lightkube import ApiError

    from ..cluster.connection import Unreachable
    from ..lab.folder import LabError
    from ..lab.tools import ToolsError

    try:
        yield
    except (LabError, ToolsError, Unreachable) as error:
        common.stop(f"lab: {error}", NO)
    except (ApiError, httpx2.HTTPError) as error:
        common.stop(f"lab: the cluster did not do what was asked: {error}", NO)


@app.command()
def up(file: File = None, named: FileOption = None, name: Name = "lab", with_: With = None, on: On = "kwok") -> None:
    """Bring a lab up for an agreement, or add to the one that is up what it lacks."""
    plan = common.plan_of(common.file_of(file, named))
    if on not in ("kwok", "kind"):
        common.stop(f"--on {on}: there are kwok and kind")
    with told():
        from ..lab import kind, lab

        start = kind.up if on == "kind" else lab.up
        folder = start(plan, name, with_ or (), report=lambda line: print(f"  {line}", flush=True))
        print(f"lab {name} is up: {folder.kubeconfig}")


@app.command()
def down(
    name: Name = "lab", every: Annotated[bool, typer.Option("--all", help="Every lab of this project.")] = False
) -> None:
    """Take a lab down: no process and no file of it is left."""
    with told():
        from ..lab import lab

        for one in lab.names() if every else [name]:
            print(f"lab {one} is down" if lab.down(one) else f"there is no lab {one}")


@app.command()
def status(
    name: Annotated[str | None, typer.Option("--name", "--lab", metavar="NAME", help="Only this lab.")] = None,
    json: Json = False,
) -> None:
    """Say how the labs of this project are. Exit 1 when one that is asked for is not there or not fine."""
    with told():
        from ..lab import lab

        names = lab.names() if name is None else [name]
        found = [one for one in map(lab.status, names) if one]
    if json:
        common.print_json([one.as_dict() for one in found])
    else:
        for one in found:
            print(one)
        if not found:
            print("there is no lab" + (f" {name}" if name else ""))
    if any(not one.fine for one in found) or (name and not found):
        raise typer.Exit(NO)
