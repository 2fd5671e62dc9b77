"""The plan as KAI Queues: for each flavor a tree that is shared, and beside it a root for what a team never lends.

- Root `shared`, quota = limit = all that is lent and the free pool. In it departments, and each team with quota L and limit
  L + B (−1 where borrowing has no limit).
- Root `<team>-never-lent`, quota = limit = G − L, where a team keeps something back; in it the queue `<team>-reserved`
  that jobs name. The root is a parent because KAI 0.12 runs nothing in a queue without one (KAI#621; decision 17).
- A prod slice is a queue `<team>-prod`, quota = limit = its amount: what runs in it never borrows and is never over its quota,
  so nobody takes it back, while the queue takes back whatever others have of it. It stands under the team's root, or in the
  shared tree beside the team's regular queue, both then under `<team>-shared`, which owns what `<team>` would alone.

What a flavor is not counted in is unlimited at every level, or a reclaim of what it is counted in fails on it. A flavor of CPUs
is counted in millicores and has no GPUs.

What is over quota KAI divides by `overQuotaWeight`, of a department beside departments, of a team beside its siblings. How
long a job runs before it may be stopped is said once, on a root, and holds for all below it; only a team's own prod slice
waits for nothing (plugins/minruntime: the first queue that says it, upwards from where the two queues' paths part).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ..identity import AGREEMENT_LABEL
from ..kinds import KINDS
from . import names
from .amounts import UNLIMITED, department_quota, limit_in_shared, parts, per_unit, shared_quota, teams_of

API_VERSION = KINDS["Queue"].api_version
PROD_PRIORITY = 200  # KAI's default is 100; of two queues side by side the higher is served first and stopped last

Object = dict[str, Any]


def shared_queue(plan: Plan, flavor: Hardware) -> Object:
    """The root of what is shared."""
    amount = shared_quota(plan, flavor)
    made = _queue(plan, flavor, names.SHARED, names.SHARED, quota=amount, limit=amount)
    made["spec"] |= _runtime("preemptMinRuntime", plan.sharing.preempt_min_runtime)
    made["spec"] |= _runtime("reclaimMinRuntime", plan.sharing.reclaim_min_runtime)
    return made


def department_queues(plan: Plan, flavor: Hardware) -> Iterator[Object]:
    """Parents in `shared`. One without teams is a leaf, which would take jobs: its limit of 0 lets nothing run."""
    for department in plan.departments:
        name = department.name
        yield _queue(
            plan,
            flavor,
            name,
            department.display_name,
            quota=department_quota(plan, name, flavor),
            limit=UNLIMITED if teams_of(plan, name) else 0,
            parent=names.SHARED,
            weight=department.weight,
        )


def team_objects(plan: Plan, team: TeamPlan, flavor: Hardware) -> Iterator[Object]:
    """A team's queues for one flavor, parents before children."""
    yield from _in_shared(plan, team, flavor)
    yield from _never_lent(plan, team, flavor)


def _in_shared(plan: Plan, team: TeamPlan, flavor: Hardware) -> Iterator[Object]:
    share = team.shares[flavor.name]
    own, limit = parts(share), limit_in_shared(share)
    parent = team.department or names.SHARED
    alone = not own.prod_shared
    node = team.name if alone else team.name + names.SHARED_SUFFIX
    shown = team.display_name if alone else f"{team.display_name}, all"
    yield _queue(plan, flavor, node, shown, quota=own.shared, limit=limit, parent=parent, weight=team.weight)
    if alone:
        return
    regular = _queue(plan, flavor, team.name, team.display_name, quota=own.regular_shared, limit=UNLIMITED, parent=node)
    yield _yields_to_prod(plan, regular)
    *_, name = names.prod_bases(team, flavor)
    yield _prod_queue(plan, team, flavor, name, own.prod_shared, node)


def _never_lent(plan: Plan, team: TeamPlan, flavor: Hardware) -> Iterator[Object]:
    own = parts(team.shares[flavor.name])
    if not own.reserved:
        return
    shown = f"{team.display_name}, never lent"
    root, name = team.name + names.NEVER_LENT_SUFFIX, team.name + names.RESERVED_SUFFIX
    top = _queue(plan, flavor, root, f"{shown}, all", quota=own.reserved, limit=own.reserved)
    top["spec"] |= _runtime("preemptMinRuntime", plan.sharing.preempt_min_runtime)
    yield top
    yield _queue(plan, flavor, name, shown, quota=own.regular_reserved, limit=own.reserved, parent=root)
    if own.prod_reserved:
        yield _prod_queue(plan, team, flavor, team.name + names.PROD_SUFFIX, own.prod_reserved, root)


def _prod_queue(plan: Plan, team: TeamPlan, flavor: Hardware, name: str, amount: int, parent: str) -> Object:
    shown = f"{team.display_name}, prod"
    made = _queue(plan, flavor, name, shown, quota=amount, limit=amount, parent=parent)
    made["spec"]["priority"] = PROD_PRIORITY
    return made


def _yields_to_prod(plan: Plan, regular: Object) -> Object:
    if plan.sharing.reclaim_min_runtime:
        regular["spec"] |= _runtime("reclaimMinRuntime", 0)
    return regular


def _number(thousandths: int) -> int | float:
    return thousandths // 1000 if thousandths % 1000 == 0 else thousandths / 1000


def _runtime(key: str, seconds: int | None) -> Object:
    return {} if seconds is None else {key: f"{seconds}s"}


def _queue(
    plan: Plan,
    flavor: Hardware,
    base: str,
    display_name: str,
    *,
    quota: int,
    limit: int,
    parent: str | None = None,
    weight: int = 1000,
) -> Object:
    """Quota and limit in units of the flavor, −1 for no limit; the weight in thousandths; `base` and `parent` without the
    flavor's name."""
    shown = display_name if len(plan.flavors) == 1 else f"{display_name} ({flavor.name})"
    spec: Object = {"displayName": shown}
    if parent:
        spec["parentQueue"] = names.queue_name(plan, parent, flavor)
    counted = {"quota": quota * per_unit(flavor), "limit": limit, "overQuotaWeight": _number(weight)}
    if limit != UNLIMITED:
        counted["limit"] = limit * per_unit(flavor)
    unlimited = {"quota": UNLIMITED, "limit": UNLIMITED, "overQuotaWeight": 1}
    none = {"quota": 0, "limit": 0, "overQuotaWeight": 1}
    of_cpus = flavor.unit == "cpu"
    spec["resources"] = {
        "gpu": none if of_cpus else counted,
        "cpu": counted if of_cpus else dict(unlimited),
        "memory": dict(unlimited),
    }
    labels = {AGREEMENT_LABEL: plan.cluster}
    if pool := names.pool(plan, flavor):
        labels[names.NODE_POOL] = pool
    return {
        "apiVersion": API_VERSION,
        "kind": "Queue",
        "metadata": {"name": names.queue_name(plan, base, flavor), "labels": labels},
        "spec": spec,
    }
