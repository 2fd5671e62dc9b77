"""Where `verify` may run, and which runs live.

A cluster says itself that it may: by a label on its namespace kube-system, which `tenancy lab up` sets. Anything else takes
the cluster's name from whoever starts the run, and a name that is not the one of the kubeconfig's context stops it.

A run lives as long as the Lease in its namespace `verify-<run>` is renewed. All times are the API server's: a run asks it once
for the time and counts on from there, so that clocks that differ kill nobody's run.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread

import httpx2

from ..cluster.api import NAMESPACE, Api
from ..objects import identity
from .players.sandbox import RUN_LABEL

ALLOWED_LABEL = "tenancy.dev/verify-allowed"  # on namespace kube-system, "true": verify may run on this cluster
PREFIX = identity.RUN_PREFIX  # of the name of everything that a run makes
LEASE = "run"
LASTS = timedelta(seconds=20)  # without a renewal; then the run is dead
RENEW = 4.0  # seconds
NAME_BYTES = 3


class NotAllowed(RuntimeError):
    """The cluster is not one that verify may run on. The text says what would be right."""


def require_allowed(api: Api, cluster: str, named: str | None) -> None:
    """Returns where verify may run: the cluster is marked, or `named` is its name. `cluster` is what the kubeconfig's context
    calls it. Raises NotAllowed."""
    if named is not None:
        if named != cluster:
            raise NotAllowed(
                f"--allow-cluster {named}: the context's cluster is {cluster!r}; name that one if you mean it"
            )
        return
    body = api.get(NAMESPACE.path("kube-system"))
    labels = (body or {}).get("metadata", {}).get("labels") or {}
    if labels.get(ALLOWED_LABEL) != "true":
        raise NotAllowed(
            f"cluster {cluster!r} is not marked for verify, which fills queues with jobs (in namespaces of its own). "
            f"If you mean it: --allow-cluster {cluster}, or mark the cluster: "
            f"kubectl label namespace kube-system {ALLOWED_LABEL}=true"
        )


def new_name() -> str:
    """A name for a run, other than that of any other."""
    return secrets.token_hex(NAME_BYTES)


def home(run: str) -> str:
    """The run's own namespace, in which its Lease is."""
    return PREFIX + run


@dataclass(frozen=True)
class RunLease:
    """A run by its Lease. `since` orders runs by their beginning."""

    run: str
    since: datetime
    until: datetime
    renewed: str
    """As the Lease says it: it changes with every renewal."""


def leases(api: Api) -> list[RunLease]:
    """Every run that has a namespace of its own, the oldest first, whether it lives or is dead. One whose namespace is on its
    way out has ended: it removes that last."""
    found = []
    for thing in api.things(NAMESPACE, RUN_LABEL):
        run = thing.labels[RUN_LABEL]
        if thing.going or thing.name != home(run) or (body := api.get(thing.path)) is None:
            continue
        made = datetime.fromisoformat(body["metadata"]["creationTimestamp"])
        lease = api.get(_lease_path(run))
        renewed = ((lease or {}).get("spec") or {}).get("renewTime") or ""
        last = datetime.fromisoformat(renewed) if renewed else made  # it is being born, or was killed then
        found.append(RunLease(run, made, last + LASTS, renewed))
    return sorted(found, key=lambda leases: (leases.since, leases.run))


def living(api: Api) -> list[RunLease]:
    """Runs whose Lease is good: they live, or were killed less than LASTS ago."""
    now = api.now()
    return [entry for entry in leases(api) if entry.until > now]


def surely_living(api: Api, wait: Event | None = None) -> list[RunLease]:
    """Runs that are seen to renew their Lease. Takes up to LASTS where one was killed just now, else up to RENEW."""
    undecided = {standing.run: standing for standing in living(api)}
    alive = []
    while undecided:
        (wait or Event()).wait(1.0)
        now = api.now()
        current = {entry.run: entry for entry in leases(api)}
        for run, before in list(undecided.items()):
            result = current.get(run)
            if result and result.renewed != before.renewed:
                alive.append(result)
            elif result and result.until > now:
                continue
            del undecided[run]
    return alive


@dataclass
class Life:
    """A run that lives. `lost`: why it must end although nobody asked for it."""

    run: str
    lost: str = ""


@contextmanager
def alive(api: Api, run: str, stop: Event) -> Iterator[Life]:
    """Makes the run's namespace and renews its Lease; sets `stop` when the Lease is lost. At the end the namespace goes."""
    label = {RUN_LABEL: run}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home(run), "labels": label}}
    life, done = Life(run), Event()
    ahead = api.now() - timedelta(seconds=time.monotonic())
    api.create(NAMESPACE.path(), namespace)
    keeper = Thread(target=_keep, args=(api, life, ahead, stop, done), name="lease", daemon=True)
    try:
        api.create(f"/apis/coordination.k8s.io/v1/namespaces/{home(run)}/leases", _lease(run, ahead))
        keeper.start()
        yield life
    finally:
        done.set()
        if keeper.ident:
            keeper.join()
        api.delete(NAMESPACE.path(home(run)))


def _keep(api: Api, life: Life, ahead: datetime, stop: Event, done: Event) -> None:
    renewed = time.monotonic()
    while not done.wait(RENEW):
        try:
            api.merge(_lease_path(life.run), {"spec": {"renewTime": _time(ahead)}})
            renewed = time.monotonic()
        except httpx2.HTTPError as error:
            gone = isinstance(error, httpx2.HTTPStatusError) and error.response.status_code == httpx2.codes.NOT_FOUND
            if gone or time.monotonic() - renewed > LASTS.total_seconds():
                life.lost = f"its Lease {home(life.run)}/{LEASE} could not be renewed: {error}"
                stop.set()
                return


def _lease(run: str, ahead: datetime) -> dict[str, object]:
    now = _time(ahead)
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE, "labels": {RUN_LABEL: run}},
        "spec": {
            "holderIdentity": run,
            "leaseDurationSeconds": int(LASTS.total_seconds()),
            "acquireTime": now,
            "renewTime": now,
        },
    }


def _lease_path(run: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{home(run)}/leases/{LEASE}"


def _time(ahead: datetime) -> str:
    """The server's time now, as a MicroTime. `ahead`: what it was when this machine's monotonic clock was at zero."""
    return f"{ahead + timedelta(seconds=time.monotonic()):%Y-%m-%dT%H:%M:%S.%fZ}"
