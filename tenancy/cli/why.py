"""`why`: why a job waits or was evicted, and what is known of when it starts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from . import common
from .common import WRONG_INPUT, FileOption, Json, Schedulers
from .where import Context, Kubeconfig, Lab, kubeconfig_of

Job = Annotated[
    str,
    typer.Argument(metavar="JOB", help="NAME, NAMESPACE/NAME or KIND/NAME: a job of any kind, a Workload or a pod."),
]
Namespace = Annotated[
    str, typer.Option("--namespace", "-n", metavar="NS", help="The job's namespace; default: search all.")
]


def why(
    job: Job,
    namespace: Namespace = "",
    file: FileOption = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    scheduler: Schedulers = None,
    json: Json = False,
) -> None:
    """Say why a job waits or was evicted: what is missing, who has it, what it may take back, when it starts."""
    from ..cluster import clients, usage
    from ..cluster import connection as reach
    from ..status import why as explained
    from ..status.why import read as live

    plan = common.plan_of(common.file_of(file))
    try:
        wanted = explained.Wanted.parse(job, namespace)
        client = clients.connect(kubeconfig_of(kubeconfig, context, lab), context)
        read = common.one_scheduler(scheduler) or live.scheduler_of(client)
        answer = explained.explain(plan, live.read(client, read, wanted), wanted, read)
    except (ValueError, explained.NotFound, reach.Unreachable, usage.NotThere) as error:
        common.stop(str(error), WRONG_INPUT)
    if json:
        common.print_json(asdict(answer))
    else:
        print(explained.text(answer), end="")
