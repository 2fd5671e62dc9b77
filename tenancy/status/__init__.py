"""The agreement beside the truth: what each team is promised of a flavor, what it has, and what needs attention.

Pure: a plan and what was seen of a cluster go in (`live.status` reads it), standings, text and numbers come out.
"""

from ..quota.lending import Loan, Use, lending, shared_out
from .attention import board
from .model import Attention, Board, Eviction, FlavorStanding, Kind, Part, Seen, Short, Standing, Waiting

__all__ = [
    "Attention",
    "Board",
    "Eviction",
    "FlavorStanding",
    "Kind",
    "Loan",
    "Part",
    "Seen",
    "Short",
    "Standing",
    "Use",
    "Waiting",
    "board",
    "lending",
    "shared_out",
]
