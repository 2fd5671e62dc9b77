"""Objects read as an agreement, and what is listed beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenancy.objects.identity import reference
from tenancy.objects.loading import loads
from tenancy.review import importing
from tenancy.review.importing import Imported, Outcome


def by_reference(objects: Iterable[Any]) -> dict[str, Any]:
    return {reference(entry): entry for entry in objects}


def read(objects: Iterable[Any], **how: Any) -> Imported:
    found = importing.import_agreement(objects, source="a test", **how)
    assert loads(found.text).agreement == found.agreement, "the file is the agreement"
    return found


def listed(found: Imported) -> dict[str, tuple[Outcome, Any]]:
    return {
        f"{difference.reference} {difference.path}".strip(): (difference.outcome, difference.becomes)
        for difference in found.not_expressed
    }
