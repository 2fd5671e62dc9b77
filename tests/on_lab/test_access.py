"""Who may do what, on the real API server: each rule with what it lets pass and what it refuses, as the people it is for.

alice is of team ranking, which has a prod slice; bob of asr, which has none; lea leads ranking; pat is a platform engineer;
eve may edit namespaces and pods everywhere, by roles that are not ours.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.models.authorization_v1 import ResourceAttributes, SubjectAccessReviewSpec
from lightkube.resources.authorization_v1 import SubjectAccessReview
from lightkube.resources.core_v1 import Pod

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import Workload, connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.objects import access, kueue
from tenancy.objects.access import Namespaces, namespaces, quotas, rbac
from tenancy.objects.identity import RUN_LABEL

from .conftest import plan_of
from .people import IMAGE, KAI_QUEUE, PRIORITY, QUEUE, Object, Person, crds, job, pod_template
from .stacks import Project, lacking

pytestmark = pytest.mark.timeout(600)

PATIENCE = 120.0
HOSTILE = """it's "quoted" \\ {{ .Name }} ' || true || '"""
AGREEMENT = f"""
[cluster]
name = "access"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
[priorities]
low = 10
mid = 100
prod-workload = 1000
[access]
platform_groups = ["gpu-platform"]
exempt_namespaces = ["monitoring"]
[teams.ranking]
guaranteed = 16
prod = 8
members = ["ranking"]
leads = ["ranking-leads"]
namespaces = ["ranking-dev"]
[teams.asr]
guaranteed = 8
members = ["asr"]
namespaces = ["asr-dev"]
[teams.verify-1a2b3c-1-all]
guaranteed = 1
[teams.vision]
members = [{json.dumps(HOSTILE)}]
namespaces = ["vision-dev"]
machines = {{ namespace = "vision-vms", count = 1, vcpus = 1, memory = "1Gi" }}
"""
MAY_EDIT = "may-edit-everywhere"
URGENT = "urgent"  # a PriorityClass of the cluster's own, above all of the agreement's
# Of ranking but without LocalQueues, so that Kueue does not name `default` by itself; of nobody; of a team that is gone.
# And two with the label of a run of `verify`, of which one has the name of a run's, too.
RUN, OF_RUN, LABELLED = "1a2b3c", "verify-1a2b3c-1-ranking", "labelled"
OTHERS = {
    "bare": "ranking",
    "nobodys": "",
    "left": "dissolved",
    "monitoring": "",
    OF_RUN: "ranking",
    LABELLED: "ranking",
}
KINDS = (
    *("Job", "Pod", "JobSet", "TrainJob", "PyTorchJob", "MPIJob", "RayJob", "RayCluster", "Notebook"),
    *("Deployment", "StatefulSet"),
)


@dataclass(frozen=True)
class Cluster:
    plan: Plan
    client: Client
    admin: Person

    def person(self, user: str, *groups: str) -> Person:
        return replace(self.admin, user=user, groups=groups)

    def alice(self) -> Person:
        return self.person("alice", "ranking")

    def bob(self) -> Person:
        return self.person("bob", "asr")

    def eve(self) -> Person:
        return self.person("eve", MAY_EDIT)


@pytest.fixture(scope="module")
def cluster(labs: Path) -> Iterator[Cluster]:
    agreed = plan_of(AGREEMENT)
    folder = lab.up(agreed, "access", ("trainer",))
    apply(folder.kubeconfig, crds())
    apply(folder.kubeconfig, [*kueue.objects(agreed), *access.objects(agreed, Namespaces.LISTED), *others(agreed)])
    found = Cluster(agreed, connect(str(folder.kubeconfig)), Person(folder.kubeconfig))
    until(lambda: "is refused" if found.admin.tries(job("Job", "nobodys")).refused else "", lambda: "no policy acts")
    yield found
    lab.down("access")


def others(agreed: Plan) -> Iterator[Object]:
    """More namespaces, in which alice may submit and eve may edit; team labels are written before the policies act."""
    for name, team in OTHERS.items():
        labels = ({agreed.team_label: team} if team else {}) | ({RUN_LABEL: RUN} if name in (OF_RUN, LABELLED) else {})
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for one in rbac.role_bindings(agreed, agreed.team["ranking"], name):
            yield {**one, "metadata": {"name": one["metadata"]["name"], "namespace": name}}  # not the agreement's
    yield {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": URGENT}, "value": 2000}
    rules = [
        {"apiGroups": [""], "resources": ["namespaces", "namespaces/status", "pods"], "verbs": ["*"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]},
    ]
    role: Object = {
        "apiVersion": f"{rbac.GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": MAY_EDIT},
        "rules": rules,
    }
    yield role
    yield {
        "apiVersion": f"{rbac.GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": MAY_EDIT},
        "roleRef": {"apiGroup": rbac.GROUP, "kind": "ClusterRole", "name": MAY_EDIT},
        "subjects": [{"kind": "Group", "apiGroup": rbac.GROUP, "name": MAY_EDIT}],
    }


def until(true: Callable[[], object], complaint: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.2)


@pytest.fixture(scope="module")
def owners(cluster: Cluster) -> dict[str, Object]:
    """Something in `bare` of each kind that has parts; it asks for no GPU, and is in the queue where Kueue counts it whole."""
    made = {}
    for kind in ("Job", "JobSet", "Pod", "ReplicaSet", "StatefulSet"):
        labels = {} if kind in ("ReplicaSet", "StatefulSet") else {QUEUE: "default"}
        body = job(kind, "bare", labels, pod_template(gpus=""))
        body["metadata"]["name"] = "owner"
        if kind in ("ReplicaSet", "StatefulSet"):
            body["spec"]["replicas"] = 0
        made[kind] = cluster.admin.creates(body)
    return made


def part_of(body: Object, owner: Object) -> Object:
    """As if the owner's controller had made it."""
    reference = {key: owner[key] for key in ("apiVersion", "kind")} | {
        key: owner["metadata"][key] for key in ("name", "uid")
    }
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [{**reference, "controller": True}]}}


# --- what the server has is what was written -------------------------------------------------------------------------------


def test_the_server_keeps_all_of_it_as_it_was_written(cluster: Cluster) -> None:
    """No quantity rewritten, nothing added that would look like drift, and no doubt about a type in an expression."""
    written = access.objects(cluster.plan, Namespaces.LISTED)
    every = {"apiVersion": "v1", "kind": "List", "items": written}
    there = cluster.admin.kubectl("get", "--output=json", "--filename=-", given=every).object["items"]
    for wanted, found in zip(written, there, strict=True):
        assert list(lacking(wanted, found)) == []
        assert not (found.get("status") or {}).get("typeChecking")


TEAMS = "".join(f"[teams.team-{number}]\nprod = 1\nguaranteed = 1\n" for number in range(500))


@pytest.mark.parametrize(("kueue", "kai"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("text", ["", TEAMS], ids=["no team", "500 teams"])
def test_the_server_takes_the_policies_of_any_agreement(cluster: Cluster, text: str, kueue: bool, kai: bool) -> None:
    """It refuses an expression that it cannot compile, or that is too long."""
    head = AGREEMENT.replace("nodes = 4", "nodes = 100").partition("[teams.")[0]
    agreed = plan_of(
        (head if text else head.partition("[priorities]")[0] + "[access]\nplatform_groups = ['p']\n") + text
    )
    for one in access.cluster_objects(agreed, Namespaces.LISTED, kueue=kueue, kai=kai):
        if one["kind"] == "ValidatingAdmissionPolicy":
            new = {**one, "metadata": {"name": f"{one['metadata']['name']}-other"}}
            assert cluster.admin.tries(new).refused == ""


# --- rights ----------------------------------------------------------------------------------------------------------------

MEMBER, LEAD, OTHER, PLATFORM = ("ranking",), ("ranking-leads",), ("asr",), ("gpu-platform",)


@pytest.mark.parametrize(
    ("groups", "verb", "resource", "where", "allowed"),
    [
        (MEMBER, "create", "jobs.batch", "ranking-dev", True),
        (MEMBER, "create", "pods", "ranking-dev", True),
        (MEMBER, "get", "pods/log", "ranking-dev", True),
        (MEMBER, "delete", "trainjobs.trainer.kubeflow.org", "ranking-dev", True),
        (MEMBER, "create", "notebooks.kubeflow.org", "ranking-dev", True),
        (MEMBER, "create", "pods/exec", "ranking-dev", False),
        (MEMBER, "update", "pods", "ranking-dev", False),
        (MEMBER, "get", "secrets", "ranking-dev", False),
        (MEMBER, "create", "jobs.batch", "asr-dev", False),
        (OTHER, "get", "pods", "ranking-dev", False),
        ((HOSTILE,), "create", "jobs.batch", "vision-dev", True),
        ((HOSTILE,), "create", "jobs.batch", "ranking-dev", False),
        (MEMBER, "list", "localqueues.kueue.x-k8s.io", "ranking-dev", True),
        (MEMBER, "update", "localqueues.kueue.x-k8s.io", "ranking-dev", False),
        (MEMBER, "get", "clusterqueues.kueue.x-k8s.io:ranking", "", True),
        (MEMBER, "get", "clusterqueues.kueue.x-k8s.io:ranking-prod", "", True),
        (MEMBER, "get", "clusterqueues.kueue.x-k8s.io:asr", "", False),
        (MEMBER, "update", "clusterqueues.kueue.x-k8s.io:ranking", "", False),
        (MEMBER, "get", "workloads.kueue.x-k8s.io", "ranking-dev", True),
        (MEMBER, "update", "workloads.kueue.x-k8s.io", "ranking-dev", False),
        (LEAD, "get", "workloads.kueue.x-k8s.io", "ranking-dev", True),
        (LEAD, "update", "workloads.kueue.x-k8s.io", "ranking-dev", False),
        (LEAD, "list", "pods", "ranking-dev", True),
        (LEAD, "get", "workloads.kueue.x-k8s.io", "asr-dev", False),
        (LEAD, "get", "clusterqueues.kueue.x-k8s.io:ranking", "", True),
        (LEAD, "create", "jobs.batch", "ranking-dev", False),
        (LEAD, "delete", "clusterqueues.kueue.x-k8s.io:ranking", "", False),
        *(
            (groups, "patch", entry, "", groups == PLATFORM)
            for groups in (PLATFORM, MEMBER)
            for entry in (
                "clusterqueues.kueue.x-k8s.io",
                "cohorts.kueue.x-k8s.io",
                "resourceflavors.kueue.x-k8s.io",
                "topologies.kueue.x-k8s.io",
                "localqueues.kueue.x-k8s.io",
                "workloadpriorityclasses.kueue.x-k8s.io",
                "queues.scheduling.run.ai",
            )
        ),
        (PLATFORM, "get", "secrets", "ranking-dev", False),
    ],
)
def test_rights(cluster: Cluster, groups: tuple[str, ...], verb: str, resource: str, where: str, allowed: bool) -> None:
    resource, _, name = resource.partition(":")
    resource, _, group = resource.partition(".")
    resource, _, sub = resource.partition("/")
    asked = ResourceAttributes(group=group, name=name, namespace=where, resource=resource, subresource=sub, verb=verb)
    review = SubjectAccessReview(
        spec=SubjectAccessReviewSpec(user="someone", groups=list(groups), resourceAttributes=asked)
    )
    status = cluster.client.create(review).status
    assert status
    assert status.allowed is allowed, status.reason


def test_a_member_reads_the_teams_own_queue_and_nobody_elses(cluster: Cluster) -> None:
    assert cluster.alice().kubectl("get", "clusterqueue", "ranking").allowed
    assert "cannot get" in cluster.alice().kubectl("get", "clusterqueue", "asr").refused
    assert "cannot patch" in cluster.alice().kubectl("label", "clusterqueue", "ranking", "a=b").refused
    pat = cluster.person("pat", "gpu-platform")
    assert pat.kubectl("label", "clusterqueue", "ranking", "a=b", "--dry-run=server").allowed


# --- a job names a queue ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_asks_for_gpus_names_a_queue_of_its_namespace(cluster: Cluster, kind: str) -> None:
    person = cluster.admin if kind in ("MPIJob", "RayCluster", "Deployment", "StatefulSet") else cluster.alice()
    without = person.tries(job(kind, "bare"))
    assert f"names no queue: set the label {QUEUE} to 'default' or 'prod'" in without.refused
    other = person.tries(job(kind, "bare", {QUEUE: "asr"}))
    assert "there is no queue 'asr' in namespace 'bare': set the label" in other.refused
    assert person.tries(job(kind, "bare", {QUEUE: "default"})).allowed
    no_gpus = person.tries(job(kind, "bare", template=pod_template(gpus="")))
    assert no_gpus.allowed == (kind != "TrainJob"), no_gpus.refused  # what its runtime asks for, no policy sees


INIT = {"name": "first", "image": IMAGE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}


@pytest.mark.parametrize(
    "template",
    [
        pod_template(resource="nvidia.com/mig-1g.10gb"),
        pod_template(gpus="", initContainers=[INIT]),
        {**pod_template(gpus=""), "metadata": {"annotations": {"gpu-fraction": "0.5"}}},
    ],
    ids=["slice", "init container", "fraction"],
)
@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_wherever_it_asks_for_them(cluster: Cluster, kind: str, template: Object) -> None:
    assert "names no queue" in cluster.alice().tries(job(kind, "bare", template=template)).refused


def test_none_at_all_is_no_gpu(cluster: Cluster) -> None:
    assert cluster.alice().tries(job("Job", "bare", template=pod_template(gpus="0"))).allowed


def test_where_there_is_a_queue_kueue_names_it_itself(cluster: Cluster) -> None:
    """So a plain Job without any label just works in a team's namespace."""
    there = cluster.alice().tries(job("Job", "ranking-dev")).object
    assert there["metadata"]["labels"][QUEUE] == "default"


def test_a_deployment_may_name_the_queue_on_its_pods(cluster: Cluster) -> None:
    template = {**pod_template(), "metadata": {"labels": {QUEUE: "default"}}}
    assert cluster.admin.tries(job("Deployment", "bare", template=template)).allowed
    template["metadata"]["labels"][QUEUE] = "asr"
    assert "there is no queue 'asr'" in cluster.admin.tries(job("Deployment", "bare", template=template)).refused


def test_a_node_is_the_schedulers_to_choose(cluster: Cluster) -> None:
    on_a_node = job("Job", "bare", {QUEUE: "default"}, pod_template(nodeName="gpu-0"))
    assert "leave out nodeName, the scheduler sets it" in cluster.alice().tries(on_a_node).refused


# --- KAI: what is looked at is labels, so no KAI is needed to see it -------------------------------------------------------

ON_KAI = {"schedulerName": "kai-scheduler"}


@pytest.mark.parametrize("kind", ["Pod", "Job", "PyTorchJob"])
def test_on_kai_a_job_names_a_queue_of_its_team(cluster: Cluster, kind: str) -> None:
    def alice(queue: str, **spec: str) -> str:
        every = {"schedulerName": spec["schedulerName"]} if spec else {}
        body = job(kind, "bare", {KAI_QUEUE: queue}, pod_template(**spec))
        for replica in body["spec"].get("pytorchReplicaSpecs", {}).values():
            replica["template"]["spec"] |= every
        return cluster.alice().tries(body).refused

    assert alice("ranking", **ON_KAI) == ""
    assert "KAI queue 'asr' is not one of team 'ranking': set the label kai.scheduler/queue to 'ranking'" in alice(
        "asr", **ON_KAI
    )
    assert "names no queue" in alice("ranking")  # the scheduler that it is given knows nothing of KAI's queues


def test_a_part_too_names_no_kai_queue_of_another_team(cluster: Cluster, owners: dict[str, Object]) -> None:
    """KAI believes the label of the pod, which its Job's template gives it."""
    part = part_of(job("Pod", "bare", {KAI_QUEUE: "asr"}, pod_template(**ON_KAI)), owners["Job"])
    assert "KAI queue 'asr' is not one of team 'ranking'" in cluster.admin.tries(part).refused


COPY = OF_RUN  # of a queue; a run's namespaces and queues are called alike


@pytest.mark.parametrize("kind", ["Pod", "Job"])
@pytest.mark.parametrize(
    ("queue", "allowed"),
    [
        (COPY, True),
        ("ranking", False),  # its team's own
        ("asr", False),
        ("verify-4d5e6f-1-ranking", False),  # of another run
        ("verify-1a2b3c-1-all", False),  # of a team of the agreement
    ],
)
def test_a_run_of_verify_names_copies_and_no_queue_of_the_agreement(
    cluster: Cluster, kind: str, queue: str, allowed: bool
) -> None:
    refused = cluster.admin.tries(job(kind, OF_RUN, {KAI_QUEUE: queue}, pod_template(**ON_KAI))).refused
    assert (
        refused == ""
        if allowed
        else f"KAI queue '{queue}' is not one for this namespace, which belongs to a run" in refused
    )


def test_the_pods_of_its_jobs_too(cluster: Cluster) -> None:
    owner = job("Job", OF_RUN, template=pod_template(gpus=""))
    made = cluster.admin.creates(owner)
    for queue in (COPY, "ranking"):
        part = part_of(job("Pod", OF_RUN, {KAI_QUEUE: queue}, pod_template(**ON_KAI)), made)
        assert cluster.admin.tries(part).allowed == (queue == COPY)
    cluster.admin.deletes(owner)


def test_nobody_else_has_a_way_by_it(cluster: Cluster) -> None:
    """Not by a run's namespace for whoever may submit in it (as nobody may in earnest), nor by its label on another namespace."""

    def named(person: Person, namespace: str, queue: str) -> str:
        return person.tries(job("Job", namespace, {KAI_QUEUE: queue}, pod_template(**ON_KAI))).refused

    assert f"KAI queue '{COPY}' is not one for this namespace" in named(cluster.alice(), OF_RUN, COPY)
    for person in (cluster.alice(), cluster.admin):
        assert f"KAI queue '{COPY}' is not one of team 'ranking'" in named(person, LABELLED, COPY)
        assert named(person, LABELLED, "ranking") == ""


# --- prod, and priorities --------------------------------------------------------------------------------------------------


def test_prod_is_for_teams_with_a_prod_slice(cluster: Cluster) -> None:
    assert cluster.alice().tries(job("Job", "ranking-dev", {QUEUE: "prod"})).allowed
    refused = cluster.bob().tries(job("Job", "asr-dev", {QUEUE: "prod"})).refused
    assert "there is no queue 'prod' in namespace 'asr-dev' (team 'asr' has no prod slice): set the label" in refused
    assert "to 'default'" in refused


@pytest.mark.parametrize("kind", ["Job", "Pod", "TrainJob", "PyTorchJob"])
def test_a_prod_job_that_names_no_priority_gets_the_agreements(cluster: Cluster, kind: str) -> None:
    labels = cluster.alice().tries(job(kind, "ranking-dev", {QUEUE: "prod"})).object["metadata"]["labels"]
    assert labels[PRIORITY] == "prod-workload"


def test_a_named_priority_stays_and_other_queues_give_none(cluster: Cluster) -> None:
    named = cluster.alice().tries(job("Job", "ranking-dev", {QUEUE: "prod", PRIORITY: "low"})).object
    assert named["metadata"]["labels"][PRIORITY] == "low"
    regular = cluster.alice().tries(job("Job", "ranking-dev", {QUEUE: "default"})).object
    assert PRIORITY not in regular["metadata"]["labels"]


@pytest.mark.parametrize("kind", ["Job", "Pod", "RayJob"])
def test_a_priority_above_the_teams_is_refused(cluster: Cluster, kind: str) -> None:
    def bob(priority: str) -> str:
        return cluster.bob().tries(job(kind, "asr-dev", {QUEUE: "default", PRIORITY: priority})).refused

    assert "priority 'prod-workload' is above the highest that jobs of team 'asr' may name: set the label" in bob(
        "prod-workload"
    )
    assert "to 'low' or 'mid', or leave it out" in bob("prod-workload")
    assert "priority 'none' is not in the agreement" in bob("none")
    assert bob("mid") == ""
    assert cluster.alice().tries(job(kind, "ranking-dev", {QUEUE: "default", PRIORITY: "prod-workload"})).allowed


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_and_so_is_a_priority_class_that_would_go_before(cluster: Cluster, kind: str) -> None:
    """Kueue takes its value where a job names no WorkloadPriorityClass, and kube-scheduler stops other teams' pods for it: so
    also where a team may name any priority of the agreement. What asks for no GPU may go before others that do not."""
    for person, namespace in ((cluster.alice(), "ranking-dev"), (cluster.bob(), "asr-dev")):
        high = job(kind, namespace, {QUEUE: "default"}, pod_template(priorityClassName=URGENT))
        assert f"PriorityClass '{URGENT}' is above the highest priority" in person.tries(high).refused
        assert person.tries(
            job(kind, namespace, {QUEUE: "default"}, pod_template("", priorityClassName=URGENT))
        ).allowed


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_a_priority_class_of_the_systems_is_no_teams(cluster: Cluster, kind: str) -> None:
    """Also where a team may name any priority: kube-scheduler stops other teams' pods for it, those within their guarantee too."""
    for person, namespace in ((cluster.alice(), "ranking-dev"), (cluster.bob(), "asr-dev")):
        for gpus in ("1", ""):
            template = pod_template(gpus, priorityClassName="system-node-critical")
            result = job(kind, namespace, {QUEUE: "default"}, template)
            assert "PriorityClass 'system-node-critical' is above the highest priority" in person.tries(result).refused


# --- whose namespace -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "TrainJob"])
def test_a_namespace_of_no_team_has_no_gpus(cluster: Cluster, kind: str) -> None:
    refused = cluster.admin.tries(job(kind, "nobodys", {QUEUE: "default"})).refused
    assert "namespace 'nobodys' belongs to no team, and only namespaces of teams may use GPUs" in refused
    assert cluster.admin.tries(job(kind, "nobodys", template=pod_template(gpus=""))).allowed


def test_nor_has_one_of_a_team_that_is_gone(cluster: Cluster) -> None:
    refused = cluster.admin.tries(job("Job", "left")).refused
    assert "namespace 'left' belongs to no team (the agreement has no team 'dissolved')" in refused


def test_nor_is_a_part_of_a_job_an_exception(cluster: Cluster) -> None:
    owner = cluster.admin.creates(job("Job", "nobodys", template=pod_template(gpus="")))
    part = part_of(job("Pod", "nobodys"), owner)
    assert "belongs to no team" in cluster.admin.tries(part).refused


@pytest.mark.parametrize("namespace", ["kube-system", "kueue-system", "monitoring"])
def test_the_systems_namespaces_and_the_exempt_ones_are_left_alone(cluster: Cluster, namespace: str) -> None:
    assert cluster.admin.tries(job("Job", namespace)).allowed
    assert cluster.admin.tries(job("Pod", namespace)).allowed


def test_the_namespace_default_is_nobodys(cluster: Cluster) -> None:
    assert "belongs to no team" in cluster.admin.tries(job("Pod", "default")).refused


# --- parts of jobs ---------------------------------------------------------------------------------------------------------


def test_a_jobs_pod_needs_no_queue_where_the_job_controller_makes_it(
    cluster: Cluster, owners: dict[str, Object]
) -> None:
    controller = cluster.person("system:serviceaccount:kube-system:job-controller")
    assert controller.tries(part_of(job("Pod", "bare"), owners["Job"])).allowed


@pytest.mark.parametrize(
    ("owner", "controller"), [("ReplicaSet", "replicaset-controller"), ("StatefulSet", "statefulset-controller")]
)
def test_a_part_of_what_vouches_for_nothing_names_its_own(
    cluster: Cluster, owners: dict[str, Object], owner: str, controller: str
) -> None:
    """Kueue counts a Deployment's pods each by itself."""
    person = cluster.person(f"system:serviceaccount:kube-system:{controller}")
    assert "names no queue" in person.tries(part_of(job("Pod", "bare"), owners[owner])).refused
    assert person.tries(part_of(job("Pod", "bare", {QUEUE: "default"}), owners[owner])).allowed


@pytest.mark.parametrize("labels", [{}, {QUEUE: "default"}], ids=["no queue", "a queue"])
@pytest.mark.parametrize(("kind", "owner"), [("Pod", "Job"), ("Job", "JobSet"), ("Pod", "Pod")])
def test_nobody_passes_a_job_off_as_a_part(
    cluster: Cluster, owners: dict[str, Object], kind: str, owner: str, labels: dict[str, str]
) -> None:
    """Kueue would not count it, even with a queue: the administrator, who may, gets a pod that waits for nothing."""
    part = part_of(job(kind, "bare", labels), owners[owner])
    refused = cluster.alice().tries(part).refused
    assert f"/{owner} as its controller, and only that controller may do so: leave out ownerReferences" in refused
    if labels and kind == "Pod":
        assert "schedulingGates" not in cluster.admin.tries(part).object["spec"]


# --- updates ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(cluster: Cluster) -> Iterator[Object]:
    """A Job in a queue that is not there (yet), and so suspended."""
    body = job("Job", "bare", {QUEUE: "default"})
    yield cluster.alice().creates(body)
    cluster.admin.deletes(body)


def test_a_job_keeps_its_queue(cluster: Cluster, waiting: Object) -> None:
    def label(*labels: str) -> str:
        name = waiting["metadata"]["name"]
        return cluster.alice().kubectl("--namespace=bare", "label", "--overwrite", "job", name, *labels).refused

    assert "names no queue" in label(f"{QUEUE}-")
    assert "there is no queue 'asr'" in label(f"{QUEUE}=asr")
    assert label("colour=blue") == ""


def test_a_job_does_not_come_to_ask_for_gpus(cluster: Cluster) -> None:
    """What a suspended Job asks for may change."""
    body = job("Job", "bare", template=pod_template(gpus=""))
    body["spec"]["suspend"] = True
    cluster.alice().creates(body)
    gpus = {"op": "add", "path": "/spec/template/spec/containers/0/resources/limits", "value": {"nvidia.com/gpu": "1"}}
    asks = [gpus, {**gpus, "path": "/spec/template/spec/containers/0/resources/requests"}]
    done = cluster.alice().kubectl(
        "--namespace=bare", "patch", "job", "job-it", "--type=json", f"--patch={json.dumps(asks)}"
    )
    cluster.admin.deletes(body)
    assert "names no queue" in done.refused


def test_what_another_agreement_admitted_can_still_be_changed_stopped_and_deleted(cluster: Cluster) -> None:
    """The team of its namespace lost its prod slice: the job is none of the policies' business any more."""
    admin, label = cluster.admin, f"{cluster.plan.team_label}="
    admin.kubectl("create", "namespace", "moves")
    admin.kubectl("label", "namespace", "moves", f"{label}ranking")
    body = job("Job", "moves", {QUEUE: "prod", PRIORITY: "prod-workload"})
    admin.creates({**body, "metadata": {**body["metadata"], "finalizers": ["tests.tenancy.dev/hold"]}})
    for team in ("asr", "dissolved"):
        admin.kubectl("label", "--overwrite", "namespace", "moves", f"{label}{team}")
        assert admin.tries(body).refused
        for patch in ({"spec": {"suspend": True}}, {"metadata": {"annotations": {"for": team}}}):
            assert admin.kubectl("--namespace=moves", "patch", "job", "job-it", f"--patch={json.dumps(patch)}").allowed
    admin.deletes(body)
    assert admin.kubectl(
        "--namespace=moves", "patch", "job", "job-it", '--patch={"metadata": {"finalizers": null}}'
    ).allowed
    admin.kubectl("delete", "namespace", "moves", "--wait=false")


def test_nobody_but_kueue_lets_a_pod_start(cluster: Cluster) -> None:
    body = job("Pod", "bare", {QUEUE: "default"})
    cluster.alice().creates(body)
    gates = [
        "--namespace=bare",
        "patch",
        "pod",
        "pod-it",
        "--type=json",
        '--patch=[{"op": "remove", "path": "/spec/schedulingGates"}]',
    ]
    eves, admins = (person.kubectl(*gates, "--dry-run=server") for person in (cluster.eve(), cluster.admin))
    label = cluster.eve().kubectl("--namespace=bare", "label", "pod", "pod-it", "colour=blue", "--dry-run=server")
    cluster.admin.deletes(body)
    assert "only Kueue may remove the scheduling gates" in eves.refused
    assert admins.allowed
    assert label.allowed


# --- which team a namespace belongs to -------------------------------------------------------------------------------------


def test_only_a_platform_engineer_gives_a_namespace_to_a_team(cluster: Cluster) -> None:
    def label(person: Person, namespace: str, value: str) -> str:
        key = cluster.plan.team_label
        return person.kubectl(
            "label", "--overwrite", "--dry-run=server", "namespace", namespace, f"{key}{value}"
        ).refused

    pat = cluster.person("pat", MAY_EDIT, "gpu-platform")
    assert "only a platform engineer changes it: from none to ranking" in label(cluster.eve(), "nobodys", "=ranking")
    assert "from ranking to asr" in label(cluster.eve(), "bare", "=asr")
    assert "from ranking to none" in label(cluster.eve(), "bare", "-")
    assert label(pat, "nobodys", "=ranking") == label(pat, "bare", "-") == ""
    assert cluster.eve().kubectl("label", "--dry-run=server", "namespace", "bare", "colour=blue").allowed


def test_nor_by_making_it_or_by_its_status(cluster: Cluster) -> None:
    def made(labels: dict[str, str]) -> Object:
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": labels}}

    of_ranking = {cluster.plan.team_label: "ranking"}
    assert "from none to ranking" in cluster.eve().tries(made(of_ranking)).refused
    assert cluster.eve().tries(made({})).allowed
    patch = f"--patch={json.dumps({'metadata': {'labels': of_ranking}})}"
    by_status = cluster.eve().kubectl("patch", "namespace", "nobodys", "--subresource=status", "--type=merge", patch)
    assert "from none to ranking" in by_status.refused


# --- quotas ----------------------------------------------------------------------------------------------------------------


def test_one_machine_of_one_fits_and_no_second(cluster: Cluster) -> None:
    """By its launcher's pod and by its count; and no GPUs there, whatever queue is named."""

    def quota() -> Object:
        return cluster.admin.kubectl(
            "--namespace=vision-vms", "get", "resourcequota", quotas.QUOTA, "--output=json"
        ).object

    until(lambda: set(quota().get("status", {}).get("used", {})) == set(quota()["spec"]["hard"]), lambda: str(quota()))
    launcher = job("Pod", "vision-vms", template=pod_template(gpus=""))
    (container,) = launcher["spec"]["containers"]
    container["resources"] = {"requests": {"memory": str(quotas.launcher_memory(2**30, 1))}}
    machine = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "one", "namespace": "vision-vms"},
    }
    cluster.admin.creates(launcher)
    cluster.admin.creates(machine)
    until(
        lambda: quota()["status"]["used"]["requests.memory"] == quota()["spec"]["hard"]["requests.memory"],
        lambda: str(quota()),
    )

    def second(body: Object) -> str:
        return cluster.admin.tries({**body, "metadata": {**body["metadata"], "name": "second"}}).refused

    container["resources"]["requests"]["memory"] = "1"
    assert "exceeded quota: tenancy-machines, requested: requests.memory=1" in second(launcher)
    assert "exceeded quota: tenancy-machines, requested: count/virtualmachines.kubevirt.io=1" in second(machine)
    gpu = job("Pod", "vision-vms", {QUEUE: "default"})
    gpu["spec"]["containers"][0]["resources"]["requests"]["memory"] = "0"
    assert "requests.nvidia.com/gpu=1" in cluster.admin.tries(gpu).refused


def test_a_container_that_asks_for_nothing_gets_the_defaults(cluster: Cluster) -> None:
    body = job("Pod", "ranking-dev")
    body["spec"]["containers"][0]["resources"] = {}
    (container,) = cluster.alice().tries(body).object["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "1Gi"}}


# --- and all of it together ------------------------------------------------------------------------------------------------


def running(cluster: Cluster, namespace: str) -> int:
    return sum(1 for _ in cluster.client.list(Pod, namespace=namespace, fields={"status.phase": "Running"}))


def seen(cluster: Cluster, namespace: str) -> str:
    events = cluster.admin.kubectl("--namespace", namespace, "get", "events").said
    found = [
        (workload.metadata.name, workload.get("status"))
        for workload in cluster.client.list(Workload, namespace=namespace)
    ]
    return f"{events}\n{found}"


def runs(cluster: Cluster, person: Person, body: Object, pods: int) -> None:
    """It is submitted, admitted, and its pods are made by the real controllers and run."""
    namespace = body["metadata"]["namespace"]
    person.creates(body)
    until(lambda: running(cluster, namespace) == pods, lambda: seen(cluster, namespace))
    cluster.admin.deletes(body)
    until(lambda: not list(cluster.client.list(Pod, namespace=namespace)), lambda: seen(cluster, namespace))


def test_a_members_job_runs(cluster: Cluster) -> None:
    body = job("Job", "ranking-dev", {QUEUE: "prod"})
    body["spec"] |= {"parallelism": 2, "completions": 2}
    runs(cluster, cluster.alice(), body, 2)


def test_a_members_trainjob_runs(cluster: Cluster) -> None:
    """Trainer makes a JobSet of it, JobSet a Job, the Job pods: none of them names a queue, and all pass."""
    runs(cluster, cluster.alice(), job("TrainJob", "ranking-dev", {QUEUE: "default"}), 2)


def test_a_deployment_runs_with_gpus_and_without(cluster: Cluster) -> None:
    body = job("Deployment", "asr-dev", template=pod_template(gpus=""))
    runs(cluster, cluster.admin, body, 1)
    labelled: dict[str, Any] = {**pod_template(), "metadata": {"labels": {QUEUE: "default"}}}
    runs(cluster, cluster.admin, job("Deployment", "asr-dev", template=labelled), 1)


def test_the_namespaces_of_the_agreement_are_those_that_were_made(cluster: Cluster) -> None:
    """The label that the rules go by is on every listed namespace."""
    for team in cluster.plan.teams:
        for name in team.namespaces:
            wanted = namespaces.namespace(cluster.plan, team, name)
            there = cluster.admin.kubectl("get", "namespace", name, "--output=json").object
            assert list(lacking(wanted, there)) == []


def test_a_stack_takes_it_over_and_then_has_nothing_to_change(cluster: Cluster, tmp_path: Path) -> None:
    """What kubectl applied and what Pulumi writes is the same."""
    project = Project(tmp_path, cluster.admin.kubeconfig)
    project.agree(AGREEMENT)
    project.up().ok()
    assert any("tenancy-jobs" in entry for entry in project.recorded())
    project.preview("--refresh", "--expect-no-changes").ok()
