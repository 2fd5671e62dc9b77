"""How KAI divides what is lent: how long a job is left alone, and then by weight. Acts of one play, in this order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenancy.agreement.plan import Plan
from tenancy.cluster.clients import connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.lab.folder import Folder
from tenancy.objects import kai

from .conftest import plan_of
from .kai_jobs import Jobs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# 32 GPUs: 16 are owner's, 8 of them for prod; 16 are nobody's.
AGREED = """
[cluster]
name = "sharing"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
[teams.owner]
guaranteed = 16
prod = 8
[teams.heavy]
weight = 3
[teams.light]
"""
LEFT_ALONE = '[sharing]\nreclaim_min_runtime = "1h"\n'


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(AGREED)


@pytest.fixture(scope="module")
def folder(labs: Path, plan: Plan) -> Iterator[Folder]:
    result = lab.up(plan, "sharing", ("kai",))
    apply(result.kubeconfig, kai.objects(plan_of(LEFT_ALONE + AGREED)))
    yield result
    lab.down("sharing")


@pytest.fixture(scope="module")
def jobs(folder: Folder, plan: Plan) -> Jobs:
    """All GPUs are in use: owner's by its regular jobs, the free pool by light's."""
    job = Jobs(connect(str(folder.kubeconfig)), plan)
    job.begin()
    job.submit("owner", "owner", "gpu", 16, 1)
    job.runs(owner=16)
    job.submit("light", "light", "gpu", 16, 1)
    job.runs(owner=16, light=16)
    return job


def test_a_job_is_left_alone_for_as_long_as_agreed(jobs: Jobs) -> None:
    """Three parts in four of the free pool are heavy's by weight. KAI says why it does not get them yet: it has looked."""
    jobs.submit("heavy", "heavy", "gpu", 16, 1)
    jobs.says("heavy", "GPU")
    jobs.runs(light=16, heavy=0, owner=16)


def test_a_prod_slice_does_not_wait_for_its_own_teams_jobs(jobs: Jobs) -> None:
    jobs.submit("prod", "owner-prod", "gpu", 8, 1, "build")
    jobs.runs(prod=8, owner=8, light=16)


def test_what_is_nobodys_is_divided_by_weight(jobs: Jobs, folder: Folder, plan: Plan) -> None:
    """3 : 1, once jobs may be stopped. The agreement's other numbers stay, and so do owner's jobs."""
    apply(folder.kubeconfig, kai.objects(plan))
    jobs.runs(heavy=12, light=4, prod=8, owner=8)
