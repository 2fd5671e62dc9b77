"""The objects of a kind, as the API server writes them: the one way in which this project lists what a cluster holds.

They come in pages, since one answer with all Workloads of a busy cluster is some hundred megabytes; as plain data, since typed
classes drop the fields that they do not know and take longer to make than the server takes to answer; and with the apiVersion
and kind that the server leaves out in a list. A kind that the cluster does not serve has no objects. Who may not list it is told
so in the server's words.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import httpx2
from lightkube import Client
from lightkube.config import client_adapter

from ..objects.kinds import KINDS, Kind
from .clients import ANSWER_TIMEOUT
from .fields import Object

PAGE = 500  # objects in one answer; a node of a real cluster has some 20 kB
BUSY = (httpx2.codes.TOO_MANY_REQUESTS, httpx2.codes.SERVICE_UNAVAILABLE)  # so says an API server just started
BUSY_TIMEOUT = 30.0  # seconds for which a busy server is asked again
BETWEEN = 0.2  # seconds


class NotThere(RuntimeError):
    """The cluster does not hold the agreement, or does not say so. The text says what is missing and what to do."""


class Unreadable(NotThere):
    """The cluster does not say what it holds. `reason`: in its own words. `status`: of its answer; 0 where it gave none."""

    def __init__(self, text: str, reason: str = "", status: int = 0) -> None:
        super().__init__(text)
        self.reason, self.status = reason, status

    @property
    def refused(self) -> bool:
        return bool(self.status)

    @property
    def forbidden(self) -> bool:
        """It would say so to somebody else."""
        return self.status == httpx2.codes.FORBIDDEN


def objects(client: Client, kind: str, *, namespace: str = "", labels: str = "", fields: str = "") -> list[Object]:
    """Every object of a kind (its name in the table of kinds) that the selectors choose, written as kubectl takes them; without
    a namespace those of all. Raises Unreadable."""
    return served(_http(client), KINDS[kind], namespace=namespace, labels=labels, fields=fields) or []


def served(
    http: httpx2.Client, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = ""
) -> list[Object] | None:
    """The same over a connection of one's own; None where the cluster does not serve the kind."""
    try:
        return [
            {"apiVersion": kind.api_version, "kind": kind.kind, **body}
            for page in _pages(http, kind.path(namespace), {"labelSelector": labels, "fieldSelector": fields})
            for body in page
        ]
    except _Unserved:
        return None
    except httpx2.HTTPError as error:
        raise Unreadable(f"the cluster does not answer: {error}", str(error)) from None


class _Unserved(Exception):
    pass


def _pages(http: httpx2.Client, path: str, selectors: dict[str, str]) -> Iterator[list[Object]]:
    query = {key: value for key, value in selectors.items() if value} | {"limit": str(PAGE)}
    while True:
        answer = _get(http, path, query)
        if answer.status_code == httpx2.codes.NOT_FOUND:
            raise _Unserved
        if not answer.is_success:
            reason = reason_of(answer)
            raise Unreadable(f"the cluster does not let us read: {reason}", reason, answer.status_code)
        body = answer.json()
        yield body.get("items") or []
        onward = (body.get("metadata") or {}).get("continue")
        if not onward:
            return
        query = {**query, "continue": onward}


def _get(http: httpx2.Client, path: str, query: dict[str, str]) -> httpx2.Response:
    """The server's answer, once it is not too busy to give one."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while (answer := http.get(path, params=query)).status_code in BUSY and time.monotonic() < deadline:
        time.sleep(BETWEEN)
    return answer


def reason_of(answer: httpx2.Response) -> str:
    """Why the server does not do what it is asked, in its own words: a role without the right says so there."""
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"


_connections: WeakKeyDictionary[Client, httpx2.Client] = WeakKeyDictionary()


def _http(client: Client) -> httpx2.Client:
    """A client's connection without types, made once."""
    if client not in _connections:
        assert client.config is not None
        timeout = httpx2.Timeout(ANSWER_TIMEOUT)
        _connections[client] = client_adapter.Client(client.config, client_adapter.ConnectionParams(timeout=timeout))
    return _connections[client]
