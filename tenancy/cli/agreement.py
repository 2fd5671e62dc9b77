"""`check` and `schema`: what needs nothing but the file."""

from __future__ import annotations

from . import common
from .common import DEFAULT_FILE, WRONG_INPUT, File, Json


def check(file: File = DEFAULT_FILE, json: Json = False) -> None:
    """Find every problem of an agreement: file:line:col, path, what is wrong, what would be right."""
    import typer

    found = common.loaded(file)
    if json:
        common.print_json([finding.as_json() for finding in found.findings])
    else:
        for finding in found.findings:
            print(finding)
        if found.agreement is not None:
            from ..show import summary

            print(f"{file}: {summary(found.agreement)}")
    if found.agreement is None:
        raise typer.Exit(WRONG_INPUT)


def schema() -> None:
    """Print the JSON Schema of tenancy.toml, for editors and other programs."""
    from ..agreement import Agreement

    common.print_json(Agreement.model_json_schema(mode="validation"))
