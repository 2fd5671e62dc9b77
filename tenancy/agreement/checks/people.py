"""Who belongs where: namespaces, groups and the priorities a team may name."""

from __future__ import annotations

from collections.abc import Iterator

from ...text.quantity import MAX_QUANTITY
from ...text.spelling import did_you_mean
from ..findings import Finding, Path, Severity, dotted
from ..model import Agreement, Team
from ..names import NAMESPACE, name_problem, text_problem

# The namespace operator leaves these out, and so do our rules, but for `default`, where nobody has GPUs (decision 21).
SYSTEM_NAMESPACES = ("default", "kueue-system", "kai-scheduler", "kai-resource-reservation", "kubevirt", "gpu-operator")
SYSTEM_PREFIXES = ("kube-", "openshift-")
EVERYBODY = ("system:authenticated", "system:unauthenticated", "system:serviceaccounts")
ONLY_WITH_ACCESS = ("members", "leads", "highest_priority")


def is_system(namespace: str) -> bool:
    """Whether a namespace is the cluster's own, and so never a team's."""
    return namespace in SYSTEM_NAMESPACES or namespace.startswith(SYSTEM_PREFIXES)


def priorities(agreement: Agreement) -> Iterator[Finding]:
    """The priorities that are named are there."""
    named: list[tuple[Path, str | None]] = [(("cluster", "prod_priority"), agreement.cluster.prod_priority)]
    named += [(("teams", name, "highest_priority"), team.highest_priority) for name, team in agreement.teams.items()]
    for path, priority in named:
        if priority is not None and priority not in agreement.priorities:
            remedy = did_you_mean(priority, agreement.priorities, f"add it to [priorities], such as {priority} = 1000")
            yield Finding(path, f"{priority!r} is not a priority of this agreement", remedy)


def namespaces(agreement: Agreement) -> Iterator[Finding]:
    """Names a cluster takes, each of one team, none of the system's."""
    exempt = set(agreement.access.exempt_namespaces) if agreement.access else set()
    first: dict[str, Path] = {}
    for name, team in agreement.teams.items():
        for path, namespace, on_key in _namespaces(name, team):
            if problem := name_problem(namespace, NAMESPACE):
                yield Finding(path, *problem, on_key=on_key)
            elif is_system(namespace) or namespace in exempt:
                whose = "is the system's own" if is_system(namespace) else "is in access.exempt_namespaces"
                yield Finding(
                    path, f"namespace {namespace!r} {whose}", "name a namespace that only this team uses", on_key=on_key
                )
            elif (other := first.setdefault(namespace, path)) != path:
                message = f"namespace {namespace!r} is also named at {dotted(other)}"
                yield Finding(
                    path, message, "a namespace belongs to one team and has one use: name it once", on_key=on_key
                )


def _namespaces(name: str, team: Team) -> Iterator[tuple[Path, str, bool]]:
    """The namespaces of a team: where each is named, and whether as a key."""
    for place, namespace in enumerate(team.namespaces):
        yield ("teams", name, "namespaces", place), namespace, False
    for namespace in team.profiles:
        yield ("teams", name, "profiles", namespace), namespace, True
    if team.machines:
        yield ("teams", name, "machines", "namespace"), team.machines.namespace, False


def groups(agreement: Agreement) -> Iterator[Finding]:
    """Groups and owners are text; a team's group is not one that every user is in."""
    if agreement.access:
        path: Path = ("access", "platform_groups")
        if not agreement.access.platform_groups:
            yield Finding(path, "names no group, so nobody could change a queue", 'write one such as ["gpu-platform"]')
        for place, group in enumerate(agreement.access.platform_groups):
            yield from _group((*path, place), group, system=True)
        for place, namespace in enumerate(agreement.access.exempt_namespaces):
            if problem := name_problem(namespace, NAMESPACE):
                yield Finding(("access", "exempt_namespaces", place), *problem)
    for name, team in agreement.teams.items():
        for key in ("members", "leads"):
            for place, group in enumerate(getattr(team, key)):
                yield from _group(("teams", name, key, place), group, system=False)
        for profile, owner in team.profiles.items():
            yield from _group(("teams", name, "profiles", profile), owner, system=False)


def _group(path: Path, group: str, *, system: bool) -> Iterator[Finding]:
    if not group.strip():
        yield Finding(path, "is empty", "name a group as the cluster's OIDC provider does")
    elif problem := text_problem(group):
        yield Finding(path, *problem)
    elif system and group in EVERYBODY:
        yield Finding(
            path,
            f"{group!r} includes every user, so everybody could change every queue",
            "name a group of platform engineers",
        )
    elif group.startswith("system:") and not system:
        yield Finding(
            path,
            f"{group[:60]!r} is one of Kubernetes' own groups, which has members outside the team",
            "name a group that only the team is in",
        )


def without_access(agreement: Agreement) -> Iterator[Finding]:
    """Advice: rights that are agreed on, and that nothing writes."""
    for name, team in agreement.teams.items() if agreement.access is None else ():
        for key in ONLY_WITH_ACCESS:
            if getattr(team, key):
                remedy = "add [access] with platform_groups, or leave this out"
                yield Finding(("teams", name, key), "has no effect without [access]", remedy, Severity.ADVICE)


def machines(agreement: Agreement) -> Iterator[Finding]:
    """All machines together are a quantity that a quota can hold."""
    for name, team in agreement.teams.items():
        machine = team.machines
        if machine and machine.count * (2 * machine.memory + 2**30) >= MAX_QUANTITY:
            yield Finding(
                ("teams", name, "machines"),
                "need more memory in all than a quantity can hold (2^63 - 1 bytes)",
                "lower count or memory",
            )
