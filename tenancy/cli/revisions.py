"""An agreement by the name that a person gives it: a file, `-` for standard input, or `REV:PATH` of git."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..text.durations import duration
from ..text.spelling import similar
from . import common

if TYPE_CHECKING:
    from ..agreement import Loaded

STDIN = "-"
GIT_PATIENCE = 60.0  # seconds; a partial clone fetches what it is asked for


def loaded(name: str) -> Loaded:
    """What is there, read and checked; findings name it as it was given. Stops with a sentence where git has no such thing."""
    from ..objects.loading import load, loads

    if name == STDIN:
        return loads(sys.stdin.buffer.read(), "<stdin>")
    if Path(name).exists():
        return load(name)
    revision, colon, path = name.partition(":")
    if not colon:
        if _is_revision(Path(), name):
            common.stop(f"{name} is a revision and no file: name a file of it, such as {name}:{common.DEFAULT_FILE}")
        return load(name)
    return loads(_blob(Path(), revision, path, name), name)


def pair(old: str | None, new: str | None) -> tuple[str, str]:
    """What is compared with what: without OLD the last commit's, without NEW the file as it is. One name alone is the new one where
    it is a file, and the old one where it is of git."""
    if old is None:
        return f"HEAD:./{common.DEFAULT_FILE}", common.DEFAULT_FILE
    if new is not None:
        return old, new
    if old == STDIN or Path(old).exists():
        return _committed(old), old
    _, colon, path = old.partition(":")
    if not colon:
        if not _is_revision(Path(), old):
            common.stop(f"{old}: there is no such file, and git knows no revision of that name")
        return f"{old}:./{common.DEFAULT_FILE}", common.DEFAULT_FILE
    top = Path() if path.startswith(("./", "../")) else Path(_git(Path(), "rev-parse", "--show-toplevel").strip())
    return old, os.path.relpath(top / path)


def _committed(file: str) -> str:
    """The same file in the last commit, by its path from here."""
    if file == STDIN:
        common.stop("- is one agreement: name the other one too")
    path = os.path.relpath(file)
    return f"HEAD:{path if path.startswith('..') else f'./{path}'}"


def _blob(where: Path, revision: str, path: str, name: str) -> bytes:
    """The bytes of a file at a revision (of the index where that is empty)."""
    if not path:
        common.stop(f"{name}: names no file; write {revision}:{common.DEFAULT_FILE}")
    if revision and not _is_revision(where, revision):
        shallow = _git(where, "rev-parse", "--is-shallow-repository").strip() == "true"
        remedy = (
            "this clone is shallow: fetch it first (git fetch --depth 1 origin …)"
            if shallow
            else "see git branch --all"
        )
        common.stop(f"{name}: git knows no revision {revision!r}; {remedy}")
    done = _run(where, "cat-file", "blob", f"{revision}:{path}")
    if done.returncode == 0:
        return done.stdout
    there = (
        _run(where, "ls-tree", "-r", "--name-only", "--full-tree", revision or "HEAD")
        .stdout.decode(errors="replace")
        .split("\n")
    )
    near = similar(path.removeprefix("./"), there)
    remedy = (
        f"did you mean {revision}:{near[0]}?"
        if near
        else "a path counts from the top of the repository; from here it begins with ./"
    )
    return common.stop(f"{name}: {revision or 'the index'} has no file {path!r}; {remedy}")


def _is_revision(where: Path, name: str) -> bool:
    return _run(where, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{tree}}").returncode == 0


def _git(where: Path, *arguments: str) -> str:
    """What git says. Stops where it cannot be asked at all."""
    done = _run(where, *arguments)
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("fatal: ")
        common.stop(f"git cannot be asked here: {why}")
    return done.stdout.decode(errors="replace")


def _run(where: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(
            ["git", "-C", str(where), *arguments],
            capture_output=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=GIT_PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        common.stop("there is no git on this machine: name two files")
    except subprocess.TimeoutExpired:
        common.stop(f"git does not answer within {duration(GIT_PATIENCE)}")
    except ValueError:  # a NUL in the name
        common.stop("a name of git holds a character that no name may hold")
