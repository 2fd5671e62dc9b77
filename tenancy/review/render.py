"""The files an agreement becomes, written all or none, and compared with those that are there.

DIR is render's own: `kueue/*.yaml`, `kai/*.yaml`, `access/*.yaml`, `fidelity.md` and, where Kueue itself must be set for the agreement,
`kueue-values.yaml` for its chart. A file in it that the agreement no longer makes goes
with the next render if it carries our first line; any other refuses the render, so a slip removes nobody's work. The new
folder is complete beside the old one before one rename puts it in place, so that an interrupted render leaves either the
old files or the new. What a killed render left beside DIR goes with the next one: a render holds a lock on the folder it
is making, and the lock dies with it.
"""

from __future__ import annotations

import difflib
import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..agreement.plan import Plan
from ..objects import access, configuration
from ..objects.access import Namespaces
from ..objects.manifest import dump_all
from ..objects.registry import OBJECTS
from ..objects.schedulers import Scheduler
from . import fidelity
from .atomic_replace import swap

HEADER = "# Made by `tenancy render` from the agreement of cluster "
REPORT = "fidelity.md"
KUEUE_VALUES = "kueue-values.yaml"


class RenderRefused(Exception):
    """The folder holds something render did not make; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One file on which the folder and the agreement disagree: `missing`, `unexpected` or `changed`."""

    file: str
    kind: str
    lines: tuple[str, ...] = ()


def rendered(
    plan: Plan, namespaces: Namespaces = Namespaces.LISTED, schedulers: Collection[Scheduler] = tuple(Scheduler)
) -> dict[str, str]:
    """Every file, by its path in DIR: a folder for each of the schedulers, unless it refuses the agreement (`refusals`)."""
    head = f"{HEADER}{plan.cluster}; edits are overwritten.\n"
    folders = {str(scheduler): OBJECTS[scheduler].files(plan) for scheduler in Scheduler if scheduler in schedulers}
    kueue, kai = Scheduler.KUEUE in schedulers, Scheduler.KAI in schedulers
    folders["access"] = access.files(plan, namespaces, kueue=kueue, kai=kai)
    files = {
        f"{folder}/{name}": head + dump_all(objects)
        for folder, made in folders.items()
        for name, objects in made
        if objects
    }
    if kueue and (values := configuration.chart_values(plan)):
        files[KUEUE_VALUES] = head + values
    files[REPORT] = fidelity.markdown(plan, fidelity.verdicts(plan, schedulers))
    return files


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Put `files` in place of what render made there before. Raises RenderRefused and OSError; then nothing changed."""
    folder = Path(os.path.realpath(folder))
    if refusal := _refusal(folder, files):
        raise RenderRefused(refusal)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    with _fresh(folder) as fresh:
        for name, text in files.items():
            path = fresh / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        swap(fresh, folder)


def _refusal(folder: Path, files: Mapping[str, str]) -> str | None:
    """Why the folder cannot be replaced whole; None when it can."""
    if folder.is_symlink():  # all that lead somewhere are resolved
        return f"{folder} is a symbolic link to itself"
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file; name a folder as --out"
    if folder.is_mount() or Path.cwd().is_relative_to(folder):
        return (
            f"{folder} is mounted or the folder you are in, and render replaces it whole; name a folder in it as --out"
        )
    if folder.is_dir() and not os.access(folder, os.W_OK):
        return f"{folder} is read-only"
    if foreign := [name for name in _present(folder) if name not in files and not _is_ours(folder / name)]:
        shown = ", ".join(foreign[:5]) + (" and more" if len(foreign) > 5 else "")
        return f"{folder} holds {shown}, which render did not make; move it away or name another --out"
    return None


@contextmanager
def _fresh(folder: Path) -> Iterator[Path]:
    """A new folder beside `folder`, ours as long as we live; what is at its path afterwards is removed."""
    while True:
        fresh = folder.with_name(f"{_left_over(folder)}{secrets.token_hex(8)}")
        fresh.mkdir()
        if lock := _lock(fresh):
            break
    try:
        yield fresh
    finally:
        os.close(lock)
        shutil.rmtree(fresh, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what killed renders left: folders of their name whose lock nobody holds."""
    for left in folder.parent.glob(f"{glob.escape(_left_over(folder))}*"):
        if lock := _lock(left):
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def _left_over(folder: Path) -> str:
    return f".{folder.name}.new-"


def _lock(folder: Path) -> int | None:
    """Hold the folder for this process: a descriptor to close; None where another holds it or it is gone."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(held), os.stat(folder)):
            return held
    except OSError:
        pass
    os.close(held)
    return None


def differences(folder: Path, files: Mapping[str, str]) -> Iterator[Difference]:
    """Where the folder and the agreement disagree, in the order of the files; reads only."""
    present = set(_present(folder))
    for name in sorted(present | set(files)):
        if name not in present:
            yield Difference(name, "missing")
        elif name not in files:
            yield Difference(name, "unexpected")
        elif (old := _read(folder / name)) != files[name]:
            lines = difflib.unified_diff(
                old.splitlines(), files[name].splitlines(), "in the folder", "from the agreement", "", "", 2, ""
            )
            yield Difference(name, "changed", tuple(lines))


def _present(folder: Path) -> list[str]:
    """Every file in the folder by its path there; a link counts as one, wherever it leads."""
    found = []
    for root, folders, names in os.walk(folder):
        paths = [Path(root, name) for name in (*names, *folders)]
        found += [str(path.relative_to(folder)) for path in paths if path.is_symlink() or not path.is_dir()]
    return sorted(found)


def _is_ours(path: Path) -> bool:
    """Also a file that is gone by now: another render has put its folder in place meanwhile."""
    return path.name == REPORT or _read(path).startswith(HEADER) or not os.path.lexists(path)


def _read(path: Path) -> str:
    """The text as it is, line ends too; what cannot be read is as good as empty."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as stream:
            return stream.read()
    except OSError:
        return ""
