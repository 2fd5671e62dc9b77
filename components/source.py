"""Where a component's agreement comes from: a file, a text, plain values of another language, or the model.

Whatever is wrong with it is one RunError that lists every finding, each with its place where it has one. Advice is
logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pulumi

from tenancy.agreement import Agreement, Finding, dotted, errors
from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.loading import check, load, loads, validate


def agreement_from_file(file: str | Path) -> Agreement:
    """The agreement in a TOML file; a path that is not absolute counts from the program's folder."""
    loaded = load(file)
    return _accepted(loaded.agreement, loaded.findings)


def agreement_from_text(text: str, name: str = "<agreement>") -> Agreement:
    """The agreement in a TOML text; `name` stands in the findings where a file's name would."""
    loaded = loads(text, name)
    return _accepted(loaded.agreement, loaded.findings)


def agreement_from_values(values: Mapping[str, Any]) -> Agreement:
    """The agreement as nested tables with the keys of the file. On the wire from other languages there is one kind of number,
    so 8.0 is read as 8."""
    return _accepted(*validate(_plain(values)))


def plan_of(agreement: Agreement | Plan) -> Plan:
    """The plan of an agreement, checked; one that is made already is taken as it is."""
    if isinstance(agreement, Plan):
        return agreement
    if found := errors(check(agreement)):
        raise pulumi.RunError("\n".join(map(str, found)))
    return make_plan(agreement)


def _accepted(agreement: Agreement | None, findings: Iterable[Finding]) -> Agreement:
    wrong = errors(findings)
    if agreement is None or wrong:
        raise pulumi.RunError("\n".join(map(str, wrong)))
    for advice in findings:
        pulumi.log.info(str(advice))
    return agreement


def _plain(value: Any, path: tuple[str | int, ...] = ()) -> Any:
    if isinstance(value, pulumi.Output):
        what = "is an output of another resource; an agreement must be known before any resource is created"
        raise pulumi.RunError(f"{dotted(path)}: {what}")
    if isinstance(value, Mapping):
        return {key: _plain(item, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, number)) for number, item in enumerate(value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
