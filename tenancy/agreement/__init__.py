"""The agreement: typed, read from TOML with positions or built in Python, and checked (`objects.loading` reads and checks)."""

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
