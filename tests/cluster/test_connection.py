"""A cluster that does not answer is an error with a remedy; one that answers is reached, whoever asks."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from tenancy.cluster.clients import connect
from tenancy.cluster.connection import Unreachable, minified, require_reachable

NOBODY = "https://127.0.0.1:1"


def _kubeconfig(server: str, **cluster: str) -> str:
    return yaml.safe_dump(
        {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
            "users": [{"name": "u", "user": {}}],
        }
    )


@pytest.fixture
def answering(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address that answers /readyz with the status of the test's parameter."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(request.param if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("answering", [200, 401, 403], indirect=True)
def test_an_answer_is_an_answer(answering: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(_kubeconfig(answering))
    require_reachable(str(tmp_path / "config"), None)
    require_reachable(_kubeconfig(answering), "here")


@pytest.mark.parametrize("answering", [500], indirect=True)
def test_a_server_that_is_not_ready_is_not_reached(answering: str) -> None:
    with pytest.raises(
        Unreachable, match=r"is not ready: /readyz answers 500\. Start it \(for the lab: tenancy lab up\)"
    ):
        require_reachable(_kubeconfig(answering), None)


def test_nobody_there() -> None:
    with pytest.raises(
        Unreachable, match=r"no cluster answers at https://127\.0\.0\.1:1 .*Connection refused.*tenancy lab up"
    ):
        require_reachable(_kubeconfig(NOBODY), None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "is not YAML"),
        ("- list", "is not a kubeconfig"),
        ("contexts: []", "has no context ''; it has none"),
        (_kubeconfig(NOBODY).replace("cluster: c", "cluster: other"), "names no cluster that is in it"),
        (_kubeconfig(""), "no cluster answers at an empty address"),
        (_kubeconfig(NOBODY, **{"certificate-authority": "/nowhere"}), "No such file"),
        (_kubeconfig(NOBODY, **{"certificate-authority-data": "###"}), "no cluster answers"),
    ],
)
def test_a_kubeconfig_of_no_use_is_an_error_and_no_traceback(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(Unreachable, match=says):
        require_reachable(str(tmp_path / "config"), None)


def test_the_context_is_looked_for_in_every_file_of_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_text("contexts: []\n")
    (tmp_path / "two").write_text(_kubeconfig(NOBODY))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'one'}:{tmp_path / 'two'}:{tmp_path / 'missing'}")
    with pytest.raises(Unreachable, match="no cluster answers at"):
        require_reachable(None, "here")
    with pytest.raises(Unreachable, match=r"has no context 'there'; it has here"):
        require_reachable(None, "there")


def test_the_first_file_to_say_a_thing_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_text(_kubeconfig("https://127.0.0.1:2"))
    (tmp_path / "two").write_text(_kubeconfig(NOBODY).replace("cluster: c", "cluster: other"))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    with pytest.raises(Unreachable, match=r"no cluster answers at https://127\.0\.0\.1:2 "):
        require_reachable(None, None)


@pytest.mark.parametrize("answering", [200], indirect=True)
def test_a_client_is_of_the_cluster_that_was_asked(
    answering: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its context, cluster and user are in two files."""
    whole = yaml.safe_load(_kubeconfig(answering))
    (tmp_path / "one").write_text(yaml.safe_dump({"current-context": "here", "contexts": whole["contexts"]}))
    (tmp_path / "two").write_text(yaml.safe_dump({"clusters": whole["clusters"], "users": whole["users"]}))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    assert connect(None).config.cluster.server == answering
    assert connect(_kubeconfig(answering), "here").config.cluster.server == answering


def test_paths_start_from_the_file_that_names_them(tmp_path: Path) -> None:
    text = _kubeconfig(NOBODY, **{"certificate-authority": "ca.pem"}).replace("user: {}", "user: {client-key: key.pem}")
    (tmp_path / "config").write_text(text)
    found = minified(str(tmp_path / "config"), None)
    assert found["clusters"][0]["cluster"] == {"server": NOBODY, "certificate-authority": str(tmp_path / "ca.pem")}
    assert found["users"][0]["user"] == {"client-key": str(tmp_path / "key.pem")}


@pytest.mark.parametrize("answering", [200], indirect=True)
def test_a_kubeconfig_that_no_client_can_use_is_an_error_with_a_remedy(answering: str) -> None:
    text = _kubeconfig(answering).replace("user: {}", "user: {username: [a]}")
    with pytest.raises(Unreachable, match=r"the kubeconfig cannot be used: .*username.*tenancy lab up"):
        connect(text)


def test_without_any_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    with pytest.raises(Unreachable, match=r"there is no kubeconfig at .*missing"):
        require_reachable(None, None)


def test_asking_needs_no_cluster_client() -> None:
    """The Pulumi program asks at each preview: half a second of imports would be felt."""
    heavy = "[m for m in ('lightkube', 'httpx2', 'psutil', 'pydantic') if m in sys.modules]"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, tenancy.cluster.connection; print({heavy})"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
