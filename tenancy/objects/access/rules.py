"""The rules for jobs, as CEL: what each is about (`variables`), when it holds, and what is said where it does not (`rules`).

**What passes without a queue.** A Job's pods, a TrainJob's JobSet and a JobSet's Jobs carry none: Kueue counts the whole.
An owner reference alone is no proof of that, since anyone may write one, and Kueue would believe it ("ownership spoofing is
out of scope", its jobframework says). So a *part* is what names a job that vouches for it (`jobs.KINDS`) and comes from a
*controller*: from someone who may make such an object in `kube-system`, as each controller of the cluster may and no member
of a team. From anyone else such a reference is refused.

**Copies of KAI's queues.** A run of `verify` plays in namespaces of its own, and its jobs name queues that begin with the run's
name. There only such names pass, from whoever may give namespaces to teams, and no queue of the agreement (decision 31).

**Updates.** A rule looks at one only where what it is about has changed: what was admitted under another agreement can still
be stopped, finished and deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...agreement.plan import Plan
from ..identity import RUN_LABEL, RUN_PREFIX
from . import jobs
from .jobs import KAI_PRIORITY, KAI_QUEUE, PRIORITY, QUEUE, label, labels, mapping, text, texts
from .namespaces import DEFAULT_QUEUE, PROD_QUEUE
from .rbac import ASSIGN, KUEUE_GROUP, TEAMS, TEAMS_GROUP

KAI_SCHEDULER = "kai-scheduler"
KAI_PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}  # of KAI's chart
GATES = "kueue.x-k8s.io/"
MAY_ASSIGN = f"authorizer.group({text(TEAMS_GROUP)}).resource({text(TEAMS)}).check({text(ASSIGN)}).allowed()"

KaiQueues = Mapping[str, Sequence[str]]
"""Per team, the KAI queues that its jobs may name; empty where nothing is written for KAI."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`holds` and `message` are CEL over the variables; the message is text."""

    holds: str
    message: str


def variables(plan: Plan, *, kueue: bool, kai_queues: KaiQueues) -> dict[str, str]:
    """What the rules are about, each once. The server computes one when a rule first asks for it."""
    team, kai = "variables.team", bool(kai_queues)
    with_prod = texts(team.name for team in plan.teams if team.has_prod)
    queues = f"{team} in {with_prod} ? {texts((DEFAULT_QUEUE, PROD_QUEUE))} : {texts((DEFAULT_QUEUE,))}"
    classes = {**(KAI_PRIORITIES if kai else {}), **plan.priorities}
    limits = {team.name: team.highest_priority for team in plan.teams if team.highest_priority is not None}
    now, before = ("object", "variables.templates"), ("oldObject", "variables.templatesBefore")
    return {
        "creates": "request.operation == 'CREATE'",
        "team": label("namespaceObject", plan.team_label),
        "known": f"{team} in {texts(team.name for team in plan.teams)}",
        "templates": jobs.templates("object"),
        "templatesBefore": f"variables.creates ? [] : ({jobs.templates('oldObject')})",
        "asks": _asks(*now),
        "asksBefore": f"!variables.creates && ({_asks(*before)})",
        "owners": jobs.owners("object"),
        "ownersBefore": f"variables.creates ? [] : {jobs.owners('oldObject')}",
        "controller": "authorizer.group(request.resource.group).resource(request.resource.resource)"
        ".namespace('kube-system').check('create').allowed()",
        "part": f"variables.owners.exists(o, o in {texts(kind.name for kind in jobs.KINDS if kind.vouches)})"
        " && variables.controller",
        "there": queues if kueue else "[]",
        "queues": labels(*now, QUEUE),
        "queuesBefore": f"variables.creates ? [] : {labels(*before, QUEUE)}",
        **_of_kai(team, kai_queues, now, before),
        "named": _named(*now, kueue, kai),
        "namedBefore": f"variables.creates || {_named(*before, kueue, kai)}",
        "limits": mapping({name: str(limit) for name, limit in limits.items()}),
        "values": mapping({name: str(value) for name, value in classes.items()}),
        "mayName": f"{texts(plan.priorities)}.filter(p, {_within('variables.values[p]')})",
        "priority": label("object", PRIORITY),
        "priorityBefore": f"variables.creates ? '' : {label('oldObject', PRIORITY)}",
        "classes": _classes(*now, kai),
        "classesBefore": f"variables.creates ? [] : {_classes(*before, kai)}",
    }


def _of_kai(team: str, queues: KaiQueues, now: tuple[str, str], before: tuple[str, str]) -> dict[str, str]:
    """The same names where nothing is written for KAI: a server-side apply takes away no variable that another manager wrote."""
    of_run = f"({text(RUN_PREFIX)} + {label('namespaceObject', RUN_LABEL)} + '-')"
    return {
        "kaiOf": mapping({name: texts(queue) for name, queue in queues.items()}),
        "copies": f"request.namespace.startsWith({of_run}) ? {of_run} : ''",
        "kaiThere": f"variables.copies == '' ? variables.kaiOf[?{team}].orValue([]) : []" if queues else "[]",
        "kaiQueues": labels(*now, KAI_QUEUE),
        "kaiQueuesBefore": f"variables.creates ? [] : {labels(*before, KAI_QUEUE)}",
    }


def rules(*, kueue: bool, kai: bool) -> list[Rule]:
    """In the order in which they are told: of several that are broken, the first."""
    return [
        Rule(  # GPUs are for teams, whoever asks: a part too
            "variables.known || !variables.asks || variables.asksBefore",
            f"{_WHERE} + ' belongs to no team' + (variables.team == '' ? '' : {_TEAM_OF_NONE})"
            " + ', and only namespaces of teams may use GPUs: ask a platform engineer to assign this namespace to your team'",
        ),
        Rule(  # Kueue would take it for a part of another job, and not count it
            "!variables.asks || variables.owners == variables.ownersBefore || variables.controller"
            f" || !variables.owners.exists(o, o.split('/')[0] in {texts(jobs.FOLLOWED)})",
            "'the object names ' + variables.owners[0]"
            " + ' as its controller, and only that controller may do so: leave out ownerReferences'",
        ),
        *([_queue_of_the_namespace(kai)] if kueue else []),
        *([_a_queue(kueue, kai)] if kueue or kai else []),
        *([_kai_queue_of_the_team()] if kai else []),
        *([_priority()] if kueue else []),
        Rule(  # kube-scheduler stops pods of any team for a class above theirs: none but the agreement's, which know no more than Kueue
            "!variables.known || variables.part"
            " || !variables.creates && variables.classes == variables.classesBefore"
            " || !variables.classes.exists(c, c.startsWith('system-'))"
            " && (!variables.asks || object.kind == 'Pod' && object.spec.?priority.orValue(0) <= 0"
            f" || variables.classes.all(c, c in variables.values && {_within('variables.values[c]')}))",
            f"'PriorityClass ' + {_quoted('variables.classes')} + ' is above the highest priority that jobs of ' + {_TEAM}"
            " + ' may have: leave it out'",
        ),
        Rule(  # no scheduler, and so no queue, is asked about a pod that says its node
            f"!variables.asks || variables.part || !{_ON_A_NODE.format('variables.templates')}"
            f" || {_ON_A_NODE.format('variables.templatesBefore')}",
            "'the pod names a node: leave out nodeName, the scheduler sets it'",
        ),
        Rule(  # without this, whoever may update a pod starts it before its turn
            "object.kind != 'Pod' || variables.creates || !variables.asks"
            f" || {_gates('oldObject')}.all(g, g in {_gates('object')}) || authorizer.group({text(KUEUE_GROUP)})"
            ".resource('workloads').subresource('status').check('update').allowed()",
            "'only Kueue may remove the scheduling gates of a waiting pod: leave schedulingGates as they are'",
        ),
    ]


def _queue_of_the_namespace(kai: bool) -> Rule:
    wrong = "variables.queues.filter(q, !(q in variables.there))"
    return Rule(
        "!variables.known || variables.part || variables.queues.all(q, q in variables.there)"
        " || !variables.creates && variables.queues == variables.queuesBefore",
        f"'there is no queue ' + {_quoted(wrong)} + ' in ' + {_WHERE}"
        f" + ({text(PROD_QUEUE)} in {wrong} ? ' (' + {_TEAM} + ' has no prod slice)' : '') + ': ' + {_set_label(True, kai)}",
    )


def _a_queue(kueue: bool, kai: bool) -> Rule:
    return Rule(
        "!variables.known || variables.part || !variables.asks || variables.named"
        " || variables.asksBefore && !variables.namedBefore",
        f"'the job requests GPUs but names no queue: ' + {_set_label(kueue, kai)}",
    )


def _kai_queue_of_the_team() -> Rule:
    """Parts too: KAI reads the label of the pod, or of what it is a part of."""
    wrong = (
        "variables.kaiQueues.filter(q, !(q in variables.kaiThere))"  # without rights, which a message cannot ask about
    )
    return Rule(
        f"!variables.known || variables.kaiQueues.all(q, q in variables.kaiThere || {_A_COPY})"
        " || !variables.creates && variables.kaiQueues == variables.kaiQueuesBefore",
        f"'KAI queue ' + {_quoted(wrong)} + ' is not one ' + (variables.copies == ''"
        f" ? 'of ' + {_TEAM} + ': set the label ' + {text(KAI_QUEUE)} + ' to ' + {_quoted('variables.kaiThere')}"
        " : 'for this namespace, which belongs to a run of tenancy verify: jobs here name sandbox queues, whose names begin with ' + variables.copies)",
    )


def _priority() -> Rule:
    return Rule(
        "!variables.known || variables.part || variables.priority == '' || variables.priority in variables.mayName"
        " || variables.priority == variables.priorityBefore",
        f"'priority ' + {_quoted('[variables.priority]')} + (variables.priority in variables.values"
        f" ? ' is above the highest that jobs of ' + {_TEAM} + ' may name' : ' is not in the agreement')"
        f" + (variables.mayName.size() == 0 ? ': name none' : ': set the label ' + {text(PRIORITY)} + ' to '"
        f" + {_quoted('variables.mayName')} + ', or leave it out')",
    )


def _set_label(kueue: bool, kai: bool) -> str:
    """What would be right."""
    ways = {
        f"set the label {QUEUE} to ": "variables.there" if kueue else "",
        f"set schedulerName {KAI_SCHEDULER} and the label {KAI_QUEUE} to ": "variables.kaiThere" if kai else "",
    }
    return " + ', or on KAI ' + ".join(f"{text(words)} + {_quoted(names)}" for words, names in ways.items() if names)


def _asks(job: str, templates: str) -> str:
    """What a TrainJob asks for may be its runtime's, which no policy sees: in a team's namespace it always names a queue."""
    return f"(variables.known && {job}.kind == 'TrainJob') || {jobs.asks(templates)}"


def _named(job: str, templates: str, kueue: bool, kai: bool) -> str:
    """Whether a job names a queue where the scheduler looks for it: Kueue on the job, and on the pods of what it counts by
    pods; KAI on the job or on its pods, which it must also be given."""
    ways = []
    if kueue:
        by_pod = texts(kind.kind for kind in jobs.KINDS if not kind.vouches)
        ways.append(f"{label(job, QUEUE)} != ''")
        ways.append(f"{job}.kind in {by_pod} && {templates}.all(t, {label('t', QUEUE)} != '')")
    if kai:
        of_job = f"{label(job, KAI_QUEUE)} != ''"
        given = f"t.?spec.?schedulerName.orValue('') == {text(KAI_SCHEDULER)}"
        ways.append(f"{job}.kind == 'TrainJob' && {of_job}")  # who schedules its pods is its runtime's to say
        ways.append(
            f"{job}.kind != 'TrainJob' && {templates}.all(t, {given} && ({of_job} || {label('t', KAI_QUEUE)} != ''))"
        )
    return f"({' || '.join(ways) or 'true'})"


def _classes(job: str, templates: str, kai: bool) -> str:
    """Every PriorityClass that is named: its value counts in Kueue where the job names no WorkloadPriorityClass."""
    named = f"{templates}.map(t, t.?spec.?priorityClassName.orValue('')).filter(c, c != '')"
    return f"{named} + {labels(job, templates, KAI_PRIORITY)}" if kai else named


def _within(value: str) -> str:
    return f"(!(variables.team in variables.limits) || {value} <= variables.limits[variables.team])"


def _gates(pod: str) -> str:
    """Kueue's gates on a pod."""
    return f"{pod}.spec.?schedulingGates.orValue([]).map(g, g.name).filter(g, g.startsWith({text(GATES)}))"


def _quoted(names: str) -> str:
    """Names as a person writes them: 'a' or 'b'."""
    return f"""{names}.map(n, "'" + n + "'").join(' or ')"""


_WHERE = """('namespace ' + "'" + request.namespace + "'")"""
_TEAM = """('team ' + "'" + variables.team + "'")"""
_TEAM_OF_NONE = """" (the agreement has no team '" + variables.team + "')\""""
_A_COPY = (  # a team's own queue is none, whatever its name begins with
    f"variables.copies != '' && q.startsWith(variables.copies) && (variables.part || {MAY_ASSIGN})"
    " && !variables.kaiOf.exists(t, q in variables.kaiOf[t])"
)
_ON_A_NODE = "{}.exists(t, t.?spec.?nodeName.orValue('') != '')"
