"""A whole agreement as one component: hardware first, then the tree from its root to the teams.

The order, which deletion runs backwards: topologies, the flavors tied to them, the root Cohort, departments, teams. A team
waits for one object (its parent), so that all teams are made at once. Kueue would take any order and sort itself out; the
order is for people who watch (a queue is never inactive for want of a flavor) and for deletion, where a queue that still
runs jobs, which Kueue holds, keeps everything it stands on. KAI's admission refuses a parent's deletion before its
children's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pulumi

from tenancy.agreement import Agreement, errors
from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import access, kai, kueue
from tenancy.objects.access import Namespaces
from tenancy.objects.kinds import Part, versions
from tenancy.objects.loading import check
from tenancy.objects.registry import OBJECTS, refusals
from tenancy.objects.schedulers import TITLES, Scheduler
from tenancy.review.fidelity import Level, subjects_text, verdicts

from .hardware import GpuFlavor, GpuFlavorArgs, TopologyTree, TopologyTreeArgs
from .namespace import TeamNamespace, TeamNamespaceArgs
from .objects import KubernetesObject, Object, register
from .order import gets, gives
from .team import TeamQuota, TeamQuotaArgs


@dataclass(frozen=True, kw_only=True)
class TenancyAgreementArgs:
    """The agreement, and the schedulers to write it for. Plain data: what decides which resources there are must be
    known at preview, so nothing of it is ever an Output."""

    agreement: Agreement
    schedulers: tuple[Scheduler, ...] = (Scheduler.KUEUE,)
    namespaces: Namespaces = Namespaces.LISTED
    """Whether what a team's namespaces get is written here, for those the agreement lists, or left to the namespace operator."""
    before: Mapping[str, Object] = field(default_factory=dict)
    """The objects of the last update (`recorded_objects`), where there is one: a change is then written in an order that
    promises nothing twice."""
    without: Collection[str] = ()
    """Kinds that the cluster does not serve and that can be left out; the preview says what is lost."""

    def __post_init__(self) -> None:
        """Raises RunError, with everything that is wrong, for an agreement or a scheduler that cannot be written."""
        if found := errors(check(self.agreement)):
            raise pulumi.RunError("\n".join(map(str, found)))
        for scheduler, why in refusals(make_plan(self.agreement)).items():
            if scheduler in self.schedulers:
                raise pulumi.RunError(f"{TITLES[scheduler]} gets no queues for this agreement: {why}")

    @property
    def kinds(self) -> Mapping[str, str]:
        """Every kind (`identity.kind_of`) that an agreement may make for these schedulers, with its API version."""
        return {
            kind: version for scheduler in self.schedulers for kind, version in versions(Part.QUOTAS, scheduler).items()
        } | versions(Part.ACCESS)

    def objects(self) -> list[Object]:
        """What will be registered, as plain data: the same that `tenancy render` writes."""
        plan = make_plan(self.agreement)
        found = [one for scheduler in self.schedulers for one in OBJECTS[scheduler].objects(plan)]
        kueue_too, kai_too = (scheduler in self.schedulers for scheduler in (Scheduler.KUEUE, Scheduler.KAI))
        found += access.objects(plan, self.namespaces, kueue=kueue_too, kai=kai_too)
        return [one for one in found if one["kind"] not in self.without]


class TenancyAgreement(pulumi.ComponentResource):
    """Everything a cluster needs to keep an agreement."""

    def __init__(self, name: str, args: TenancyAgreementArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:TenancyAgreement", name, {}, opts)
        self._name, self._given = name, opts or pulumi.ResourceOptions()
        plan = make_plan(args.agreement)
        self._say_what_is_not_exact(plan, args.schedulers)
        if args.without:
            pulumi.log.warn(f"the cluster does not serve {', '.join(args.without)}: {access.WITHOUT}", self)
        trees = []
        if Scheduler.KUEUE in args.schedulers:
            trees.append(self._kueue_tree(plan))
        if Scheduler.KAI in args.schedulers:
            trees += self._kai_trees(plan)
        self.teams = self._teams(plan, args, trees)
        """What each team is promised."""
        self._access(plan, args)
        self.queues = {team: quota.queue.name for team, quota in self.teams.items()}
        """The queue that each team's regular jobs name."""
        self.register_outputs({"cluster": plan.cluster, "queues": self.queues})

    def _teams(
        self, plan: Plan, args: TenancyAgreementArgs, trees: Sequence[Mapping[str | None, pulumi.Resource]]
    ) -> dict[str, TeamQuota]:
        """All at once, but for a change of guarantees (see `order`)."""
        objects = {team.name: list(kueue.team_objects(plan, team)) for team in plan.teams} if args.before else {}
        giving = {name for name, now in objects.items() if gives(args.before, now)}
        getting = {name for name, now in objects.items() if gets(args.before, now)} - giving
        made: dict[str, TeamQuota] = {}
        given: list[KubernetesObject] = []
        for team in sorted(plan.teams, key=lambda team: team.name not in giving):
            after = given if team.name in getting else []
            made[team.name] = TeamQuota(
                f"{self._name}-{team.name}",
                TeamQuotaArgs(agreement=plan, team=team.name, schedulers=args.schedulers),
                self._child([*(tree[team.department] for tree in trees), *after]),
            )
            if team.name in giving:
                given += made[team.name].objects.values()
            elif len(after) > 1:  # one that has waited for all is enough for the others to wait for
                given = [next(iter(made[team.name].objects.values()))]
        return {team.name: made[team.name] for team in plan.teams}

    def _kueue_tree(self, plan: Plan) -> Mapping[str | None, pulumi.Resource]:
        """All that is no team's; returns the Cohort of each department, and under None the root."""
        topologies = {
            topology.name: TopologyTree(
                f"{self._name}-{topology.name}", TopologyTreeArgs(agreement=plan, topology=topology.name), self._child()
            )
            for topology in kueue.topologies(plan)
        }
        flavors = [
            GpuFlavor(
                f"{self._name}-{flavor.name}",
                GpuFlavorArgs(agreement=plan, flavor=flavor.name),
                self._child([topologies[tree.name].topology] if (tree := kueue.topology_of(plan, flavor)) else []),
            )
            for flavor in plan.flavors
        ]
        for priority, value in plan.priorities.items():
            self._register(kueue.workload_priority_class(plan, priority, value))
        root = self._register(kueue.root_cohort(plan), [gpu_flavor.flavor for gpu_flavor in flavors])
        return {None: root} | {
            department.name: self._register(kueue.department_cohort(plan, department), [root])
            for department in plan.departments
        }

    def _kai_trees(self, plan: Plan) -> list[Mapping[str | None, pulumi.Resource]]:
        """For each flavor the shared root and the departments in it: each department's Queue, and under None the root. A
        tree stands on its shard; topologies and priorities only jobs name."""
        for body in (*(kai.topology(plan, topology) for topology in plan.topologies), *kai.priority_classes(plan)):
            self._register(body)
        trees: list[Mapping[str | None, pulumi.Resource]] = []
        for flavor in plan.flavors:
            shard = kai.shard(plan, flavor)
            shared = self._register(kai.shared_queue(plan, flavor), [self._register(shard)] if shard else [])
            departments = zip(plan.departments, kai.department_queues(plan, flavor), strict=True)
            trees.append(
                {None: shared} | {department.name: self._register(queue, [shared]) for department, queue in departments}
            )
        return trees

    def _access(self, plan: Plan, args: TenancyAgreementArgs) -> None:
        """LocalQueues, or what the operator makes them from, come after all the queues they are for."""
        queues = {team: list(quota.objects.values()) for team, quota in self.teams.items()}
        every_queue = [queue for group in queues.values() for queue in group]
        kueue, kai = (scheduler in args.schedulers for scheduler in (Scheduler.KUEUE, Scheduler.KAI))
        for body in access.cluster_wide(plan, args.namespaces, kueue=kueue, kai=kai):
            if body["kind"] not in args.without:
                self._register(body, every_queue)
        for team in plan.teams:
            for namespace in access.namespaces_of(team):
                TeamNamespace(
                    f"{self._name}-{namespace}",
                    TeamNamespaceArgs(
                        agreement=plan,
                        team=team.name,
                        namespace=namespace,
                        namespaces=args.namespaces,
                        schedulers=args.schedulers,
                    ),
                    self._child(queues[team.name]),
                )

    def _register(self, body: Object, after: Sequence[pulumi.Resource] = ()) -> KubernetesObject:
        name = f"{self._name}-{body['metadata']['name']}"
        return register(self, name, body, self._given, after)

    def _child(self, after: Sequence[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=self, depends_on=list(after) or None, custom_timeouts=self._given.custom_timeouts
        )

    def _say_what_is_not_exact(self, plan: Plan, schedulers: Sequence[Scheduler]) -> None:
        """Nothing is dropped in silence: who reads the preview sees it there, not only in the report of `render`."""
        for verdict in verdicts(plan):
            if verdict.scheduler in schedulers and verdict.level is not Level.EXACT:
                pulumi.log.info(
                    f"{verdict.scheduler} keeps {verdict.promise!r} {verdict.level} for {subjects_text(verdict)}: {verdict.how}",
                    self,
                )
