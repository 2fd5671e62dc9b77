"""Whether a change touches what a cluster lets nobody change: who asks for another value must say what is to happen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .identity import kind_of
from .kinds import KINDS, Immutable

Object = Mapping[str, Any]


def changed(live: Object, wanted: Object) -> list[str]:
    """The immutable fields of what is there that are to be something else."""
    immutable = _of(wanted)
    if immutable is None or (immutable.once and _at(live, immutable.once) is None):
        return []
    return [field for field in immutable.fields if _at(live, field) != _at(wanted, field)]


def is_replaced(body: Object) -> bool:
    immutable = _of(body)
    return bool(immutable and immutable.replaced)


def _of(body: Object) -> Immutable | None:
    row = KINDS.get(kind_of(body))
    return row.immutable if row else None


def _at(body: Object, field: str) -> Any:
    value: Any = body
    for step in field.split("."):
        value = (value or {}).get(step)
    return value
