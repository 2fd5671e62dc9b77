"""Remove what runs of `verify` left: a run at its end (to be sure), and those that were killed.

Found by the label that every object of a run carries, in every kind that the cluster serves. An object goes only if its name
begins as a run's does, too. Jobs go first, then namespaces, then what is used by them, then nodes; a finalizer that nobody
takes away within GRACE (its controller may be gone) is taken away here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx2

from ..cluster.api import NAMESPACE, POD, SIDE_BY_SIDE, Api, Kind, Thing
from ..text.durations import duration
from .players.sandbox import RUN_LABEL
from .safety import PREFIX, RunLease

# What makes pods and is itself made by nothing: it goes first, as a namespace waits long for what its controllers must let go.
FIRST = ("Job", "JobSet", "VirtualMachine", "VirtualMachineInstance", "Pod")
JOBS, GRACE, PATIENCE = 15.0, 20.0, 120.0  # seconds: for jobs to end, for finalizers, for all
EVERY = 0.3

Tell = Callable[[str], None]


class Stuck(RuntimeError):
    """Something of a run does not go. The text says what, and what the cluster says about it."""


def leftovers(api: Api, kinds: Iterable[Kind] | None = None) -> dict[str, list[Thing]]:
    """What is there of every run, by its name. Only what stands outside of namespaces, as namespaces hold all the rest."""
    found: dict[str, list[Thing]] = {}
    served = kinds if kinds is not None else api.kinds()
    for thing in api.labelled([kind for kind in served if not kind.namespaced], RUN_LABEL):
        if thing.name.startswith(PREFIX):
            found.setdefault(thing.labels[RUN_LABEL], []).append(thing)
    return found


def dead(api: Api, alive: Iterable[RunLease]) -> dict[str, list[Thing]]:
    """What is there of runs that do not live."""
    names = {standing.run for standing in alive}
    return {run: things for run, things in leftovers(api).items() if run not in names}


def remove(api: Api, runs: Collection[str], keep: Collection[str] = ()) -> list[Thing]:
    """Removes all that these runs made, but for the namespaces in `keep`; returns what it found. Raises Stuck."""
    kinds = api.kinds()
    within = [kind for kind in kinds if kind.namespaced]

    def here(of: Iterable[Kind]) -> list[Thing]:
        there = leftovers(api, of)
        return [
            thing for run in runs for thing in there.get(run, ()) if thing.kind != NAMESPACE or thing.name not in keep
        ]

    found = things = here(kinds)
    refused: dict[str, str] = {}
    _end_jobs(api, within, [thing.name for thing in found if thing.kind == NAMESPACE])
    started = time.monotonic()
    while things:
        spent = time.monotonic() - started
        if spent > PATIENCE:
            raise Stuck(_stuck(things, refused))
        homes = [thing for thing in things if thing.kind == NAMESPACE]
        # A node goes last: pods on it end only while it is there.
        now = [thing for thing in things if thing.kind.kind != "Node"] if homes and spent < GRACE else things
        refused = _delete(api, [thing for thing in now if not thing.going])
        if spent > GRACE:
            _let_go(api, within, things)
        time.sleep(EVERY)
        things = here({thing.kind for thing in things})
    return found


def counted(things: Iterable[Thing]) -> str:
    """`3 ClusterQueue, 1 Cohort, 2 Namespace`."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(thing.kind.kind for thing in things).items()))


def _end_jobs(api: Api, within: Iterable[Kind], namespaces: Collection[str]) -> None:
    """Deletes what makes pods, and waits a while for it and its pods to be gone."""
    first = [(kind, namespace) for kind in within if kind.kind in FIRST for namespace in namespaces]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        list(
            pool.map(
                lambda entry: api.delete(entry[0].path(namespace=entry[1])),
                (entry for entry in first if entry[0] != POD),
            )
        )
        deadline = time.monotonic() + JOBS
        left = first
        while left and time.monotonic() < deadline:
            there = pool.map(lambda entry: api.things(entry[0], namespace=entry[1]), left)
            left = [value for value, things in zip(left, list(there), strict=True) if things]
            if left:
                time.sleep(EVERY)


def _delete(api: Api, things: Collection[Thing]) -> dict[str, str]:
    """Asks for them to go; those that the cluster would not let go, and its words: they are asked for again."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        answers = list(pool.map(lambda thing: api.delete(thing.path), things))
    return {str(thing): why for thing, why in zip(things, answers, strict=True) if why}


def _let_go(api: Api, within: Iterable[Kind], things: Iterable[Thing]) -> None:
    """Takes the finalizers from what is going and does not go; in a namespace of a run from all, as all of it is the run's."""
    things = [thing for thing in things if thing.going]
    for namespace in [thing.name for thing in things if thing.kind == NAMESPACE]:
        api.delete(POD.path(namespace=namespace), grace=0)
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            found = list(pool.map(lambda kind: api.things(kind, namespace=namespace), within))  # noqa: B023
        things += [thing for these in found for thing in these if thing.going]
    for entry in things:
        if entry.finalizers:
            try:
                api.merge(entry.path, {"metadata": {"finalizers": None}})
            except httpx2.HTTPStatusError as error:  # it is gone, or its webhook does not answer: it is tried again
                if error.response.status_code not in (404, 409, 422, 500):
                    raise


def _stuck(things: Collection[Thing], refused: Mapping[str, str]) -> str:
    told = []
    for thing in things:
        waits = f"waits for {', '.join(thing.finalizers) or 'what it holds'}"
        told.append(f"{thing}: {refused.get(str(thing)) or waits}")
    more = f" and {len(told) - 5} more" if len(told) > 5 else ""
    return f"after {duration(PATIENCE)} there is still {'; '.join(told[:5])}{more}"
