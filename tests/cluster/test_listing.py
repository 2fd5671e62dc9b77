"""One way to list a kind: in pages, none where it is not served, a sentence where it may not be read."""

from __future__ import annotations

import httpx2
import pytest

from tenancy.cluster import listing
from tenancy.cluster.fields import Object
from tenancy.cluster.listing import PAGE, Unreadable, served
from tenancy.objects.kinds import KINDS

WORKLOADS = [{"metadata": {"name": f"w-{number}"}} for number in range(2 * PAGE + 1)]


class Server:
    """Workloads in pages, with what was asked of it; or one answer to everything."""

    def __init__(self, always: httpx2.Response | None = None, busy: int = 0) -> None:
        self.always, self.busy = always, busy
        self.asked: list[httpx2.URL] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url)
        if self.busy:
            self.busy -= 1
            return httpx2.Response(429, json={"message": "storage is (re)initializing"})
        if self.always:
            return self.always
        start = int(request.url.params.get("continue", 0))
        after = start + int(request.url.params["limit"])
        metadata = {"continue": str(after)} if after < len(WORKLOADS) else {}
        return httpx2.Response(200, json={"metadata": metadata, "items": WORKLOADS[start:after]})


def ask(server: Server, **selectors: str) -> list[Object] | None:
    http = httpx2.Client(transport=httpx2.MockTransport(server), base_url="https://cluster.invalid")
    return served(http, KINDS["Workload"], **selectors)


def test_all_pages_come_as_one_list_of_plain_objects_that_say_what_they_are() -> None:
    server = Server()
    found = ask(server, namespace="ns", labels="team=a", fields="status.phase=Running")
    assert found is not None and len(found) == 2 * PAGE + 1
    assert found[-1] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": f"w-{2 * PAGE}"},
    }
    assert [url.path for url in server.asked] == ["/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads"] * 3
    for url in server.asked:
        assert (url.params["labelSelector"], url.params["fieldSelector"]) == ("team=a", "status.phase=Running")


def test_a_kind_that_is_not_served_has_no_objects() -> None:
    assert ask(Server(httpx2.Response(404, text="404 page not found"))) is None


def test_who_may_not_read_is_told_so_in_the_servers_words() -> None:
    refusal = httpx2.Response(403, json={"message": 'User "lead" cannot list resource "workloads"'})
    with pytest.raises(Unreadable, match=r'^the cluster does not let us read: User "lead" cannot list') as error:
        ask(Server(refusal))
    assert error.value.forbidden


def test_an_error_that_says_nothing_is_told_by_its_status() -> None:
    with pytest.raises(Unreadable, match="does not let us read: status 500") as error:
        ask(Server(httpx2.Response(500, text="oh")))
    assert not error.value.forbidden


def test_a_server_that_is_starting_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "BETWEEN", 0.0)
    assert len(ask(Server(busy=3)) or ()) == 2 * PAGE + 1


def test_a_server_that_does_not_answer_is_a_sentence() -> None:
    def gone(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("connection refused")

    http = httpx2.Client(transport=httpx2.MockTransport(gone), base_url="https://cluster.invalid")
    with pytest.raises(Unreadable, match=r"^the cluster does not answer: connection refused"):
        served(http, KINDS["Pod"])
