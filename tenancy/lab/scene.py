"""A scene with real jobs: one team borrows what another lends, the other comes back and gets it.

The scene is what the agreement is about, so it is not typed by hand: who lends and who borrows, how many GPUs each gets
and how many must be given back are computed from the plan, and the scene fails where the cluster does otherwise. On a
lab's nodes pods run without doing anything, so what is seen is the schedulers' own behaviour and speed.

1. The borrower submits more than it can ever reach. It gets its reach, on the lender's idle GPUs, and the rest waits.
2. The lender submits all it is guaranteed. Borrowed jobs are stopped until all of the lender's jobs run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.types import CascadeType

from ..agreement.hardware import Hardware
from ..agreement.quantity import bytes_text, milli_text
from ..kai import API_VERSION, RESERVED_SUFFIX, UNLIMITED, refusal
from ..live import usage
from ..live.clients import KaiQueue, LocalQueue, connect
from ..plan import Plan, TeamPlan
from .folder import LabError, folder

SCENE_LABEL = "tenancy.dev/scene"
MOST_JOBS = 64  # of one team; beyond that jobs get more pods
TOO_MANY = 4  # jobs more than the borrower can reach
PATIENCE, PER_JOB = 60.0, 2.0  # seconds for an act, and for each of its jobs: ten times what two idle cores take
CLEARING = 180.0  # seconds for namespaces and jobs to go
EVERY = 0.25  # seconds between two looks
STEADY = 4  # looks in a row that must show the same
IMAGE = "registry.invalid/nothing-runs-on-simulated-nodes"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Cast:
    """Who plays, and what the agreement says must come of it, in units of the flavor.

    `reach` is what the borrower gets alone, `beside` what is left to it once the lender has its whole guarantee."""

    flavor: Hardware
    lender: TeamPlan
    borrower: TeamPlan
    reach: int
    beside: int

    @property
    def guaranteed(self) -> int:
        return self.lender.shares[self.flavor.name].guaranteed

    @property
    def size(self) -> int:
        """Units of one job: a divisor of all amounts, so that whole jobs come to them exactly, for not too many jobs."""
        common = gcd(self.reach, self.beside, self.guaranteed)
        divisors = [size for size in range(1, common + 1) if common % size == 0]
        return next((size for size in divisors if max(self.reach, self.guaranteed) // size <= MOST_JOBS), common)


def cast(plan: Plan) -> Cast:
    """The pair for which most must be given back; ties by what the borrower itself lends, then by the agreement's order.
    Raises LabError when no team of the agreement borrows from another."""
    pairs = [
        Cast(flavor, lender, borrower, plan.reach(borrower, flavor.name), _beside(plan, flavor.name, borrower, lender))
        for flavor in plan.flavors
        for lender in plan.teams
        for borrower in plan.teams
        if lender is not borrower
    ]
    best = max(pairs, key=_interest, default=None)
    if best is None or best.reach == best.beside:
        raise LabError("in this agreement no team can borrow what another lends: there is no scene to play")
    return best


def _interest(pair: Cast) -> tuple[int, int, int]:
    flavor = pair.flavor.name
    return (
        pair.reach - pair.beside,
        pair.lender.shares[flavor].lendable + pair.borrower.shares[flavor].lendable,
        pair.lender.shares[flavor].guaranteed,
    )


def _beside(plan: Plan, flavor: str, borrower: TeamPlan, lender: TeamPlan) -> int:
    """The borrower's reach while the lender uses all it is guaranteed."""
    own = borrower.shares[flavor]
    others = plan.pool[flavor] + plan.lent[flavor] - own.lendable - lender.shares[flavor].lendable
    return own.guaranteed + min(plan.reach(borrower, flavor) - own.guaranteed, others)


def play(plan: Plan, name: str = "lab", scheduler: str = "kueue", tell: Tell = print) -> bool:
    """Plays the scene on a lab that holds the agreement; whether everything went as the agreement says.

    Raises LabError, Unreachable or NotThere when the scene cannot begin. Its namespaces are removed whatever happens.
    """
    it = folder(name)
    state = it.state()
    if state is None:
        raise LabError(f"there is no lab {name}: tenancy lab up --name {name}")
    if state.on != "kwok":
        raise LabError(f"lab {name} is on {state.on}, where pods run programs; the scene's have none")
    if scheduler == "kai" and (why := refusal(plan)):
        raise LabError(f"KAI has no queues for this agreement: {why}")
    players = cast(plan)
    client = connect(str(it.kubeconfig))
    stage = _Stage(client, plan, players, scheduler)
    with stage.set():
        if busy := [row for row in stage.rows() if row.used]:
            used = ", ".join(f"{row.team} uses {row.used}" for row in busy)
            raise LabError(f"the scene needs a lab on which nothing runs, and {used}")
        return _act_one(stage, tell) and _act_two(stage, tell)


def _act_one(stage: _Stage, tell: Tell) -> bool:
    it, count = stage.cast, stage.cast.flavor.count
    lender, borrower = it.lender.display_name, it.borrower.display_name
    own = it.borrower.shares[it.flavor.name].guaranteed
    jobs = it.reach // it.size + TOO_MANY
    tell(f"{lender} is idle. {borrower} submits {jobs} jobs of {count(it.size)}; it is guaranteed {count(own)}.")
    stage.submit(it.borrower, jobs * it.size)
    took = stage.until({it.borrower.name: it.reach})
    return stage.told(
        tell,
        took,
        f"After {took or 0:.1f} s {borrower} runs on {count(it.reach)}: {own} of its own, {it.reach - own} that others lend. "
        f"That is all it can reach, so {TOO_MANY} jobs wait.",
        f"{borrower} should run on {it.reach} by now",
    )


def _act_two(stage: _Stage, tell: Tell) -> bool:
    it, count = stage.cast, stage.cast.flavor.count
    lender, borrower = it.lender.display_name, it.borrower.display_name
    stopped = (it.reach - it.beside) // it.size
    tell(f"{lender} comes back and submits {it.guaranteed // it.size} jobs of {count(it.size)}, all it is guaranteed.")
    stage.submit(it.lender, it.guaranteed)
    took = stage.until({it.lender.name: it.guaranteed, it.borrower.name: it.beside})
    return stage.told(
        tell,
        took,
        f"After {took or 0:.1f} s {stopped} borrowed jobs of {borrower} are stopped, and all of {lender} runs, on "
        f"{count(it.guaranteed)}. {borrower} keeps {count(it.beside)}.",
        f"{lender} should run on {it.guaranteed} and {borrower} on {it.beside} by now",
    )


@dataclass(frozen=True)
class _Stage:
    """The cluster as the scene uses it."""

    client: Client
    plan: Plan
    cast: Cast
    scheduler: str

    @contextmanager
    def set(self) -> Iterator[None]:
        """The teams' namespaces; at the end nothing of the scene runs or is counted, and they are on their way out."""
        teams = (self.cast.lender, self.cast.borrower)
        self._remove()
        self._wait("namespaces of an earlier scene are still there", lambda: not self._namespaces())
        try:
            for team in teams:
                self.client.create(from_dict(self._namespace(team)))
                if self.scheduler == "kueue":
                    self.client.create(LocalQueue.from_dict(self._local_queue(team)))
                elif self._reserved(team):
                    self.client.create(KaiQueue.from_dict(self._leaf(team)))
            yield
        finally:
            for team in teams:  # jobs first: a namespace waits long for workloads that Kueue has yet to let go
                self.client.deletecollection(Job, namespace=_namespace_of(team.name), cascade=CascadeType.BACKGROUND)
            idle = dict.fromkeys((team.name for team in teams), 0)
            self._wait("jobs of the scene do not end", lambda: self._shows(idle))
            self._remove()

    def rows(self) -> list[usage.Row]:
        return usage.who_has_what(self.client, self.plan, self.scheduler)

    def submit(self, team: TeamPlan, amount: int) -> None:
        """Jobs for an amount; on KAI first as many as the team's reserved queue holds, a queue of its own there."""
        size = self.cast.size
        reserved = min(amount, self._reserved(team)) // size
        queues = [_leaf_of(team) if reserved else ""] * reserved + [team.name] * (amount // size - reserved)
        jobs = [from_dict(self._job(team, number, queue)) for number, queue in enumerate(queues)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.client.create, jobs))

    def until(self, expected: dict[str, int]) -> float | None:
        """Seconds until each team uses what is expected, nobody else anything, and as many pods run; None when it does
        not come, or does not stay."""
        started = time.monotonic()
        came, steady = 0.0, 0
        patience = PATIENCE + PER_JOB * sum(expected.values()) / self.cast.size
        while time.monotonic() - started < patience:
            now = time.monotonic()
            seen = self._shows(expected)
            came = came if seen and steady else now
            steady = steady + 1 if seen else 0
            if steady == STEADY:
                return came - started
            time.sleep(EVERY)
        return None

    def told(self, tell: Tell, took: float | None, well: str, ill: str) -> bool:
        """Says how an act ended, with the table."""
        rows = self.rows()
        if took is None:
            running = ", ".join(
                f"{team.name} runs {self._running(team.name)}" for team in (self.cast.lender, self.cast.borrower)
            )
            tell(f"This is not what the agreement says: {ill}. Instead {running}.")
        else:
            tell(well)
        usage.show(rows)
        return took is not None

    def _running(self, team: str) -> int:
        pods = self.client.list(Pod, namespace=_namespace_of(team), fields={"status.phase": "Running"})
        return sum(1 for pod in pods if pod.metadata and not pod.metadata.deletionTimestamp)

    def _shows(self, expected: dict[str, int]) -> bool:
        """Whether these teams use these amounts, nobody else anything, and as many pods run."""
        used = {row.team: row.used for row in self.rows() if row.flavor == self.cast.flavor.name and row.used}
        wanted = {team: amount for team, amount in expected.items() if amount}
        return used == wanted and all(self._running(team) == amount for team, amount in expected.items())

    def _wait(self, otherwise: str, so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + CLEARING
        while not so():
            if time.monotonic() > deadline:
                raise LabError(f"after {CLEARING:.0f} s {otherwise}")
            time.sleep(EVERY)

    def _namespaces(self) -> list[str]:
        found = self.client.list(Namespace, labels={SCENE_LABEL: "true"})
        return [it.metadata.name for it in found if it.metadata and it.metadata.name]

    def _remove(self) -> None:
        for name in self._namespaces():
            self._gone(Namespace, name)
        for team in (self.cast.lender, self.cast.borrower):
            if self._reserved(team):
                self._gone(KaiQueue, _leaf_of(team))

    def _gone(self, kind: Any, name: str) -> None:
        """Asks for an object's removal; one that is not there, or already going, is fine."""
        try:
            self.client.delete(kind, name)
        except ApiError as error:
            if error.status.code not in (404, 409):
                raise

    def _reserved(self, team: TeamPlan) -> int:
        """What KAI keeps in a queue of its own."""
        return team.shares[self.cast.flavor.name].reserved if self.scheduler == "kai" else 0

    def _leaf(self, team: TeamPlan) -> dict[str, Any]:
        """KAI 0.12 schedules nothing in a queue that has no parent (KAI#621, mended in 0.13), so the reserved root gets
        a leaf for the scene."""
        amount = {"quota": self._reserved(team), "limit": self._reserved(team), "overQuotaWeight": 1}
        unlimited = {"quota": UNLIMITED, "limit": UNLIMITED, "overQuotaWeight": 1}
        return {
            "apiVersion": API_VERSION,
            "kind": "Queue",
            "metadata": {"name": _leaf_of(team), "labels": {SCENE_LABEL: "true"}},
            "spec": {
                "parentQueue": team.name + RESERVED_SUFFIX,
                "resources": {"gpu": amount, "cpu": unlimited, "memory": unlimited},
            },
        }

    def _namespace(self, team: TeamPlan) -> dict[str, Any]:
        """On Kueue it belongs to the team by its label; for KAI a label would only make other controllers give it queues."""
        owner = {self.plan.team_label: team.name} if self.scheduler == "kueue" else {}
        metadata = {"name": _namespace_of(team.name), "labels": {SCENE_LABEL: "true", **owner}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def _local_queue(self, team: TeamPlan) -> dict[str, Any]:
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "default", "namespace": _namespace_of(team.name)},
            "spec": {"clusterQueue": team.name},
        }

    def _job(self, team: TeamPlan, number: int, queue: str) -> dict[str, Any]:
        """A Job of `size` pods with a unit each; without the annotation that ends them its pods run until deleted."""
        flavor, size = self.cast.flavor, self.cast.size
        of_kueue = self.scheduler == "kueue"
        unit = {} if flavor.unit == "cpu" else {flavor.resource: "1"}
        asks = {**unit, "cpu": milli_text(flavor.cpu), "memory": bytes_text(flavor.memory)}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": f"job-{number}",
                "namespace": _namespace_of(team.name),
                "labels": {"kueue.x-k8s.io/queue-name": "default"} if of_kueue else {},
            },
            "spec": {
                "parallelism": size,
                "completions": size,
                "backoffLimit": 1000,  # a pod that KAI stops counts as failed
                "template": {
                    "metadata": {
                        "labels": {} if of_kueue else {"kai.scheduler/queue": queue},
                        "annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
                        if flavor.topology and of_kueue
                        else {},
                    },
                    "spec": {
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": 0,  # nothing runs in them that could end
                        **({} if of_kueue else {"schedulerName": "kai-scheduler"}),
                        "nodeSelector": dict(flavor.node_labels) if of_kueue else {},
                        "tolerations": [
                            {"key": it.key, "operator": "Equal", "value": it.value, "effect": it.effect}
                            for it in flavor.taints
                        ],
                        "containers": [
                            {"name": "work", "image": IMAGE, "resources": {"requests": asks, "limits": unit}},
                        ],
                    },
                },
            },
        }


def _leaf_of(team: TeamPlan) -> str:
    return f"scene-{team.name}{RESERVED_SUFFIX}"


def _namespace_of(team: str) -> str:
    return f"scene-{team}"[:63].rstrip("-.").replace(".", "-")
