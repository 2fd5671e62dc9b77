"""A command as a person calls it, in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from tenancy.cli import app


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr
