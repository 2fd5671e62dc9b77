"""A real lab for the tests that need one: brought up once a session, in a folder of its own, and taken down."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from lightkube import Client

from tenancy.agreement.plan import Plan, make_plan
from tenancy.cluster.clients import connect
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.lab.folder import FOLDER_VARIABLE, Folder
from tenancy.lab.processes import MARK
from tenancy.objects import kai, kueue
from tenancy.objects.loading import loads

AGREEMENT = """
[cluster]
name = "lab"

[flavors.gpu]
nodes = 4
gpus_per_node = 8

[teams.training]
guaranteed = 16
lendable = 8

[teams.research]
guaranteed = 8
lendable = 8

[teams.inference]
guaranteed = 8
lendable = 0
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here needs the real control plane."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.lab)


def plan_of(text: str) -> Plan:
    agreement = loads(text).agreement
    assert agreement is not None
    return make_plan(agreement)


@pytest.fixture(scope="session")
def plan() -> Plan:
    """lab.toml: 32 GPUs; training 16 (lends 8), research 8 (lends 8), inference 8 (lends none)."""
    return plan_of(AGREEMENT)


@pytest.fixture(scope="session")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of labs of this session; whatever a test leaves in it is taken down."""
    root = tmp_path_factory.mktemp("labs")
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = str(root)
    yield root
    for name in lab.names():
        lab.down(name)
    if before is None:
        del os.environ[FOLDER_VARIABLE]
    else:
        os.environ[FOLDER_VARIABLE] = before
    assert not processes_under(root)


@pytest.fixture(scope="session")
def shared(labs: Path, plan: Plan) -> Folder:
    """A lab with Kueue and KAI that holds the agreement. A test that uses it leaves nothing running."""
    folder = lab.up(plan, "shared", ("kai",))
    apply(folder.kubeconfig, [*kueue.objects(plan), *kai.objects(plan)])
    return folder


@pytest.fixture(scope="session")
def empty(labs: Path, plan: Plan) -> Path:
    """The kubeconfig of a lab with Kueue and no agreement. A test writes what it likes and leaves nothing."""
    return lab.up(plan, "empty").kubeconfig


@pytest.fixture(scope="session")
def client(shared: Folder) -> Client:
    return connect(str(shared.kubeconfig))


def processes_under(root: Path) -> list[psutil.Process]:
    """Every living process that belongs to a lab in this folder: by its mark, or by what it was started with."""
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get(MARK, "").startswith(f"{root}/") or any(
                f"{root}/" in entry for entry in process.cmdline()
            )
            if mine and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                found.append(process)
        except psutil.Error:
            continue
    return found
