"""What is on the cluster already, asked before the first object is written.

An update that stops half-way because a name was taken leaves a cluster with half an agreement on it, and Pulumi's preview
does not see it coming (facts/pulumi.md). So the cluster is asked first, with two short lists for each kind, and everything
in the way is named at once:

- an object with a name of ours that is not ours (every object we make carries `tenancy.dev/agreement: <cluster>`);
- a field that Kueue lets nobody change, and that would have to;
- a kind that the cluster does not serve: Pulumi would preview objects of it without a word and fail afterwards;
- an object of ours that the agreement no longer makes. Mostly Pulumi is about to delete it; but after an update that
  was killed there may be some that Pulumi never heard of (`components.recorded_objects` tells them apart).

Of most kinds only the names are read, as the server's own tables: 1,500 ClusterQueues with their managed fields would be 40 MB.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams

from ..kueue import AGREEMENT_LABEL
from .reach import require_reachable

Object = Mapping[str, Any]

TIMEOUT = httpx2.Timeout(30.0)
BUSY = (
    httpx2.codes.TOO_MANY_REQUESTS,
    httpx2.codes.SERVICE_UNAVAILABLE,
)  # an API server just started says so for each kind
PATIENCE = 30.0  # seconds for which a busy server is asked again
_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


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
}


class PreflightError(RuntimeError):
    """The cluster does not say what is on it. The text says why; it is for the user."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is in the way, each as a person names it: `ClusterQueue/training`."""

    unserved: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    unmade: tuple[str, ...] = ()

    def refusals(self, *, adopt: bool) -> list[str]:
        """Why nothing may be written, in sentences; none when all is well."""
        said = [f"the cluster serves no {kind}: install its controller first" for kind in self.unserved]
        if self.foreign and not adopt:
            said.append(
                f"{', '.join(self.foreign)}: on the cluster already, and not made by this agreement. Rename or remove what "
                "is there, or take it over with: pulumi config set tenancy:adopt true"
            )
        said += [
            f"{field}: the cluster lets nobody change it. Give the {field.partition('/')[0]} a new name in the agreement"
            for field in self.fixed
        ]
        return said


class Cluster:
    """The cluster of a kubeconfig, for a few questions."""

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        """Raises Unreachable when no cluster answers there."""
        require_reachable(kubeconfig, context)
        config = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        single = config.get(context)
        assert single is not None
        self._http = Client(single, ConnectionParams(timeout=TIMEOUT))

    def look(self, cluster: str, versions: Mapping[str, str], wanted: Iterable[Object]) -> Found:
        """What stands in the way of `wanted` for the agreement of `cluster`. `versions`: the kinds an agreement may make,
        with their API versions, also those that this one makes none of. Raises PreflightError."""
        by_kind: dict[str, dict[str, Object]] = {kind: {} for kind in versions}
        for body in wanted:
            by_kind[body["kind"]][body["metadata"]["name"]] = body
        unserved, foreign, fixed, unmade = [], [], [], []
        for kind, made in by_kind.items():
            path = f"/apis/{versions[kind]}/{KINDS[kind].resource}"
            present = self._names(path)
            if present is None:
                unserved += [kind] if made else []
                continue
            ours = self._names(path, f"{AGREEMENT_LABEL}={cluster}") if present else []
            foreign += [f"{kind}/{name}" for name in sorted(set(present) & set(made) - set(ours or ()))]
            unmade += [f"{kind}/{name}" for name in sorted(set(ours or ()) - set(made))]
            if KINDS[kind].fixed and set(present) & set(made):
                fixed += [f"{kind}/{it}" for it in self._fixed(path, KINDS[kind], made)]
        return Found(tuple(unserved), tuple(foreign), tuple(fixed), tuple(unmade))

    def remove(self, versions: Mapping[str, str], references: Sequence[str]) -> None:
        """Asks the cluster to delete objects; what is in use goes when it no longer is (Kueue's finalizers)."""
        for kind, name in (it.split("/") for it in references):
            answer = self._http.delete(f"/apis/{versions[kind]}/{KINDS[kind].resource}/{name}")
            if answer.status_code != httpx2.codes.NOT_FOUND:
                _check(answer, f"delete {kind}/{name}")

    def _names(self, path: str, selector: str = "") -> list[str] | None:
        """The names of a kind's objects; None where the cluster does not know the kind."""
        answer = self._get(path, headers=_TABLE, params={"includeObject": "None", "labelSelector": selector})
        if answer.status_code == httpx2.codes.NOT_FOUND:
            return None
        return [row["cells"][0] for row in _check(answer, f"list {path}").get("rows") or ()]

    def _fixed(self, path: str, kind: _Kind, made: Mapping[str, Object]) -> Iterable[str]:
        for live in _check(self._get(path), f"list {path}")["items"]:
            name, spec = live["metadata"]["name"], live.get("spec", {})
            if name in made and (not kind.fixed_with or kind.fixed_with in spec):
                wanted = made[name].get("spec", {})
                yield from (f"{name}: spec.{it} would change" for it in kind.fixed if spec.get(it) != wanted.get(it))

    def _get(self, path: str, **how: Any) -> httpx2.Response:
        """The server's answer, once it is not too busy to give one."""
        deadline = time.monotonic() + PATIENCE
        while (answer := self._http.get(path, **how)).status_code in BUSY and time.monotonic() < deadline:
            time.sleep(0.2)
        return answer


def _check(answer: httpx2.Response, what: str) -> Any:
    """The body, or an error in the cluster's words (a role without the right says so there)."""
    if answer.is_success:
        return answer.json()
    try:
        why = answer.json()["message"]
    except (ValueError, KeyError, TypeError):
        why = f"status {answer.status_code}"
    raise PreflightError(f"the cluster does not let us {what}: {why}")
