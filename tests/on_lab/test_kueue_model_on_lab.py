"""The model beside a real Kueue: random small agreements, and of every job both say whether it runs.

Each agreement is a game of its own, with its own names, and all are played at once on one lab. A move submits a job or removes
one. Where nothing is left for Kueue to do, the next job's fate is certain, so the model says it before: it runs, it waits, or it
runs after others were stopped. Which of several queues must give is Kueue's choice (the newest jobs), and who was stopped may take
back in turn: then what runs in the end must be one of the states in which that can end. And whenever Kueue has come to rest, every
job that runs may run, and none that waits may.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace
from lightkube.types import CascadeType

from tenancy.agreement import Agreement
from tenancy.agreement.plan import Plan, make_plan
from tenancy.cluster.clients import Workload, connect
from tenancy.lab.cluster import apply, kubectl
from tenancy.objects import kueue
from tenancy.quota.kueue_model import KueueModel
from tenancy.quota.tree import Node

from .teams import Ask, Teams, condition

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEEDS = range(1, 13)
MOVES = 14
PATIENCE = 120.0
EVERY = 0.1
MANY = 300  # states after one move that are looked through at most

Look = Mapping[str, Mapping[str, Any]]
Usage = frozenset[tuple[str, int]]  # units by queue, of one flavor


def agreement(seed: int) -> dict[str, Any]:
    """The values of an agreement with names of its own; guarantees are large, so that there is something to take back."""
    dice = random.Random(seed)
    me = f"o{seed}"
    flavors = {
        f"{me}-f{number}": {"nodes": dice.randint(1, 3), "gpus_per_node": dice.choice((4, 6, 8))}
        for number in range(dice.choice((1, 1, 2, 3)))
    }
    left = {name: flavor["nodes"] * flavor["gpus_per_node"] for name, flavor in flavors.items()}
    departments = [f"{me}-d{number}" for number in range(dice.randint(0, 2))]
    count = dice.randint(2, 4)
    teams = {f"{me}-t{number}": team(dice, left, count - number, departments) for number in range(count)}
    return {
        "cluster": {"name": me, "guarantee_on": dice.choice(("cohort", "queue"))},
        "flavors": flavors,
        "departments": {name: {} for name in departments},
        "teams": teams,
    }


def team(dice: random.Random, left: dict[str, int], teams: int, departments: list[str]) -> dict[str, Any]:
    """One of `teams` that still come, each of which may have its part of what is `left`."""
    capacity = dict(left)
    guaranteed = {
        flavor: dice.randint(units // (teams + 2), units if teams == 1 else 2 * units // (teams + 1))
        for flavor, units in left.items()
    }
    for flavor, units in guaranteed.items():
        left[flavor] -= units

    def some(most: Mapping[str, int], often: float) -> dict[str, int]:
        return {flavor: dice.randint(0, units) for flavor, units in most.items() if dice.random() < often}

    made: dict[str, Any] = {"guaranteed": guaranteed, "lendable": some(guaranteed, 0.4)}
    made["borrowable"] = some(capacity, 0.3)
    made["prod"] = some(guaranteed, 0.8) if dice.random() < 0.5 else {}
    if departments and dice.random() < 0.7:
        made["department"] = dice.choice(departments)
    return made


@dataclass(frozen=True)
class Asked:
    """A job of a game. `key` is its `namespace/name`."""

    name: str
    team: str
    prod: bool
    flavor: str
    units: int

    @property
    def key(self) -> str:
        return f"{self.team}/{self.name}"

    @property
    def queue(self) -> str:
        return self.team + kueue.PROD_SUFFIX * self.prod


@dataclass(frozen=True)
class Foretold:
    """What the model says of a job before it is submitted. `runs` None, `usage` empty: that goes by whom Kueue stops."""

    runs: bool | None
    usage: frozenset[Usage] = frozenset()
    stops: bool = False


@dataclass
class Counts:
    """Over all games: of how many jobs it was said before what becomes of them, so that agreement is not agreement on nothing."""

    ran: int = 0
    waited: int = 0
    took_back: int = 0
    open: int = 0
    removed: int = 0


@dataclass
class Game:
    """One agreement on the cluster. `look` is what was last seen of its jobs."""

    seed: int
    client: Client
    counts: Counts
    story: list[str] = field(default_factory=list)
    jobs: dict[str, Asked] = field(default_factory=dict)
    look: Look = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = agreement(self.seed)
        self.plan: Plan = make_plan(Agreement.model_validate(self.values))
        self.teams = Teams(self.client, self.plan)
        self.models = {flavor.name: KueueModel(self.plan, flavor.name) for flavor in self.plan.flavors}
        self.dice = random.Random(f"moves {self.seed}")
        # All jobs of a flavor are equal, or of any size. Of equal ones the model knows how many must go.
        self.size = {
            flavor.name: 0 if self.dice.random() < 0.2 else self.dice.randint(1, max(1, flavor.capacity // 4))
            for flavor in self.plan.flavors
        }

    # --- what is seen -------------------------------------------------------------------------------------------------

    def holds(self, key: str) -> bool:
        result = self.look.get(key, {})
        evicted = condition(result, "Evicted").get("status") == "True"
        return condition(result, "QuotaReserved").get("status") == "True" and not evicted

    def told(self, key: str) -> str:
        """Why it waits, in Kueue's words; empty while Kueue has not looked at it (again)."""
        said = condition(self.look.get(key, {}), "QuotaReserved")
        return said["message"] if said.get("status") == "False" and said.get("reason") == "Pending" else ""

    def usage(self, flavor: str) -> Usage:
        return frozenset((name, units) for name, units in self.count(flavor).items() if units)

    def count(self, flavor: str) -> dict[str, int]:
        """Sets the model's usage to what is seen."""
        nodes = self.nodes(flavor)
        for node in nodes.values():
            node.usage = 0
        for job in self.jobs.values():
            if job.flavor == flavor and self.holds(job.key):
                nodes[job.queue].usage += job.units
        return {name: node.usage for name, node in nodes.items()}

    def nodes(self, flavor: str) -> dict[str, Node]:
        return {node.name: node for node in self.models[flavor].queues.values()}

    # --- what the model says -------------------------------------------------------------------------------------------

    def may_run(self, job: Asked) -> bool | None:
        """As the model's usage is now; None where it depends on which jobs Kueue stops."""
        node, each = self.nodes(job.flavor)[job.queue], self.size[job.flavor]
        if node.must_preempt(job.units) is not None:
            return True
        if not (node.reclaimable(job.units) and node.potential >= job.units):
            return False
        return False if each and node.must_preempt(job.units, each) is None else None

    def wrong(self, flavor: str) -> list[str]:
        """What contradicts the model in what runs and what waits now."""
        self.count(flavor)
        found = []
        for job in self.jobs.values():
            if job.flavor != flavor:
                continue
            node = self.nodes(flavor)[job.queue]
            if not self.holds(job.key):
                if self.may_run(job):
                    found.append(f"{job} waits; it should run ({self.told(job.key)})")
                continue
            node.usage -= job.units
            if node.available < job.units:
                found.append(f"{job} runs; only {node.available} are available")
            node.usage += job.units
        return found

    def foretell(self, job: Asked) -> Foretold:
        before = self.count(job.flavor)
        runs, node = self.may_run(job), self.nodes(job.flavor)[job.queue]
        stops = runs is not False and node.available < job.units
        if self.size[job.flavor]:
            return Foretold(runs, self.ends(job.flavor, job), stops)
        after = before | {job.queue: before[job.queue] + job.units * bool(runs)}
        return Foretold(runs, frozenset(() if stops else (usage_of(after),)), stops)

    def ends(self, flavor: str, *more: Asked) -> frozenset[Usage]:
        """What may run of a flavor with jobs of one size when Kueue has come to rest, from what runs and waits now."""
        before, waiting = self.count(flavor), Counter(job.queue for job in more)
        waiting.update(
            asked.queue for asked in self.jobs.values() if asked.flavor == flavor and not self.holds(asked.key)
        )
        return ends(self.nodes(flavor), before, waiting, self.size[flavor])

    # --- the moves --------------------------------------------------------------------------------------------------------

    def play(self) -> Iterator[str]:
        """Ends when the game is over; until then tells what it waits for."""
        for number in range(MOVES):
            running = [job for job in self.jobs.values() if self.holds(job.key)]
            if running and self.dice.random() < 0.1:
                yield from self.remove(self.dice.choice(running))
            else:
                yield from self.submit(self.choose(f"j{number}"))
        while silent := [key for key in self.jobs if not self.holds(key) and not self.told(key)]:
            yield f"Kueue to say why they wait: {silent}"
        for flavor in self.models:
            assert not self.wrong(flavor), self.wrong(flavor)

    def choose(self, name: str) -> Asked:
        """A job of any queue; three of four times, where there is one, of a queue that takes back what it asks, or else of one
        that borrows."""
        any_, borrowers, owners = [], [], []
        for flavor, model in self.models.items():
            self.count(flavor)
            units = self.size[flavor] or self.dice.randint(1, max(1, self.plan.flavor[flavor].capacity // 3))
            for (team_, prod), node in model.queues.items():
                job = Asked(name, team_, prod, flavor, units)
                any_.append(job)
                if node.must_preempt(units):
                    owners.append(job)
                elif node.nominal < node.used + units <= node.used + node.available:
                    borrowers.append(job)
        return self.dice.choice((owners or borrowers or any_) if self.dice.random() < 0.75 else any_)

    def submit(self, job: Asked) -> Iterator[str]:
        foretold = self.foretell(job)
        self.story.append(f"{job}: {foretold}")
        self.jobs[job.key] = job
        ask = Ask(self.plan.flavor[job.flavor], job.units, port=len(self.story))
        self.teams.submit(job.team, job.name, ask, "prod" if job.prod else "default")
        yield "a look"
        while not (self.holds(job.key) or self.told(job.key)):
            yield f"Kueue to decide on {job}"
        while contradiction := self.contradiction(job, foretold):
            yield contradiction
        self.told_the_maximum(job)
        self.counts.open += not foretold.usage or foretold.runs is None
        self.counts.ran += bool(foretold.usage and foretold.runs and not foretold.stops)
        self.counts.took_back += bool(foretold.usage and foretold.stops)
        self.counts.waited += bool(foretold.usage and foretold.runs is False)

    def contradiction(self, job: Asked, foretold: Foretold) -> str:
        """Empty where what is seen is as the model says."""
        if foretold.runs is not None and self.holds(job.key) != foretold.runs:
            return f"{job} should {'run' if foretold.runs else 'wait'}: {self.told(job.key)}"
        usage = self.usage(job.flavor)
        if foretold.usage and usage not in foretold.usage:
            return f"of {job.flavor} {sorted(usage)} run in place of {[sorted(entry) for entry in foretold.usage]}"
        return "; ".join(self.wrong(job.flavor))

    def told_the_maximum(self, job: Asked) -> None:
        """Kueue tells what can never run from what waits."""
        if message := self.told(job.key):
            potential = self.nodes(job.flavor)[job.queue].potential
            assert ("maximum capacity" in message) == (job.units > potential), f"{job}, at most {potential}: {message}"

    def remove(self, job: Asked) -> Iterator[str]:
        self.story.append(f"remove {job}")
        del self.jobs[job.key]
        self.client.delete(Job, job.name, namespace=job.team, cascade=CascadeType.BACKGROUND)
        while job.key in self.look:
            yield f"{job} to be gone"
        ends = self.ends(job.flavor) if self.size[job.flavor] else frozenset()
        while contradiction := self.contradiction(job, Foretold(None, ends)):
            yield contradiction
        self.counts.removed += 1

    def told_so_far(self) -> str:
        moves = "\n".join(self.story)
        return f"seed {self.seed}, sizes {self.size}\n{json.dumps(self.values)}\n{moves}"


def usage_of(units: Mapping[str, int]) -> Usage:
    return frozenset((name, unit) for name, unit in units.items() if unit)


def ends(nodes: Mapping[str, Node], runs: Mapping[str, int], waiting: Mapping[str, int], each: int) -> frozenset[Usage]:
    """What may run in the end, whichever of the waiting jobs Kueue takes first and whichever jobs it stops for one; none where
    those are too many ways to go through. Every job has `each` units; `waiting` are jobs by queue."""
    todo = [tuple((name, units, waiting.get(name, 0)) for name, units in runs.items())]
    seen, found = set(todo), set[Usage]()
    for state in todo:
        rests = True
        for name, _, waits in state:
            if not waits:
                continue
            put(nodes, {value: units for value, units, _ in state})
            certain = nodes[name].must_preempt(each) is not None
            for after in admissions(nodes, nodes[name], each):
                rests = rests and not certain
                now = tuple(
                    (value, after[value], wait + max(0, units - after[value]) // each - (value == name))
                    for value, units, wait in state
                )
                if now not in seen:
                    seen.add(now)
                    todo.append(now)
        if rests:
            found.add(usage_of({value: units for value, units, _ in state}))
        if len(todo) > MANY:
            return frozenset()
    put(nodes, runs)
    return frozenset(found)


def admissions(nodes: Mapping[str, Node], node: Node, each: int) -> list[dict[str, int]]:
    """What may run after a job of `node` has been let in, by queue: every choice of jobs to stop for it that the rules allow and of
    which none could have been spared."""
    start = {name: node.usage for name, node in nodes.items()}
    reached, enough = [tuple[str, ...]()], []
    for stopped in reached:
        put(nodes, without(start, stopped, each))
        if node.available >= each:
            enough.append(stopped)
            continue
        victims = [entry.name for entry in node.reclaimable(each) if entry.usage >= each]
        reached += [result for name in victims if (result := tuple(sorted((*stopped, name)))) not in reached]
    fewer = [
        entry for entry in enough if not any(other != entry and not Counter(other) - Counter(entry) for other in enough)
    ]
    afters = [without(start, stopped, each) for stopped in fewer]
    return [after | {node.name: after[node.name] + each} for after in afters]


def without(units: Mapping[str, int], stopped: tuple[str, ...], each: int) -> dict[str, int]:
    return {name: unit - each * stopped.count(name) for name, unit in units.items()}


def put(nodes: Mapping[str, Node], units: Mapping[str, int]) -> None:
    for name, unit in units.items():
        nodes[name].usage = unit


@pytest.fixture
def games(empty: Path) -> Iterator[list[Game]]:
    client, counts = connect(str(empty)), Counts()
    made = [Game(seed, client, counts) for seed in SEEDS]
    objects = [one for game in made for one in kueue.objects(game.plan)]
    apply(empty, objects)
    for game in made:
        game.teams.settle()
    yield made
    for game in made:
        for team_ in game.plan.team:
            client.deletecollection(Job, namespace=team_, cascade=CascadeType.BACKGROUND)
    for game in made:
        game.teams.clear()
        for team_ in game.plan.team:
            client.delete(Namespace, team_)
    every = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects[::-1]})
    kubectl(empty, "delete", "--wait=false", "--filename=-", given=every)  # nothing runs: they go when they can


def test_kueue_and_the_model_agree_of_every_job(games: list[Game]) -> None:
    """A hundred jobs and more. What Kueue was waited for in vain is told with the seed, the agreement and every move."""
    waiting = {game.seed: game.play() for game in games}
    by_seed = {game.seed: game for game in games}
    client, since = games[0].client, {game.seed: time.monotonic() for game in games}
    last: dict[int, str] = {}
    while waiting:
        looks: dict[str, dict[str, Any]] = {}
        for workload in client.list(Workload, namespace="*"):
            owner = next(iter(workload.metadata.ownerReferences or ()), None)
            looks[f"{workload.metadata.namespace}/{owner.name if owner else workload.metadata.name}"] = dict(workload)
        for seed, play in list(waiting.items()):
            game = by_seed[seed]
            moves = len(game.story)
            game.look = {key: look for key, look in looks.items() if key.partition("/")[0] in game.plan.team}
            try:
                last[seed] = next(play)
            except StopIteration:
                del waiting[seed]
                continue
            except AssertionError as error:
                raise AssertionError(f"{error}\n{game.told_so_far()}") from None
            if len(game.story) != moves:
                since[seed] = time.monotonic()
            late = time.monotonic() - since[seed] > PATIENCE
            assert not late, f"waited in vain: {last[seed]}\n{game.told_so_far()}"
        time.sleep(EVERY)
    counts = games[0].counts
    print(counts)
    assert min(counts.ran, counts.waited) >= 2 * len(games) and counts.took_back >= len(games) // 2, counts
    assert counts.open <= len(games), f"too much was left open: {counts}"
