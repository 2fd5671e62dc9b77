"""What `why` needs of a cluster, read into a `Snapshot`: all that holds or waits for quota, and the namespace of the job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.generic_resource import GenericNamespacedResource, create_api_info

from ..why.find import Wanted
from ..why.snapshot import Object, Snapshot
from .clients import ClusterQueue, JobSet, KaiQueue, LocalQueue, TrainJob, Workload
from .usage import NotThere
from .verify.data import EventData, PodData

PAGE = 500
KAI_LABEL = "kai.scheduler/queue"
ABSENT = 404
NOISE = ("managedFields", "selfLink", "generateName")


def _plain(group: str, version: str, kind: str, plural: str) -> Any:
    """A kind as plain data; see `verify.data`."""
    return type(kind, (GenericNamespacedResource,), {"_api_info": create_api_info(group, version, kind, plural)})


JobData = _plain("batch", "v1", "Job", "jobs")
PodGroup = _plain("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups")
NAMED = {"Job": JobData, "JobSet": JobSet, "TrainJob": TrainJob, "PodGroup": PodGroup, "Pod": PodData}


def read(client: Client, scheduler: str, wanted: Wanted) -> Snapshot:
    """Raises NotThere where the cluster does not let us."""
    from lightkube.resources.core_v1 import Namespace

    now = datetime.now(UTC)
    objects: dict[str, list[Object]] = {"Namespace": [_short(it) for it in _list(client, Namespace)]}
    if scheduler == "kueue":
        objects["Workload"] = list(map(_object, _list(client, Workload, "*")))
        objects["ClusterQueue"] = list(map(_object, _list(client, ClusterQueue)))
    else:
        objects["Queue"] = list(map(_object, _list(client, KaiQueue)))
        objects["Pod"] = list(map(_object, _list(client, PodData, "*", labels={KAI_LABEL: None})))
    for namespace in sorted(_places(client, objects, wanted)):
        _read_namespace(client, objects, namespace, scheduler)
    return Snapshot(now, objects)


def _places(client: Client, objects: dict[str, list[Object]], wanted: Wanted) -> set[str]:
    """The namespaces that have something of this name."""
    if wanted.namespace:
        return {wanted.namespace}
    found = {
        it["metadata"]["namespace"]
        for it in objects.get("Workload", ())
        if wanted.name
        in (it["metadata"]["name"], *(owner["name"] for owner in it["metadata"].get("ownerReferences") or ()))
    }
    for kind in NAMED.values():
        there = _list(client, kind, "*", fields={"metadata.name": wanted.name})
        found |= {str(it.metadata.namespace) for it in there}
    return found


def _read_namespace(client: Client, objects: dict[str, list[Object]], namespace: str, scheduler: str) -> None:
    kinds = {**NAMED, "Event": EventData, **({"LocalQueue": LocalQueue} if scheduler == "kueue" else {})}
    for name, kind in kinds.items():
        known = {it["metadata"]["uid"] for it in objects.get(name, ())}
        for it in map(_object, _list(client, kind, namespace)):
            if it["metadata"]["uid"] not in known:
                objects.setdefault(name, []).append(it)
    if scheduler == "kueue":  # who stopped what, where the one who did is gone
        others = map(_object, _list(client, EventData, "*", fields={"reason": "PreemptedWorkload"}))
        known = {it["metadata"]["uid"] for it in objects.get("Event", ())}
        objects.setdefault("Event", []).extend(it for it in others if it["metadata"]["uid"] not in known)


def _list(client: Client, kind: Any, namespace: str | None = None, **options: Any) -> Iterator[Any]:
    """Nothing where the cluster does not know the kind."""
    try:
        yield from client.list(kind, namespace=namespace, chunk_size=PAGE, **options)
    except ApiError as error:
        if error.status.code != ABSENT:
            raise NotThere(f"the cluster does not let us read: {error.status.message}") from None
    except httpx2.HTTPStatusError as error:
        if error.response.status_code != ABSENT:
            raise NotThere(f"the cluster does not let us read: {error}") from None
    except httpx2.HTTPError as error:
        raise NotThere(f"the cluster does not let us read: {error}") from None


def _object(it: Any) -> Object:
    """As the API server writes it, less what nobody reads."""
    body: dict[str, Any] = it.to_dict()
    body["metadata"] = {key: value for key, value in body["metadata"].items() if key not in NOISE and value is not None}
    return body


def _short(it: Any) -> Object:
    metadata = it.metadata
    return {"metadata": {"name": metadata.name, "uid": metadata.uid, "labels": dict(metadata.labels or {})}}
