"""Kubernetes' own kinds as plain data, where what is copied must keep every field that it has.

lightkube's registry holds one class for a kind, and it is lightkube's own, typed one as soon as anybody has used it. So these are
not registered.
"""

from __future__ import annotations

from typing import Any

from lightkube.generic_resource import GenericGlobalResource, GenericNamespacedResource, create_api_info


def _plain(base: type, kind: str, plural: str) -> Any:
    return type(kind, (base,), {"_api_info": create_api_info("", "v1", kind, plural)})


NodeData = _plain(GenericGlobalResource, "Node", "nodes")
PodData = _plain(GenericNamespacedResource, "Pod", "pods")
EventData = _plain(GenericNamespacedResource, "Event", "events")
QuotaData = _plain(GenericNamespacedResource, "ResourceQuota", "resourcequotas")
RangeData = _plain(GenericNamespacedResource, "LimitRange", "limitranges")
