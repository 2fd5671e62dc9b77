"""The API server without types: which kinds it serves, what of them carries a label, and what time it is there.

What is to be removed is found by asking for every kind that the server knows, not by a list of ours: a kind that a replica
makes one day cannot be forgotten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx2
from lightkube import Client
from lightkube.config import client_adapter

from .clients import ANSWER_TIMEOUT

TOO_EARLY = 429  # also while the storage of a new kind is being made
BETWEEN = 0.5  # seconds

DISCOVERY = ", ".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
SIDE_BY_SIDE = 8  # requests
GONE = (httpx2.codes.NOT_FOUND, httpx2.codes.METHOD_NOT_ALLOWED, httpx2.codes.FORBIDDEN)


@dataclass(frozen=True)
class Kind:
    """A kind in one version that the server serves, the one it prefers."""

    base: str
    """`/apis/kueue.x-k8s.io/v1beta2`."""
    kind: str
    plural: str
    namespaced: bool

    def path(self, name: str = "", namespace: str = "") -> str:
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"{self.base}{within}/{self.plural}" + (f"/{name}" if name else "")


NAMESPACE = Kind("/api/v1", "Namespace", "namespaces", False)
POD = Kind("/api/v1", "Pod", "pods", True)


@dataclass(frozen=True)
class Thing:
    """One object, by its metadata."""

    kind: Kind
    name: str
    labels: Mapping[str, str]
    finalizers: tuple[str, ...]
    going: bool
    namespace: str = ""

    @property
    def path(self) -> str:
        return self.kind.path(self.name, self.namespace)

    def __str__(self) -> str:
        return "/".join(filter(None, (self.kind.kind, self.namespace, self.name)))


class Api:
    """One cluster. Its calls may come from any thread; they raise httpx2.HTTPError where the server does not do them."""

    def __init__(self, client: Client) -> None:
        config = client.config
        assert config is not None
        self._http = client_adapter.Client(
            config, client_adapter.ConnectionParams(timeout=httpx2.Timeout(ANSWER_TIMEOUT))
        )

    def kinds(self) -> list[Kind]:
        """Every kind whose objects can be listed and deleted."""
        found = []
        for root in ("/api", "/apis"):
            for group in self._get(root, accept=DISCOVERY)["items"]:
                version = next(iter(group["versions"]))
                base = f"{root}/" + "/".join(filter(None, (group["metadata"].get("name"), version["version"])))
                found += [
                    Kind(
                        base, resource["responseKind"]["kind"], resource["resource"], resource["scope"] == "Namespaced"
                    )
                    for resource in version["resources"]
                    if {"list", "delete"} <= set(resource["verbs"])
                ]
        return found

    def labelled(self, kinds: Iterable[Kind], selector: str) -> list[Thing]:
        """Every object of these kinds that the selector chooses, in all namespaces."""
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return [thing for found in pool.map(lambda kind: self.things(kind, selector), kinds) for thing in found]

    def things(self, kind: Kind, selector: str = "", namespace: str = "") -> list[Thing]:
        """The objects of a kind. None where it is not served any more, or not to us: then none of them is ours."""
        try:
            query = {"labelSelector": selector} if selector else {}
            items = self._get(kind.path(namespace=namespace), METADATA, query)["items"] or ()
        except httpx2.HTTPStatusError as error:
            if error.response.status_code in GONE:
                return []
            raise
        return [_thing(kind, item["metadata"]) for item in items]

    def get(self, path: str) -> Any | None:
        """The object; None where there is none."""
        try:
            return self._get(path)
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == httpx2.codes.NOT_FOUND:
                return None
            raise

    def create(self, path: str, body: Mapping[str, Any], dry: bool = False) -> Any:
        answer = self._http.post(path, params={"dryRun": "All"} if dry else {}, json=dict(body))
        return answer.raise_for_status().json()

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        """A merge patch. One that names a resourceVersion is refused (409) where the object has changed since."""
        headers = {"Content-Type": "application/merge-patch+json"}
        self._http.patch(path, content=json.dumps(patch), headers=headers).raise_for_status()

    def delete(self, path: str, grace: int | None = None) -> str:
        """Asks for an object, or all of a collection, to be removed. Returns why the server would not; empty: it will."""
        body: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        headers = {"Content-Type": "application/json"}
        answer = self._http.request("DELETE", path, content=json.dumps(body), headers=headers)
        if answer.is_success or answer.status_code == httpx2.codes.NOT_FOUND:
            return ""
        try:
            return str(answer.json()["message"])
        except (ValueError, KeyError, TypeError):
            return f"status {answer.status_code}"

    def now(self) -> datetime:
        """The server's own clock, in whole seconds: two machines that talk of a time agree on it, whatever theirs say."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "verify-clock-"}}
        made = self.create(NAMESPACE.path(), body, dry=True)
        return datetime.fromisoformat(made["metadata"]["creationTimestamp"])

    def _get(self, path: str, accept: str = "application/json", query: Mapping[str, str] | None = None) -> Any:
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while True:
            answer = self._http.get(path, params=dict(query or {}), headers={"Accept": accept})
            if answer.status_code != TOO_EARLY or time.monotonic() > deadline:
                return answer.raise_for_status().json()
            time.sleep(BETWEEN)


def _thing(kind: Kind, metadata: Mapping[str, Any]) -> Thing:
    return Thing(
        kind,
        metadata["name"],
        metadata.get("labels") or {},
        tuple(metadata.get("finalizers") or ()),
        "deletionTimestamp" in metadata,
        metadata.get("namespace") or "",
    )
