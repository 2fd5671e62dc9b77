"""The production agreement on KAI, at its full size: written by `pulumi up`, scheduled by a shard for each flavor, and its
promises kept for real jobs. What is expected is the plan's arithmetic.

The tests are acts of one play, on one lab, in this order; each stands on the jobs of those before it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lightkube.resources.core_v1 import Node

from tenancy.agreement.plan import Plan, make_plan
from tenancy.cluster.clients import KaiQueue, connect
from tenancy.lab import lab
from tenancy.lab.folder import Folder
from tenancy.lab.processes import running
from tenancy.objects import kai
from tenancy.objects.identity import reference
from tenancy.objects.loading import load
from tenancy.quota.reach import reach
from tenancy.verify import safety
from tenancy.verify.checks.kai import kai_checks
from tenancy.verify.checks.select import select
from tenancy.verify.evidence.model import Verdict
from tenancy.verify.run import verify

from .kai_jobs import Jobs, until
from .stacks import Project, lacking

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PRODUCTION = Path(__file__).resolve().parents[2] / "examples" / "production.toml"
KINDS = ("queues.scheduling.run.ai", "schedulingshards", "topologies.kai.scheduler", "priorityclasses")
NODE = 8  # GPUs of a node, and of a pod here: nothing is lost to fragments
ZONE = "topology.kubernetes.io/zone"
IN_ZONE = 8  # nodes of one, as the lab makes them
CUT = 3  # slices of a pod: as many 2g.20gb as one GPU is cut into
CPUS = 64  # of a pod, and of a node of `standart`


@pytest.fixture(scope="module")
def production() -> Plan:
    agreement = load(PRODUCTION).agreement
    assert agreement
    return make_plan(agreement)


@pytest.fixture(scope="module")
def folder(labs: Path, production: Plan) -> Iterator[Folder]:
    yield lab.up(production, "production", ("kai",))
    lab.down("production")


@pytest.fixture(scope="module")
def project(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> Project:
    result = Project(tmp_path_factory.mktemp("stack"), folder.kubeconfig, {"schedulers": '["kai"]'})
    result.agree(PRODUCTION.read_text())
    result.up().ok()
    return result


@pytest.fixture(scope="module")
def jobs(project: Project, folder: Folder, production: Plan) -> Jobs:
    """Four flavors at once, each asked for more than there is: the lab, and the jobs with it, go at the end."""
    job = Jobs(connect(str(folder.kubeconfig)), production)
    job.begin()
    most = reach(production, production.team["asr"], "h100")
    job.submit("borrower", "ranking-hgx-h100", "hgx-h100", production.flavor["hgx-h100"].capacity // NODE, NODE)
    job.submit("asr", "asr-h100", "h100", most // NODE, NODE)
    job.submit("slices", "ranking-a100-80-20gb", "a100-80-20gb", capacity(production, "a100-80-20gb") // CUT + 1, CUT)
    job.submit("cpus", "ranking-standart", "standart", capacity(production, "standart") // CPUS + 1, CPUS)
    return job


def capacity(plan: Plan, flavor: str) -> int:
    return plan.flavor[flavor].capacity


def test_each_flavor_has_its_scheduler_and_its_nodes(folder: Folder, production: Plan) -> None:
    schedulers = {name for name in running(folder) if name.startswith("kai-scheduler")}
    assert schedulers == {f"kai-scheduler-{flavor.name}" for flavor in production.flavors}
    nodes = [node.metadata.labels for node in connect(str(folder.kubeconfig)).list(Node)]
    assert len(nodes) == sum(flavor.nodes for flavor in production.flavors)
    for flavor in production.flavors:
        own = [labels for labels in nodes if labels.get(kai.NODE_POOL) == flavor.name]
        assert len(own) == flavor.nodes
        assert all(flavor.node_labels.items() <= labels.items() for labels in own)


def test_pulumi_has_written_it_all_and_has_nothing_left_to_write(project: Project, production: Plan) -> None:
    found = json.loads(project.kubectl("get", ",".join(KINDS), "--output=json"))["items"]
    there: dict[str, Any] = {reference(one): one for one in found}
    wanted = {reference(one): one for one in kai.objects(production)}
    assert not [gap for name, one in wanted.items() for gap in lacking(one, there.get(name), name)]
    assert "unchanged" in project.preview("--expect-no-changes").ok().said


def test_a_borrower_gets_all_that_is_lent_and_no_more(jobs: Jobs, production: Plan) -> None:
    """Other flavors are not in its way, nor it in theirs: jobs of all four run beside one another."""
    lent = production.lent["hgx-h100"] + production.pool["hgx-h100"]
    assert (lent, capacity(production, "hgx-h100")) == (480, 512)
    most = reach(production, production.team["asr"], "h100")
    jobs.runs(borrower=lent // NODE, asr=most // NODE)
    jobs.says(
        "borrower", "OverLimit: shared (hgx-h100) quota has reached the allowable limit of GPUs. Limit is 480 GPUs"
    )


def test_what_is_never_lent_is_there_for_its_owner_and_stops_nobody(jobs: Jobs, production: Plan) -> None:
    never = production.team["asr"].shares["hgx-h100"].reserved
    assert never == 32
    lent = production.lent["hgx-h100"] + production.pool["hgx-h100"]
    jobs.submit("kept", "asr-reserved-hgx-h100", "hgx-h100", never // NODE + 1, NODE)
    jobs.runs(kept=never // NODE, borrower=lent // NODE)


def test_an_owner_that_returns_has_its_guarantee(jobs: Jobs, production: Plan) -> None:
    own = production.team["embeddings"].shares["hgx-h100"].guaranteed
    lent = production.lent["hgx-h100"] + production.pool["hgx-h100"]
    jobs.submit("returns", "embeddings-hgx-h100", "hgx-h100", own // NODE, NODE)
    jobs.runs(returns=own // NODE, borrower=(lent - own) // NODE, kept=4)


def test_a_prod_slice_is_back_at_once_and_holds_no_more(jobs: Jobs, production: Plan) -> None:
    """asr has all of h100, its own and tts's. Its prod jobs take their slice from its regular ones, and not more."""
    slice_, most = production.team["asr"].shares["h100"].prod, reach(production, production.team["asr"], "h100")
    assert (slice_, most) == (16, 128)
    jobs.submit("prod", "asr-prod-h100", "h100", slice_ // NODE + 1, NODE, "prod-workload")
    jobs.runs(prod=slice_ // NODE, asr=(most - slice_) // NODE)
    jobs.says("prod", "asr, prod (h100) quota has reached the allowable limit of GPUs. Limit is 16 GPUs")
    until(lambda: unstoppable(jobs, "asr-prod-h100") == slice_, lambda: unstoppable(jobs, "asr-prod-h100"))


def test_nobody_who_returns_stops_a_prod_job(jobs: Jobs, production: Plan) -> None:
    before = jobs.names("prod")
    tts, asr = (production.team[name].shares["h100"] for name in ("tts", "asr"))
    jobs.submit("tts", "tts-h100", "h100", tts.guaranteed // NODE, NODE)
    jobs.runs(tts=tts.guaranteed // NODE, prod=asr.prod // NODE, asr=asr.regular // NODE)
    assert jobs.names("prod") == before


def test_slices_are_lent_and_taken_back_by_the_slice(jobs: Jobs, production: Plan) -> None:
    """2g.20gb: KAI counts each as two GPUs."""
    there, own = capacity(production, "a100-80-20gb"), production.team["embeddings"].shares["a100-80-20gb"].guaranteed
    assert (there, own) == (48, 24)
    jobs.runs(slices=there // CUT)
    jobs.submit("sliced", "embeddings-a100-80-20gb", "a100-80-20gb", own // CUT, CUT)
    jobs.runs(sliced=own // CUT, slices=(there - own) // CUT)


def test_cpus_are_lent_and_taken_back_where_a_flavor_has_no_gpus(jobs: Jobs, production: Plan) -> None:
    there, own = capacity(production, "standart"), production.team["platform"].shares["standart"].guaranteed
    assert (there, own) == (2560, 320)
    jobs.runs(cpus=there // CPUS)
    jobs.submit("platform", "platform-standart", "standart", own // CPUS, CPUS)
    jobs.runs(platform=own // CPUS, cpus=(there - own) // CPUS)


def test_a_gang_lands_in_one_domain_and_one_that_fits_none_waits(jobs: Jobs, production: Plan) -> None:
    """a100-80g is free: three zones of eight nodes."""
    jobs.gang("packed", "embeddings-a100-80g", "a100-80g", IN_ZONE, NODE, ZONE)
    jobs.runs(packed=IN_ZONE)
    assert len(jobs.domains("packed", ZONE)) == 1
    jobs.gang("too-wide", "embeddings-a100-80g", "a100-80g", IN_ZONE + 1, NODE, ZONE)
    jobs.says("too-wide", f"topology zonal, requirement {ZONE} couldn't be satisfied")
    jobs.runs(packed=IN_ZONE, **{"too-wide": 0})


def test_status_has_every_flavor(jobs: Jobs, folder: Folder, production: Plan) -> None:
    command = [sys.executable, "-m", "tenancy", "status", str(PRODUCTION), "--scheduler", "kai"]
    command += ["--kubeconfig", str(folder.kubeconfig)]
    wanted = {
        ("ranking", "hgx-h100"): 352,
        ("embeddings", "hgx-h100"): 128,
        ("asr", "hgx-h100"): 32,
        ("asr", "h100"): 64,
        ("tts", "h100"): 64,
        ("ranking", "a100-80-20gb"): 24,
        ("embeddings", "a100-80-20gb"): 24,
        ("ranking", "standart"): 2240,
        ("platform", "standart"): 320,
        ("embeddings", "a100-80g"): 64,
    }

    def used() -> dict[tuple[str, str], int]:
        done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
        return {(row["team"], row["flavor"]): row["used"] for row in json.loads(done.stdout)["teams"] if row["used"]}

    until(lambda: used() == wanted, used)
    said = subprocess.run([*command, "--all"], capture_output=True, text=True, check=True).stdout
    assert said.startswith("KAI Scheduler, ")
    rows = [set(line.split()) for line in said.splitlines()]
    assert not [entry for entry in wanted if not any(set(entry) <= row for row in rows)], said


def test_promises_are_proved_beside_them_and_under_the_policies(jobs: Jobs, project: Project, production: Plan) -> None:
    """Of the flavors of a node each. A run's jobs pass the policies of `[access]`, and no job of the teams is stopped for them."""
    project.kubectl("get", "validatingadmissionpolicybinding", "tenancy-jobs")
    before = {name: jobs.names(name) for name in jobs.running()}
    checks = select(kai_checks(production), flavors=("h100-10gb", "h100-20gb", "h100-40gb"), sample=6)
    run = verify(jobs.client, production, checks, name=safety.new_name())
    assert [(outcome.check.name, outcome.why) for outcome in run.outcomes if outcome.verdict is not Verdict.HELD] == []
    assert len(run.outcomes) == 6
    assert {name: jobs.names(name) for name in jobs.running()} == before


def unstoppable(jobs: Jobs, queue: str) -> int:
    """GPUs that KAI says no other job may take from a queue."""
    status = jobs.client.get(KaiQueue, queue).get("status") or {}
    return int((status.get("allocatedNonPreemptible") or {}).get("nvidia.com/gpu", 0))
