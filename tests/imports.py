"""Objects read as an agreement, and what is listed beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenancy.objects.identity import reference
from tenancy.objects.loading import loads
from tenancy.review import importing as adopt
from tenancy.review.importing import Adoption, Fate


def by_reference(objects: Iterable[Any]) -> dict[str, Any]:
    return {reference(entry): entry for entry in objects}


def read(objects: Iterable[Any], **how: Any) -> Adoption:
    found = adopt.adopt(objects, source="a test", **how)
    assert loads(found.text).agreement == found.agreement, "the file is the agreement"
    return found


def listed(found: Adoption) -> dict[str, tuple[Fate, Any]]:
    return {
        f"{difference.reference} {difference.path}".strip(): (difference.fate, difference.becomes)
        for difference in found.unsaid
    }
