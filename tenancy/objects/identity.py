"""What an object is called, and whose it is: what every builder, the components and the cluster's reader must agree on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agreement import names
from .kinds import KINDS

AGREEMENT_LABEL = names.AGREEMENT_LABEL  # on every object we make; its value is the agreement's cluster
RUN_LABEL = "tenancy.dev/verify"  # on every object that a run of `verify` makes, nodes too: the run's name
RUN_PREFIX = "verify-"  # of the name of each of them; the run's name follows
FIELD_MANAGER = "tenancy"  # the one name that we write fields under (server-side apply)


def kind_of(body: Mapping[str, Any]) -> str:
    """The kind as a person names it, one name for one API: `ClusterQueue`, `Topology.kai.scheduler`."""
    kind, group = str(body["kind"]), str(body["apiVersion"]).partition("/")[0]
    return full if (full := f"{kind}.{group}") in KINDS else kind


def reference(body: Mapping[str, Any]) -> str:
    """An object as a person names it: `ClusterQueue/training`, with its namespace where it has one: `LocalQueue/alice/default`."""
    metadata = body["metadata"]
    return "/".join(filter(None, (kind_of(body), metadata.get("namespace"), metadata["name"])))
