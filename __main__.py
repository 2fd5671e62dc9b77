"""The program: a stack's settings, the agreement they name, the components.

Everything that can be wrong is said before the first object is registered: findings in the agreement's own words, a
cluster that does not answer, names that are taken.
"""

import asyncio
from dataclasses import replace
from typing import Any

import pulumi

from components import Settings, TenancyAgreement, TenancyAgreementArgs, cluster_provider, recorded_objects
from components.order import put_back
from tenancy.cluster.preflight import Cluster, PreflightError
from tenancy.objects.loading import load
from tenancy.review.update_warnings import warnings


def clear_the_way(args: TenancyAgreementArgs, settings: Settings) -> TenancyAgreementArgs:
    """Refuses what could not be written whole, sees to what people or a killed update did. Returns what can be written."""
    cluster = Cluster(settings.kubeconfig, settings.context)
    found = cluster.look(args.agreement.cluster.name, args.kinds, args.objects())
    record = recorded_objects() if found.different or found.there else {}
    if refusals := found.refusals(record, adopt=settings.adopt, prune=settings.prune):
        raise pulumi.RunError("\n".join(refusals))
    for warning in warnings(found, record, args.agreement, retain=settings.retain, timeout=settings.timeout):
        pulumi.log.warn(warning)
    if not pulumi.runtime.is_dry_run():
        cluster.write(put_back(found.there, found.by_hand(record).values()))
        cluster.remove(args.kinds, found.left(record))
    return replace(args, before=record, without=found.absent)


# The SDK sends every debug message, five for each resource, in a call that waits for the engine: a third of a preview's
# time (bench/up.py). The engine's and the provider's own, which `pulumi --debug` is for, are not sent from here.
pulumi.log.debug = lambda *_, **__: None
settings = Settings.of_stack()
loaded = load(settings.agreement)
if loaded.agreement is None:
    raise pulumi.RunError("\n".join(map(str, loaded.findings)))
for advice in loaded.findings:
    pulumi.log.info(str(advice))
args = TenancyAgreementArgs(agreement=loaded.agreement, schedulers=settings.schedulers, namespaces=settings.namespaces)
try:
    args = clear_the_way(args, settings)
except PreflightError as error:
    raise pulumi.RunError(str(error)) from None
opts = settings.options(cluster_provider("cluster", kubeconfig=settings.kubeconfig, context=settings.context))


async def main() -> dict[str, Any]:
    """Lets all registrations begin before the SDK first asks what is left to do: it would look through all of them again
    at each answer, which for 500 teams is half of its time (bench/up.py)."""
    made = TenancyAgreement("agreement", args, opts)
    await asyncio.sleep(0)
    return {"queues": made.queues}


pulumi.run(main)
