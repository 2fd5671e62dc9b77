"""What KAI's queues and node pools are called, and why an agreement may get none.

A KAI Queue has one GPU number for every product (KAI#1087), so each flavor has a tree of its own, over a node pool of its
own: the nodes, the queues (parents too) and the jobs that carry its name in the label `kai.scheduler/node-pool`. With one
flavor there is no pool to tell apart: no label, KAI's default shard, and the short names. With several a queue is called
`<name>-<flavor>`, which is also what KAI itself makes of a job's `project` and node pool (podgrouper/defaultgrouper).
"""

from __future__ import annotations

from collections import Counter

from ...agreement.findings import Path
from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from .amounts import parts

NODE_POOL = "kai.scheduler/node-pool"  # KAI's default; `global.nodePoolLabelKey` of its configuration
DEFAULT_SHARD = "default"  # the shard of KAI's chart, for all that has no node pool
CHART_QUEUES = ("default-parent-queue", "default-queue")  # the chart's, for jobs without a queue
SHARED = "shared"
RESERVED_SUFFIX = "-reserved"
NEVER_LENT_SUFFIX = "-never-lent"
SHARED_SUFFIX = "-shared"
PROD_SUFFIX = "-prod"


def pool(plan: Plan, flavor: Hardware) -> str | None:
    """The flavor's node pool: as its nodes are labelled in the agreement, else its name; none where it is the only flavor."""
    if given := flavor.node_labels.get(NODE_POOL):
        return given
    return flavor.name if len(plan.flavors) > 1 else None


def pool_origin(flavor: Hardware) -> Path:
    """What in the agreement gives the flavor's node pool its name."""
    path: Path = ("flavors", flavor.name)
    return (*path, "node_labels", NODE_POOL) if flavor.node_labels.get(NODE_POOL) else path


def queue_name(plan: Plan, base: str, flavor: Hardware) -> str:
    """`base`, and the flavor where there are several."""
    return base if len(plan.flavors) == 1 else f"{base}-{flavor.name}"


def regular(plan: Plan, team: TeamPlan, flavor: Hardware) -> str:
    """The queue for a team's jobs: what it lends, and what it borrows."""
    return queue_name(plan, team.name, flavor)


def reserved(plan: Plan, team: TeamPlan, flavor: Hardware) -> str | None:
    """The queue for what the team never lends, where it keeps something back."""
    share = team.shares[flavor.name]
    return queue_name(plan, team.name + RESERVED_SUFFIX, flavor) if share.reserved else None


def prod_bases(team: TeamPlan, flavor: Hardware) -> dict[str, int]:
    """The names of the prod slice's queues, less the flavor, with what is in each: one, or two where the slice is larger than
    either of the team's places."""
    found = parts(team.shares[flavor.name])
    both = bool(found.prod_reserved and found.prod_shared)
    made = {
        team.name + PROD_SUFFIX: found.prod_reserved or found.prod_shared,
        team.name + PROD_SUFFIX + SHARED_SUFFIX: found.prod_shared if both else 0,
    }
    return {name: amount for name, amount in made.items() if amount}


def prod_queues(plan: Plan, team: TeamPlan, flavor: Hardware) -> dict[str, int]:
    """The queues of the prod slice with what is in each, where the team has one of this flavor."""
    return {queue_name(plan, base, flavor): amount for base, amount in prod_bases(team, flavor).items()}


def job_queues(plan: Plan, team: TeamPlan, flavor: Hardware) -> list[str]:
    """Every queue of the team that jobs may name: what they use together is what the team uses of the flavor."""
    kept = reserved(plan, team, flavor)
    return [regular(plan, team, flavor), *([kept] if kept else []), *prod_queues(plan, team, flavor)]


def refusal(plan: Plan) -> str | None:
    """Why KAI gets no queues at all for this agreement; None when it gets them."""
    for value, times in Counter(value for flavor in plan.flavors if (value := pool(plan, flavor))).items():
        if times > 1:
            several = ", ".join(flavor.name for flavor in plan.flavors if pool(plan, flavor) == value)
            return f"flavors {several} are one node pool {value!r}, and a KAI Queue has one GPU number for all of it"
    return None
