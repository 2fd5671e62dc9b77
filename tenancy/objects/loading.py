"""The one way to an agreement: read, with every check that there is.

An agreement is right only if what it becomes is right, so two kinds of check belong together: what one part of the file says
against another (`agreement.checks`), and what its objects would be called (`names`). `agreement` knows no objects; so its
readers take the check as an argument that nobody can forget, and here both kinds are one tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from ..agreement import checks, source
from ..agreement.findings import Finding
from ..agreement.model import Agreement
from ..agreement.source import Loaded
from . import names

CHECKS: tuple[checks.Check, ...] = (names.names, *checks.CHECKS)


def check(agreement: Agreement) -> list[Finding]:
    """Every finding on a well-typed agreement; of one kind no more than a person would ever read."""
    return checks.run(CHECKS, agreement)


def load(file: str | FilePath) -> Loaded:
    """Read, validate and check an agreement. Never raises for what the file holds, or for its absence."""
    return source.load(file, check)


def loads(data: bytes | str, file: str = "<agreement>") -> Loaded:
    """The same for the bytes or text of a file; `file` is the name that findings show."""
    return source.loads(data, check, file)


def validate(values: Mapping[str, Any]) -> tuple[Agreement | None, list[Finding]]:
    """Plain values (of TOML, JSON or Python) as an agreement; None when the shape itself is wrong."""
    return source.validate(values, check)
