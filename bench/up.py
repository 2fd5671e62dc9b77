"""How long `pulumi preview` and `pulumi up` take on a real control plane, beside what one would run instead.

    python -m bench.up [--teams 100,500] [--rounds 3] [--checkpoints]

Every team has a prod slice, so it is a Cohort and two ClusterQueues. Beside the program of this repo run, in turn:

- `flat`: the same objects from a hand-written Pulumi program without components (bench/flat), with the same settings;
- `kubectl`: `kubectl apply --server-side` of the rendered files.

`preview` is one of an agreement that is nowhere yet, `up` makes it (`--yes --skip-preview`), `again` is a second `up`, once without
and once with a refresh, which this project does by default (docs/decisions/0003). State is a file backend. PULUMI_SKIP_CHECKPOINTS is on but for --checkpoints, which measures the first `up` with Pulumi's default beside it
(docs/decisions/0003). Exit code 1 where a goal of GOALS is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tenancy.agreement.plan import Plan, make_plan
from tenancy.lab import lab, tools
from tenancy.lab.folder import FOLDER_VARIABLE
from tenancy.objects.loading import loads
from tenancy.review.render import rendered

from .measure import Program, Run, machine, medians, run, save

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ("Pulumi.yaml", "__main__.py", "components", "tenancy")
FLAT = ("Pulumi.yaml", "__main__.py")
KINDS = ("clusterqueues", "cohorts", "resourceflavors")
STACK = "bench"
UP = ("up", "--yes", "--skip-preview", "--suppress-progress", "--non-interactive", "--stack", STACK)
PREVIEW = ("preview", "--suppress-progress", "--non-interactive", "--stack", STACK)
GOALS = (("preview", "flat", 1.1), ("up", "flat", 1.1), ("again", "flat", 1.1), ("up", "kubectl", 2.0))
Runs = dict[tuple[str, str], list[Run]]


def agreement(teams: int) -> str:
    """One flavor, and teams of 8 GPUs that lend half and keep a quarter for prod."""
    head = f'[cluster]\nname = "bench"\n[flavors.gpu]\nnodes = {teams}\ngpus_per_node = 8\n'
    return head + "".join(
        f"[teams.team-{number:04}]\nguaranteed = 8\nlendable = 4\nprod = 2\n" for number in range(teams)
    )


def plan_of(text: str) -> Plan:
    found = loads(text).agreement
    assert found
    return make_plan(found)


class Bench:
    """A control plane, a folder for each program, and what is there after each run."""

    def __init__(self, folder: Path, kubeconfig: Path, teams: int) -> None:
        self.folder, self.kubeconfig = folder, kubeconfig
        self.environment = {
            **tools.environment("pulumi", "kubectl"),
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_SKIP_CHECKPOINTS": "true",
            "KUBECONFIG_OF_BENCH": str(kubeconfig),
            "TEAMS_OF_BENCH": str(teams),
        }
        self.rendered = folder / "rendered"
        self.rendered.mkdir(parents=True)
        text = agreement(teams)
        for name, content in rendered(plan_of(text)).items():
            if name.startswith("kueue/"):
                (self.rendered / Path(name).name).write_text(content)
        for name, source, files in (("ours", ROOT, PROGRAM), ("flat", ROOT / "bench" / "flat", FLAT)):
            (folder / name).mkdir()
            for file in files:
                (folder / name / file).symlink_to(source / file)
        (folder / "ours" / "tenancy.toml").write_text(text)

    def fresh(self, who: str) -> None:
        """An empty stack on an empty cluster."""
        self.wipe()
        state = Path(tempfile.mkdtemp(prefix=f"state-{who}-", dir=self.folder))
        self.environment["PULUMI_BACKEND_URL"] = f"file://{state}?metadata=skip"
        settings = self.folder / who / f"Pulumi.{STACK}.yaml"
        settings.unlink(missing_ok=True)
        self._quietly("pulumi", "stack", "init", STACK, "--cwd", str(self.folder / who))
        if who == "ours":
            lines = ("config:", "  tenancy:agreement: tenancy.toml", f"  tenancy:kubeconfig: {self.kubeconfig}", "")
            settings.write_text(settings.read_text() + "\n".join(lines))

    def pulumi(self, who: str, *command: str, **setting: str) -> Run:
        program = Program(("pulumi", *command, "--cwd", self.folder / who), self.folder / f"{who}.out")
        return run(program, {**self.environment, **setting})

    def kubectl(self) -> Run:
        command = ("kubectl", "--kubeconfig", self.kubeconfig, "apply", "--server-side", "--filename", self.rendered)
        return run(Program(command, self.folder / "kubectl.out"), self.environment)

    def specs(self) -> Mapping[str, Any]:
        """What is on the cluster, to hold one program to the others."""
        text = self._quietly("kubectl", "--kubeconfig", str(self.kubeconfig), "get", ",".join(KINDS), "--output=json")
        return {f"{item['kind']}/{item['metadata']['name']}": item["spec"] for item in json.loads(text)["items"]}

    def wipe(self) -> None:
        kubectl = ("kubectl", "--kubeconfig", str(self.kubeconfig))
        self._quietly(*kubectl, "delete", ",".join(KINDS), "--all", "--wait=false", "--cascade=background")
        while self._quietly(*kubectl, "get", ",".join(KINDS), "--output=name"):
            time.sleep(0.5)

    def _quietly(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout


def measured(bench: Bench, rounds: int, *, checkpoints: bool) -> tuple[Runs, int]:
    """All runs by what and who, and how many objects there are."""
    runs: Runs = {}

    def keep(what: str, who: str, one: Run) -> None:
        runs.setdefault((what, who), []).append(one)
        print(f"  {what:>12} {who:8} {one.wall:7.1f} s wall {one.cpu:7.1f} s cpu", flush=True)

    specs: Mapping[str, Any] = {}
    for _ in range(rounds):
        for who in ("ours", "flat"):
            bench.fresh(who)
            keep("preview", who, bench.pulumi(who, *PREVIEW))
            keep("up", who, bench.pulumi(who, *UP))
            keep("again", who, bench.pulumi(who, *UP, "--expect-no-changes", "--refresh=false"))
            keep("refreshed", who, bench.pulumi(who, *UP, "--expect-no-changes", "--refresh=true"))
            specs = same(who, bench.specs(), specs)
        bench.wipe()
        keep("up", "kubectl", bench.kubectl())
        specs = same("kubectl", bench.specs(), specs)
    if checkpoints:
        for who in ("ours", "flat"):
            bench.fresh(who)
            keep("checkpoints", who, bench.pulumi(who, *UP, PULUMI_SKIP_CHECKPOINTS="false"))
    bench.wipe()
    return runs, len(specs)


def same(who: str, found: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is there, if it is what the last program made."""
    if before and found != before:
        different = [name for name in {**found, **before} if found.get(name) != before.get(name)]
        sys.exit(f"{who} does not make the same objects as the program before it: {', '.join(different[:5])}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--teams", default="100,500", help="numbers of teams (default: 100,500)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
    parser.add_argument("--checkpoints", action="store_true", help="measure `up` with Pulumi's own checkpoints too")
    given = parser.parse_args()
    here = machine()
    print("  ".join(f"{key}: {value}" for key, value in here.items()), f"  rounds: {given.rounds}")
    cases, missed = [], False
    with tempfile.TemporaryDirectory(prefix="tenancy-bench-") as folder:
        os.environ[FOLDER_VARIABLE] = f"{folder}/labs"
        try:
            kubeconfig = lab.up(plan_of(agreement(1)), "bench").kubeconfig
            for teams in map(int, given.teams.split(",")):
                bench = Bench(Path(folder, str(teams)), kubeconfig, teams)
                runs, objects = measured(bench, given.rounds, checkpoints=given.checkpoints)
                of = {f"{what} {who}": medians(them) for (what, who), them in runs.items()}
                cases.append({"teams": teams, "objects": objects, "medians": of})
                print(f"{teams} teams, {objects} objects")
                for what, other, limit in GOALS:
                    ours, theirs = of[f"{what} ours"], of[f"{what} {other}"]
                    ratio = ours.wall / theirs.wall
                    missed |= ratio > limit
                    verdict = "met   " if ratio <= limit else "MISSED"
                    cpu = f"cpu {ours.cpu / theirs.cpu:.2f}"
                    print(f"{verdict} {what} ours / {other}: {ratio:.2f} ({cpu}), at most {limit}", flush=True)
        finally:
            lab.down("bench")
    print(save("up", {"machine": {**here, "load_after": os.getloadavg()[0]}, "cases": cases}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
