"""One `verify` from beginning to end: may it run there, what others left, the run itself, and nothing left behind.

Ctrl-C and SIGTERM end it early and in order: what has a verdict keeps it, and what was made is removed. A second one leaves at
once, as a SIGKILL does; then `--clean` removes what was made.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from types import FrameType

from lightkube import Client

from ..agreement.plan import Plan
from ..cluster import listing
from ..cluster.api import Api, Kind
from ..cluster.connection import Where
from ..cluster.fields import annotations_of
from ..objects.identity import AGREEMENT_LABEL
from ..objects.kinds import KINDS
from ..text.durations import duration
from . import clean, safety
from .checks.model import Check, Scheduler, WithKubeVirt
from .evidence.model import Event, Run
from .run import verify

KWOK = "kwok.x-k8s.io/node"  # the annotation of a simulated node
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Say = Callable[[str], None]
Watch = Callable[[int], AbstractContextManager[Callable[[Event], None]]]
"""Given the number of checks: shows a run while it goes."""


@dataclass
class Stop:
    """Why a run is to end early. `number`: of the signal; 0 where there was none."""

    flag: Flag = field(default_factory=Flag)
    number: int = 0

    @property
    def why(self) -> str:
        return "Ctrl-C" if self.number == signal.SIGINT else signal.Signals(self.number).name if self.number else ""


@dataclass(frozen=True)
class Session:
    """A cluster, and what is said to whoever runs `verify` there."""

    client: Client
    plan: Plan
    where: Where
    say: Say

    def present(self) -> list[Scheduler]:
        """The schedulers that hold this agreement on the cluster; KubeVirt where virtual machines can be made."""
        api = Api(self.client)
        kinds = {(kind.base.split("/")[2], kind.kind): kind for kind in api.kinds() if kind.base.startswith("/apis/")}
        ours = f"{AGREEMENT_LABEL}={self.plan.cluster}"

        def has(group: str, kind: str, selector: str) -> bool:
            result: Kind | None = kinds.get((group, kind))
            return result is not None and (not selector or bool(api.things(result, selector)))

        looked_for = WithKubeVirt(
            kueue=(KINDS["ClusterQueue"].group, "ClusterQueue", ours),
            kai=(KINDS["Queue"].group, "Queue", ours),
            kubevirt=(KINDS["VirtualMachine"].group, "VirtualMachine", ""),
        )
        return [scheduler for scheduler in Scheduler if has(*looked_for[scheduler])]

    def prove(
        self, checks: Sequence[Check], watch: Watch, *, agreement: str, allow: str | None, at_once: int | None
    ) -> tuple[Run, int]:
        """Plays the checks; the run, and the number of the signal that ended it (0: none). Raises NotAllowed."""
        api = Api(self.client)
        safety.require_allowed(api, self.where.cluster, allow)
        self._tell_of_others(api)
        name, stop = safety.new_name(), Stop()
        with _signals(stop, self.say), safety.alive(api, name, stop.flag) as life:
            try:
                self._wait_for_others(api, name, stop.flag)
                with watch(len(checks)) as tell:
                    run = verify(
                        self.client,
                        self.plan,
                        checks,
                        name=name,
                        tell=tell,
                        stop=stop.flag,
                        at_once=at_once,
                        agreement=agreement,
                        cluster=str(self.where),
                    )
            finally:
                clean.remove(api, [name], keep=[safety.home(name)])
        return replace(run, stopped=stop.why or life.lost), stop.number

    def _tell_of_others(self, api: Api) -> None:
        alive = safety.living(api)
        for standing in alive:
            self.say(
                f"run {standing.run} of verify is under way here, since {standing.since:%H:%M:%S} UTC, or was killed just now"
            )
        for run, things in clean.dead(api, alive).items():
            self.say(
                f"run {run} of verify was killed and left {clean.counted(things)}: tenancy verify --clean removes them"
            )

    def _wait_for_others(self, api: Api, name: str, stop: Flag) -> None:
        """Real nodes cannot be copied: on them one run follows the other, in the order of their beginning."""
        if _simulated(self.client):
            return
        said = ""
        while not stop.is_set():
            first = next((standing.run for standing in safety.living(api)), name)
            if first == name:
                return
            if first != said:
                self.say(f"run {first} of verify has the nodes; this one waits until it is over")
                said = first
            stop.wait(safety.RENEW)


def remove_dead(api: Api, say: Say) -> None:
    """Removes what dead runs left, and says what; those that live are left alone. Raises clean.Stuck."""
    if there := safety.living(api):
        runs = ", ".join(standing.run for standing in there)
        say(f"looking whether {runs} still lives (up to {duration(safety.LASTS)})")
    alive = safety.surely_living(api)
    for entry in alive:
        say(f"run {entry.run} lives and is left alone")
    found = clean.dead(api, alive)
    if not found:
        say("no killed run has left anything")
    for run in found:
        say(f"run {run}: removed {clean.counted(clean.remove(api, [run]))}, and all that was in its namespaces")


@contextmanager
def _signals(stop: Stop, say: Say) -> Iterator[None]:
    """The first signal sets the flag, a second one leaves."""

    def caught(number: int, frame: FrameType | None) -> None:
        if stop.number:
            os._exit(128 + number)
        stop.number = number
        stop.flag.set()
        say("stopping: what the run made is being removed. Once more leaves it; then tenancy verify --clean removes it")

    before = {number: signal.signal(number, caught) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _simulated(client: Client) -> bool:
    """Whether every node is one of kwok's."""
    return all(KWOK in annotations_of(node) for node in listing.objects(client, "Node"))
