"""`why` on a real Kueue and a real KAI: what it says of a job is what then is so.

32 GPUs: training 16 (lends 8), research 8 (lends 8), inference 8 (lends none).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod
from lightkube.types import CascadeType
from typer.testing import CliRunner

from tenancy.agreement.plan import Plan
from tenancy.cli import app
from tenancy.cluster.clients import LocalQueue
from tenancy.lab.cluster import apply, kubectl
from tenancy.lab.folder import Folder
from tenancy.objects.access import rbac

from .conftest import AGREEMENT, plan_of
from .kai_jobs import Jobs, until
from .teams import JOB_LABEL, Ask, Teams

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


class Asked:
    """The command, against the lab."""

    def __init__(self, folder: Folder, file: str, scheduler: str) -> None:
        self.options = ["--file", file, "--kubeconfig", str(folder.kubeconfig), "--scheduler", scheduler]

    def text(self, *job: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["why", *job, *self.options], catch_exceptions=False)
        assert all(len(line) <= 100 for line in done.stdout.splitlines())
        return done.exit_code, " ".join((done.stdout + done.stderr).split())

    def __call__(self, job: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, ["why", job, "--json", *self.options], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return dict(json.loads(done.stdout))


def keys(answer: dict[str, Any]) -> list[str]:
    return [reason["key"] for reason in answer["reasons"]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("why") / "tenancy.toml"
    path.write_text(AGREEMENT)
    return str(path)


@pytest.fixture(scope="module")
def teams(client: Client, plan: Plan) -> Iterator[Teams]:
    """research has 16, half of them training's; training has 8; no more is lent."""
    result = Teams(client, plan)
    result.settle()
    for name in plan.team:  # where another test has left the namespace
        spec = {"metadata": {"name": "default", "namespace": name}, "spec": {"clusterQueue": name}}
        client.apply(LocalQueue.from_dict(spec), field_manager="test", force=True)
    gpu = plan.flavor["gpu"]
    for team, name, pods in (("research", "sweep", 4), ("training", "steady", 2)):
        result.submit(team, name, Ask(gpu, 4, pods))
        result.runs(f"{team}/{name}", pods)
    yield result
    result.clear()
    for name in plan.team:
        client.deletecollection(LocalQueue, namespace=name)


@pytest.fixture(scope="module")
def why(shared: Folder, file: str) -> Asked:
    return Asked(shared, file, "kueue")


def test_a_job_that_asks_for_what_is_not_idle_hears_how_much_and_who_has_it(teams: Teams, why: Asked) -> None:
    gpu = teams.plan.flavor["gpu"]
    teams.submit("research", "more", Ask(gpu, 4))
    teams.waits("research/more", "insufficient unused quota for nvidia.com/gpu in flavor gpu, 4 more needed")
    result = why("research/more")
    assert (result["state"], keys(result)) == ("waiting", ["short"])
    assert "4 are missing" in result["reasons"][0]["text"]
    used = {one["team"]: one["used"] for one in result["holders"]}
    assert used == {"research": 16, "training": 8, "inference": 0}  # 0: it keeps them idle, and never lends
    assert result["when"]["latest"].startswith("no bound") and not result["when"]["never"]

    teams.submit("research", "more-too", Ask(gpu, 4))
    teams.until(lambda: "research/more-too" in teams.workloads(), lambda: "no Workload")
    assert keys(why("research/more-too")) == ["equal", "short"]


def test_a_member_of_the_team_hears_why_with_the_rights_that_the_agreement_gives(
    teams: Teams, shared: Folder, file: str, tmp_path: Path
) -> None:
    agreed = plan_of(
        AGREEMENT.replace("[teams.research]", '[teams.research]\nmembers = ["r"]')
        + '[access]\nplatform_groups = ["p"]\n'
    )
    (role,) = (role for role in rbac.cluster_roles(agreed) if role["metadata"]["name"] == rbac.MEMBER)
    apply(shared.kubeconfig, [role])
    for arguments in (
        ("create", "serviceaccount", "engineer"),
        ("create", "rolebinding", "engineer", f"--clusterrole={rbac.MEMBER}", "--serviceaccount=research:engineer"),
    ):
        kubectl(shared.kubeconfig, *arguments, "--namespace=research")
    token = kubectl(shared.kubeconfig, "create", "token", "engineer", "--namespace=research").strip()
    config = yaml.safe_load(shared.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))

    done = CliRunner().invoke(
        app,
        ["why", "research/more", "--file", file, "--kubeconfig", str(tmp_path / "kubeconfig")],
        catch_exceptions=False,
    )
    said = " ".join(done.stdout.split())
    assert done.exit_code == 0, done.stderr
    assert "gpu: it can get 4 GPUs less than it asks for now" in said and "You may not list the Workloads" in said
    done = CliRunner().invoke(app, ["why", "more", "--file", file, "--kubeconfig", str(tmp_path / "kubeconfig")])
    assert done.exit_code == 2 and done.stderr.startswith(
        "you may not look in every namespace: say in which the job is"
    )

    kubectl(shared.kubeconfig, "delete", "clusterrole", rbac.MEMBER)
    kubectl(shared.kubeconfig, "delete", "serviceaccount,rolebinding", "engineer", "--namespace=research")


def test_a_job_larger_than_its_team_may_ever_have_hears_so(teams: Teams, why: Asked) -> None:
    teams.submit("research", "huge", Ask(teams.plan.flavor["gpu"], 8, 3))
    teams.waits("research/huge", "maximum capacity (16)")
    result = why("research/huge")
    assert keys(result) == ["maximum"] and result["when"]["never"]
    assert "The most that research can ever have is 16 GPUs" in result["reasons"][0]["text"]


def test_a_job_in_no_queue_hears_which_there_are(teams: Teams, why: Asked) -> None:
    teams.submit("training", "typo", Ask(teams.plan.flavor["gpu"], 1), "defualt")
    teams.waits("training/typo", "doesn't exist")
    code, said = why.text("typo", "-n", "training")
    assert code == 0 and "kueue.x-k8s.io/queue-name: default" in said


def test_a_job_that_was_stopped_hears_by_whom_and_by_which_promise(teams: Teams, why: Asked) -> None:
    """And the one who takes it back is told before that it may: nothing else foretells so much."""
    teams.submit("training", "returns", Ask(teams.plan.flavor["gpu"], 4, 2))
    teams.runs("training/returns", 2)
    teams.until(lambda: "research/sweep" in teams.preempted(), lambda: "nobody was stopped")
    teams.until(lambda: "research/sweep" not in teams.flavors(), lambda: "it holds its quota")
    result = why("research/sweep")
    assert result["state"] == "stopped"
    assert "training/returns took back what training is guaranteed" in result["history"][0]
    assert why("training/returns")["state"] == "running"


def test_a_pod_means_its_job_and_a_wrong_name_hears_the_right_one(teams: Teams, why: Asked) -> None:
    pods = teams.client.list(Pod, namespace="training", labels={JOB_LABEL: "steady"})
    pod = next(str(pod.metadata.name) for pod in pods if pod.metadata)
    assert why(f"pod/{pod}")["job"] == "training/steady"
    code, said = why.text("training/stedy")
    assert (code, said) == (
        2,
        "there is no job, Workload or pod stedy in namespace training; there is training/steady",
    )


# --- KAI


@pytest.fixture(scope="module")
def jobs(client: Client, plan: Plan, teams: Teams) -> Iterator[Jobs]:
    """research has all that is lent, 16 pods of 20: the rest waits."""
    teams.clear()  # else Kueue's jobs are on the nodes
    for name in plan.team:  # else Kueue takes these jobs for its own: a LocalQueue `default` is for all of a namespace
        client.deletecollection(LocalQueue, namespace=name)
    teams.until(
        lambda: not [queue for name in plan.team for queue in client.list(LocalQueue, namespace=name)],
        lambda: "LocalQueues stay",
    )
    job = Jobs(client, plan)
    job.begin()
    job.submit("many", "research", "gpu", 20, 1)
    job.runs(many=16)
    yield job
    for name in plan.team:
        client.deletecollection(Job, namespace=name, cascade=CascadeType.BACKGROUND)
        client.deletecollection(Pod, namespace=name)
    until(lambda: not job.running(), job.running)


@pytest.fixture(scope="module")
def of_kai(shared: Folder, file: str) -> Asked:
    return Asked(shared, file, "kai")


def test_on_kai_a_job_that_runs_in_part_hears_whose_limit_it_is(jobs: Jobs, of_kai: Asked) -> None:
    jobs.says("many", "OverLimit")
    kai = of_kai("research/many")
    assert (kai["state"], keys(kai)) == ("starting", ["limit"])
    assert "16 of 16 GPUs are in use" in kai["reasons"][0]["text"]
    assert {one["team"]: one["used"] for one in kai["holders"]} == {"research": 16, "training": 0, "inference": 0}


def test_on_kai_a_job_that_was_stopped_hears_by_whom(jobs: Jobs, of_kai: Asked) -> None:
    jobs.submit("back", "training", "gpu", 8, 1)
    jobs.runs(many=8, back=8)
    assert "training/back took back what training is guaranteed" in of_kai("research/many")["history"][0]


def test_on_kai_a_queue_that_is_not_there_is_said_though_kai_says_nothing(jobs: Jobs, of_kai: Asked) -> None:
    metadata = {"name": "lost", "namespace": "research", "labels": {"kai.scheduler/queue": "reserch"}}
    spec = {"schedulerName": "kai-scheduler", "containers": [{"name": "work", "image": "none"}]}
    jobs.client.create(from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
    kai = of_kai("pod/lost")
    assert keys(kai) == ["no-kai-queue"] and kai["when"]["never"]
    assert "kai.scheduler/queue: research" in kai["help"][0]
