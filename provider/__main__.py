"""The components for every Pulumi language: `packages: {tenancy: ../provider}`, then `tenancy:index:TenancyAgreement`.

What crosses the boundary is text, lists and tables of plain values; all else is the components' own. Annotations here are
read at run time, to make the schema: no `from __future__ import annotations`, and no type that the schema has no word for.
"""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi.provider import main
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # of this checkout, whatever else is called `components`

import components
from tenancy.agreement import Agreement
from tenancy.objects.access import Namespaces
from tenancy.objects.schedulers import Scheduler


class AgreementSource(TypedDict):
    """The agreement, in one of three ways; plain data, since what decides which resources there are is known at preview."""

    file: NotRequired[str]
    """A `tenancy.toml`, from the program's folder."""
    text: NotRequired[str]
    """The text of such a file."""
    tables: NotRequired[dict[str, Any]]
    """The tables of such a file, with the same keys: `{cluster: {name: …}, flavors: {…}, teams: {…}}`."""


class TenancyAgreementArgs(TypedDict):
    agreement: AgreementSource
    """What the teams have agreed on."""
    schedulers: NotRequired[list[str]]
    """Which schedulers it is written for: `kueue` (the default), `kai`."""
    namespaces: NotRequired[str]
    """Who writes what a team's namespaces get: `listed` (the default), these components, or `operator`."""


class TenancyAgreement(components.TenancyAgreement):
    """Everything a cluster needs to keep an agreement."""

    queues: dict[str, str]
    """The queue that each team's regular jobs name, by team."""

    def __init__(self, name: str, args: TenancyAgreementArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        agreement, schedulers = read(args["agreement"]), written_for(args.get("schedulers"))
        namespaces = left_to(args.get("namespaces"))
        super().__init__(
            name,
            components.TenancyAgreementArgs(agreement=agreement, schedulers=schedulers, namespaces=namespaces),
            opts,
        )


class TeamQuotaArgs(TypedDict):
    agreement: AgreementSource
    """What the teams have agreed on."""
    team: str
    """The team's name in it."""
    schedulers: NotRequired[list[str]]
    """Which schedulers it is written for: `kueue` (the default), `kai`."""


class TeamQuota(components.TeamQuota):
    """What one team is promised. What it stands on (flavors, the root Cohort, its department) is made elsewhere."""

    queue_name: str
    """The queue that the team's regular jobs name."""
    prod_queue_name: str | None
    """The ClusterQueue of the team's prod slice, where it has one."""
    reserved_queue_name: str | None
    """The KAI Queue of what the team never lends, where it keeps something back."""
    kai_queue_names: dict[str, dict[str, str]]
    """By flavor, the KAI Queues that jobs may name, by what they are for: `regular`, `reserved`, `prod`."""

    def __init__(self, name: str, args: TeamQuotaArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        agreement, schedulers = read(args["agreement"]), written_for(args.get("schedulers"))
        super().__init__(
            name, components.TeamQuotaArgs(agreement=agreement, team=args["team"], schedulers=schedulers), opts
        )


class TeamNamespaceArgs(TypedDict):
    agreement: AgreementSource
    """What the teams have agreed on."""
    team: str
    """The team's name in it."""
    namespace: str
    """The namespace's name; the agreement need not list it."""
    namespaces: NotRequired[str]
    """Who writes what it gets: `listed` (the default), this component, or `operator`."""
    schedulers: NotRequired[list[str]]
    """Which schedulers it is written for: `kueue` (the default), `kai`."""


class TeamNamespace(components.TeamNamespace):
    """A namespace that belongs to a team. It is made where there is none, and never deleted: only the label goes."""

    namespace_name: str
    """What a job's `namespace` names."""

    def __init__(self, name: str, args: TeamNamespaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        agreement, schedulers = read(args["agreement"]), written_for(args.get("schedulers"))
        made = components.TeamNamespaceArgs(
            agreement=agreement,
            team=args["team"],
            namespace=args["namespace"],
            namespaces=left_to(args.get("namespaces")),
            schedulers=schedulers,
        )
        super().__init__(name, made, opts)


class GpuFlavorArgs(TypedDict):
    agreement: AgreementSource
    """What the teams have agreed on."""
    flavor: str
    """The flavor's name in it."""


class GpuFlavor(components.GpuFlavor):
    """A kind of hardware of the agreement, tied to its nodes by their labels."""

    flavor_name: str
    """What a queue's quota names."""

    def __init__(self, name: str, args: GpuFlavorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, components.GpuFlavorArgs(agreement=read(args["agreement"]), flavor=args["flavor"]), opts)


class TopologyTreeArgs(TypedDict):
    agreement: AgreementSource
    """What the teams have agreed on."""
    topology: str
    """The topology's name in it."""


class TopologyTree(components.TopologyTree):
    """The levels of a topology of the agreement, which jobs' pods are packed by."""

    topology_name: str
    """What a flavor names."""

    def __init__(self, name: str, args: TopologyTreeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(
            name, components.TopologyTreeArgs(agreement=read(args["agreement"]), topology=args["topology"]), opts
        )


def read(source: AgreementSource) -> Agreement:
    """Raises RunError, with everything that is wrong."""
    given = sorted(key for key, value in source.items() if value is not None)
    match source:
        case {"file": str(file)} if given == ["file"]:
            return components.agreement_from_file(file)
        case {"text": str(text)} if given == ["text"]:
            return components.agreement_from_text(text)
        case {"tables": dict(tables)} if given == ["tables"]:
            return components.agreement_from_values(tables)
    raise pulumi.RunError(
        f"agreement: has {' and '.join(given) or 'nothing'}; give it as one of file, text (a string known at preview) or tables"
    )


def written_for(schedulers: list[str] | None) -> tuple[Scheduler, ...]:
    """Raises RunError for a name that is none."""
    if wrong := [scheduler for scheduler in schedulers or () if scheduler not in set(Scheduler)]:
        raise pulumi.RunError(f"schedulers: {wrong[0]!r} is not a scheduler; choose from {', '.join(Scheduler)}")
    return tuple(dict.fromkeys(map(Scheduler, schedulers or ()))) or (Scheduler.KUEUE,)


def left_to(namespaces: str | None) -> Namespaces:
    """Raises RunError for a word that is none."""
    if namespaces and namespaces not in set(Namespaces):
        raise pulumi.RunError(f"namespaces: {namespaces!r} is not one of {', '.join(Namespaces)}")
    return Namespaces(namespaces or Namespaces.LISTED)


class Provider(ComponentProvider):
    """Says what is wrong with an agreement in the agreement's own words, without the stack of calls that found it."""

    def construct(self, name: str, resource_type: str, inputs: Any, options: Any = None) -> Any:
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            if isinstance(error.inner, pulumi.RunError):
                raise pulumi.InputPropertiesError(str(error.inner), []) from None
            raise


if __name__ == "__main__":
    made = [TenancyAgreement, TeamQuota, TeamNamespace, GpuFlavor, TopologyTree]
    main(Provider(made, "tenancy", version=version("gpu-tenancy")), sys.argv[1:])
