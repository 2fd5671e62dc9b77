"""A job that Kueue does not have: no queue is named, nobody's namespace, or Kueue does not look at its kind."""

from __future__ import annotations

from ...cluster.jobs import PodSet
from ...cluster.requests import of_pod
from ...objects.access.namespaces import DEFAULT_QUEUE, PROD_QUEUE
from .amounts import Requests
from .case import Case
from .model import Answer, Reason, State, When
from .reasons import explain, match
from .snapshot import NONE, Object, is_true, labels_of, name_of, namespace_of, spec_of
from .table import KUEUE
from .when import NEVER

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def outside(case: Case) -> Answer:
    """It has no Workload: no queue is named, or Kueue does not look at it."""
    body, space, kind = case.target.body or NONE, case.target.namespace, case.target.kind
    named = labels_of(body).get(QUEUE_LABEL, "") if body else ""
    local = [name_of(queue) for queue in case.snapshot.of("LocalQueue") if namespace_of(queue) == space]
    asks = _requests_of(body)
    text = asks.in_words(case.plan) if asks.pods else ""
    suspended = spec_of(body).get("suspend") is True
    team = case.plan.team.get(case.owner)
    queues = local or [DEFAULT_QUEUE, *([PROD_QUEUE] if team and team.has_prod else [])]
    where = "" if local else " (the namespace has no LocalQueue yet)"
    context = {
        "namespace": space,
        "team_label": case.plan.team_label,
        "teams": " or ".join(case.plan.team),
        "kind": kind,
        "named": named,
        "queues": " or ".join(queues) + where,
    }
    known = case.owner or "Namespace" in case.snapshot.unseen
    seen = "metadata.labels" if known else "Namespace"
    reasons = [explain(entry, context) for entry in match(KUEUE, seen, "", "")]
    if known and named:
        text_of = f"It names the queue {named}, and Kueue has made no Workload for it."
        reasons = [Reason("no-workload", text_of, f"Kueue runs, and manages a {kind}")]
    job = str(case.target)
    if any(is_true(body, entry) for entry in ("Complete", "Failed")):
        return Answer(job, kind, "kueue", State.FINISHED, f"{case.named} has ended.", text)
    state, headline = State.OUTSIDE, f"{case.named} is not in a queue of the agreement."
    if suspended:
        state, headline = State.WAITING, f"{case.named} is suspended, and no scheduler will start it."
    return Answer(
        job,
        kind,
        "kueue",
        state,
        headline,
        text,
        reasons=tuple(reasons),
        help=tuple(reason.help for reason in reasons),
        when=When(NEVER, NEVER, True) if suspended and not (known and named) else None,
    )


def _requests_of(body: Object) -> Requests:
    """Of a Job or a pod that has no Workload; of other kinds nothing is known."""
    spec = spec_of(body)
    if "containers" in spec:
        return Requests((PodSet("main", 1, of_pod(spec), spec.get("nodeSelector") or {}),))
    template = (spec.get("template") or NONE).get("spec") or NONE
    if "containers" not in template:
        return Requests(())
    return Requests(
        (PodSet("main", int(spec.get("parallelism") or 1), of_pod(template), template.get("nodeSelector") or {}),)
    )
