"""An entry of an import's list: a detail that the agreement does not express, and what happens to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """What happens to a field when the agreement is applied."""

    UPDATE = "update"
    KEEP = "keep"
    REMOVE = "remove"
    ADD = "add"


FATES: Mapping[Outcome, str] = {
    Outcome.UPDATE: "changed",
    Outcome.KEEP: "kept",
    Outcome.REMOVE: "dropped",
    Outcome.ADD: "added",
}
"""The same as `fate` in JSON, which programs read already."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the agreement does not say. `path` is empty where it is the whole object; `found` and `becomes` are None
    where there is none."""

    reference: str
    path: str
    found: Any
    outcome: Outcome
    becomes: Any = None
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "object": self.reference,
            "path": self.path,
            "found": self.found,
            "outcome": self.outcome.value,
            "fate": FATES[self.outcome],
            "becomes": self.becomes,
            "why": self.why,
        }
