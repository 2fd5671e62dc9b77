"""What the list of an import is made of: something that the agreement does not say, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Fate(StrEnum):
    """What becomes of a field when the agreement is adopted."""

    CHANGED = "changed"
    KEPT = "kept"
    DROPPED = "dropped"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the agreement does not say. `path` is empty where it is the whole object; `found` and `becomes` are None
    where there is none."""

    reference: str
    path: str
    found: Any
    fate: Fate
    becomes: Any = None
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "object": self.reference,
            "path": self.path,
            "found": self.found,
            "fate": self.fate.value,
            "becomes": self.becomes,
            "why": self.why,
        }
