"""Whole processes, measured: wall seconds, CPU seconds of the process and all it started, and their medians.

Two programs are compared by running them in turn, round after round, so that whatever else the machine does meets both.
CPU seconds are in the table because wall seconds alone say little on a machine that is shared.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Run:
    """One run of a program. `cpu` is user + system; `memory` the largest resident set in MiB."""

    wall: float
    cpu: float
    memory: float


@dataclass(frozen=True)
class Program:
    """What is run: a command, and the file that takes its standard output."""

    command: Sequence[str | Path]
    output: Path


class Failed(RuntimeError):
    """A measured program did not succeed; the message holds the end of what it said."""


def run(program: Program, environment: Mapping[str, str]) -> Run:
    """Run once and wait. Raises Failed where the exit code is not 0."""
    errors = program.output.with_suffix(".stderr")
    with program.output.open("wb") as stdout, errors.open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in program.command],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said = (program.output.read_text(errors="replace") + errors.read_text(errors="replace"))[-800:]
        raise Failed(f"{' '.join(map(str, program.command))} ended with {process.returncode}: {said}")
    per_mebibyte = 2**20 if platform.system() == "Darwin" else 2**10  # getrusage(2): bytes there, KiB here
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / per_mebibyte)


def in_turn(programs: Mapping[str, Program], rounds: int, environment: Mapping[str, str]) -> dict[str, list[Run]]:
    """All programs one after the other, `rounds` times, after one round that does not count (caches of the disk)."""
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, program in programs.items():
            one = run(program, environment)
            if number:
                runs[name].append(one)
    return runs


def medians(runs: Sequence[Run]) -> Run:
    return Run(*(statistics.median(getattr(one, field) for one in runs) for field in ("wall", "cpu", "memory")))


def machine() -> dict[str, Any]:
    """What a reader needs to judge the numbers."""
    model = platform.processor() or platform.machine()
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {
        "date": datetime.now().isoformat(timespec="minutes"),
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def save(name: str, result: Mapping[str, Any]) -> Path:
    """The result as JSON, under `bench/results/`, where git does not look."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{datetime.now():%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(result, indent=2, default=asdict) + "\n")
    return path
