"""What is on the cluster already, asked before the first object is written.

An update that stops half-way because a name was taken leaves half an agreement on a cluster, and Pulumi's preview does not
see it coming: it believes its own record of what it wrote last (measured). So the cluster is asked first, with one
list for each kind, and everything in the way is named at once:

- a kind that the cluster does not serve: Pulumi would preview objects of it without a word, and fail afterwards;
- an object with a name of ours that is not ours (every object we make carries `tenancy.dev/agreement: <cluster>`). A
  Namespace is nobody's to refuse: it is given the team's label, whoever made it, and is never deleted;
- a Namespace of another team, where the namespace operator has made its LocalQueues, which nobody can change;
- one that is being deleted, and would be gone right after it was written;
- a field that Kueue lets nobody change, and that would have to;
- an object that is not as the record has it: changed by hand, or by an update that was killed. Pulumi would not look. Where it
  can be, it is told in the agreement's words (`compare.drift`) and put back; where not (it is gone, or has a field that nobody
  may change), it is refused;
- an object of ours in neither the agreement nor the record: left by an update that was killed.

The record is Pulumi's, so it comes from the caller (`components.recorded_objects`), and is read only where the cluster and
the agreement differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams

from ..objects.difference import covers
from ..objects.identity import AGREEMENT_LABEL, FIELD_MANAGER, kind_of, reference
from ..objects.immutable import changed, is_replaced
from ..objects.kinds import KINDS, Kind
from .connection import Unreachable, minified, require_reachable
from .listing import Unreadable, reason_of, served

Object = Mapping[str, Any]

TIMEOUT = httpx2.Timeout(30.0)
MOST_NAMES = 200  # in one sentence


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
    held: Sequence[str]
    """Queues that somebody has stopped by hand: `ClusterQueue/training: somebody has stopped this queue (stopPolicy Hold)`."""
    there: Mapping[str, Object]
    """As the cluster has it: what is wanted otherwise, and what is ours and not wanted, also where it is being deleted."""

    def unnoticed(self, record: Mapping[str, Object]) -> list[str]:
        """What is not as this stack wrote it, where it is to be so still: Pulumi would see nothing to do."""
        return [name for name, wanted in self.different.items() if record.get(name) == wanted]

    def by_hand(self, record: Mapping[str, Object]) -> dict[str, Object]:
        """Those that can be put back by writing them again, as they are wanted."""
        return {
            entry: self.different[entry]
            for entry in self.unnoticed(record)
            if entry in self.there
            and entry not in self.leaving
            and not changed(self.there[entry], self.different[entry])
        }

    def going(self, record: Mapping[str, Object]) -> dict[str, Object]:
        """What the stack has and no longer wants, as it is on the cluster."""
        return {name: value for name, value in self.there.items() if name in record and name not in self.different}

    def left(self, record: Mapping[str, Object]) -> list[str]:
        """What an update made before it was killed, and nobody wants any more."""
        return [entry for entry in self.unmade if entry not in record]

    def refusals(self, record: Mapping[str, Object], *, adopt: bool, prune: bool) -> list[str]:
        """Why nothing may be written, in sentences; none when all is well."""
        said = [f"the cluster does not serve {kind}: install its controller first" for kind in self.unserved]
        if (foreign := [entry for entry in self.foreign if entry not in record]) and not adopt:
            said.append(
                f"{names(foreign)}: already on the cluster, and not made by this agreement. Rename or remove the "
                "existing objects, or take them over: pulumi config set tenancy:adopt true"
            )
        if self.leaving:
            said.append(
                f"{names(self.leaving)}: being deleted on the cluster. Wait until nothing uses these objects any more"
            )
        said += [
            f"{field}: this field cannot be changed on a cluster. Give the {field.partition('/')[0]} a new name in the agreement"
            for field in self.fixed
        ]
        said += [
            f"Namespace/{entry.partition(' ')[0]}: its label gives it to another team, and the operator cannot change LocalQueues. Remove "
            f"the label first: kubectl label namespace {entry}-  Run pulumi up again once its LocalQueues are gone"
            for entry in self.moved
        ]
        by_hand = self.by_hand(record)
        if unnoticed := [entry for entry in self.unnoticed(record) if entry not in by_hand]:
            said.append(
                f"{names(unnoticed)}: not on the cluster as this stack wrote it: somebody or an update that was killed has changed it, "
                "or this is another cluster. Read the cluster into the stack's state: pulumi refresh. Then run pulumi up again"
            )
        labelled, left = _shared_first(self.left(record))
        if labelled and not prune:
            said.append(
                f"{names(labelled)}: an update that was killed has added a label. Remove it, or let the next update remove it: "
                "pulumi config set tenancy:prune true"
            )
        if left and not prune:
            said.append(
                f"{names(left)}: left over from an update that was killed. Remove it, or let the next update remove it: "
                "pulumi config set tenancy:prune true"
            )
        return said


class Cluster:
    """The cluster of a kubeconfig, for one question."""

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        """Raises PreflightError when no cluster answers there."""
        try:
            require_reachable(kubeconfig, context)
        except Unreachable as error:
            raise PreflightError(str(error)) from None
        single = KubeConfig.from_dict(dict(minified(kubeconfig, context))).get()
        assert single is not None
        self._http = Client(single, ConnectionParams(timeout=TIMEOUT))

    def look(self, owner: str, versions: Mapping[str, str], wanted: Iterable[Object]) -> Found:
        """Where the cluster and what the agreement of `owner` wants there differ. `versions`: the kinds an agreement may
        make, with their API versions, also those that this one makes none of. Raises PreflightError."""
        by_kind: dict[str, dict[str, Object]] = {kind: {} for kind in versions}
        for body in wanted:
            by_kind[kind_of(body)][reference(body)] = body
        unserved, absent, foreign, leaving, fixed, moved, unmade, held = [list[str]() for _ in range(8)]
        different: dict[str, Object] = {}
        known: dict[str, Object] = {}
        selecting = [label for config in by_kind.get("NamespaceConfig", {}).values() for label in _labels(config)]
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
                    if ours and not KINDS[kind].retained:
                        known[name] = live
                        unmade += [] if going else [name]
                    continue
                foreign += [] if ours or KINDS[kind].shared else [name]
                leaving += [name] if going else []
                policy = (live.get("spec") or {}).get("stopPolicy", "None")
                held += [f"{name}: somebody has stopped this queue (stopPolicy {policy})"] if policy != "None" else []
                if not is_replaced(made[name]):
                    fixed += [f"{name}: {entry} would change" for entry in changed(live, made[name])]
                if KINDS[kind].shared:
                    moved += [f"{metadata['name']} {label}" for label in selecting if _changes(label, live, made[name])]
                if not covers(live, made[name]):
                    different[name], known[name] = made[name], live
        return Found(unserved, absent, foreign, leaving, fixed, moved, different, unmade, held, known)

    def write(self, bodies: Iterable[Object]) -> None:
        """Writes objects whole, as the provider does: by server-side apply, under the one manager, which takes fields back
        that somebody else wrote. Raises PreflightError."""
        for body in bodies:
            metadata = body["metadata"]
            path = _row(kind_of(body), body["apiVersion"]).path(metadata.get("namespace") or "", metadata["name"])
            _check(self._apply(path, body), f"write {reference(body)}")

    def remove(self, versions: Mapping[str, str], references: Sequence[str]) -> None:
        """Asks the cluster to delete objects; what is in use goes when it no longer is (Kueue's finalizers). Of what is
        shared only our fields go: an apply without fields, by the one manager that we write under, gives them up."""
        for deleted in references:
            kind, *namespace, name = deleted.split("/")
            version = versions[kind]
            path = _row(kind, version).path("".join(namespace), name)
            if KINDS[kind].shared:
                nothing = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
                answer = self._apply(path, nothing)
            else:
                answer = self._http.delete(path)
            if answer.status_code != httpx2.codes.NOT_FOUND:
                _check(answer, f"remove {deleted}")

    def _apply(self, path: str, body: Object) -> httpx2.Response:
        return self._http.patch(
            path,
            params={"fieldManager": FIELD_MANAGER, "force": "true"},
            headers={"Content-Type": "application/apply-patch+yaml"},
            content=json.dumps(body),
        )

    def _list(self, kind: str, version: str) -> dict[str, Object] | None:
        """Every object of a kind by reference; None where the cluster does not know the kind."""
        try:
            found = served(self._http, _row(kind, version))
        except Unreadable as error:
            raise PreflightError(
                f"the cluster does not allow this user to list {KINDS[kind].plural}: {error.reason}"
            ) from None
        return None if found is None else {reference(entry): entry for entry in found}


def _labels(config: Object) -> list[str]:
    """The labels by which the namespace operator finds namespaces."""
    return [
        expression["key"]
        for expression in config["spec"]["labelSelector"]["matchExpressions"]
        if expression["operator"] == "Exists"
    ]


def _changes(label: str, live: Object, wanted: Object) -> bool:
    there, becomes = (entry["metadata"].get("labels", {}).get(label, "") for entry in (live, wanted))
    return there not in ("", becomes)


def _row(kind: str, version: str) -> Kind:
    """A stack may still have objects of an older version."""
    return replace(KINDS[kind], api_version=version)


def _shared_first(references: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is shared, of which only our fields ever go, and the rest."""
    shared = [reference for reference in references if KINDS[reference.partition("/")[0]].shared]
    return shared, [reference for reference in references if reference not in shared]


def names(references: Sequence[str]) -> str:
    """As they stand in a sentence, which has room for so many."""
    more = len(references) - MOST_NAMES
    return ", ".join(references[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _check(answer: httpx2.Response, what: str) -> Any:
    """The body, or an error in the cluster's words (a role without the right says so there)."""
    if answer.is_success:
        return answer.json()
    raise PreflightError(f"the cluster does not allow this user to {what}: {reason_of(answer)}")
