"""`show`: an agreement for people, from nothing but the file."""

from __future__ import annotations

from . import common
from .common import DEFAULT_FILE, File, Json


def show(file: File = DEFAULT_FILE, json: Json = False) -> None:
    """Show who is promised what, what each team can reach, the objects it becomes, and how exactly each promise is kept."""
    from .. import show as showing

    plan = common.plan_of(file)
    if json:
        common.print_json(showing.as_json(plan))
    else:
        showing.print_plan(plan)
