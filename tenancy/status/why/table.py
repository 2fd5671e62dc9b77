"""Every reason of Kueue's and KAI's that is known, in one table: where it is seen, how it is recognized, what it means.

A row is a fact of a scheduler's source (Kueue 0.19.2, KAI 0.12.0). Each has a case that was recorded on a real one
(tests/status/why), and a test says which. What no row knows is shown as the scheduler said it, and nothing is made of it.

`means` and `help` are sentences. In them stand the named groups of `message`, and what is known of the job: itself, its team,
namespace and queue (`Case.context`).
"""

from __future__ import annotations

from .reasons import Row

QUOTA, ADMITTED, EVICTED, PREEMPTED = "QuotaReserved", "Admitted", "Evicted", "Preempted"  # conditions of a Workload
SCHEDULED = "PodScheduled"  # of a pod
EVICT = "Evict"  # an event on a PodGroup
NAME, FLAVOR, RESOURCE = r"[^\s,;]+", r"(?P<flavor>[^\s,;]+)", r"(?P<resource>[^\s,;]+)"

KUEUE = (
    # --- why it has no quota: pkg/scheduler/flavorassigner
    Row(
        "short",
        QUOTA,
        rf"insufficient unused quota for {RESOURCE} in flavor {FLAVOR}, (?P<amount>\S+) more needed",
        means="{flavor}: it can get {amount} less than it asks for now.",
        help="{amount} of {flavor} are given back",
    ),
    Row(
        "maximum",
        QUOTA,
        rf"insufficient quota for {RESOURCE} in flavor {FLAVOR}, previously considered podsets requests \((?P<before>[^()]*)\)"
        r" \+ current podset request \((?P<request>[^()]*)\) > maximum capacity \((?P<most>[^()]*)\)",
        means="{flavor}: it asks for more in one job than its queue can ever have, which is {most}.",
        help="it asks for at most {most} in one job, or the agreement changes",
        never=True,
    ),
    Row(
        "taint",
        QUOTA,
        rf"untolerated taint \{{(?P<taint>[^{{}}]*)\}} in flavor {FLAVOR}",
        means="{flavor}: its nodes have the taint {taint}, which the job does not tolerate.",
        help="its pods tolerate {taint}, where whoever owns these nodes allows that",
        never=True,
    ),
    Row(
        "nodes",
        QUOTA,
        rf"flavor {FLAVOR} doesn't match node affinity",
        means="{flavor}: the job's nodeSelector or node affinity names other nodes.",
        help="its nodeSelector names the nodes of a flavor ({selectors}), or none",
    ),
    Row(
        "resource",
        QUOTA,
        rf"(?:resource {RESOURCE} unavailable in ClusterQueue|flavor {NAME} does not provide resource (?P<also>\S+))",
        means="The job asks for {resource}{also}, which the agreement gives to no team.",
        help="it asks only for what the agreement has: {resources}",
        never=True,
    ),
    Row(
        "topology-some",
        QUOTA,
        r'topology "(?P<topology>[^"]*)" allows to fit only (?P<fit>\d+) out of (?P<pods>\d+) (?:pod|slice)\(s\)(?:\. Total nodes: (?P<nodes>\d+); excluded: (?P<excluded>(?:\w+(?: "[^"]*")?: \d+(?:, )?)+))?',
        means="{on}{levels}quota is enough, but the nodes are not: only {fit} of its {pods} pods have room together{excluded}.",
        help="jobs leave nodes {together}, or it asks for fewer pods{wider}",
    ),
    Row(
        "selector",
        QUOTA,
        r'topology "(?P<topology>[^"]*)" doesn\'t allow to fit any of \d+ (?:pod|slice)\(s\)\. Total nodes: (?P<nodes>\d+); '
        r"excluded: nodeSelector: (?P=nodes)(?![\d,])",
        means="{on}the job's nodeSelector names labels that none of its {nodes} nodes has.",
        help="its nodeSelector names the nodes of a flavor ({selectors}), or none",
        never=True,
    ),
    Row(
        "topology-none",
        QUOTA,
        r'topology "(?P<topology>[^"]*)" doesn\'t allow to fit any of (?P<pods>\d+) (?:pod|slice)\(s\)(?:\. Total nodes: (?P<nodes>\d+); excluded: (?P<excluded>(?:\w+(?: "[^"]*")?: \d+(?:, )?)+))?',
        means="{on}{levels}quota is enough, but no node has room for even one of its pods{excluded}.",
        help="jobs leave nodes {together}, or it asks for smaller pods",
    ),
    Row(
        "topology-level",
        QUOTA,
        r'Flavor "(?P<flavor>[^"]*)" (?:does not contain the requested level|does not support TopologyAwareScheduling)',
        means="{flavor}: its nodes have no topology level that the job names.",
        help="it names a level that the flavor's topology has; the agreement's topologies have {topologies}",
        never=True,
    ),
    Row(
        "node-size",
        "spec",
        means="{flavor}: a pod asks for {each}, and a node has {node}.",
        help="each of its pods asks for at most {node}",
        never=True,
    ),
    Row(
        "host-size",
        "spec",
        means="{flavor}: all its pods must share one host, which has {node}, and they ask for {total}.",
        help="it asks for at most {node}, or requires a wider level than one host",
        never=True,
    ),
    # --- what Kueue is about to do, or has not done yet
    Row(
        "making-room",
        QUOTA,
        r"Pending the preemption of (?P<count>\d+) workload\(s\)",
        means="Kueue is preempting {count} {jobs} to free capacity for it.",
    ),
    Row(
        "equal",
        QUOTA,
        r"Bypassed scheduling evaluation because an equivalent workload recently failed",
        means="Kueue gives a reason to only one of several equal jobs. The reason below is that of {other}, which asks for the same.",
    ),
    Row(
        "not-looked",
        QUOTA,
        r"pending evaluation in the scheduling queue",
        means="Kueue has not looked at it since something changed.",
    ),
    Row(
        "not-again",
        QUOTA,
        r"^(?:Exceeded the PodsReady timeout|Preempted to accommodate|Evicted due to|Workload was evicted|The (?:Cluster|Local)Queue is stopped)",
        means="Kueue has not looked at it again since it was evicted.",
    ),
    Row(
        "head",
        "ClusterQueue.queueingStrategy",
        reason="StrictFIFO",
        means="{queue} is StrictFIFO: no job starts before {head}, which is first in it.",
        help="{head} starts, or is removed",
    ),
    # --- queues: pkg/controller/core/workload_controller.go
    Row(
        "no-local-queue",
        QUOTA,
        r"LocalQueue (?P<local>\S+) (?:doesn't exist|is terminating or missing)",
        means="The job names the queue {local}, and namespace {namespace} has no LocalQueue of that name.",
        help="it names a queue of its namespace: kueue.x-k8s.io/queue-name: {queues}",
        never=True,
    ),
    Row(
        "local-queue-held",
        QUOTA,
        r"LocalQueue (?P<local>\S+) is (?:inactive|stopped)",
        means="LocalQueue {namespace}/{local} is switched off{stopped}.",
        help="somebody sets its stopPolicy to None",
        never=True,
    ),
    Row(
        "cluster-queue-held",
        QUOTA,
        r"ClusterQueue (?P<cluster>\S+) is (?:inactive|stopped)",
        means="ClusterQueue {cluster} is switched off{stopped}.",
        help="somebody sets its stopPolicy to None",
        never=True,
    ),
    Row(
        "no-team",
        QUOTA,
        r"workload namespace doesn't match ClusterQueue selector",
        means="{outsider}",
        help="it is submitted in a namespace of {owner}, or {namespace} becomes one (label {team_label}: {owner})",
        never=True,
    ),
    Row(
        "no-label",
        "metadata.labels",
        means="It names no queue: the label kueue.x-k8s.io/queue-name is missing, so Kueue does not look at it.",
        help="the {kind} has the label kueue.x-k8s.io/queue-name: {queues}",
        never=True,
    ),
    Row(
        "no-team-namespace",
        "Namespace",
        means="Namespace {namespace} belongs to no team: it has no label {team_label}, so it has no queue.",
        help="it is submitted in a namespace of a team, or {namespace} becomes one (label {team_label}: {teams})",
        never=True,
    ),
    # --- after quota: admission checks
    Row(
        "checks",
        ADMITTED,
        reason="UnsatisfiedAdmissionChecks",
        means="It holds its quota. It starts when the admission checks of its queue are ready: {checks}.",
        help="these checks become ready",
    ),
    Row(
        "pods-wait",
        SCHEDULED,
        reason="Unschedulable",
        means="It holds its quota, and {waiting} find no node: nodes may be broken, or used by pods "
        "outside the queues.",
        help="nodes have room for its pods again",
    ),
    # --- why it was stopped. Once it has quota again the same words stand after "Previously: ".
    Row(
        "stopped-queue",
        EVICTED,
        r"The ClusterQueue is stopped",
        means="its ClusterQueue was switched off, and all its jobs were evicted",
    ),
    Row(
        "stopped-local",
        EVICTED,
        r"The LocalQueue is stopped",
        means="its LocalQueue was switched off, and all its jobs were evicted",
    ),
    Row(
        "stopped-ready",
        EVICTED,
        r"Exceeded the PodsReady timeout",
        means="not all its pods were ready in time, so Kueue took its quota back, to try again later",
    ),
    Row(
        "stopped-check",
        EVICTED,
        r"in Retry state: (?P<checks>.*)",
        means="an admission check of its queue took its quota back, to try again: {checks}",
    ),
    Row(
        "stopped-rejected",
        EVICTED,
        r"in Rejected state: (?P<checks>.*)",
        means="an admission check of its queue rejected it: {checks}",
        never=True,
    ),
    Row(
        "stopped-time",
        EVICTED,
        r"exceeding the maximum execution time",
        means="it reached its own time limit (label kueue.x-k8s.io/max-exec-time-seconds)",
        never=True,
    ),
    Row(
        "stopped-node",
        EVICTED,
        r"no replacement for unhealthy node\(s\): (?P<failed>[^\s,]+(?:, ?[^\s,]+)*)",
        means="its node {failed} failed, and no other had room for the pods that were there",
    ),
    Row(
        "stopped-hand",
        EVICTED,
        r"The workload is deactivated$",
        means="somebody switched it off (spec.active: false)",
        never=True,
    ),
    Row(
        "reclaimed",
        PREEMPTED,
        reason="InCohortReclamation",
        means="{by} took back what {by_team} is guaranteed: {team} was using more than its own guarantee.",
    ),
    Row(
        "outranked",
        PREEMPTED,
        reason="InClusterQueue",
        means="{by} has a higher priority in the same queue, and there was no capacity for both.",
    ),
    Row(
        "fair",
        PREEMPTED,
        reason="InCohortFairSharing",
        means="{by} took it for {by_team}'s fair share of what is lent: {team} had more than its share.",
    ),
    Row(
        "outranked-borrowing",
        PREEMPTED,
        reason="InCohortReclaimWhileBorrowing",
        means="{by} has a higher priority, and {by_team} may preempt jobs of lower priority to borrow (borrowWithinCohort).",
    ),
)


KAI = (
    # --- why a pod waits: pkg/scheduler/api, plugins/proportion/capacity_policy
    Row(
        "limit",
        SCHEDULED,
        r"OverLimit: (?P<queue>.+?) quota has reached the allowable limit of (?:GPUs|CPU cores|memory)\. "
        r"Limit is (?P<most>\S+) (?P<unit>\S+), currently (?P<used>\S+) \S+ allocated and workload requested (?P<request>\S+)",
        means="{limit} {used} of {most} {unit} are in use, and it asks for {more}.",
        help="{more} {are} given back in the queue {queue}",
    ),
    Row(
        "over-quota",
        SCHEDULED,
        r"NonPreemptibleOverQuota: .*?Workload requested (?P<request>\S+) (?P<unit>GPUs|CPU cores|GB memory), but (?P<queue>.+?) "
        r"quota is (?P<most>\S+) [^,]+, while (?P<used>\S+) ",
        means="Jobs of its priority class ({priority}) are never preempted, so they may not borrow: all of them must fit the quota of "
        "{queue}, {most} {unit}. {used} are in use by such jobs, and it asks for {more}.",
        help="it has a priority class below 100, such as train: then it may borrow, and be preempted",
    ),
    Row(
        "pod-size",
        SCHEDULED,
        r"MaxNodePoolResources: The pod \S+ requires (?P<each>.*?)\. Max (?P<what>\w+) resources available in a single node in "
        r"the (?P<pool>\S+) node-pool is topped at (?P<node>[\d.]+)\.",
        means="A pod asks for more than any node has: the largest has {node} {what}.",
        help="each of its pods asks for at most {node} {what}",
        never=True,
    ),
    Row(
        "gang",
        SCHEDULED,
        r"Resources were found for (?P<fit>\d+) pods while (?P<pods>\d+) are required for gang scheduling",
        means="It starts with {pods} pods or not at all, and nodes have room for {fit} of them now.",
        help="jobs leave nodes enough for {pods} of its pods at once",
    ),
    Row(
        "no-node",
        SCHEDULED,
        r"no nodes with enough resources were found(?:: (?P<why>.*?)\.(?:\.|$|\s))?",
        means="Its queue may have it, but no node has room for a pod of it{nodes}.",
        help="jobs leave a node enough for one of its pods",
    ),
    # --- what is never said of a pod: read from its PodGroup, its labels and the queues
    Row(
        "gang-incomplete",
        "NotReady",
        r"Waiting for (?P<pods>\d+) pods, currently (?P<there>\d+) exist",
        means="Its PodGroup wants {pods} pods to start together, and only {exist} exist.",
        help="whoever makes its pods makes all {pods}, or the PodGroup's minMember is smaller",
        never=True,
    ),
    Row(
        "no-kai-queue",
        "Queue",
        r"^no queue$",
        means="It names the queue {queue}, which does not exist. KAI ignores the job, and reports nothing.",
        help="its pods have the label kai.scheduler/queue: {queues}",
        never=True,
    ),
    Row(
        "no-queue-label",
        "Queue",
        r"^no label$",
        means="It names no queue: the label kai.scheduler/queue is missing, and no queue default-queue takes it.",
        help="its pods have the label kai.scheduler/queue: {queues}",
        never=True,
    ),
    Row(
        "parent-queue",
        "Queue",
        r"^parent$",
        means="It names the queue {queue}, which has queues below it: only those take jobs.",
        help="its pods have the label kai.scheduler/queue: {queues}",
        never=True,
    ),
    # --- why it was stopped: events on its PodGroup
    Row(
        "outranked-kai",
        EVICT,
        r"was preempted by higher priority workload (?P<group>\S+)",
        means="{by} has a higher priority in the same queue, and there was no capacity for both.",
    ),
    Row(
        "reclaimed-kai",
        EVICT,
        r"was preempted by workload (?P<group>[^\s]+?)\.?(?:\s|$)",
        means="{by} took back what {by_team} is guaranteed: {team} was using more than its own guarantee.",
    ),
)
