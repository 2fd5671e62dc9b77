"""Hardware as components: a flavor tied to its nodes, and the tree of domains that jobs are packed into.

Neither replaces its object when a field changes that Kueue calls immutable (Topology `levels`; with a topology also the
flavor's `nodeLabels`, `tolerations` and `topologyName`). A replacement deletes first, since the name stays; Kueue's
finalizer holds a deleted flavor for as long as a queue names it, and a deletion once asked for cannot be taken back. So such a
change is refused, at preview, by the API server (its dry run) and by `tenancy.cluster.preflight` in words: another name for
the new hardware is the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from tenancy.agreement import Agreement
from tenancy.agreement.plan import Plan
from tenancy.objects import kueue

from .objects import named, register
from .source import plan_of


@dataclass(frozen=True, kw_only=True)
class TopologyTreeArgs:
    """Which topology of the agreement."""

    agreement: Agreement | Plan
    topology: str
    """Its name in the agreement, or that of the plan's own topology of hosts; node label keys come from there, widest
    domain first (1 to 16, Kueue's limit)."""


class TopologyTree(pulumi.ComponentResource):
    """A Kueue Topology: the levels that topology-aware scheduling packs a job's pods by."""

    def __init__(self, name: str, args: TopologyTreeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:TopologyTree", name, {}, opts)
        plan = plan_of(args.agreement)
        tree = named("topology", args.topology, {topology.name: topology for topology in kueue.topologies(plan)})
        self.topology = register(self, name, kueue.topology(plan, tree), opts)
        """The Topology."""
        self.topology_name = self.topology.name
        """What flavors refer to it by."""
        self.register_outputs({"topologyName": self.topology_name})


@dataclass(frozen=True, kw_only=True)
class GpuFlavorArgs:
    """Which flavor of the agreement."""

    agreement: Agreement | Plan
    flavor: str
    """Its name in the agreement; labels, taints and topology come from there."""


class GpuFlavor(pulumi.ComponentResource):
    """A Kueue ResourceFlavor: a kind of hardware, tied to nodes by their labels."""

    def __init__(self, name: str, args: GpuFlavorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:GpuFlavor", name, {}, opts)
        plan = plan_of(args.agreement)
        body = kueue.resource_flavor(plan, named("flavor", args.flavor, plan.flavor))
        self.flavor = register(self, name, body, opts)
        """The ResourceFlavor."""
        self.flavor_name = self.flavor.name
        """What every queue's quota refers to it by."""
        self.register_outputs({"flavorName": self.flavor_name})
