"""One team's promise as a component: the queues its jobs go to, in every scheduler asked for.

The order inside a team: the node that owns the guarantee before the queues in it, so that no queue ever stands under a
Cohort that is not there (Kueue would take it for an empty root and cut the queue off from what others lend). Deletion runs
the other way round, and a queue with running jobs, which Kueue holds, keeps its Cohort until the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from tenancy import kai, kueue
from tenancy.fidelity import Scheduler
from tenancy.plan import Plan, TeamPlan

from .objects import KubernetesObject, Object, named, register


@dataclass(frozen=True, kw_only=True)
class TeamQuotaArgs:
    """Which team of the plan, for which schedulers."""

    plan: Plan
    team: str
    """Its name in the agreement. Amounts come from there, in whole units of each flavor (GPUs, MIG slices or CPUs)."""
    schedulers: tuple[Scheduler, ...] = (Scheduler.KUEUE,)


class TeamQuota(pulumi.ComponentResource):
    """What one team is promised: ClusterQueue (and with `prod` a Cohort and two queues) in Kueue, Queues in KAI."""

    queue: KubernetesObject
    """The queue that the team's regular jobs name; the same name in both schedulers, and with or without `prod`."""
    prod_queue: KubernetesObject | None
    """The ClusterQueue of the prod slice, where the team has one and Kueue is written for."""
    reserved_queue: KubernetesObject | None
    """The KAI Queue of what the team never lends, where it keeps something back and KAI is written for."""

    def __init__(self, name: str, args: TeamQuotaArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:TeamQuota", name, {}, opts)
        self._name, self._given = name, opts
        team = named("team", args.team, args.plan.team)
        made: list[KubernetesObject] = []
        if Scheduler.KUEUE in args.schedulers:
            made += self._in_kueue(args.plan, team)
        if Scheduler.KAI in args.schedulers:
            made += self._in_kai(args.plan, team)
        self.objects = {it.reference: it for it in made}
        self.queue = self.objects.get(f"ClusterQueue/{team.name}") or self.objects[f"Queue/{team.name}"]
        self.prod_queue = self.objects.get(f"ClusterQueue/{team.name}{kueue.PROD_SUFFIX}")
        self.reserved_queue = self.objects.get(f"Queue/{team.name}{kai.RESERVED_SUFFIX}")
        outputs = {"queue": self.queue, "prodQueue": self.prod_queue, "reservedQueue": self.reserved_queue}
        self.register_outputs({key: it.name for key, it in outputs.items() if it})

    def _in_kueue(self, plan: Plan, team: TeamPlan) -> list[KubernetesObject]:
        """The first object is the team's node in the tree; the others, if any, stand under it."""
        node, *queues = kueue.team_objects(plan, team)
        first = self._register(team, node)
        return [first, *(self._register(team, it, [first]) for it in queues)]

    def _in_kai(self, plan: Plan, team: TeamPlan) -> list[KubernetesObject]:
        """The team's queue in the shared tree and its reserved root know nothing of each other."""
        (flavor,) = plan.flavors
        return [self._register(team, it) for it in kai.team_objects(plan, team, flavor)]

    def _register(self, team: TeamPlan, body: Object, after: Sequence[pulumi.Resource] = ()) -> KubernetesObject:
        """The resource is called as the component, with what the object's name has after the team's: `…-prod`."""
        suffix = str(body["metadata"]["name"]).removeprefix(team.name)
        return register(self, self._name + suffix, body, self._given, after)
