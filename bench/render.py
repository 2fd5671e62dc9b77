"""How long `tenancy check` and `tenancy render` take, start-up included, beside `kubectl kustomize` of the same objects.

    python -m bench.render [--rounds 7] [--cases lab,venus,100,1000] [--kubectl PATH]

kustomize reads the files that render wrote, one for each team, and prints one stream: what a team that keeps its quotas
as plain files in git would run. Exit code 1 where a goal of GOALS is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .agreements import large
from .measure import Program, Run, in_turn, machine, medians, run, save

ROOT = Path(__file__).resolve().parent.parent
CASES: Mapping[str, Callable[[], str]] = {
    "lab": lambda: (ROOT / "tenancy.toml").read_text(),
    "venus": lambda: (ROOT / "examples" / "venus.toml").read_text(),
    "100": lambda: large(100),
    "1000": lambda: large(1000),
}
# Case, what it says, and the number that must be at most the limit. One of the numbers of `measured`.
GOALS = (
    ("lab", "check in seconds", lambda entry: entry["check"].wall, 0.4),
    ("lab", "render in seconds", lambda entry: entry["render"].wall, 0.4),
    ("1000", "check in seconds", lambda entry: entry["check"].wall, 1.0),
    ("1000", "render / kustomize", lambda entry: entry["render"].wall / entry["kustomize"].wall, 1 / 3),
)
Medians = dict[str, Run]


def measured(case: str, kubectl: str, rounds: int, folder: Path) -> tuple[Medians, dict[str, Any]]:
    """The medians of one case by program, and all there is to say about it."""
    agreement, out = folder / "agreement.toml", folder / "rendered"
    agreement.write_text(CASES[case]())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    tenancy = (sys.executable, "-m", "tenancy")
    render = Program((*tenancy, "render", agreement, "--out", out), folder / "render.out")
    run(render, environment)
    files = sorted(path.relative_to(folder) for path in out.rglob("*.yaml"))
    (folder / "kustomization.yaml").write_text("resources:\n" + "".join(f"- {path}\n" for path in files))
    programs = {
        "check": Program((*tenancy, "check", agreement), folder / "check.out"),
        "render": render,
        "kustomize": Program((kubectl, "kustomize", folder), folder / "kustomize.out"),
    }
    runs = in_turn(programs, rounds, environment)
    ours = "".join((folder / path).read_text() for path in files)
    theirs = (folder / "kustomize.out").read_text()
    # Both print a key on a line of its own, whatever their order.
    size = {
        name: (text.count("\nkind: "), text.count("nominalQuota: "))
        for name, text in (("ours", ours), ("theirs", theirs))
    }
    if size["ours"] != size["theirs"]:
        sys.exit(f"{case}: not the same objects and quotas: {size}")
    objects, quotas = size["ours"]
    of_programs = {name: medians(of_one) for name, of_one in runs.items()}
    return of_programs, {"case": case, "objects": objects, "quotas": quotas, "medians": of_programs, "runs": runs}


def row(case: str, detail: dict[str, Any], medians: Medians) -> str:
    check, render, kustomize = medians["check"], medians["render"], medians["kustomize"]
    times = (f"{one.wall:8.2f} {one.cpu:6.2f}" for one in (check, render, kustomize))
    ratios = f"{render.wall / kustomize.wall:7.2f} {render.cpu / kustomize.cpu:6.2f}"
    return f"{case:>6} {detail['objects']:8,} {detail['quotas']:8,} {' '.join(times)} {ratios} {render.memory:7.0f}"


HEAD = (
    "                           check           render        kustomize  render/kustomize  render\n"
    "  case  objects   quotas  wall s  cpu s   wall s  cpu s   wall s  cpu s    wall    cpu     MiB"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs of each program that count (default: 7)")
    parser.add_argument("--cases", default=",".join(CASES), help=f"some of {','.join(CASES)}")
    default = shutil.which("kubectl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    parser.add_argument("--kubectl", default=default, help="the program to compare with (default: the environment's)")
    given = parser.parse_args()
    cases = given.cases.split(",")
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    if not given.kubectl:
        parser.error("there is no kubectl; it comes with the extra `lab`, or name one with --kubectl")
    here = machine()
    print("  ".join(f"{key}: {value}" for key, value in here.items()), f"  rounds: {given.rounds}", HEAD, sep="\n")
    by_case, details = {}, []
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="tenancy-bench-") as folder:
            by_case[case], detail = measured(case, given.kubectl, given.rounds, Path(folder))
        details.append(detail)
        print(row(case, detail, by_case[case]), flush=True)
    judged = [(case, what, number(by_case[case]), limit) for case, what, number, limit in GOALS if case in by_case]
    for case, what, got, limit in judged:
        print(f"{'met   ' if got <= limit else 'MISSED'} {case}: {what} {got:.2f}, at most {limit:.2f}")
    print(save("render", {"machine": {**here, "load_after": os.getloadavg()[0]}, "cases": details}))
    return 1 if any(got > limit for _, _, got, limit in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
