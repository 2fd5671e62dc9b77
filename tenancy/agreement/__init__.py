"""The agreement: typed, read from TOML with positions or built in Python, and checked."""

from .checks import check
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
from .source import Loaded, load, loads, validate

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
    "check",
    "dotted",
    "errors",
    "load",
    "loads",
    "validate",
]
