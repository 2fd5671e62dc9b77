"""What several commands share: the FILE argument, and stopping on an agreement that is not one."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from ..agreement import Loaded
    from ..agreement.plan import Plan

File = Annotated[str, typer.Argument(metavar="FILE", help="The agreement.", show_default=True)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
DEFAULT_FILE = "tenancy.toml"

NO, WRONG_INPUT = 1, 2


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


def stop(message: str, code: int = WRONG_INPUT) -> NoReturn:
    """One sentence on stderr, and the exit code."""
    print(message, file=sys.stderr)
    raise typer.Exit(code)


def known(kind: str, names: Collection[str], there: Mapping[str, object]) -> None:
    """Stops at a name that the agreement does not have, with the one that may be meant."""
    from ..text.spelling import did_you_mean

    for name in names:
        if name not in there:
            stop(f"--{kind}: {name!r} is no {kind} of this agreement; {did_you_mean(name, there, f'it has no {kind}')}")


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
