"""A Node object of the API as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from tenancy.cluster.clients import connect
from tenancy.cluster.listing import PAGE
from tenancy.cluster.nodes import Node, NodeTaint
from tenancy.cluster.read_nodes import Unreadable, described
from tenancy.cluster.read_nodes import read as read_all

REAL: dict[str, Any] = {
    "metadata": {"name": "a", "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}},
    "spec": {
        "unschedulable": True,
        "taints": [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
            {
                "key": "node.kubernetes.io/unschedulable",
                "effect": "NoSchedule",
                "timeAdded": "2026-01-01T00:00:00Z",
            },
        ],
    },
    "status": {
        "allocatable": {
            "cpu": "127610m",
            "memory": "1056270220Ki",
            "nvidia.com/gpu": "8",
            "nvidia.com/mig-1g.10gb": "0",
            "ephemeral-storage": "1700489474318",
            "hugepages-1Gi": "0",
            "pods": "110",
        },
        "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
    },
}


def read(node: dict[str, Any]) -> Node:
    return described(node)


def test_a_node_of_a_real_cluster() -> None:
    assert read(REAL) == Node(
        name="a",
        labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
        allocatable={
            "cpu": 127_610,
            "memory": 1_056_270_220 * 1024,
            "nvidia.com/gpu": 8,
            "nvidia.com/mig-1g.10gb": 0,
        },
        taints=(
            NodeTaint("nvidia.com/gpu", "present", "NoSchedule"),
            NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule"),
        ),
        ready=True,
        cordoned=True,
    )


def test_a_node_that_has_not_reported_yet_is_not_ready() -> None:
    assert read({"metadata": {"name": "new"}, "spec": {}}) == Node("new", {}, {}, ready=False)


def test_unknown_is_not_ready() -> None:
    lost = {**REAL, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    assert not read(lost).ready


class Api(BaseHTTPRequestHandler):
    """Nodes in pages as an API server gives them, or its refusal."""

    nodes = 0
    forbidden = False
    asked: list[str] = []

    def do_GET(self) -> None:
        url = urlparse(self.path)
        query = parse_qs(url.query)
        if url.path == "/readyz":
            return self._answer(200, {})
        self.asked.append(url.path)
        if self.forbidden:
            status = {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden"}
            return self._answer(
                403, {**status, "message": 'nodes is forbidden: User "lead" cannot list resource "nodes"'}
            )
        first = int(query.get("continue", ["0"])[0])
        after = min(self.nodes, first + int(query["limit"][0]))
        items = [{**REAL, "metadata": {"name": f"n-{number}"}} for number in range(first, after)]
        metadata = {"continue": str(after)} if after < self.nodes else {}
        return self._answer(200, {"kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": items})

    def _answer(self, code: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api(tmp_path: Path) -> Iterator[type[Api]]:
    """A class that answers at the address of `tmp_path / "config"`."""
    answering = type("Answering", (Api,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), answering)
    Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    yield answering
    server.shutdown()
    server.server_close()


def test_a_large_cluster_is_read_in_pages(api: type[Api], tmp_path: Path) -> None:
    api.nodes = 2 * PAGE + 1
    names = [node.name for node in read_all(connect(str(tmp_path / "config")))]
    assert names == [f"n-{number}" for number in range(2 * PAGE + 1)]
    assert api.asked == ["/api/v1/nodes"] * 3


def test_who_may_not_list_nodes_is_told_so(api: type[Api], tmp_path: Path) -> None:
    api.forbidden = True
    with pytest.raises(Unreadable, match=r'does not let us list its nodes: .*User "lead" cannot list'):
        read_all(connect(str(tmp_path / "config")))
