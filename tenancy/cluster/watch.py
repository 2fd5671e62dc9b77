"""A watch of one kind: what is there, told as it changes, until it is closed.

lightkube's own watch cannot be ended while nothing happens, and of what was deleted while it was away it never tells.
This one is a list and then the changes since, again from the list where the server has forgotten them. Objects come as
plain data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from threading import Event, Thread
from typing import Any

import httpx2
from lightkube import Client
from lightkube.config.client_adapter import Client as http_client
from lightkube.config.client_adapter import ConnectionParams

from .listing import PAGE

QUIET = 5.0  # seconds without a word after which the connection is made anew; so long may `close` take
AGAIN = 0.5  # seconds before another attempt where the server does not answer

Object = Mapping[str, Any]


class Watch:
    """`path` is that of the kind in the API, `labels` a selector. `reset` is given all there is, `changed` an object and
    whether it is still there. Both are called from the watch's own thread."""

    def __init__(
        self,
        client: Client,
        path: str,
        reset: Callable[[Iterable[Object]], None],
        changed: Callable[[Object, bool], None],
        labels: str = "",
    ) -> None:
        self.path, self.reset, self.changed = path, reset, changed
        self.query = {"labelSelector": labels} if labels else {}
        timeout = httpx2.Timeout(60.0, read=QUIET)
        self.http = http_client(client.config, ConnectionParams(timeout=timeout))
        self.listed, self.ending = Event(), Event()
        self.thread = Thread(target=self._run, daemon=True)

    def open(self) -> None:
        """Returns when it knows what is there; where nothing answers, all the same after a while."""
        self.thread.start()
        self.listed.wait(60.0)

    def close(self) -> None:
        """Nothing is told any more; the thread ends by itself."""
        self.ending.set()

    def _run(self) -> None:
        version = ""
        while not self.ending.is_set():
            try:
                version = version or self._list()
                version = self._follow(version)
            except (httpx2.HTTPError, ValueError, KeyError):
                version = ""
                self.ending.wait(AGAIN)
        self.http.close()

    def _list(self) -> str:
        """All there is, in pages; the version to follow from."""
        found: list[Object] = []
        more = ""
        while True:
            query = {**self.query, "limit": str(PAGE), **({"continue": more} if more else {})}
            answer = self.http.get(self.path, params=query)
            answer.raise_for_status()
            page = answer.json()
            found += page.get("items") or []
            more = page["metadata"].get("continue") or ""
            if not more:
                self.reset(found)
                self.listed.set()
                return str(page["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> str:
        """The changes until the server has none for a while; the version then. Empty where it has forgotten this one."""
        query = {**self.query, "watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version}
        try:
            with self.http.stream("GET", self.path, params=query) as answer:
                answer.raise_for_status()
                for line in answer.iter_lines():
                    if self.ending.is_set():
                        break
                    event = json.loads(line)
                    result = event["object"]
                    if event["type"] == "ERROR":
                        return ""
                    version = str(result["metadata"]["resourceVersion"])
                    if event["type"] != "BOOKMARK":
                        self.changed(result, event["type"] != "DELETED")
        except httpx2.ReadTimeout:
            pass
        return version
