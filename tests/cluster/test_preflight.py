"""What is in the way of an update, judged from what the cluster and the record hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from tenancy.cluster.preflight import Cluster, Found, PreflightError
from tenancy.objects import kinds

VERSION = "kueue.x-k8s.io/v1beta2"
KINDS = {"ResourceFlavor": VERSION, "Cohort": VERSION, "ClusterQueue": VERSION}
INSIDE = {
    "Namespace": "v1",
    "Profile": "kubeflow.org/v1",
    "LocalQueue": VERSION,
    "NamespaceConfig": "redhatcop.redhat.io/v1alpha1",
}


def body(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"tenancy.dev/agreement": "lab"}
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec}


def foreign(kind: str, name: str) -> dict[str, Any]:
    return {**body(kind, name), "metadata": {"name": name}}


def leaving(kind: str, name: str) -> dict[str, Any]:
    result = body(kind, name)
    return {**result, "metadata": {**result["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


class FakeServer:
    """An API server that serves the kinds it has a list for, in pages of two."""

    def __init__(self, *objects: Mapping[str, Any], serves: tuple[str, ...] = (*KINDS, *INSIDE), busy: int = 0) -> None:
        resources = {kinds.KINDS[kind].plural: kind for kind in serves}
        self.lists = {name: [entry for entry in objects if entry["kind"] == kind] for name, kind in resources.items()}
        self.busy, self.forbidden, self.deleted = busy, "", list[str]()
        self.patched: list[tuple[str, str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        parts = re.sub("^/(apis/[^/]+|api)/[^/]+/", "", request.url.path).split("/")
        if self.busy:
            self.busy -= 1
            return httpx2.Response(429, json={"message": "storage is (re)initializing"})
        if self.forbidden:
            return httpx2.Response(403, json={"message": self.forbidden})
        if request.method == "PATCH":
            self.patched.append((parts[-1], str(request.url.query, "ascii"), json.loads(request.content)))
            return httpx2.Response(200, json={})
        if parts[0] not in self.lists:
            return httpx2.Response(404, text="404 page not found")
        if request.method == "DELETE":
            self.deleted.append("/".join(parts))
            return httpx2.Response(200, json={})
        start = int(request.url.params.get("continue", 0))
        items = self.lists[parts[0]]
        if "/api/" in request.url.path:  # in a list, Kubernetes' own kinds do not say what they are
            items = [{key: value for key, value in item.items() if key not in ("apiVersion", "kind")} for item in items]
        onward = {"continue": str(start + 2)} if start + 2 < len(items) else {}
        return httpx2.Response(200, json={"metadata": onward, "items": items[start : start + 2]})


def cluster(server: FakeServer) -> Cluster:
    result = Cluster.__new__(Cluster)
    result._http = httpx2.Client(transport=httpx2.MockTransport(server), base_url="https://cluster.invalid")
    return result


def look(server: FakeServer, *wanted: Mapping[str, Any], kinds: Mapping[str, str] = KINDS) -> Found:
    return cluster(server).look("lab", kinds, wanted)


def refusals(found: Found, record: Mapping[str, Any] | None = None, **stack: bool) -> list[str]:
    return found.refusals(record or {}, adopt=stack.get("adopt", False), prune=stack.get("prune", False))


A, B = body("ClusterQueue", "a", cohortName="lab"), body("Cohort", "b")


def test_an_empty_cluster_is_in_nobodys_way() -> None:
    found = look(FakeServer(), A, B)
    assert set(found.different) == {"ClusterQueue/a", "Cohort/b"}
    assert refusals(found) == []


def test_what_is_there_as_recorded_is_no_difference() -> None:
    there = {**A, "status": {}, "spec": {**A["spec"], "stopPolicy": "None"}}
    assert look(FakeServer(there), A).different == {}


def test_every_foreign_object_is_named() -> None:
    found = look(FakeServer(foreign("ClusterQueue", "a"), foreign("Cohort", "b"), foreign("Cohort", "other")), A, B)
    assert set(found.foreign) == {"ClusterQueue/a", "Cohort/b"}
    (said,) = refusals(found)
    assert "ClusterQueue/a" in said
    assert "Cohort/b" in said
    assert "other" not in said


def test_another_agreements_object_is_foreign() -> None:
    theirs = {**A, "metadata": {"name": "a", "labels": {"tenancy.dev/agreement": "prod"}}}
    assert look(FakeServer(theirs), A).foreign == ["ClusterQueue/a"]


def test_foreign_objects_are_taken_where_the_stack_says_so() -> None:
    assert refusals(look(FakeServer(foreign("ClusterQueue", "a")), A), adopt=True) == []


def test_what_this_stack_wrote_is_its_own_when_the_cluster_gets_another_name() -> None:
    there = {**A, "metadata": {"name": "a", "labels": {"tenancy.dev/agreement": "old name"}}}
    assert refusals(look(FakeServer(there), A), {"ClusterQueue/a": there}) == []


def test_a_change_of_the_agreement_is_no_surprise() -> None:
    there = body("ClusterQueue", "a", cohortName="old")
    assert refusals(look(FakeServer(there), A), {"ClusterQueue/a": there}) == []


def test_a_change_that_the_record_does_not_know_can_be_put_back() -> None:
    there = body("ClusterQueue", "a", cohortName="elsewhere")
    found = look(FakeServer(there), A)
    assert found.by_hand({"ClusterQueue/a": A}) == {"ClusterQueue/a": A}
    assert refusals(found, {"ClusterQueue/a": A}) == []
    assert found.by_hand({"ClusterQueue/a": there}) == found.by_hand({}) == {}


def test_a_limit_that_somebody_added_is_a_change() -> None:
    def queue(**limit: str) -> dict[str, Any]:
        return body(
            "ClusterQueue", "a", resourceGroups=[{"flavors": [{"resources": [{"nominalQuota": "8", **limit}]}]}]
        )

    found = look(FakeServer(queue(borrowingLimit="0")), queue())
    assert list(found.by_hand({"ClusterQueue/a": queue()})) == ["ClusterQueue/a"]


def test_what_nobody_may_change_cannot_be_put_back() -> None:
    """Somebody made the LocalQueue anew, and to another queue."""
    there = {**queue_in("alice"), "spec": {"clusterQueue": "b"}}
    found = look(FakeServer(there), queue_in("alice"), kinds=INSIDE)
    record = {"LocalQueue/alice/default": queue_in("alice")}
    assert found.by_hand(record) == {}
    (said,) = refusals(found, record)
    assert said.startswith("LocalQueue/alice/default: not on the cluster as this stack wrote it")


def test_what_is_put_back_is_written_whole_under_our_name() -> None:
    server = FakeServer(A)
    cluster(server).write([A, queue_in("alice")])
    assert server.patched == [
        ("a", "fieldManager=tenancy&force=true", A),
        ("default", "fieldManager=tenancy&force=true", queue_in("alice")),
    ]
    server.forbidden = "failed calling webhook"
    with pytest.raises(
        PreflightError, match="the cluster does not allow this user to write ClusterQueue/a: failed calling webhook"
    ):
        cluster(server).write([A])


def test_a_queue_that_somebody_holds_is_named() -> None:
    held = {**A, "spec": {**A["spec"], "stopPolicy": "HoldAndDrain"}}
    assert look(FakeServer(held), A).held == [
        "ClusterQueue/a: somebody has stopped this queue (stopPolicy HoldAndDrain)"
    ]
    assert look(FakeServer({**A, "spec": {**A["spec"], "stopPolicy": "None"}}), A).held == []


def test_what_goes_is_known_as_it_is_there_also_while_it_is_being_deleted() -> None:
    found = look(FakeServer(leaving("ClusterQueue", "a"), B), B)
    assert found.going({"ClusterQueue/a": A, "Cohort/b": B}) == {"ClusterQueue/a": leaving("ClusterQueue", "a")}
    assert found.going({}) == {}


def test_an_object_that_went_is_told() -> None:
    (said,) = refusals(look(FakeServer(), A), {"ClusterQueue/a": A})
    assert said.startswith("ClusterQueue/a: not on the cluster as this stack wrote it")


def test_what_a_killed_update_made_is_nothing_to_tell() -> None:
    assert refusals(look(FakeServer(A), A)) == []


def test_what_a_killed_update_left_is_told_apart_from_what_pulumi_will_delete() -> None:
    found = look(FakeServer(A, B))
    record = {"ClusterQueue/a": A}
    assert found.left(record) == ["Cohort/b"]
    (said,) = refusals(found, record)
    assert said.startswith("Cohort/b: left over from an update that was killed")
    assert refusals(found, record, prune=True) == []


def test_what_is_on_its_way_out_is_not_written_and_not_left() -> None:
    found = look(FakeServer(leaving("ClusterQueue", "a"), leaving("Cohort", "b")), body("ClusterQueue", "a"))
    assert found.leaving == ["ClusterQueue/a"]
    assert found.unmade == []


def test_fixed_fields_are_fixed_only_with_a_topology() -> None:
    old, new = {"nodeLabels": {"pool": "a"}}, {"nodeLabels": {"pool": "b"}}
    free = look(FakeServer(body("ResourceFlavor", "f", **old)), body("ResourceFlavor", "f", **new))
    assert free.fixed == []
    tied = {"topologyName": "t"}
    found = look(FakeServer(body("ResourceFlavor", "f", **old, **tied)), body("ResourceFlavor", "f", **new, **tied))
    assert found.fixed == ["ResourceFlavor/f: spec.nodeLabels would change"]


def test_a_kind_that_is_not_served_is_told_only_where_it_is_wanted() -> None:
    server = FakeServer(serves=("Cohort",))
    assert look(server, A).unserved == ["ClusterQueue"]
    assert look(server, B).unserved == []


def test_a_kind_that_can_be_left_out_refuses_nothing() -> None:
    kinds = {"MutatingAdmissionPolicy": "admissionregistration.k8s.io/v1"}
    found = look(FakeServer(), body("MutatingAdmissionPolicy", "p"), kinds=kinds)
    assert found.absent == ["MutatingAdmissionPolicy"]
    assert refusals(found) == []


def test_all_pages_are_read() -> None:
    many = [body("Cohort", f"c{number}") for number in range(5)]
    assert len(look(FakeServer(*many)).unmade) == 5


def test_a_busy_server_is_asked_again() -> None:
    assert look(FakeServer(A, busy=2), A).different == {}


def test_a_right_that_is_missing_is_said_in_the_clusters_words() -> None:
    server = FakeServer()
    server.forbidden = 'User "ci" cannot list resource "cohorts"'
    with pytest.raises(
        PreflightError, match='the cluster does not allow this user to list resourceflavors: User "ci" cannot'
    ):
        look(server, A)


def test_removal_is_of_what_was_named() -> None:
    server = FakeServer(A, B)
    cluster(server).remove(KINDS, ["ClusterQueue/a", "Cohort/b"])
    assert server.deleted == ["clusterqueues/a", "cohorts/b"]


# --- namespaces, and what is in them ------------------------------------------------------------------------------------


def namespace(team: str | None, *, ours: bool = True) -> dict[str, Any]:
    labels = {**({"tenancy.dev/agreement": "lab"} if ours else {}), **({"tenancy.dev/team": team} if team else {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "alice", "labels": labels}}


def queue_in(namespace: str, *, ours: bool = True) -> dict[str, Any]:
    labels = {"tenancy.dev/agreement": "lab"} if ours else {}
    metadata = {"name": "default", "namespace": namespace, "labels": labels}
    return {"apiVersion": VERSION, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": "a"}}


def config() -> dict[str, Any]:
    selector = {"matchExpressions": [{"key": "tenancy.dev/team", "operator": "Exists"}]}
    return body("NamespaceConfig", "tenancy", labelSelector=selector)


def test_somebodys_namespace_is_taken_and_somebodys_local_queue_in_it_is_not() -> None:
    found = look(
        FakeServer(namespace(None, ours=False), queue_in("alice", ours=False)),
        namespace("a"),
        queue_in("alice"),
        kinds=INSIDE,
    )
    assert found.foreign == ["LocalQueue/alice/default"]
    assert set(found.different) == {"Namespace/alice", "LocalQueue/alice/default"}


def test_a_namespace_as_wanted_is_no_difference() -> None:
    assert look(FakeServer(namespace("a")), namespace("a"), kinds=INSIDE).different == {}


def test_a_local_queue_of_the_same_name_elsewhere_is_another() -> None:
    found = look(FakeServer(queue_in("bob", ours=False), queue_in("carol")), queue_in("alice"), kinds=INSIDE)
    assert (found.foreign, found.unmade) == ([], ["LocalQueue/carol/default"])


def test_a_label_that_a_killed_update_left_goes_and_the_namespace_stays() -> None:
    server = FakeServer(namespace("a"))
    found = look(server, kinds=INSIDE)
    (said,) = refusals(found)
    assert said.startswith("Namespace/alice: an update that was killed has added a label")
    assert refusals(found, prune=True) == []
    cluster(server).remove(INSIDE, found.left({}))
    assert server.deleted == []
    nothing = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "alice"}}
    assert server.patched == [("alice", "fieldManager=tenancy&force=true", nothing)]


def test_a_local_queue_that_was_left_is_removed_in_its_namespace() -> None:
    server = FakeServer(queue_in("alice"))
    cluster(server).remove(INSIDE, look(server, kinds=INSIDE).left({}))
    assert server.deleted == ["namespaces/alice/localqueues/default"]


def test_a_profile_that_is_no_longer_wanted_is_nobodys_to_remove() -> None:
    assert look(FakeServer(body("Profile", "alice")), kinds=INSIDE).unmade == []


def test_a_namespace_moves_at_once_where_we_write_its_queues() -> None:
    assert refusals(look(FakeServer(namespace("a")), namespace("b"), kinds=INSIDE)) == []


def test_a_namespace_moves_in_two_steps_where_the_operator_does() -> None:
    (said,) = refusals(look(FakeServer(namespace("a"), config()), namespace("b"), config(), kinds=INSIDE))
    assert said.startswith("Namespace/alice: its label gives it to another team")
    assert "kubectl label namespace alice tenancy.dev/team-  Run pulumi up again" in said
    for before in (namespace(None), namespace("b"), namespace("")):
        assert refusals(look(FakeServer(before, config()), namespace("b"), config(), kinds=INSIDE)) == []
