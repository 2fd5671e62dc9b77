"""What is on the cluster already, asked before the first object is written.

An update that stops half-way because a name was taken leaves half an agreement on a cluster, and Pulumi's preview does not
see it coming: it believes its own record of what it wrote last (facts/pulumi.md). So the cluster is asked first, with one
list for each kind, and everything in the way is named at once:

- a kind that the cluster does not serve: Pulumi would preview objects of it without a word, and fail afterwards;
- an object with a name of ours that is not ours (every object we make carries `tenancy.dev/agreement: <cluster>`). A
  Namespace is nobody's to refuse: it is given the team's label, whoever made it, and is never deleted;
- a Namespace of another team, where the namespace operator has made its LocalQueues, which nobody can change;
- one that is being deleted, and would be gone right after it was written;
- a field that Kueue lets nobody change, and that would have to;
- an object that is not as the record has it: changed by hand, or by an update that was killed. Pulumi would not look;
- an object of ours in neither the agreement nor the record: left by an update that was killed.

The record is Pulumi's, so it comes from the caller (`components.recorded_objects`), and is read only where the cluster and
the agreement differ.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams

from ..fixed import changed, is_replaced
from ..identity import AGREEMENT_LABEL, FIELD_MANAGER, kind_of, reference
from .reach import require_reachable

Object = Mapping[str, Any]

PAGE = 500  # objects in one answer
TIMEOUT = httpx2.Timeout(30.0)
BUSY = (httpx2.codes.TOO_MANY_REQUESTS, httpx2.codes.SERVICE_UNAVAILABLE)  # so says an API server just started
PATIENCE = 30.0  # seconds for which a busy server is asked again
MOST_NAMES = 200  # in one sentence


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind as its API knows it. `shared`: it may be anybody's, and we own some fields of it only. `retained`: it stays when
    the agreement no longer names it. `optional`: the rest does without it."""

    resource: str
    shared: bool = False
    retained: bool = False
    optional: bool = False


KINDS: Mapping[str, _Kind] = {
    "Topology": _Kind("topologies"),
    "ResourceFlavor": _Kind("resourceflavors"),
    "WorkloadPriorityClass": _Kind("workloadpriorityclasses"),
    "Cohort": _Kind("cohorts"),
    "ClusterQueue": _Kind("clusterqueues"),
    "Queue": _Kind("queues"),
    "PriorityClass": _Kind("priorityclasses"),
    "SchedulingShard": _Kind("schedulingshards"),
    "Topology.kai.scheduler": _Kind("topologies"),
    "Namespace": _Kind("namespaces", shared=True),
    "Profile": _Kind("profiles", retained=True),
    "LocalQueue": _Kind("localqueues"),
    "NamespaceConfig": _Kind("namespaceconfigs"),
    "LimitRange": _Kind("limitranges"),
    "ResourceQuota": _Kind("resourcequotas"),
    "ClusterRole": _Kind("clusterroles"),
    "ClusterRoleBinding": _Kind("clusterrolebindings"),
    "RoleBinding": _Kind("rolebindings"),
    "MutatingAdmissionPolicy": _Kind("mutatingadmissionpolicies", optional=True),
    "MutatingAdmissionPolicyBinding": _Kind("mutatingadmissionpolicybindings", optional=True),
    "ValidatingAdmissionPolicy": _Kind("validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": _Kind("validatingadmissionpolicybindings"),
}


class PreflightError(RuntimeError):
    """The cluster does not say what is on it. The text says why; it is for the user."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where the cluster and the agreement differ; objects are named as a person does: `ClusterQueue/training`."""

    unserved: Sequence[str]
    absent: Sequence[str]
    """Unserved too, and optional."""
    foreign: Sequence[str]
    leaving: Sequence[str]
    fixed: Sequence[str]
    moved: Sequence[str]
    """Each as kubectl names a namespace's label: `alice tenancy.dev/team`."""
    different: Mapping[str, Object]
    """What is wanted, where it is not there or is not so."""
    unmade: Sequence[str]
    """What is ours, and not wanted."""

    def left(self, record: Mapping[str, Object]) -> list[str]:
        """What an update made before it was killed, and nobody wants any more."""
        return [it for it in self.unmade if it not in record]

    def refusals(self, record: Mapping[str, Object], *, adopt: bool, prune: bool) -> list[str]:
        """Why nothing may be written, in sentences; none when all is well."""
        said = [f"the cluster serves no {kind}: install its controller first" for kind in self.unserved]
        if (foreign := [it for it in self.foreign if it not in record]) and not adopt:
            said.append(
                f"{_names(foreign)}: on the cluster already, and not made by this agreement. Rename or remove what "
                "is there, or take it over with: pulumi config set tenancy:adopt true"
            )
        if self.leaving:
            said.append(f"{_names(self.leaving)}: being deleted on the cluster; wait until nothing uses it any more")
        said += [
            f"{field}: the cluster lets nobody change it. Give the {field.partition('/')[0]} a new name in the agreement"
            for field in self.fixed
        ]
        said += [
            f"Namespace/{it.partition(' ')[0]}: another team's by its label, and the operator cannot change LocalQueues. Take "
            f"the label off first: kubectl label namespace {it}-  Then update, once its LocalQueues are gone"
            for it in self.moved
        ]
        if unnoticed := [name for name, wanted in self.different.items() if record.get(name) == wanted]:
            said.append(
                f"{_names(unnoticed)}: not on the cluster as this stack wrote it (changed by hand, or by an update that "
                "was killed, or it is another cluster). Take note of what is there with: pulumi refresh. Then update"
            )
        labelled, left = _shared_first(self.left(record))
        if labelled and not prune:
            said.append(
                f"{_names(labelled)}: given a label by an update that was killed. Take it off, or have it taken off with: "
                "pulumi config set tenancy:prune true"
            )
        if left and not prune:
            said.append(
                f"{_names(left)}: left by an update that was killed. Remove it, or have it removed with: "
                "pulumi config set tenancy:prune true"
            )
        return said


class Cluster:
    """The cluster of a kubeconfig, for one question."""

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        """Raises Unreachable when no cluster answers there."""
        require_reachable(kubeconfig, context)
        config = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        single = config.get(context)
        assert single is not None
        self._http = Client(single, ConnectionParams(timeout=TIMEOUT))

    def look(self, owner: str, versions: Mapping[str, str], wanted: Iterable[Object]) -> Found:
        """Where the cluster and what the agreement of `owner` wants there differ. `versions`: the kinds an agreement may
        make, with their API versions, also those that this one makes none of. Raises PreflightError."""
        by_kind: dict[str, dict[str, Object]] = {kind: {} for kind in versions}
        for body in wanted:
            by_kind[kind_of(body)][reference(body)] = body
        unserved, absent, foreign, leaving, fixed, moved, unmade = [list[str]() for _ in range(7)]
        different: dict[str, Object] = {}
        selecting = [it for config in by_kind.get("NamespaceConfig", {}).values() for it in _labels(config)]
        for kind, made in by_kind.items():
            there = self._list(kind, versions[kind])
            if there is None:
                missing = absent if KINDS[kind].optional else unserved
                missing += [kind] if made else []
                continue
            for name in made.keys() - there.keys():
                different[name] = made[name]
            for name, live in there.items():
                metadata = live["metadata"]
                ours = metadata.get("labels", {}).get(AGREEMENT_LABEL) == owner
                going = "deletionTimestamp" in metadata
                if name not in made:
                    unmade += [name] if ours and not going and not KINDS[kind].retained else []
                    continue
                foreign += [] if ours or KINDS[kind].shared else [name]
                leaving += [name] if going else []
                if not is_replaced(made[name]):
                    fixed += [f"{name}: {it} would change" for it in changed(live, made[name])]
                if KINDS[kind].shared:
                    moved += [f"{metadata['name']} {label}" for label in selecting if _changes(label, live, made[name])]
                if not covers(live, made[name]):
                    different[name] = made[name]
        return Found(unserved, absent, foreign, leaving, fixed, moved, different, unmade)

    def remove(self, versions: Mapping[str, str], references: Sequence[str]) -> None:
        """Asks the cluster to delete objects; what is in use goes when it no longer is (Kueue's finalizers). Of what is
        shared only our fields go: an apply without fields, by the one manager that we write under, gives them up."""
        for it in references:
            kind, *namespace, name = it.split("/")
            version = versions[kind]
            path = f"{_path(kind, version, *namespace)}/{name}"
            if KINDS[kind].shared:
                nothing = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
                answer = self._http.patch(
                    path,
                    params={"fieldManager": FIELD_MANAGER, "force": "true"},
                    headers={"Content-Type": "application/apply-patch+yaml"},
                    content=json.dumps(nothing),
                )
            else:
                answer = self._http.delete(path)
            if answer.status_code != httpx2.codes.NOT_FOUND:
                _check(answer, f"remove {it}")

    def _list(self, kind: str, version: str) -> dict[str, Object] | None:
        """Every object of a kind by reference; None where the cluster does not know the kind."""
        found: dict[str, Object] = {}
        page: dict[str, Any] = {"limit": PAGE}
        while page:
            answer = self._get(_path(kind, version), page)
            if answer.status_code == httpx2.codes.NOT_FOUND:
                return None
            body = _check(answer, f"list {KINDS[kind].resource}")
            # In a list, Kubernetes' own kinds do not say what they are.
            items = [{**it, "apiVersion": version, "kind": kind.partition(".")[0]} for it in body["items"]]
            found |= {reference(it): it for it in items}
            onward = body["metadata"].get("continue")
            page = {"limit": PAGE, "continue": onward} if onward else {}
        return found

    def _get(self, path: str, query: Mapping[str, Any]) -> httpx2.Response:
        """The server's answer, once it is not too busy to give one."""
        deadline = time.monotonic() + PATIENCE
        while (answer := self._http.get(path, params=query)).status_code in BUSY and time.monotonic() < deadline:
            time.sleep(0.2)
        return answer


def covers(live: Any, wanted: Any) -> bool:
    """Whether what is there is what is wanted; fields that the cluster added are no difference. Amounts are compared as
    text: the builders write the form that the API server keeps."""
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(key in live and covers(live[key], it) for key, it in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(live, list) and len(live) == len(wanted) and all(map(covers, live, wanted))
    return bool(live == wanted)


def _labels(config: Object) -> list[str]:
    """The labels by which the namespace operator finds namespaces."""
    return [it["key"] for it in config["spec"]["labelSelector"]["matchExpressions"] if it["operator"] == "Exists"]


def _changes(label: str, live: Object, wanted: Object) -> bool:
    there, becomes = (it["metadata"].get("labels", {}).get(label, "") for it in (live, wanted))
    return there not in ("", becomes)


def _path(kind: str, version: str, namespace: str = "") -> str:
    """Without a namespace, of all that there are."""
    within = f"namespaces/{namespace}/" if namespace else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}/{within}{KINDS[kind].resource}"


def _shared_first(references: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is shared, of which only our fields ever go, and the rest."""
    shared = [it for it in references if KINDS[it.partition("/")[0]].shared]
    return shared, [it for it in references if it not in shared]


def _names(references: Sequence[str]) -> str:
    more = len(references) - MOST_NAMES
    return ", ".join(references[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _check(answer: httpx2.Response, what: str) -> Any:
    """The body, or an error in the cluster's words (a role without the right says so there)."""
    if answer.is_success:
        return answer.json()
    try:
        why = answer.json()["message"]
    except (ValueError, KeyError, TypeError):
        why = f"status {answer.status_code}"
    raise PreflightError(f"the cluster does not let us {what}: {why}")
