"""From a TOML file to an agreement, or to every finding with its line and column.

`tomllib` reads the values; it keeps no positions, and most files are right. So positions are looked up only for a file
that has findings, in a second reading by tree-sitter (`positions`), and a right file pays nothing for them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from ..text.spelling import similar
from .findings import MOST_FINDINGS, Finding, Path, Severity, errors
from .model import Agreement, Team
from .scalars import SCALAR, TABLE, shown
from .without_invalid import sound_part

MAX_BYTES = 16 * 2**20
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONG_NUMBER = re.compile(r"[0-9][0-9_]{4299,}")
# A key of so many parts that tomllib, which takes time by their square, would be at it for minutes.
_DEEP_KEY = re.compile(
    r"""(?:^|[{,\[])[ \t]*+((?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100})""", re.ASCII | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file came to: the agreement unless it has errors, and the findings (errors and advice)."""

    agreement: Agreement | None
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return self.agreement is not None


Checks = Callable[[Agreement], list[Finding]]
"""All that is checked of a well-typed agreement (`objects.loading` has it)."""


def load(file: str | FilePath, check: Checks) -> Loaded:
    """Read, validate and check an agreement. Never raises for what the file holds, or for its absence."""
    try:
        with open(file, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        return _unusable(str(file), f"cannot be read: {reason}", "name a file that contains an agreement")
    return loads(data, check, str(file))


def loads(data: bytes | str, check: Checks, file: str = "<agreement>") -> Loaded:
    """The same for the bytes or text of a file; `file` is the name that findings show."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        return _unusable(
            file, f"is larger than {MAX_BYTES // 2**20} MiB", "an agreement of a thousand teams is under 1 MiB"
        )
    text = _decode(data, file)
    if isinstance(text, Finding):
        return Loaded(None, (text,))
    values = _parse(text, file)
    if isinstance(values, Finding):
        return Loaded(None, (values,))
    agreement, findings = validate(values, check)
    placed = _place(findings, text, file)
    return Loaded(None if errors(findings) else agreement, placed)


def validate(values: Mapping[str, Any], check: Checks) -> tuple[Agreement | None, list[Finding]]:
    """Plain values (of TOML, JSON or Python) as an agreement; None when the shape itself is wrong."""
    try:
        agreement = Agreement.model_validate(values)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        found = [_finding(dict(problem)) for problem in problems[: MOST_FINDINGS + 1]]
        rest = sound_part(values, [_path(problem["loc"]) for problem in problems])
        return None, found + (errors(validate(rest, check)[1]) if rest is not None else [])
    except RecursionError:
        return None, [Finding((), "is nested too deeply", "an agreement is at most four tables deep")]
    return agreement, check(agreement)


def _decode(data: bytes, file: str) -> str | Finding:
    if data.startswith(b"\xef\xbb\xbf"):
        return Finding((), "starts with a byte order mark", "save it as UTF-8 without one").at(file, 1, 1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        return Finding((), f"byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8").at(
            file, *_line_and_column(before, len(before))
        )


def _parse(text: str, file: str) -> dict[str, Any] | Finding:
    too_deep = Finding((), "is nested too deeply", "an agreement is at most four tables deep")
    if deep := _DEEP_KEY.search(text):
        return too_deep.at(file, *_line_and_column(text, deep.start(1)))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _PLACE.search(str(error))
        end = _line_and_column(text, len(text))
        place = (int(match[1]), int(match[2])) if match and match[1] else end
        message = _PLACE.sub("", str(error))[:200]
        return Finding((), f"is not TOML: {message[:1].lower()}{message[1:]}", "see toml.io for the format").at(
            file, *place
        )
    except RecursionError:
        return too_deep.at(file, 1, 1)
    except ValueError:  # a number of more digits than Python will read
        long = _LONG_NUMBER.search(text)
        return Finding((), "holds a number that is too large", "amounts are whole numbers such as 8").at(
            file, *_line_and_column(text, long.start() if long else 0)
        )


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _place(findings: list[Finding], text: str, file: str) -> tuple[Finding, ...]:
    """Findings in the order of the file; of a file that is wrong all over, the first ones."""
    if not findings:
        return ()
    from .positions import Positions

    positions = Positions(text)
    placed = [finding.at(file, *positions.of(finding.path, key=finding.on_key)) for finding in findings]
    placed.sort(key=lambda finding: (finding.line, finding.column))
    if rest := placed[MOST_FINDINGS:]:
        severity = Severity.ERROR if errors(rest) else Severity.ADVICE
        more = Finding((), "has more problems than are listed here", "fix these first", severity)
        placed[MOST_FINDINGS:] = [more.at(file, rest[0].line, rest[0].column)]
    return tuple(placed)


def _unusable(file: str, message: str, remedy: str) -> Loaded:
    return Loaded(None, (Finding((), message, remedy).at(file, 1, 1),))


# What pydantic calls a problem → our words. `{}` is the value as the file has it.
_WORDS: dict[str, tuple[str, str]] = {
    "string_type": ("{} is not text", "write it in quotes"),
    "string_too_long": ("the text is too long", "at most 4096 characters"),
    "int_type": ("{} is not a whole number", "write one such as 8"),
    "int_from_float": ("{} is not a whole number", "write one such as 8"),
    "int_parsing_size": ("{} is too large", "write a smaller number"),
    "dict_type": ("{} is not a table", "write keys and values"),
    "model_type": ("{} is not a table", "write keys and values"),
    "model_attributes_type": ("{} is not a table", "write keys and values"),
    "tuple_type": ("{} is not a list", "write it in [ ]"),
    "none_required": ("{} is not allowed here", "leave the key out"),
}


def _finding(problem: dict[str, Any]) -> Finding:
    path = _path(problem["loc"])
    kind, context = problem["type"], problem.get("ctx", {})
    if path and path[-1] == "[key]":
        return Finding(path[:-2], f"{shown(path[-2])} is not a name", "write names as text", on_key=True)
    match kind:
        case "tenancy":
            return Finding(path, context["message"], context["remedy"])
        case "extra_forbidden":
            return Finding(path, "is not a known key", _nearest(path), on_key=True)
        case "missing":
            return Finding(path, "is missing", _MISSING.get(path[-1], "add it") if path else "add it")
        case "literal_error":
            return Finding(path, f"{shown(problem['input'])} is not possible", f"write {context['expected']}")
        case "greater_than_equal" | "less_than_equal":
            bound = f"at least {context['ge']}" if "ge" in context else f"at most {context['le']}"
            return Finding(path, f"{shown(problem['input'])} is out of range", f"write {bound}")
        case _:
            words = _WORDS.get(kind, (problem["msg"], ""))
            return Finding(path, words[0].format(shown(problem["input"])), words[1])


def _path(location: tuple[str | int, ...]) -> Path:
    return tuple(step for step in location if step not in (SCALAR, TABLE))


_MISSING: dict[str | int, str] = {
    "cluster": 'begin with [cluster] and name = "…"',
    "name": 'write name = "…"',
    "flavors": "add a table such as [flavors.gpu] with nodes and gpus_per_node",
    "platform_groups": 'write platform_groups = ["…"]',
    "nodes": "say how many nodes the flavor has, such as nodes = 4",
}


def _nearest(path: Path) -> str:
    known = list(_table_at(path[:-1]).model_fields)
    near = similar(str(path[-1]), known)
    return f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(known)}"


def _table_at(path: Path) -> type[BaseModel]:
    """The model that describes the table at `path` (names of teams, flavors … are skipped)."""
    from . import model

    tables: dict[str, type[BaseModel]] = {
        "cluster": model.Cluster,
        "topologies": model.Topology,
        "flavors": model.Flavor,
        "departments": model.Department,
        "teams": Team,
        "sharing": model.Sharing,
        "access": model.Access,
        "mig": model.Mig,
        "taints": model.Taint,
        "usage": model.UsageSharing,
        "machines": model.Machines,
    }
    if not path:
        return Agreement
    if path[:2] == ("sharing", "usage"):
        return tables["usage"]
    inner = next((str(step) for step in reversed(path[2:]) if step in ("mig", "taints", "machines")), None)
    return tables[inner or str(path[0])]
