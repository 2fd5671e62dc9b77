"""rich on a stream, and the tables that are printed on it.

What is no terminal (a file, a pipe, the log of a pipeline) gets text of a fixed width without colours: nothing is wrapped
at 80 columns there. Drawn signs have a form in ASCII; a caller asks `options.ascii_only`.
rich is loaded when something is printed, not before: most commands print nothing with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PLAIN_WIDTH = 160  # cells, where the stream is no terminal and COLUMNS says nothing


def console(stream: IO[str] | None = None) -> Console:
    """A console on the stream; None is stdout."""
    from rich.console import Console

    made = Console(file=stream)
    if not made.is_terminal:
        made = Console(file=stream, width=int(os.environ.get("COLUMNS") or PLAIN_WIDTH), color_system=None)
    return made


def new_table(*left: str, right: Iterable[str] = (), then: Iterable[str] = ()) -> Table:
    """A table with its heads: names to the left, numbers to the right, and names again where there are more."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in left:
        made.add_column(name, overflow="fold")
    for name in right:
        made.add_column(name, justify="right")
    for name in then:
        made.add_column(name, overflow="fold")
    return made
