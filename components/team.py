"""One team's promise as a component: the queues its jobs go to, in every scheduler asked for.

The order inside a team: the node that owns the guarantee before the queues in it, so that no queue ever stands under a
Cohort that is not there (Kueue would take it for an empty root and cut the queue off from what others lend). Deletion runs
the other way round, and a queue with running jobs, which Kueue holds, keeps its Cohort until the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from tenancy.agreement import Agreement
from tenancy.agreement.plan import Plan, TeamPlan
from tenancy.objects import kai, kueue
from tenancy.objects.schedulers import Scheduler

from .objects import KubernetesObject, Object, named, register
from .source import plan_of


@dataclass(frozen=True, kw_only=True)
class TeamQuotaArgs:
    """Which team of the agreement, for which schedulers."""

    agreement: Agreement | Plan
    team: str
    """Its name in the agreement. Amounts come from there, in whole units of each flavor (GPUs, MIG slices or CPUs)."""
    schedulers: tuple[Scheduler, ...] = (Scheduler.KUEUE,)


class TeamQuota(pulumi.ComponentResource):
    """What one team is promised: ClusterQueue (and with `prod` a Cohort and two queues) in Kueue, Queues in KAI."""

    def __init__(self, name: str, args: TeamQuotaArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:TeamQuota", name, {}, opts)
        self._name, self._given = name, opts
        plan = plan_of(args.agreement)
        team = named("team", args.team, plan.team)
        made: list[KubernetesObject] = []
        if Scheduler.KUEUE in args.schedulers:
            made += self._in_kueue(plan, team)
        if Scheduler.KAI in args.schedulers:
            made += self._in_kai(plan, team)
        self.objects = {kubernetes_object.reference: kubernetes_object for kubernetes_object in made}
        of_kai = Scheduler.KAI in args.schedulers
        self.kai_queues = self._by_flavor(plan, team) if of_kai else {}
        """By flavor, the KAI Queues that jobs may name, by what they are for: `regular`, and where there are such `reserved`
        and `prod`."""
        self.queue = self.objects.get(f"ClusterQueue/{team.name}") or self._first("regular") or made[0]
        """The queue that the team's regular jobs name, with and without `prod`: Kueue's where it is written for, else KAI's,
        of the first flavor where there are several (`kai_queues`). With one flavor the name is the same in both."""
        self.prod_queue = self.objects.get(f"ClusterQueue/{team.name}{kueue.PROD_SUFFIX}") or self._first("prod")
        """The ClusterQueue of the prod slice, where the team has one and Kueue is written for; else KAI's first."""
        self.reserved_queue = self._first("reserved")
        """The KAI Queue of what the team never lends, where it keeps something back and KAI is written for: the first
        flavor's of which it does."""
        self.queue_name = self.queue.name
        self.prod_queue_name = self.prod_queue.name if self.prod_queue else None
        self.reserved_queue_name = self.reserved_queue.name if self.reserved_queue else None
        self.kai_queue_names = {
            flavor: {use: kubernetes_object.name for use, kubernetes_object in uses.items()}
            for flavor, uses in self.kai_queues.items()
        }
        outputs = {
            "queueName": self.queue_name,
            "prodQueueName": self.prod_queue_name,
            "reservedQueueName": self.reserved_queue_name,
            "kaiQueueNames": self.kai_queue_names,
        }
        self.register_outputs({key: output for key, output in outputs.items() if output})

    def _in_kueue(self, plan: Plan, team: TeamPlan) -> list[KubernetesObject]:
        """The first object is the team's node in the tree; the others, if any, stand under it."""
        node, *queues = kueue.team_objects(plan, team)
        first = self._register(team, node)
        return [first, *(self._register(team, queue, [first]) for queue in queues)]

    def _in_kai(self, plan: Plan, team: TeamPlan) -> list[KubernetesObject]:
        """Each flavor's queues, and in it each after its parent where that is the team's own too."""
        made: dict[str, KubernetesObject] = {}
        for flavor in plan.flavors:
            for body in kai.team_objects(plan, team, flavor):
                parent = made.get(body["spec"].get("parentQueue", ""))
                made[body["metadata"]["name"]] = self._register(team, body, [parent] if parent else [])
        return list(made.values())

    def _by_flavor(self, plan: Plan, team: TeamPlan) -> dict[str, dict[str, KubernetesObject]]:
        found = {
            flavor.name: {
                "regular": kai.regular(plan, team, flavor),
                "reserved": kai.reserved(plan, team, flavor),
                "prod": next(iter(kai.prod_queues(plan, team, flavor)), None),
            }
            for flavor in plan.flavors
        }
        return {
            flavor: {use: self.objects[f"Queue/{name}"] for use, name in uses.items() if name}
            for flavor, uses in found.items()
        }

    def _first(self, use: str) -> KubernetesObject | None:
        return next((uses[use] for uses in self.kai_queues.values() if use in uses), None)

    def _register(self, team: TeamPlan, body: Object, after: Sequence[pulumi.Resource] = ()) -> KubernetesObject:
        """The resource is called as the component, with what the object's name has after the team's: `…-prod`."""
        suffix = str(body["metadata"]["name"]).removeprefix(team.name)
        return register(self, self._name + suffix, body, self._given, after)
