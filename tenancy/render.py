"""The files an agreement becomes, written all or none, and compared with those that are there.

DIR is render's own: `kueue/*.yaml`, `kai/*.yaml` and `fidelity.md`. A file in it that the agreement no longer makes goes
with the next render if it carries our first line; any other refuses the render, so `--out .` removes nobody's work. The
new folder is complete on disk before one rename puts it in place, so that an interrupted render leaves either the old
files or the new.
"""

from __future__ import annotations

import difflib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import fidelity, kai, kueue
from .manifest import dump_all
from .plan import Plan
from .swap import swap

HEADER = "# Made by `tenancy render` from the agreement of cluster "
REPORT = "fidelity.md"


class RenderRefused(Exception):
    """The folder holds something render did not make; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One file on which the folder and the agreement disagree: `missing`, `unexpected` or `changed`."""

    file: str
    kind: str
    lines: tuple[str, ...] = ()


def rendered(plan: Plan) -> dict[str, str]:
    """Every file, by its path in DIR."""
    head = f"{HEADER}{plan.cluster}; edits are overwritten.\n"
    files = {
        f"{folder}/{name}": head + dump_all(objects)
        for folder, made in (("kueue", kueue.files(plan)), ("kai", kai.files(plan)))
        for name, objects in made
        if objects
    }
    files[REPORT] = fidelity.markdown(plan, fidelity.verdicts(plan))
    return files


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Put `files` in place of what render made there before. Raises RenderRefused and OSError; then nothing changed."""
    folder = folder.resolve()
    if foreign := [name for name in _present(folder) if name not in files and not _is_ours(folder / name)]:
        raise RenderRefused(
            f"{folder} holds {', '.join(foreign[:5])}{' and more' if len(foreign) > 5 else ''}, which render did not make; "
            "move it away or name another --out"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new-", dir=folder.parent))
    try:
        for name, text in files.items():
            path = fresh / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        swap(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


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
                old.splitlines(), files[name].splitlines(), "in the folder", "from the agreement", "", "", 2
            )
            yield Difference(name, "changed", tuple(lines))


def _present(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def _is_ours(path: Path) -> bool:
    return path.name == REPORT or _read(path).startswith(HEADER)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
