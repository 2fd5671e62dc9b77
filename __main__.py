"""The program: a stack's configuration, the agreement it names, the components.

Everything that can be wrong is said before the first object is registered: findings in the agreement's own words, a cluster
that does not answer, names that are taken. `Pulumi.dev.yaml` shows every setting.
"""


import pulumi

from components import TenancyAgreement, TenancyAgreementArgs, cluster_provider, recorded_objects
from tenancy.agreement import Agreement, load
from tenancy.fidelity import Scheduler
from tenancy.live.preflight import Cluster, PreflightError
from tenancy.live.reach import Unreachable


def agreement_of(file: str) -> Agreement:
    loaded = load(file)
    if loaded.agreement is None:
        raise pulumi.RunError("\n".join(map(str, loaded.findings)))
    for advice in loaded.findings:
        pulumi.log.info(str(advice))
    return loaded.agreement


def clear_the_way(
    args: TenancyAgreementArgs, kubeconfig: str | None, context: str | None, *, adopt: bool, prune: bool
) -> None:
    """Refuses what cannot be written whole, and sees to what a killed update left."""
    cluster = Cluster(kubeconfig, context)
    found = cluster.look(args.agreement.cluster.name, args.kinds, args.objects())
    refusals = found.refusals(adopt=adopt)
    left = [it for it in found.unmade if it not in recorded_objects()] if found.unmade else []
    if left and not prune:
        refusals.append(
            f"{', '.join(left)}: left by an update that was killed; remove it, or set tenancy:prune to true"
        )
    if refusals:
        raise pulumi.RunError("\n".join(refusals))
    if left:
        pulumi.log.warn(f"Left by an update that was killed, and removed by this one: {', '.join(left)}")
        if not pulumi.runtime.is_dry_run():
            cluster.remove(args.kinds, left)


config = pulumi.Config("tenancy")
kubeconfig, context = config.get("kubeconfig"), config.get("context")
schedulers = tuple(map(Scheduler, config.get_object("schedulers") or [Scheduler.KUEUE]))
args = TenancyAgreementArgs(agreement=agreement_of(config.require("agreement")), schedulers=schedulers)
try:
    clear_the_way(args, kubeconfig, context, adopt=bool(config.get_bool("adopt")), prune=bool(config.get_bool("prune")))
except (Unreachable, PreflightError) as error:
    raise pulumi.RunError(str(error)) from None
timeout = config.get("timeout")
opts = pulumi.ResourceOptions(
    provider=cluster_provider("cluster", cluster=args.agreement.cluster.name, kubeconfig=kubeconfig, context=context),
    protect=config.get_bool("protect"),
    custom_timeouts=pulumi.CustomTimeouts(create=timeout, update=timeout, delete=timeout) if timeout else None,
)
pulumi.export("queues", TenancyAgreement("agreement", args, opts).queues)
