"""What becomes of jobs whose queue or flavor leaves the stack, said before it is asked to go.

Kueue keeps a ClusterQueue that is deleted until its last job has ended, and admits nothing to it meanwhile: so a deletion holds the
queue by itself, and lasts as long as the jobs do. `stopPolicy: HoldAndDrain` stops them. How many there are stands in the queue's
own status, a moment late.

A flavor goes as soon as no queue names it, also under jobs that hold it: these run on, and no queue counts them any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ...agreement.plan import Plan
from ...objects.kueue import PROD_SUFFIX
from ...text.quantity import amount, milli_text, whole
from .words import listed

Object = Mapping[str, Any]
DRAIN = 'kubectl patch clusterqueue {name} --type=merge --patch \'{{"spec":{{"stopPolicy":"HoldAndDrain"}}}}\''


def removed_queues(
    plan: Plan, to_delete: Mapping[str, Object], there: Mapping[str, Object], *, retained: bool, timeout: str
) -> Iterator[str]:
    """A sentence for each queue or flavor that goes and has jobs. `there`: all queues that the update changes or takes away.
    `retained`: what goes stays on the cluster when it leaves the stack; `timeout` is how long an update waits for one that does
    not, as the stack says it (Pulumi goes by what it said when the object was last updated)."""
    for body in to_delete.values():
        name = str(body["metadata"]["name"])
        if body["kind"] == "ClusterQueue" and (jobs := int((body.get("status") or {}).get("reservingWorkloads") or 0)):
            who = f"{_who(plan, name)} leaves the agreement, and {jobs} of its jobs run{_on(plan, body)}"
            yield f"{who}: {_becomes(name, retained, timeout)}"
        elif body["kind"] == "ResourceFlavor" and (held := _held(name, there)):
            yield (
                f"flavor {name} leaves the agreement, and jobs use {held} of it: they keep running and no queue counts them, so the quota of "
                "another flavor on the same nodes is free although the nodes are full. Drain the queues first, or keep the name"
            )


def _becomes(name: str, retained: bool, timeout: str) -> str:
    now = f"To evict them: {DRAIN.format(name=name)}"
    if retained:
        return (
            f"they keep running, and ClusterQueue/{name} stays on the cluster with its quota (tenancy:retain) and still admits new jobs. "
            f"{now}  Once it is empty: kubectl delete clusterqueue {name}"
        )
    return (
        f"they keep running, ClusterQueue/{name} admits no new jobs and is deleted when the last job has ended. `pulumi up` waits "
        f"{timeout} for that, then fails with `timed out`: nothing is lost, run it again when the jobs have ended. {now}"
    )


def _who(plan: Plan, queue: str) -> str:
    team = queue.removesuffix(PROD_SUFFIX)
    return f"the prod slice of {team}" if team != queue and team in plan.team else queue


def _held(flavor: str, there: Mapping[str, Object]) -> str:
    """What the jobs of all queues hold of a flavor; empty where that is nothing."""
    held: Counter[str] = Counter()
    for body in there.values():
        for item in (body.get("status") or {}).get("flavorsReservation") or ():
            for resource in item["resources"] if item["name"] == flavor and body["kind"] == "ClusterQueue" else ():
                held[resource["name"]] += whole(amount(resource.get("total")) * 1000)
    devices = [entry for entry in held if held[entry] and entry not in ("cpu", "memory")] or [
        entry for entry in held if entry == "cpu" and held[entry]
    ]
    return listed([f"{milli_text(held[device])} {device}" for device in devices]) if devices else ""


def _on(plan: Plan, queue: Object) -> str:
    """What they hold: devices, or where there are none CPUs."""
    held: list[str] = []
    for flavor in (queue["status"].get("flavorsReservation")) or ():
        hardware = plan.flavor.get(flavor["name"])
        totals = {resource["name"]: str(resource.get("total") or "0") for resource in flavor["resources"]}
        devices = [total for total in totals if total not in ("cpu", "memory")] or ["cpu"]
        for resource in [hardware.resource] if hardware and hardware.resource in totals else devices:
            amount = totals.get(resource, "0")
            if amount == "0":
                continue
            said = hardware.count(int(amount)) if hardware and amount.isdigit() else f"{amount} {resource}"
            held.append(f"{said} of {flavor['name']}" if len(plan.flavors) > 1 or not hardware else said)
    return f", on {listed(held)}" if held else ""
