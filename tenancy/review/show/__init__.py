"""An agreement for people: who is promised what, how far each team can go, what it becomes, how exactly it is kept."""

from .facts import as_json, summary
from .terminal import print_plan

__all__ = ["as_json", "print_plan", "summary"]
