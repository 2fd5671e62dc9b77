"""Webhooks of a controller that runs as a process beside the cluster instead of in it.

In a cluster a webhook is a Service, a Secret with a certificate, and a CA that everybody trusts. Here the API server
calls the process on loopback, so the reference to the Service becomes a URL, and the certificate is one that signs
nothing and is trusted by itself: Go takes a certificate that is among its roots as it is. That also satisfies
controllers that manage their certificates themselves (Kueue, by open-policy-agent/cert-controller): they find a
Secret that is valid for every name they check, and leave it alone.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import trustme

from .ports import HOST

Object = dict[str, Any]


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes

    @property
    def bundle(self) -> str:
        """What a `caBundle` holds."""
        return base64.b64encode(self.certificate).decode()

    def files(self, folder: str) -> dict[str, bytes]:
        """The pair as the files that a webhook server reads."""
        return {f"{folder}/tls.crt": self.certificate, f"{folder}/tls.key": self.key}


def certificate(*names: str) -> Certificate:
    """A new certificate for loopback and for these names. RSA, since cert-controller reads no other key."""
    issued = trustme.CA().issue_cert(HOST, *names, key_type=trustme.KeyType.RSA)
    return Certificate(issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes())


def secret(name: str, namespace: str, pair: Certificate) -> Object:
    """The Secret in which cert-controller looks for a CA and a certificate: here both are the same one."""
    encoded = {"crt": pair.bundle, "key": base64.b64encode(pair.key).decode()}
    data = {f"{of}.{what}": text for of in ("ca", "tls") for what, text in encoded.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": data}


def beside_the_cluster(
    objects: Iterable[Object], port: int, pair: Certificate, without: frozenset[str]
) -> Iterator[Object]:
    """A controller's objects for a process on `port`: without some kinds, every webhook by URL."""
    for one in objects:
        if one["kind"] in without:
            continue
        for webhook in one.get("webhooks", ()):
            _by_url(webhook["clientConfig"], port, pair)
        conversion = one.get("spec", {}).get("conversion", {}) if one["kind"] == "CustomResourceDefinition" else {}
        if "webhook" in conversion:
            _by_url(conversion["webhook"]["clientConfig"], port, pair)
        yield one


def pod_webhooks(name: str, port: int, pair: Certificate, not_in: list[str]) -> Iterator[Object]:
    """A mutating and a validating webhook on pods, outside the namespaces of `not_in`."""
    rows: tuple[tuple[str, str, list[str], Object], ...] = (
        ("MutatingWebhookConfiguration", "/mutate--v1-pod", ["CREATE"], {"reinvocationPolicy": "IfNeeded"}),
        ("ValidatingWebhookConfiguration", "/validate--v1-pod", ["CREATE", "UPDATE"], {}),
    )
    outside = [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": not_in}]
    for kind, path, operations, extra in rows:
        webhook: Object = {
            "name": f"{name}.run.ai",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "namespaceSelector": {"matchExpressions": outside},
            "clientConfig": {"service": {"path": path}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": operations}],
            **extra,
        }
        _by_url(webhook["clientConfig"], port, pair)
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": [webhook],
        }


def _by_url(config: Object, port: int, pair: Certificate) -> None:
    path = config.pop("service").get("path", "/")
    config.update(url=f"https://{HOST}:{port}{path}", caBundle=pair.bundle)
