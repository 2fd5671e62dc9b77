"""The cluster an agreement is written to, and what this stack has on record of it."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as kubernetes
from google.protobuf import json_format
from pulumi.runtime.proto import resource_pb2

from tenancy.objects.identity import reference

from .objects import Object, unwritten

REQUESTS_PER_SECOND = 500
"""The provider's default of 50 would hold a thousand objects back for 20 s in a preview and again in an update
(measured, bench/up.py). The API server has a say of its own since 1.29: Priority and Fairness."""


def cluster_provider(name: str, *, kubeconfig: str | None = None, context: str | None = None) -> kubernetes.Provider:
    """The Kubernetes provider as the components need it: it writes by server-side apply, which takes over what a killed
    update has made. `kubeconfig` is a path or its text; None takes KUBECONFIG or the user's own.

    It stays the same provider for as long as the stack does. Otherwise it would judge by the kubeconfig whether the cluster is
    still the same, and a renewed certificate would replace every object.
    """
    return kubernetes.Provider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=f"{pulumi.get_project()}/{pulumi.get_stack()}",
        enable_server_side_apply=True,
        kube_client_settings=kubernetes.KubeClientSettingsArgs(qps=REQUESTS_PER_SECOND, burst=2 * REQUESTS_PER_SECOND),
    )


def recorded_objects() -> dict[str, Object]:
    """The objects that earlier updates of this stack wrote, as the builders made them, by `ClusterQueue/training`. Reads
    the whole state: ask only when the answer matters.

    `pulumi.runtime.invoke` leaves out what begins with `__`, and the provider keeps what it was given in `__inputs`.
    """
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    request = resource_pb2.ResourceInvokeRequest(tok="pulumi:pulumi:readStackResourceOutputs")
    request.args["stackName"] = stack
    monitor = pulumi.runtime.settings.get_monitor()
    assert monitor
    answer = getattr(monitor.Invoke(request), "return")
    found: dict[str, Object] = {}
    for resource in answer["outputs"].values():
        if "__inputs" in resource["outputs"]:
            body = unwritten(json_format.MessageToDict(resource["outputs"]["__inputs"]))
            found[reference(body)] = body
    return found
