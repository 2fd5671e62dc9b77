"""Every kind of check, by scheduler: what it proves, in a line. `verify --only` takes these names; the page in docs lists them.

A new kind is a line here, a function that makes its checks, and a line in the tests' table of mutations that it must see."""

from __future__ import annotations

from .model import WithKubeVirt

KINDS: WithKubeVirt[dict[str, str]] = WithKubeVirt(
    kueue={
        "guarantee": "a team gets all it is guaranteed while every other team asks for all it can",
        "reach": "alone a team reaches its guarantee and what it may borrow, and one unit more waits",
        "never-lent": "what a team never lends stays free under pressure from all others at once, and is there at once",
        "reclaim": "the owner's return takes back what was lent, from who borrowed, and no more than needed",
        "kept": "a team within its guarantee is never stopped for others",
        "borrowable": "a team goes no further above its guarantee than it may borrow",
        "ratio": "CPU and memory are kept, lent and taken back as the units are that they go with",
        "prod-slice": "a prod queue gets its slice and never borrows",
        "prod-back": "a prod queue takes its slice back at once",
        "prod-kept": "a prod job is never stopped for a regular job",
        "priority": "inside a team the higher priority goes first and stops a lower one",
        "gang": "a job of several pods starts whole or not at all",
        "own-namespaces": "a team's queue takes no job from a namespace of another team",
        "pool": "what no team is guaranteed is open to every team that may borrow",
        "whole": "all teams together use all that there is and never more",
        "department": "what a department's team does not use goes to its own department and to the rest as the agreement says",
        "weights": "what is lent is divided by weight",
        "topology": "a gang lands inside one domain of its level, and one that fits no domain waits",
        "slices": "the slices of one profile are counted apart from other flavors",
    },
    kai={
        "guarantee": "a team gets all it is guaranteed, from its two queues, while every other team holds all it can",
        "reach": "alone a team reaches all that is lent, and one more waits",
        "borrowable": "a team goes no further above what it lends than it may borrow",
        "reserved": "the queue for what a team never lends runs exactly that",
        "never-lent": "what a team never lends stays free under pressure from all others, and is there at once",
        "reclaim": "the owner's return takes back what was lent, from who borrowed, and no more than it asks for",
        "kept": "a team within its guarantee is never stopped for others",
        "over-quota": "what runs over quota is given back when all owners come, and the quota is kept",
        "non-preemptible": "a job that is never stopped stays within its queue's quota",
        "prod-slice": "a prod queue runs its slice and never borrows",
        "prod-back": "a prod queue takes its slice back at once from its own team",
        "prod-kept": "a prod job is never stopped for others",
        "whole": "all teams together use all that there is and never more",
        "pool": "what no team is guaranteed is open to who may borrow",
        "department": "what a department's team does not use is its department's before it is others'",
        "weights": "what is over quota is divided by weight",
        "priority": "inside a team the higher priority stops a lower one",
        "gang": "a job of several pods starts whole or not at all",
        "topology": "a gang lands inside one domain of its level, and one that fits none waits",
        "fractions": "two pods share a GPU, and a third waits while no other is free",
        "slices": "the slices of one profile are counted by themselves, in GPUs",
    },
    kubevirt={
        "machine-memory": "a machine counts for its memory and what KubeVirt adds to it",
        "machine-second": "a team's machines run all at once, one more is refused, and so is a larger one",
        "machine-stopped": "a stopped machine counts as a machine",
        "machine-no-gpu": "machines take no GPU promise: no queue holds them, and no GPU is used in their namespace",
        "machine-boot": "a machine boots",
    },
)
