"""Whether a cluster answers, asked before anything relies on it.

A Pulumi preview against a cluster that cannot be reached exits 0 without a word (measured), so whoever
is about to rely on a cluster asks first. The question must cost little, hence the standard library and not a Kubernetes
client: it needs the server's address, what its certificate is checked with, and the user's certificate or token where the
kubeconfig has one. An API server that answers but does not know the user is reached all the same.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

DEFAULT_KUBECONFIG = "~/.kube/config"
FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
REMEDY = "Start it (for the lab: tenancy lab up), or choose another with --kubeconfig, --context or KUBECONFIG."


@dataclass
class _Config:
    """One or more kubeconfig files."""

    current: str = ""
    contexts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    clusters: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    users: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def add(self, config: Mapping[str, Any], folder: Path) -> _Config:
        """Takes what nobody said before; each keeps the folder that its relative paths start from."""
        self.current = self.current or str(config.get("current-context") or "")
        for context in config.get("contexts") or ():
            self.contexts.setdefault(str(context.get("name")), context.get("context") or {})
        for cluster in config.get("clusters") or ():
            self.clusters.setdefault(str(cluster.get("name")), {**(cluster.get("cluster") or {}), "folder": folder})
        for user in config.get("users") or ():
            self.users.setdefault(str(user.get("name")), {**(user.get("user") or {}), "folder": folder})
        return self


class Unreachable(RuntimeError):
    """No cluster answers there. The text says where, why, and what to do."""


@dataclass(frozen=True)
class Where:
    """A cluster as a kubeconfig names it."""

    context: str
    cluster: str
    server: str

    def __str__(self) -> str:
        return f"{self.context} ({self.server})"


def where(kubeconfig: str | None, context: str | None) -> Where:
    """The cluster that a context means; arguments as of `require_reachable`. Raises Unreachable."""
    source, config = _config(kubeconfig)
    cluster, _ = _chosen(config, context, source)
    name = context or config.current
    return Where(name, str(config.contexts[name].get("cluster")), str(cluster.get("server", "")))


def minified(kubeconfig: str | None, context: str | None) -> Mapping[str, Any]:
    """The kubeconfig with this context alone and paths from the root, as `kubectl config view --minify` gives it: for a client
    to read. Clients read one file and no other, and one of them prefers the account of the pod it runs in. Raises Unreachable."""
    source, config = _config(kubeconfig)
    cluster, user = _chosen(config, context, source)
    name = context or config.current
    chosen = {**config.contexts[name], "user": "user"}
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": chosen}],
        "clusters": [{"name": chosen["cluster"], "cluster": _from_the_root(cluster)}],
        "users": [{"name": "user", "user": _from_the_root(user)}],
    }


def require_reachable(kubeconfig: str | None, context: str | None, timeout: float = 5.0) -> None:
    """Returns when the API server of the context says that it is ready, within `timeout` seconds.

    `kubeconfig` is a path or the text of a kubeconfig; None takes KUBECONFIG or the user's own. `context` None takes the
    current one. Raises Unreachable.
    """
    where, config = _config(kubeconfig)
    cluster, user = _chosen(config, context, where)
    server = str(cluster.get("server", ""))
    try:
        bearer = {"Authorization": f"Bearer {user['token']}"} if user.get("token") else {}
        request = urllib.request.Request(f"{server.rstrip('/')}/readyz", headers=bearer)
        proxies = urllib.request.ProxyHandler({"https": cluster["proxy-url"]} if cluster.get("proxy-url") else None)
        opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=_tls(cluster, user)))
        opener.open(request, timeout=timeout).close()
    except urllib.error.HTTPError as answer:
        if answer.code >= 500:
            raise Unreachable(
                f"the cluster at {server} ({where}) is not ready: /readyz answers {answer.code}. {REMEDY}"
            ) from None
    except (OSError, ValueError) as error:  # URLError is an OSError
        reason = getattr(error, "reason", error)
        raise Unreachable(
            f"no cluster answers at {server or 'an empty address'} ({where}): {reason}. {REMEDY}"
        ) from None


def _config(kubeconfig: str | None) -> tuple[str, _Config]:
    """Where the configuration is from, and what it says. KUBECONFIG may name several files: the first to say a thing
    wins, as for kubectl."""
    if kubeconfig and "\n" in kubeconfig:
        return "the kubeconfig given", _Config().add(_parse(kubeconfig, "the kubeconfig given"), Path.cwd())
    given = [kubeconfig] if kubeconfig else (os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG).split(os.pathsep)
    paths = [Path(part).expanduser() for part in given if part]
    config = _Config()
    if not (found := [path for path in paths if path.is_file()]):
        raise Unreachable(f"there is no kubeconfig at {', '.join(map(str, paths))}. {REMEDY}")
    for path in found:
        config.add(_parse(path.read_text(errors="replace"), str(path)), path.parent)
    return ", ".join(map(str, found)), config


def _parse(text: str, where: str) -> Mapping[str, Any]:
    try:
        config = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise Unreachable(f"{where} is not YAML: {str(error).splitlines()[0]}. {REMEDY}") from None
    if not isinstance(config, Mapping):
        raise Unreachable(f"{where} is not a kubeconfig. {REMEDY}")
    return config


def _chosen(config: _Config, context: str | None, where: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The cluster and the user of the context."""
    name = context or config.current
    if name not in config.contexts:
        there = ", ".join(sorted(config.contexts)) or "none"
        raise Unreachable(f"{where} has no context {name!r}; it has {there}. {REMEDY}")
    cluster = config.clusters.get(str(config.contexts[name].get("cluster")))
    if not cluster:
        raise Unreachable(f"context {name!r} of {where} names no cluster that is in it. {REMEDY}")
    return cluster, config.users.get(str(config.contexts[name].get("user")), {})


def _from_the_root(body: Mapping[str, Any]) -> dict[str, Any]:
    absolute = {key: str(body["folder"].absolute() / body[key]) for key in FILES if body.get(key)}
    return {**{key: value for key, value in body.items() if key != "folder"}, **absolute}


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext:
    """What the server's certificate is checked with (nothing where the kubeconfig says so), and the user's own."""
    if cluster.get("insecure-skip-tls-verify"):
        tls = ssl._create_unverified_context()
    else:
        authority = _pem(cluster, "certificate-authority")
        tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
        tls.check_hostname = not cluster.get("tls-server-name")
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if certificate and key:
        with tempfile.NamedTemporaryFile() as pair:  # readable by this user only; ssl takes files, not text
            pair.write(certificate + b"\n" + key)
            pair.flush()
            tls.load_cert_chain(pair.name)
    return tls


def _pem(body: Mapping[str, Any], what: str) -> bytes | None:
    """What a kubeconfig has in itself (`…-data`) or in a file beside it."""
    if data := body.get(f"{what}-data"):
        return base64.b64decode(data)
    return (body["folder"] / body[what]).read_bytes() if body.get(what) else None
