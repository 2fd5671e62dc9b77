"""Agreements of any size, shaped like a large production cluster: CPU nodes, four GPU products, two of them also cut up.

Every team has a share of all 11 flavors, keeps part of one to itself, has a borrowing limit on another and a prod slice on
a third. So each team becomes a Cohort and two ClusterQueues, and each of these lists 11 flavors × 6 resources: 1,000 teams
come to about 3,000 objects and 200,000 quotas.

    python -m bench.agreements TEAMS > big.toml
"""

from __future__ import annotations

import sys

NODES_PER_TEAM = 1  # nodes of 8 GPUs, so a guarantee of 8 for each team fits exactly
GPU = 'gpus_per_node = 8\ncpu_per_gpu = 14\nmemory_per_gpu = "120Gi"\n'
MIG = 'gpus_per_node = 8\nmig = {{ gpu = "{gpu}", profile = "{profile}" }}\ncpu_per_slice = 2\nmemory_per_slice = "15Gi"\n'
PROFILES = ("1g.10gb", "2g.20gb", "3g.40gb")
FLAVORS = {
    "standard": 'cpu_per_node = 64\nmemory_per_node = "256Gi"\n',
    "a100-80g": GPU,
    "a100-40g": GPU,
    "h100": GPU,
    "hgx-h100": GPU,
    **{f"a100-{profile.partition('.')[2]}": MIG.format(gpu="A100-80GB", profile=profile) for profile in PROFILES},
    **{f"h100-{profile.partition('.')[2]}": MIG.format(gpu="H100-80GB", profile=profile) for profile in PROFILES},
}


def large(teams: int) -> str:
    """The TOML of an agreement of that many teams."""
    guaranteed = ", ".join(f'{flavor} = "64 cpu"' if flavor == "standard" else f"{flavor} = 8" for flavor in FLAVORS)
    promises = (
        f"guaranteed = {{ {guaranteed} }}\n"
        "lendable = { a100-80g = 4 }\nborrowable = { a100-40g = 16 }\nprod = { h100 = 2 }\n"
    )
    return "\n".join(
        [
            '[cluster]\nname = "large"\n',
            *(f"[flavors.{name}]\nnodes = {teams * NODES_PER_TEAM}\n{lines}" for name, lines in FLAVORS.items()),
            *(f"[teams.team-{number:04}]\n{promises}" for number in range(teams)),
        ]
    )


if __name__ == "__main__":
    print(large(int(sys.argv[1])))
