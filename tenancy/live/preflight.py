"""What is on the cluster already, asked before the first object is written.

An update that stops half-way because a name was taken leaves half an agreement on a cluster, and Pulumi's preview does not
see it coming: it believes its own record of what it wrote last (facts/pulumi.md). So the cluster is asked first, with one
list for each kind, and everything in the way is named at once:

- a kind that the cluster does not serve: Pulumi would preview objects of it without a word, and fail afterwards;
- an object with a name of ours that is not ours (every object we make carries `tenancy.dev/agreement: <cluster>`);
- one that is being deleted, and would be gone right after it was written;
- a field that Kueue lets nobody change, and that would have to;
- an object that is not as the record has it: changed by hand, or by an update that was killed. Pulumi would not look;
- an object of ours in neither the agreement nor the record: left by an update that was killed.

The record is Pulumi's, so it comes from the caller (`components.recorded_objects`), and is read only where the cluster and
the agreement differ.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams

from ..identity import AGREEMENT_LABEL, kind_of
from .reach import require_reachable

Object = Mapping[str, Any]

PAGE = 500  # objects in one answer
TIMEOUT = httpx2.Timeout(30.0)
BUSY = (httpx2.codes.TOO_MANY_REQUESTS, httpx2.codes.SERVICE_UNAVAILABLE)  # so says an API server just started
PATIENCE = 30.0  # seconds for which a busy server is asked again
MOST_NAMES = 200  # in one sentence


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind as its API knows it. `fixed`: fields nobody may change, once `fixed_with` is there (the CRDs of Kueue 0.19:
    "field is immutable", "nodeLabels are immutable when topologyName is set")."""

    resource: str
    fixed: tuple[str, ...] = ()
    fixed_with: str = ""


KINDS: Mapping[str, _Kind] = {
    "Topology": _Kind("topologies", ("levels",)),
    "ResourceFlavor": _Kind("resourceflavors", ("nodeLabels", "tolerations", "topologyName"), "topologyName"),
    "WorkloadPriorityClass": _Kind("workloadpriorityclasses"),
    "Cohort": _Kind("cohorts"),
    "ClusterQueue": _Kind("clusterqueues"),
    "Queue": _Kind("queues"),
    "PriorityClass": _Kind("priorityclasses"),
    "SchedulingShard": _Kind("schedulingshards"),
    "Topology.kai.scheduler": _Kind("topologies", ("levels",)),
}


class PreflightError(RuntimeError):
    """The cluster does not say what is on it. The text says why; it is for the user."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where the cluster and the agreement differ; objects are named as a person does: `ClusterQueue/training`."""

    unserved: Sequence[str]
    foreign: Sequence[str]
    leaving: Sequence[str]
    fixed: Sequence[str]
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
        if unnoticed := [name for name, wanted in self.different.items() if record.get(name) == wanted]:
            said.append(
                f"{_names(unnoticed)}: not on the cluster as this stack wrote it (changed by hand, or by an update that "
                "was killed, or it is another cluster). Take note of what is there with: pulumi refresh. Then update"
            )
        if (left := self.left(record)) and not prune:
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
            by_kind[kind_of(body)][body["metadata"]["name"]] = body
        unserved, foreign, leaving, fixed, unmade = [list[str]() for _ in range(5)]
        different: dict[str, Object] = {}
        for kind, made in by_kind.items():
            there = self._list(kind, versions[kind])
            if there is None:
                unserved += [kind] if made else []
                continue
            for name in made.keys() - there.keys():
                different[f"{kind}/{name}"] = made[name]
            for name, live in there.items():
                reference, metadata = f"{kind}/{name}", live["metadata"]
                ours = metadata.get("labels", {}).get(AGREEMENT_LABEL) == owner
                going = "deletionTimestamp" in metadata
                if name not in made:
                    unmade += [reference] if ours and not going else []
                    continue
                foreign += [] if ours else [reference]
                leaving += [reference] if going else []
                fixed += [f"{reference}: spec.{it} would change" for it in _fixed(KINDS[kind], live, made[name])]
                if not covers(live, made[name]):
                    different[reference] = made[name]
        return Found(unserved, foreign, leaving, fixed, different, unmade)

    def remove(self, versions: Mapping[str, str], references: Sequence[str]) -> None:
        """Asks the cluster to delete objects; what is in use goes when it no longer is (Kueue's finalizers)."""
        for kind, name in (it.split("/") for it in references):
            answer = self._http.delete(f"{_path(kind, versions[kind])}/{name}")
            if answer.status_code != httpx2.codes.NOT_FOUND:
                _check(answer, f"delete {kind}/{name}")

    def _list(self, kind: str, version: str) -> dict[str, Object] | None:
        """Every object of a kind by name; None where the cluster does not know the kind."""
        found: dict[str, Object] = {}
        page: dict[str, Any] = {"limit": PAGE}
        while page:
            answer = self._get(_path(kind, version), page)
            if answer.status_code == httpx2.codes.NOT_FOUND:
                return None
            body = _check(answer, f"list {KINDS[kind].resource}")
            found |= {it["metadata"]["name"]: it for it in body["items"]}
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


def _fixed(kind: _Kind, live: Object, wanted: Object) -> list[str]:
    there, new = live.get("spec", {}), wanted.get("spec", {})
    if kind.fixed_with and kind.fixed_with not in there:
        return []
    return [it for it in kind.fixed if there.get(it) != new.get(it)]


def _path(kind: str, version: str) -> str:
    return f"/apis/{version}/{KINDS[kind].resource}"


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
