"""A team's namespace as a component: the team's label on it, and what such a namespace gets.

Names are made of the namespace, not of its team: one that moves to another team keeps its label's resource, and its
LocalQueues are replaced in place (`objects.REPLACED_FOR`). Kueue lets the jobs that run in it end on the old team's quota.
"""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from tenancy.agreement import Agreement
from tenancy.agreement.plan import Plan
from tenancy.objects import access
from tenancy.objects.access import Namespaces
from tenancy.objects.schedulers import Scheduler

from .objects import named, register
from .source import plan_of


@dataclass(frozen=True, kw_only=True)
class TeamNamespaceArgs:
    """Which namespace of which team of the agreement."""

    agreement: Agreement | Plan
    team: str
    """Its name in the agreement."""
    namespace: str
    """The namespace's name; the agreement need not list it."""
    namespaces: Namespaces = Namespaces.LISTED
    """Whether what it gets is written here, or left to the namespace operator."""
    schedulers: tuple[Scheduler, ...] = (Scheduler.KUEUE,)
    """Without Kueue there are no LocalQueues."""


class TeamNamespace(pulumi.ComponentResource):
    """A namespace that belongs to a team. It is made where there is none, and never deleted: only the label goes."""

    def __init__(self, name: str, args: TeamNamespaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:TeamNamespace", name, {}, opts)
        plan = plan_of(args.agreement)
        team = named("team", args.team, plan.team)
        kueue = Scheduler.KUEUE in args.schedulers
        body, *inside = access.in_namespace(plan, team, args.namespace, args.namespaces, kueue=kueue)
        self.namespace = register(self, name, body, opts)
        """The team's label on it."""
        after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[self.namespace]))
        made = [register(self, f"{name}/{entry['metadata']['name']}", entry, after) for entry in inside]
        self.objects = {kubernetes_object.reference: kubernetes_object for kubernetes_object in (self.namespace, *made)}
        self.namespace_name = self.namespace.name
        self.register_outputs({"namespaceName": self.namespace_name})
