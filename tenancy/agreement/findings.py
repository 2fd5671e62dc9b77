"""What is wrong with an agreement, as values.

The loader and the checks never raise for something a person wrote: they return findings, all of them at once, each with
the place in the file, the path in the agreement, what is wrong and what would be right. Only the command that prints
them turns them into an exit code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

Path = tuple[str | int, ...]
MOST_FINDINGS = 1000  # of a file that is wrong all over, the first ones


class Severity(StrEnum):
    """`ERROR` makes the agreement unusable (exit 2); `ADVICE` is worth a look and changes nothing."""

    ERROR = "error"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: `path` in the agreement, `message` (what is wrong), `remedy` (what would be right).

    `on_key` says that the key is wrong and not its value (an unknown key, a name), so that the place is the key's.
    """

    path: Path
    message: str
    remedy: str = ""
    severity: Severity = Severity.ERROR
    on_key: bool = False
    file: str = ""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        what = f"{dotted(self.path)}: " if self.path else ""
        advice = "advice: " if self.severity is Severity.ADVICE else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{advice}{what}{self.message}{remedy}"

    def at(self, file: str, line: int, column: int) -> Finding:
        """The same finding, placed in a file (line and column count from 1, in characters)."""
        return replace(self, file=file, line=line, column=column)

    def as_json(self) -> dict[str, str | int]:
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": dotted(self.path),
            "severity": self.severity.value,
            "message": self.message,
            "remedy": self.remedy,
        }


def dotted(path: Path) -> str:
    """A path as a person would write it in TOML: `teams.research.lendable`, `flavors."a.b".taints[0].key`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if _is_bare(step) else _quoted(step))
    return text


def errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def _is_bare(key: str) -> bool:
    return bool(key) and all(char.isascii() and (char.isalnum() or char in "-_") for char in key)


def _quoted(key: str) -> str:
    return '"' + "".join(map(_escaped, key)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
