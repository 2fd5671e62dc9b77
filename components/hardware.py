"""Hardware as components: a flavor tied to its nodes, and the tree of domains that jobs are packed into.

Neither replaces its object when a field changes that Kueue calls immutable (Topology `levels`; with a topology also the
flavor's `nodeLabels`, `tolerations` and `topologyName`). A replacement deletes first, since the name stays; Kueue's
finalizer holds a deleted flavor for as long as a queue names it, and a deletion once asked for cannot be taken back. So such a
change is refused, at preview, by the API server (its dry run) and by `tenancy.live.preflight` in words: another name for
the new hardware is the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from tenancy import kueue
from tenancy.plan import Plan

from .objects import KubernetesObject, named, register


@dataclass(frozen=True, kw_only=True)
class TopologyTreeArgs:
    """Which topology of the plan."""

    plan: Plan
    topology: str
    """Its name in the agreement, or that of the plan's own topology of hosts; node label keys come from there, widest
    domain first (1 to 16, Kueue's limit)."""


class TopologyTree(pulumi.ComponentResource):
    """A Kueue Topology: the levels that topology-aware scheduling packs a job's pods by."""

    topology: KubernetesObject
    """The Topology; flavors refer to it by `topologyName`."""

    def __init__(self, name: str, args: TopologyTreeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:TopologyTree", name, {}, opts)
        tree = named("topology", args.topology, {it.name: it for it in kueue.topologies(args.plan)})
        self.topology = register(self, name, kueue.topology(args.plan, tree), opts)
        self.register_outputs({"topologyName": self.topology.name})


@dataclass(frozen=True, kw_only=True)
class GpuFlavorArgs:
    """Which flavor of the plan."""

    plan: Plan
    flavor: str
    """Its name in the agreement; labels, taints and topology come from there."""


class GpuFlavor(pulumi.ComponentResource):
    """A Kueue ResourceFlavor: a kind of hardware, tied to nodes by their labels."""

    flavor: KubernetesObject
    """The ResourceFlavor; every queue's quota names it."""

    def __init__(self, name: str, args: GpuFlavorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tenancy:index:GpuFlavor", name, {}, opts)
        body = kueue.resource_flavor(args.plan, named("flavor", args.flavor, args.plan.flavor))
        self.flavor = register(self, name, body, opts)
        self.register_outputs({"flavorName": self.flavor.name})
