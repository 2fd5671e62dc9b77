"""The agreement: typed, read from TOML with positions or built in Python, and checked."""

from .checks import check
from .findings import Finding, Severity, dotted, errors
from .model import Agreement, Amount, Cluster, Department, Flavor, Mig, Taint, Team, Topology
from .source import Loaded, load, loads, validate

__all__ = [
    "Agreement",
    "Amount",
    "Cluster",
    "Department",
    "Finding",
    "Flavor",
    "Loaded",
    "Mig",
    "Severity",
    "Taint",
    "Team",
    "Topology",
    "check",
    "dotted",
    "errors",
    "load",
    "loads",
    "validate",
]
