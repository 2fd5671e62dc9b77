"""The agreement: typed, read from TOML with positions or built in Python, checked, and resolved to numbers.

A person writes `tenancy.toml`, and a person makes mistakes in it. So the room has two jobs: to say everything that is
wrong, at once, with line, column and what would be right; and to hand on an agreement about which nobody has to ask
anything more.

A file passes through four stages:
- `source` reads the text and remembers where each value stands (`positions`); what is no TOML is a finding, never a
  traceback.
- `model` says which keys there are. Every table is frozen, strict and refuses keys that it does not know. `scalars`
  reads amounts, quantities, durations and weights. A wrong value hides nothing else: `without_invalid` takes it out,
  and the rest is checked.
- `checks` holds one part of the file against another: sums against capacity, names against each other, limits of an
  API server. Each check is a function that yields findings; `checks.CHECKS` lists them.
- `plan` resolves every default: whole units per team and flavor, and `None` only for "no limit". `hardware` says what
  a unit of a flavor is, and what CPU and memory go with it.

Errors are values. A Finding has a path, a message, a remedy and a severity; the command prints it. Only a mistake of
the programmer raises.

Public: the types of the model, `Finding`, `Loaded`, and `plan.make_plan`, `plan.Plan`, which all rooms above compute on.
What reads a file is `objects.loading`: an agreement is right only if its objects can have their names, and this room knows
no objects. So the readers in `source` take the checks as an argument.

Must not touch: any scheduler (a plan knows no queue), a cluster, Pulumi.
"""

from .findings import Finding, Severity, dotted, errors
from .model import (
    Access,
    Agreement,
    Cluster,
    Department,
    Flavor,
    Machines,
    Mig,
    Sharing,
    Taint,
    Team,
    Topology,
    UsageSharing,
)
from .scalars import Amount
from .source import Loaded

__all__ = [
    "Access",
    "Agreement",
    "Amount",
    "Cluster",
    "Department",
    "Finding",
    "Flavor",
    "Loaded",
    "Machines",
    "Mig",
    "Severity",
    "Sharing",
    "Taint",
    "Team",
    "Topology",
    "UsageSharing",
    "dotted",
    "errors",
]
