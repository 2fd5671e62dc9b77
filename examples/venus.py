"""Makes venus.toml and venus-2020-07-21.toml from the quotas that a real cluster published.

    python examples/venus.py cluster_gpu_number.csv [DIR]

The argument is `data/Venus/cluster_gpu_number.csv` of HeliosData: a row per day, a column per team, GPUs in the cells. A
team at 0 had no share that day and is left out. The data holds no lending rule and no node count: lending is ours, and
the nodes follow from the total, since every quota is whole nodes of 8.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

GPUS_PER_NODE = 8
FILES = {"venus.toml": "2020-07-20", "venus-2020-07-21.toml": "2020-07-21"}
BEFORE = {"2020-07-21": "2020-07-20"}  # the head of the later file says what moved since the earlier one

HEAD = """\
# Venus, a real cluster of 8-GPU nodes, on {date}: {teams} teams, {gpus:,} GPUs.
{moved}#
# The quotas are those of HeliosData, `data/Venus/cluster_gpu_number.csv` (S-Lab System Group, CC BY 4.0):
# Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters", SC 2021.
# Its team names are kept as display_name, since a cluster takes lower case only; nodes are the total divided by 8.
# The data says nothing of lending. We chose: every team lends all that it leaves idle, and borrows without limit (the
# defaults of lendable and borrowable). Made by examples/venus.py.
[cluster]
name = "venus"

[flavors.gpu]
nodes         = {nodes}
gpus_per_node = {per_node}
"""
TEAM = """
[teams.{key}]
display_name = "{name}"
guaranteed   = {gpus}
"""


def agreements(data: Path) -> dict[str, str]:
    """The text of each file, by its name."""
    with data.open(newline="") as stream:
        days = {row["date"]: quotas(row) for row in csv.DictReader(stream)}
    return {file: agreement(date, days) for file, date in FILES.items()}


def quotas(row: dict[str, str]) -> dict[str, int]:
    """GPUs of each team with a share that day; the row's own total must agree."""
    cells = {team: int(gpus) for team, gpus in row.items() if team not in ("date", "total")}
    if sum(cells.values()) != int(row["total"]):
        raise ValueError(f"{row['date']}: the teams' GPUs come to {sum(cells.values())}, the total says {row['total']}")
    return {team: gpus for team, gpus in cells.items() if gpus}


def agreement(date: str, days: dict[str, dict[str, int]]) -> str:
    teams = days[date]
    total = sum(teams.values())
    if len({name.lower() for name in teams}) != len(teams) or total % GPUS_PER_NODE:
        raise ValueError(f"{date}: two teams differ only in case, or {total} GPUs are no whole nodes")
    head = HEAD.format(
        date=date,
        teams=len(teams),
        gpus=total,
        moved=moved(days[BEFORE[date]], teams) if date in BEFORE else "",
        nodes=total // GPUS_PER_NODE,
        per_node=GPUS_PER_NODE,
    )
    return head + "".join(TEAM.format(key=name.lower(), name=name, gpus=gpus) for name, gpus in teams.items())


def moved(before: dict[str, int], after: dict[str, int]) -> str:
    """What changed since the day before, as a comment."""
    changes = {team: after.get(team, 0) - before.get(team, 0) for team in {**before, **after}}
    words = [f"{team} {change:+d}" for team, change in changes.items() if change]
    return f"# Since the day before: {', '.join(words)}.\n"


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        sys.exit("usage: python examples/venus.py cluster_gpu_number.csv [DIR]")
    folder = Path(arguments[1]) if len(arguments) == 2 else Path(__file__).parent
    for file, text in agreements(Path(arguments[0])).items():
        (folder / file).write_text(text, encoding="utf-8")
        print(folder / file)


if __name__ == "__main__":
    main(sys.argv[1:])
