"""Bring a lab up, take it down, say how it is.

`up` is a list of things that must be so, each made so only where it is not: the control plane answers, each controller's
objects are there and its processes run and work, the nodes are the agreement's and Ready. So a second `up` returns at
once, and one with more controllers or another agreement adds what is new. An `up` that fails ends what it started;
`down` ends whatever carries the lab's mark, and so also what is left of a lab that was killed half-way.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lightkube import ApiError, Client
from lightkube.resources.core_v1 import Namespace

from ..agreement.plan import Plan
from ..cluster.clients import connect
from ..verify.safety import ALLOWED_LABEL
from . import controlplane, kind, nodes, ports, processes, tools, webhooks
from .cluster import answers, apply
from .controllers import Controller, chosen, given_folder, given_program
from .folder import LAB_LABEL, Folder, LabError, State, folder, known, root
from .manifests import Object, Site

CONTROLLER_TIMEOUT = 90.0  # seconds; 2 on an idle machine of two cores
NODES_TIMEOUT = 60.0
PROBE_TIMEOUT = 1.0
CRD = "CustomResourceDefinition"
FOLLOWS = "follows.json"  # in a controller's folder: what it has of the agreement

Report = Callable[[str], None]


@dataclass(frozen=True)
class Status:
    """How a lab is. `processes` is name → process id of what runs, `stopped` what should run and does not."""

    name: str
    on: str
    agreement: str
    controllers: tuple[str, ...]
    kubeconfig: str
    answers: bool
    nodes: int
    processes: Mapping[str, int]
    stopped: tuple[str, ...]

    def __str__(self) -> str:
        has = f"{self.nodes} nodes, {', '.join(self.controllers)}, agreement {self.agreement}, {self.kubeconfig}"
        if self.fine:
            return f"lab {self.name} is up on {self.on}: {has}"
        wrong = [] if self.answers else ["its API server does not answer"]
        wrong += [f"{process} does not run" for process in self.stopped]
        return f"lab {self.name} has a problem ({'; '.join(wrong)}); repair it with tenancy lab up --name {self.name}. It has {has}"

    @property
    def fine(self) -> bool:
        return self.answers and not self.stopped

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "fine": self.fine}


def up(plan: Plan, name: str = "lab", with_: Iterable[str] = (), report: Report = lambda line: None) -> Folder:
    """Brings the lab up for an agreement, or adds to the one that is up what it lacks; returns its folder when
    everything in it works. Raises LabError or ToolsError; then nothing that this call started is left."""
    result = folder(name)
    state = result.state() or State(plan.cluster)
    if state.on != "kwok":
        raise LabError(f"lab {name} already runs on {state.on}: stop it first with tenancy lab down --name {name}")
    state.agreement = plan.cluster
    rows = [row.on(plan) for row in chosen([*state.controllers, *with_])]
    brought = {row.name: given_folder(row) for row in rows}
    programs = _programs(rows, report)
    before = {process.pid for process in processes.running(result).values()}
    had = result.state()
    try:
        with ports.one_lab_at_a_time():
            _up(result, state, plan, rows, brought, programs, report)
    except BaseException:
        processes.stop(process for process in processes.running(result).values() if process.pid not in before)
        if had:
            result.remember(had)
        else:
            result.remove()
        raise
    return result


def down(name: str = "lab") -> bool:
    """Ends a lab's processes and removes its folder; False when there was nothing. Raises LabError."""
    result = folder(name)
    alive = processes.running(result)
    state = result.state()
    if state and state.on == "kind":
        kind.delete(name)
    processes.stop(alive.values())
    result.remove()
    return bool(alive or state)


def status(name: str = "lab") -> Status | None:
    """How the lab is; None when there is none. Raises LabError."""
    result = folder(name)
    state = result.state()
    if state is None:
        return None
    alive = processes.running(result) if state.on == "kwok" else {}
    of_rows = [process.name for row in chosen(state.controllers) for process in row.processes]
    expected = [*controlplane.COMPONENTS, *(state.processes or of_rows)]
    there = answers(result.kubeconfig)
    return Status(
        name=name,
        on=state.on,
        agreement=state.agreement,
        controllers=tuple(state.controllers),
        kubeconfig=str(result.kubeconfig),
        answers=there,
        nodes=nodes.count(connect(str(result.kubeconfig))) if there else 0,
        processes={process: alive[process].pid for process in expected if process in alive},
        stopped=tuple(process for process in expected if process not in alive) if state.on == "kwok" else (),
    )


def names() -> list[str]:
    """Every lab of this project: those with a folder, and those of which only processes are left."""
    return sorted({folder.name for folder in known()} | processes.labs_under(root()))


def _programs(rows: Iterable[Controller], report: Report) -> dict[str, Path]:
    """The programs of the control plane and of the rows, built where they must be: that takes minutes, once."""
    wanted = [*controlplane.TOOLS, *(row.tools for row in rows if row.tools)]
    started = time.monotonic()
    found = tools.require(wanted)
    if time.monotonic() - started > 5:
        report(f"programs: {time.monotonic() - started:.0f} s")
    return found


def _up(
    folder: Folder,
    state: State,
    plan: Plan,
    rows: list[Controller],
    brought: Mapping[str, Path | None],
    programs: Mapping[str, Path],
    report: Report,
) -> None:
    wanted = [*controlplane.PORTS.values(), *(f"{row.name}/{port}" for row in rows for port in row.ports)]
    state.ports = ports.choose(wanted, state.ports)
    before = state.processes
    state.controllers = [row.name for row in rows]
    state.processes = [process.name for row in rows for process in row.processes]
    folder.make(state)
    with ThreadPoolExecutor(len(rows) + 1) as pool:
        # Reading a controller's manifests takes as long as starting the control plane.
        alive = processes.running(folder)
        processes.stop(alive[name] for name in before if name in alive and name not in state.processes)
        new = [row for row in rows if _is_new(folder, plan, row, alive)]
        if any(row.queued for row in new):
            new = [row for row in rows if row in new or row.name == "kueue"]
        sites = {row.name: _site(folder, state, plan, row, brought[row.name]) for row in new}
        objects = {row.name: pool.submit(_objects, row, sites[row.name]) for row in new}
        with _timed(report, "control plane"):
            controlplane.up(folder, state.ports, programs, tools.module_dir("kwok"))
        client = connect(str(folder.kubeconfig))
        client.patch(
            Namespace, "kube-system", {"metadata": {"labels": {LAB_LABEL: folder.name, ALLOWED_LABEL: "true"}}}
        )
        made = pool.submit(nodes.converge, client, plan)
        apply(folder.kubeconfig, [one for row in new for one in objects[row.name].result() if one["kind"] == CRD])
        for row in new:
            with _timed(report, row.name):
                _start(folder, row, sites[row.name], objects[row.name], programs, client)
        with _timed(report, f"{sum(flavor.nodes for flavor in plan.flavors)} nodes"):
            made.result()
            processes.wait_until(
                "the nodes",
                lambda: nodes.ready(client, plan),
                folder,
                ("kube-apiserver", "kwok-controller"),
                NODES_TIMEOUT,
            )


def _is_new(folder: Folder, plan: Plan, row: Controller, alive: Mapping[str, object]) -> bool:
    """Whether a controller must be started: it does not run, or it runs as another agreement had it."""
    path = folder.path / row.name / FOLLOWS
    had = path.read_text() if path.exists() else ""
    return any(process.name not in alive for process in row.processes) or had != _follows(row, plan)


def _follows(row: Controller, plan: Plan) -> str:
    return json.dumps(row.follows(plan), sort_keys=True)


def _site(folder: Folder, state: State, plan: Plan, row: Controller, given: Path | None) -> Site:
    own = {port: state.ports[f"{row.name}/{port}"] for port in row.ports}
    return Site(folder.path / row.name, own, plan, given, webhooks.certificate(*row.names))


def _objects(row: Controller, site: Site) -> list[Object]:
    return list(row.objects(site))


def _start(
    folder: Folder,
    row: Controller,
    site: Site,
    objects: Future[list[Object]],
    programs: Mapping[str, Path],
    client: Client,
) -> None:
    """A controller's objects and files first, then its processes, then the question whether it works."""
    processes.stop(
        process for name, process in processes.running(folder).items() if name in {own.name for own in row.processes}
    )
    apply(folder.kubeconfig, [one for one in objects.result() if one["kind"] != CRD])
    for path, data in row.files(site).items():
        folder.write(f"{row.name}/{path}", data)
    folder.write(f"{row.name}/{FOLLOWS}", _follows(row, site.plan))
    values = {"folder": str(site.folder), "kubeconfig": str(folder.kubeconfig), **site.ports}
    for process in row.processes:
        program = given_program(site.given, row, process) if site.given else programs[process.runs]
        own = {name: text.format_map(values) for name, text in process.environment.items()}
        command = [str(program), *(text.format_map(values) for text in process.arguments)]
        processes.start(folder, process.name, command, {"KUBECONFIG": str(folder.kubeconfig), **own})
    names = [process.name for process in row.processes]
    for process in row.processes:
        says_ok = partial(_says_ok, process.ready.format_map(values))
        processes.wait_until(process.name, says_ok, folder, names, CONTROLLER_TIMEOUT)
    processes.wait_until(row.name, lambda: _works(row, client), folder, names, CONTROLLER_TIMEOUT)


def _says_ok(address: str) -> bool:
    """`port/path` on loopback; no address is fine."""
    if not address:
        return True
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(f"http://{ports.HOST}:{address}", timeout=PROBE_TIMEOUT).close()
    except (urllib.error.URLError, OSError):
        return False
    return True


def _works(row: Controller, client: Client) -> bool:
    """An API error here is what is not there yet: a webhook that does not answer, a kind that is not served."""
    try:
        return row.works(client)
    except ApiError:
        return False


class _timed:
    """Reports how long a part took."""

    def __init__(self, report: Report, what: str) -> None:
        self.report, self.what = report, what

    def __enter__(self) -> None:
        self.started = time.monotonic()

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self.report(f"{self.what}: {time.monotonic() - self.started:.1f} s")
