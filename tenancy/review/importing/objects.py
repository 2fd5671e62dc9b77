"""Objects as others wrote them, in the one form the rest of this package reads: v1beta2, lists opened, quantities exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from ...objects import kueue
from ...objects.identity import AGREEMENT_LABEL, kind_of, reference
from ...objects.kinds import KINDS

Object = Mapping[str, Any]

KUEUE, KAI = KINDS["ClusterQueue"].group, KINDS["Queue"].group
CONFIGURATION = "config.kueue.x-k8s.io"
READ: Mapping[str, str] = {
    name: row.group for name, row in KINDS.items() if row.part and (row.scheduler or name == "Namespace")
}
"""Every kind that an agreement is read from, with its API group."""


class NotObjects(ValueError):
    """What was given holds no Kubernetes objects. The text says where and why; it is for the user."""


def parse(text: str, where: str) -> list[Object]:
    """Every object of a YAML stream, also those in a `kind: List`. Raises NotObjects."""
    try:
        documents = list(yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a date that is none
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        why = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise NotObjects(f"{place} is not YAML: {why}; give files that `kubectl get --output yaml` writes") from None
    return [one for document in documents for one in _opened(document, where)]


def _opened(document: Any, where: str) -> Iterator[Object]:
    if document is None:
        return
    if not isinstance(document, Mapping):
        raise NotObjects(f"{where} holds a {type(document).__name__} instead of a Kubernetes object")
    if "kind" not in document and "managerConfig" in document:  # values of Kueue's chart
        inner = (document["managerConfig"] or {}).get("controllerManagerConfigYaml")
        yield from parse(str(inner or ""), where)
        return
    kind, version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        raise NotObjects(f"{where} holds a document without kind and apiVersion: it is not a Kubernetes object")
    if kind.endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _opened({"kind": kind.removesuffix("List"), "apiVersion": version, **item}, where)
        return
    if kind == "ConfigMap" and "controller_manager_config.yaml" in (document.get("data") or {}):
        yield from parse(str(document["data"]["controller_manager_config.yaml"]), where)
        return
    if version.startswith(CONFIGURATION):
        yield document
        return
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        raise NotObjects(f"{where} holds a {kind} without a name")
    if not isinstance(metadata.get("namespace", ""), str):
        raise NotObjects(f"{where}: the namespace of {kind}/{metadata['name']} is not text")
    tables = {
        "spec": document.get("spec"),
        **{f"metadata.{entry}": metadata.get(entry) for entry in ("labels", "annotations")},
    }
    for path, table in tables.items():
        if table is not None and not isinstance(table, Mapping):
            raise NotObjects(f"{where}: {path} of {kind}/{metadata['name']} is not a table")
        if path != "spec" and not all(isinstance(text, str) for text in (table or {}).values()):
            raise NotObjects(f"{where}: {path} of {kind}/{metadata['name']} must contain only text")
    yield document


def is_read(body: Object) -> bool:
    """Whether an agreement is read from objects of this kind."""
    ours = body["kind"] != "PriorityClass" or AGREEMENT_LABEL in labels_of(body)  # Kubernetes has some of its own
    return READ.get(kind_of(body)) == _group(body) and ours


def is_configuration(body: Object) -> bool:
    """Kueue's own Configuration, which says how it shares."""
    return _group(body) == CONFIGURATION


def by_reference(objects: Iterable[Object]) -> dict[str, Object]:
    """The objects an agreement is read from, as of the newest API, by `ClusterQueue/training`; of two of one name the last."""
    return {reference(body): modern(body) for body in objects if is_read(body)}


def modern(body: Object) -> Object:
    """An object of an older API of Kueue as v1beta2 has it (kueue `apis/kueue/v1beta1/*_conversion.go`)."""
    if _group(body) != KUEUE or body["apiVersion"] == kueue.API_VERSION:
        return body
    spec = dict(body.get("spec") or {})
    match body["kind"]:
        case "ClusterQueue":
            if "cohort" in spec:
                spec["cohortName"] = spec.pop("cohort")
            if checks := spec.pop("admissionChecks", None):
                spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
            if isinstance(fungible := spec.get("flavorFungibility"), Mapping):
                old = ("Borrow", "Preempt")
                spec["flavorFungibility"] = {
                    key: "MayStopSearch" if value in old else value for key, value in fungible.items()
                }
        case "Cohort" if "parent" in spec:
            spec["parentName"] = spec.pop("parent")
    return {**body, "apiVersion": kueue.API_VERSION, **({"spec": spec} if "spec" in body else {})}


def spec_of(body: Object) -> Mapping[str, Any]:
    return body.get("spec") or {}


def labels_of(body: Object) -> Mapping[str, str]:
    return body["metadata"].get("labels") or {}


def annotation(body: Object, key: str) -> str | None:
    found = (body["metadata"].get("annotations") or {}).get(key)
    return found if isinstance(found, str) else None


def _group(body: Object) -> str:
    group, slash, _ = str(body.get("apiVersion", "")).partition("/")
    return group if slash else ""
