"""The commands: parse, call one function, print its result.

A command is thin. What it prints is made beside the type that it prints, in the room that knows it; what it computes
is one call. So a command can be read in a minute, and what it does can be had from Python as well.

- Exit codes are the same everywhere: 0 fine, 1 the answer is no (drift, a violation), 2 the input is wrong.
- An agreement, a cluster and a scheduler are named alike in every command; the options are in `common`.
- Text is for people, `--json` for programs. Errors go to standard error: file, line and column, what is wrong, what
  would be right.
- What a command needs is imported when it runs, so that `check` and `render` never wait for a cluster client or
  Pulumi.

A new command is a module with one function, and one line below.

Must not touch: a client of a cluster directly; `cluster` connects. No other room imports this one.
"""

from __future__ import annotations

import io
import os
import sys

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it searches every installed package for plugins

import typer

from . import agreement, diff, lab, show, status, verify, why
from . import import_ as adopt
from . import render as manifests

OF_LAB = ("lightkube", "httpx2", "psutil", "trustme")  # what the extra `lab` brings

app = typer.Typer(
    name="tenancy",
    help="One GPU agreement between teams: check it, show it, render it, run it on a lab, and prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(agreement.check)
app.command()(show.show)
app.command()(manifests.render)
app.command()(diff.diff)
app.command()(agreement.schema)
app.command()(status.status)
app.command()(why.why)
app.command()(verify.verify)
app.command("import")(adopt.adopt)
app.add_typer(lab.app, name="lab")


def main() -> None:
    """Entry point of `tenancy` and `python -m tenancy`."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is no reason for a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader (`| head`) has what it wanted
        _write_no_more()
        sys.exit(141)
    except ModuleNotFoundError as error:
        if error.name not in OF_LAB:
            raise
        print(
            f"tenancy: the package {error.name} is not installed: commands that need a cluster need pip install 'gpu-tenancy[lab]'",
            file=sys.stderr,
        )
        sys.exit(2)
    except OSError as error:
        if error.filename is not None:  # of a file, and not of what we print to
            raise
        _write_no_more()
        print(f"tenancy: cannot write the answer: {error.strerror}", file=sys.stderr)
        sys.exit(2)


def _write_no_more() -> None:
    """What is still to be written goes nowhere, so that Python's own flush at the end does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
