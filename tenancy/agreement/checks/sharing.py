"""Sharing: combinations that the schedulers refuse, or that would do nothing.

Source: Kueue's Configuration API (`FairSharing.preemptionStrategies`: three legal lists; `AdmissionFairSharing`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...text.counts import some
from ...text.spelling import did_you_mean
from ..findings import Finding, Path, Severity
from ..hardware import by_flavor, resolve
from ..model import Agreement

STRATEGIES = (
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
)
ORDINARY = 1000


def fair(agreement: Agreement) -> Iterator[Finding]:
    """Strategies Kueue knows, in its order, and only where it shares fairly; weights that nothing reads."""
    path: Path = ("sharing", "preemption_strategies")
    given = agreement.sharing.preemption_strategies
    if given and given not in STRATEGIES:
        legal = " or ".join("[" + ", ".join(f'"{entry}"' for entry in one) + "]" for one in STRATEGIES)
        yield Finding(path, "is not a list that Kueue accepts", f"write {legal}")
    is_fair = agreement.sharing.policy == "fair"
    if given and not is_fair:
        yield Finding(path, 'has an effect only with policy "fair"', 'write policy = "fair", or leave it out')
    for table in ("departments", "teams"):
        for name, value in getattr(agreement, table).items():
            if value.weight != ORDINARY and not is_fair:
                message = 'Kueue uses weights only with [sharing] policy = "fair"; KAI uses them always'
                remedy = 'write policy = "fair" in [sharing] if Kueue should use them too'
                yield Finding((table, name, "weight"), message, remedy, Severity.ADVICE)


def guarantees(agreement: Agreement) -> Iterator[Finding]:
    """Advice: where fair sharing holds back a guarantee that stands on a Cohort (measured; kueue#9406)."""
    if agreement.sharing.policy != "fair" or agreement.cluster.guarantee_on == "queue" or len(agreement.flavors) == 1:
        return
    teams = [
        name
        for name, team in agreement.teams.items()
        if any(amount.count for amount in by_flavor(team.prod, agreement).values())
    ]
    if teams:
        shown = some(teams, 3)
        message = (
            f"with fair sharing, {shown} may have to wait for guaranteed GPUs of one flavor while borrowing another flavor: "
            "a team with a prod slice has its guarantee on a Cohort, and Kueue compares the shares of Cohorts over all flavors together"
        )
        yield Finding(("sharing", "policy"), message, 'write guarantee_on = "queue" in [cluster]', Severity.ADVICE)


def usage(agreement: Agreement) -> Iterator[Finding]:
    """Times above zero, resources that the agreement has."""
    usage_sharing = agreement.sharing.usage
    if usage_sharing is None:
        return
    for key in ("half_life", "sampling_interval"):
        if not getattr(usage_sharing, key):
            yield Finding(("sharing", "usage", key), "is zero", 'write a time such as "5m"')
    known = {"cpu": 0, "memory": 0} | {resolve(name, flavor).resource: 0 for name, flavor in agreement.flavors.items()}
    for resource in usage_sharing.resource_weights:
        if resource not in known:
            message = f"{resource[:60]!r} is not a resource of this agreement's flavors"
            remedy = did_you_mean(resource, known, f"known are {', '.join(known)}")
            yield Finding(("sharing", "usage", "resource_weights", resource), message, remedy, on_key=True)
