"""How long `tenancy verify` takes, beside the same checks one after the other.

    python -m bench.verify [AGREEMENT] [--rounds 1] [--only KIND]

On a lab of the agreement (the repo's, if none is named) all checks of Kueue are played by whole processes, in turn: as `verify` plays
them, side by side on copies of the tree that one check after the other uses, and with `--at-once 1`, which is what one would
otherwise do by hand or in a script, on one copy. A promise that is not held is no time to compare: the bench then stops.
Exit code 1 where the goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from tenancy.agreement.plan import make_plan
from tenancy.lab import lab
from tenancy.lab.cluster import apply
from tenancy.lab.folder import FOLDER_VARIABLE
from tenancy.objects import kueue
from tenancy.objects.loading import load

from .measure import Failed, Program, Run, machine, medians, run, save

ROOT = Path(__file__).resolve().parent.parent
WAYS = {"side by side": (), "one by one": ("--at-once", "1")}
GOAL = 0.5  # of the time that one after the other takes; on two cores


def verified(agreement: Path, kubeconfig: Path, only: list[str], folder: Path, *settings: str) -> tuple[Run, int]:
    """One run, and how many promises it held. Raises Failed where it did not hold all."""
    command = [sys.executable, "-m", "tenancy", "verify", agreement, "--kubeconfig", kubeconfig, "--scheduler", "kueue"]
    chosen = [word for kind in only for word in ("--only", kind)]
    output = folder / "verify.json"
    took = run(Program([*command, *chosen, "--json", *settings], output), os.environ)
    counts = json.loads(output.read_text())["counts"]
    if counts["not run"]:
        raise Failed(f"{counts['not run']} checks were not run")
    return took, counts["held"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("agreement", nargs="?", type=Path, default=ROOT / "tenancy.toml")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each (default: 1)")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="only these checks, as of verify")
    given = parser.parse_args()
    found = load(given.agreement).agreement
    if found is None:
        parser.error(f"{given.agreement} is no agreement: tenancy check says why")
    here = machine()
    print("  ".join(f"{key}: {value}" for key, value in here.items()), f"  rounds: {given.rounds}")
    runs: dict[str, list[Run]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="tenancy-bench-") as folder:
        os.environ[FOLDER_VARIABLE] = f"{folder}/labs"
        try:
            plan = make_plan(found)
            kubeconfig = lab.up(plan, "bench").kubeconfig
            apply(kubeconfig, kueue.objects(plan))
            for _ in range(given.rounds):
                for way, settings in WAYS.items():
                    took, held = verified(given.agreement, kubeconfig, given.only, Path(folder), *settings)
                    runs[way].append(took)
                    print(
                        f"{way:>12}: {held} held, {took.wall:6.1f} s wall {took.cpu:6.1f} s cpu of its own", flush=True
                    )
        finally:
            lab.down("bench")
    of = {way: medians(them) for way, them in runs.items()}
    ratio = of["side by side"].wall / of["one by one"].wall
    print(f"{'met   ' if ratio <= GOAL else 'MISSED'} side by side / one by one: {ratio:.2f}, at most {GOAL}")
    print(save("verify", {"machine": {**here, "load_after": os.getloadavg()[0]}, "held": held, "medians": of}))
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
