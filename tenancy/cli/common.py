"""What several commands share: how the agreement and the schedulers are named, and stopping on an agreement that is not one."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from ..objects.schedulers import Scheduler, chosen

if TYPE_CHECKING:
    from ..agreement import Loaded
    from ..agreement.plan import Plan

DEFAULT_FILE = "tenancy.toml"

File = Annotated[
    str | None, typer.Argument(metavar="FILE", help=f"The agreement; default: {DEFAULT_FILE}.", show_default=False)
]
FileOption = Annotated[
    str | None, typer.Option("--file", "-f", metavar="FILE", help="The agreement, in place of the argument FILE.")
]
Member = TypeVar("Member", bound=StrEnum)
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]

NO, WRONG_INPUT = 1, 2


def stop(message: str, code: int = WRONG_INPUT) -> NoReturn:
    """One sentence on stderr, and the exit code."""
    print(message, file=sys.stderr)
    raise typer.Exit(code)


def scheduler_option(members: type[Member], help_: str) -> Any:
    """`--scheduler`, one of these and repeatable; what is none of them is a sentence, not a page of usage."""

    def parse(name: str) -> Member:
        try:
            return members(name)
        except ValueError:
            names = list(members)
            return stop(f"--scheduler {name}: choose {(' or ' if len(names) == 2 else ', ').join(names)}")

    return typer.Option("--scheduler", metavar="|".join(members), parser=parse, help=help_, show_default=False)


Schedulers = Annotated[
    list[Scheduler] | None, scheduler_option(Scheduler, "Only this scheduler; may be given again. Default: all.")
]


def file_of(*given: str | None) -> str:
    """The agreement that is named, as an argument or by --file; stops where both name another one."""
    names = list(dict.fromkeys(name for name in given if name is not None))
    if len(names) > 1:
        stop(f"{' and '.join(names)}: name one agreement, as FILE or by --file")
    return names[0] if names else DEFAULT_FILE


def one_scheduler(given: list[Scheduler] | None) -> Scheduler | None:
    """The scheduler that is asked for; None where several are, or none: then the cluster says which has queues."""
    schedulers = chosen(given)
    return schedulers[0] if len(schedulers) == 1 else None


def loaded(file: str) -> Loaded:
    from ..objects.loading import load

    return load(file)


def plan_of(file: str) -> Plan:
    """The plan of an agreement without errors; else its findings on stderr and exit 2."""
    from ..agreement.plan import make_plan

    found = loaded(file)
    if found.agreement is None:
        for finding in found.findings:
            print(finding, file=sys.stderr)
        raise typer.Exit(WRONG_INPUT)
    return make_plan(found.agreement)


def known(kind: str, names: Collection[str], there: Mapping[str, object]) -> None:
    """Stops at a name that the agreement does not have, with the one that may be meant."""
    from ..text.spelling import did_you_mean

    for name in names:
        if name not in there:
            stop(
                f"--{kind}: {name!r} is not a {kind} of this agreement; {did_you_mean(name, there, f'it has no {kind}')}"
            )


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
