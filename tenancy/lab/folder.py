"""Where a lab lives: one folder in the project, and nothing outside of it.

Two clones of a project must not disturb each other, and a lab must be easy to forget. So everything a lab writes is in
`.lab/NAME/` of the project it was started from: its kubeconfig, logs, certificates, etcd's data, and `lab.json`, which
says what was asked for. Removing that folder, once its processes are gone, removes the lab.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

FOLDER_VARIABLE = "TENANCY_LAB_DIR"
LAB_LABEL = "tenancy.dev/lab"  # on namespace kube-system: this cluster is a lab, and which
PROJECT_MARKS = ("Pulumi.yaml", ".git")
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")  # a label's value, a context's name, a folder
STATE = "lab.json"
TAIL = 20  # lines of a log that are shown when its process fails


class LabError(RuntimeError):
    """The lab cannot do what was asked. The text says why and what to do; it is for the user."""


@dataclass
class State:
    """What `lab up` was asked for and which ports it took, kept in `lab.json`."""

    agreement: str
    controllers: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    on: str = "kwok"
    processes: list[str] = field(default_factory=list)
    """Those of the controllers, by name: some depend on the agreement."""


@dataclass(frozen=True)
class Folder:
    """The folder of one lab, which need not exist."""

    name: str
    path: Path

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    @property
    def kwok(self) -> Path:
        """kwokctl's own work folder."""
        return self.path / "kwok"

    @property
    def logs(self) -> Path:
        """A log for each process that the lab starts itself."""
        return self.path / "logs"

    def log(self, process: str) -> Path:
        """The log of a process: kwokctl's processes write theirs in kwokctl's folder."""
        of_kwok = self.kwok / "clusters" / self.name / "logs" / f"{process}.log"
        return of_kwok if of_kwok.exists() else self.logs / f"{process}.log"

    def state(self) -> State | None:
        """What was asked for; None when there is no such lab."""
        try:
            return State(**json.loads((self.path / STATE).read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise LabError(
                f"{self.path / 'lab.json'} cannot be read ({error}): tenancy lab down --name {self.name}"
            ) from None

    def remember(self, state: State) -> None:
        self.write(STATE, json.dumps(state.__dict__, indent=2) + "\n")

    def write(self, path: str, data: str | bytes) -> Path:
        """Writes a file of the lab, readable by its user only: some of them are keys."""
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        target.chmod(0o600)
        return target

    def make(self, state: State) -> None:
        """Makes the folder; git is told to look away, whatever the project's own ignore file says."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self.remember(state)
        (self.path.parent / ".gitignore").write_text("*\n")

    def remove(self) -> None:
        """Removes the folder, its `lab.json` last, and the folder of labs with the last of them. A folder that no lab
        made is left alone."""
        if not (self.path / STATE).exists():
            return
        for path in self.path.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != STATE:
                path.unlink()
        shutil.rmtree(self.path)
        if [path.name for path in self.path.parent.iterdir()] == [".gitignore"]:
            shutil.rmtree(self.path.parent)


def root() -> Path:
    """The folder of labs: `TENANCY_LAB_DIR`, or `.lab` in the project (the nearest folder upwards that looks like one)."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given).resolve()
    here = Path.cwd().resolve()
    projects = (folder for folder in (here, *here.parents) if any((folder / mark).exists() for mark in PROJECT_MARKS))
    return next(projects, here) / ".lab"


def folder(name: str) -> Folder:
    """The folder of the lab with this name. Raises LabError for a name that no lab can have."""
    if not NAME.fullmatch(name):
        raise LabError(f"{name!r} cannot be a lab's name: use 1 to 40 of a-z, 0-9 and -, such as lab-2")
    return Folder(name, root() / name)


def known() -> list[Folder]:
    """Every lab of this project, by name."""
    return [Folder(path.parent.name, path.parent) for path in sorted(root().glob(f"*/{STATE}"))]


def tail(log: Path, lines: int = TAIL) -> str:
    """The end of a log, for an error; each line cut to what a terminal can show."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return f"  (there is no {log})"
    kept = [f"  {line[:300]}" for line in text.rstrip().splitlines()[-lines:]]
    return "\n".join([f"  … {log}", *(kept or ["  (it is empty)"])])
