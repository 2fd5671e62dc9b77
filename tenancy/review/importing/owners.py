"""Who wrote a field, by the `managedFields` that the API server keeps: it decides whether the field outlives an adoption.

Server-side apply leaves what others wrote. But what kubectl wrote is taken over: by Pulumi's provider with the first update of an
object (pulumi-kubernetes `pkg/await/await.go`, fixCSAFieldManagers), by `kubectl apply --server-side` at once. Then the agreement
is the owner of a field that it does not say, and the field goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .objects import Object

TAKEN_OVER = ("kubectl", "before-first-apply", "pulumi-kubernetes", "pulumi-resource-kubernetes")
"""As the names of managers begin."""


def known(body: Object) -> bool:
    """Whether the object says who wrote it: one of a cluster does, one of a file as a rule does not."""
    return bool(body["metadata"].get("managedFields"))


def goes(body: Object, path: tuple[str, ...]) -> bool:
    """Whether a field is nobody's but one's whose fields are taken over."""
    managers = list(_managers(body, path))
    return bool(managers) and all(manager.startswith(TAKEN_OVER) for manager in managers)


def _managers(body: Object, path: tuple[str, ...]) -> Iterator[str]:
    for entry in body["metadata"].get("managedFields") or ():
        if isinstance(entry, Mapping) and _owns(entry.get("fieldsV1"), path):
            yield str(entry.get("manager"))


def _owns(fields: Any, path: tuple[str, ...]) -> bool:
    """Down to where the fields are named one by one: what is written whole has none below it."""
    for step in path:
        if not isinstance(fields, Mapping) or f"f:{step}" not in fields:
            return False
        fields = fields[f"f:{step}"]
        if not fields:
            return True
    return True
