"""The agreement against the nodes of a cluster: what is there, what is not as agreed, which promises are short.

Pure: a plan and a plain description of nodes go in (`live.nodes` reads them), numbers and findings come out.
"""

from ...cluster.nodes import Node, NodeTaint
from ...quota.shortfall import Shortfall, TeamShort, shortfall
from .report import FlavorSupply, Report, compare

__all__ = ["FlavorSupply", "Node", "NodeTaint", "Report", "Shortfall", "TeamShort", "compare", "shortfall"]
