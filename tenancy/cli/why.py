"""`why`: why a job waits or was stopped, and what is known of when it starts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from . import common
from .common import DEFAULT_FILE, WRONG_INPUT, Json
from .status import Context, Kubeconfig, Lab, Scheduler, kubeconfig_of

Job = Annotated[
    str,
    typer.Argument(metavar="JOB", help="NAME, NAMESPACE/NAME or KIND/NAME: a job of any kind, a Workload or a pod."),
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", metavar="NS", help="Where it is; default: anywhere.")]
AgreementFile = Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="The agreement.", show_default=True)]


def why(
    job: Job,
    namespace: Namespace = "",
    file: AgreementFile = DEFAULT_FILE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    scheduler: Scheduler = None,
    json: Json = False,
) -> None:
    """Say why a job waits or was stopped: what is missing, who has it, what it may take back, when it starts."""
    from ..cluster import clients, usage
    from ..cluster import connection as reach
    from ..status import why as explained
    from ..status.why import read as live

    plan = common.plan_of(file)
    if scheduler is not None and scheduler not in usage.SCHEDULERS:
        common.stop(f"--scheduler {scheduler}: there are {' and '.join(usage.SCHEDULERS)}")
    try:
        wanted = explained.Wanted.parse(job, namespace)
        client = clients.connect(kubeconfig_of(kubeconfig, context, lab), context)
        scheduler = scheduler or live.scheduler_of(client)
        answer = explained.explain(plan, live.read(client, scheduler, wanted), wanted, scheduler)
    except (ValueError, explained.NotFound, reach.Unreachable, usage.NotThere) as error:
        common.stop(str(error), WRONG_INPUT)
    if json:
        common.print_json(asdict(answer))
    else:
        print(explained.text(answer), end="")
