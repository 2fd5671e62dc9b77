"""The processes of a lab: started so that they outlive us, and found again whatever happened.

A file with a number in it is a poor memory of a process: the number may be another process by now, and a `lab up` that
was killed may not have written it. So each process carries its lab in its environment, which its children inherit and
the system remembers. To list a lab's processes is to look for that mark, and to end a lab is to end what carries it.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from .folder import Folder, LabError, tail

MARK = "TENANCY_LAB_OF"  # the lab's folder
NAME = "TENANCY_LAB_PROCESS"  # what the lab calls the process
GRACE = 2.0  # seconds between the polite and the impolite signal; what a lab holds is not kept anyway
BURIAL = 30.0  # seconds that a busy system may take to end a process it was told to kill (2 were too few once)
SETTLE = 0.5  # seconds
EVERY = 0.1  # seconds between two looks


def environment(folder: Folder, name: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process of the lab."""
    return {**os.environ, MARK: str(folder.path), NAME: name, **extra}


def start(folder: Folder, name: str, command: Sequence[str], extra: Mapping[str, str]) -> None:
    """Starts a process in a session of its own, its output in the lab's log of that name."""
    with (folder.logs / f"{name}.log").open("wb") as log:
        subprocess.Popen(
            command,
            env=environment(folder, name, extra),
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def running(folder: Folder) -> dict[str, psutil.Process]:
    """The lab's living processes by name. A process that kwokctl started goes by its program's name."""
    found = {}
    for process, environ in _marked():
        if environ[MARK] == str(folder.path):
            name = environ.get(NAME, "")
            try:
                found[Path(process.cmdline()[0]).name if name == "kwokctl" else name] = process
            except (psutil.Error, IndexError):  # it has just ended, or not quite begun
                continue
    return found


def labs_under(root: Path) -> set[str]:
    """The names of labs in this folder of labs that have living processes, whether or not their folders are there."""
    return {Path(environ[MARK]).name for _, environ in _marked() if Path(environ[MARK]).parent == root}


def _marked() -> Iterator[tuple[psutil.Process, dict[str, str]]]:
    """Every living process of a lab that we may look at, with its environment."""
    for process in psutil.process_iter():
        try:
            environ = process.environ()
            if MARK in environ and process.status() != psutil.STATUS_ZOMBIE:
                yield process, environ
        except (psutil.Error, OSError):
            continue


def gone(folder: Folder, names: Iterable[str]) -> list[str]:
    """Those of these processes that do not run. Asked twice: a process that has just been started shows no environment
    for a moment."""
    wanted = list(names)
    for pause in (SETTLE, 0):
        alive = running(folder)
        wanted = [name for name in wanted if name not in alive]
        if not wanted:
            break
        time.sleep(pause)
    return wanted


def stop(processes: Iterable[psutil.Process]) -> None:
    """Ends processes and waits until they are gone. Raises LabError, naming them, when the system will not end them."""
    alive = list(processes)
    for signal, patience in (("terminate", GRACE), ("kill", BURIAL)):
        for process in alive:
            try:
                getattr(process, signal)()
            except psutil.NoSuchProcess:
                continue
            except psutil.AccessDenied:
                raise LabError(f"process {process.pid} of the lab belongs to another user: end it first") from None
        _, alive = psutil.wait_procs(alive, timeout=patience)
        if not alive:
            return
    raise LabError(f"these processes do not end: {', '.join(str(process.pid) for process in alive)}")


def wait_until(what: str, ready: Callable[[], object], folder: Folder, needs: Iterable[str], timeout: float) -> None:
    """Polls until `ready()` is true. Raises LabError at once when a needed process has stopped, and after `timeout`
    seconds; either shows the end of the log that tells why."""
    needs = list(needs)
    deadline = time.monotonic() + timeout
    while not ready():
        for name in gone(folder, needs):
            raise LabError(f"{name} stopped while {what} was waited for. Its log ends with:\n{tail(folder.log(name))}")
        if time.monotonic() > deadline:
            logs = "\n".join(tail(folder.log(name)) for name in ([what] if what in needs else needs))
            raise LabError(f"{what} did not come within {timeout:.0f} s. What its processes say:\n{logs}")
        time.sleep(EVERY)
