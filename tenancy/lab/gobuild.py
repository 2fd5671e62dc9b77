"""Builds programs from pinned Go modules into a cache that all clones share.

A cold build takes minutes, so it must say what it does, and must not be done twice. Each module under `tools/go` has one
folder in the cache, named by a digest of everything that decides its programs: its files and the linker's flags. So two
clones at one commit share it, and a changed pin is a new folder. In the folder: `bin`, the programs; `files`, the parts
of Go modules that are needed at run time (CRDs, charts), copied so that a warm start needs neither Go nor a network.

Nothing half done is ever visible: a build goes to a folder beside `bin` and its programs are renamed into place, under a
lock that a second process waits for. Go's own caches stay where the user has them.

How far it is: `go list` says which packages Go's cache lacks, and `go build -v` names each when its turn comes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache as once
from pathlib import Path

from rich.console import Console

from tenancy.lab.progress import Progress
from tenancy.text.durations import measured

Order = Mapping[str, tuple[str, str]]
"""What to build of one module: the program's name, its package, and the name `go build` gives it."""

# Compiling is mostly allocating: without a collector the same build takes a quarter less time, up to a limit that keeps
# small machines alive. Without debug data it takes another eighth, and the programs are a third smaller (measured:
# docs/decisions/0002).
COMPILER = {"GOGC": "off", "GOMEMLIMIT": "3GiB"}
FLAGS = ("-trimpath", "-mod=readonly", "-buildvcs=false", "-gcflags=all=-dwarf=false")
STRIP = "-s -w"
TAIL = 30  # lines of a failed build's output that are shown

NO_GO = """Go is not installed, and these programs are built from Go modules: {names}.
Without them these still work: tenancy check, show, render, diff, schema; make unit, lint, types.
Install Go 1.26 or newer (any way you like, `go` on PATH), or say where a program is: {variable}=/path/to/it."""


class ToolsError(RuntimeError):
    """A program cannot be had. The text says why and what to do; it is for the user."""


@dataclass(frozen=True)
class Files:
    """Parts of a Go module that are needed beside the programs."""

    name: str
    module: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Module:
    """A folder of `tools/go`: the variables the linker sets, and what else is taken from its dependencies.

    `sources` must lie in the folder before it is built: path there → file or folder under the cache's `files`."""

    name: str
    variables: Mapping[str, str] = field(hash=False)
    files: tuple[Files, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def link(self) -> str:
        return " ".join([STRIP, *(f"-X {name}={value}" for name, value in self.variables.items())])


def cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "tenancy" / "tools"


@once
def sources() -> Path:
    """The folder with the pinned modules, `go`, and the language hosts, `hosts`: in a checkout `tools`, in an installed
    wheel a copy inside the package."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package.parent / "tools", package / "_tools"):
        if (folder / "go" / "cluster" / "go.mod").exists():
            return folder
    raise ToolsError(f"the pinned Go modules are not part of this installation (looked beside {package})")


def pins() -> Path:
    return sources() / "go"


def digest(*parts: str | bytes) -> str:
    sum_ = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        sum_.update(len(data).to_bytes(8, "big") + data)
    return sum_.hexdigest()[:12]


@once
def _name(module: Module, pinned: Path) -> str:
    sources = [p for p in sorted(pinned.rglob("*")) if p.name in ("go.mod", "go.sum") or p.suffix == ".go"]
    parts: list[str | bytes] = [part for p in sources for part in (str(p.relative_to(pinned)), p.read_bytes())]
    return f"{module.name}-{digest(platform.system(), platform.machine(), module.link, *parts)}"


def folder(module: Module) -> Path:
    return cache() / _name(module, pins() / module.name)


def write(path: Path, data: str | bytes, mode: int = 0o644) -> None:
    """Writes a file so that nobody sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data.encode() if isinstance(data, str) else data)
    os.chmod(file.name, mode)
    os.replace(file.name, path)


def link(program: Path, name: Path) -> None:
    """Gives a program a second name, as a hard link where the disk allows: the engine resolves symbolic ones."""
    if name.exists():
        return
    name.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=name.parent) as scratch:
        new = Path(scratch) / name.name
        try:
            os.link(program, new)
        except OSError:
            shutil.copy2(program, new)
        os.replace(new, name)


@contextmanager
def locked(module: Module, console: Console) -> Iterator[None]:
    """One process at a time works on a module's folder; the others wait and say so. It ends with its process."""
    path = folder(module).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print(
                f"tools: another process is building the {module.name} tools; waiting for it", highlight=False
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(orders: Mapping[Module, Order], console: Console) -> None:
    """Builds what is ordered and not there yet. Modules are fetched one ahead of the one that compiles."""
    if not shutil.which("go"):
        names = [name for order in orders.values() for name in order]
        raise ToolsError(
            NO_GO.format(names=", ".join(names), variable="TENANCY_TOOL_" + names[0].upper().replace("-", "_"))
        )
    total = Progress(console)
    with ThreadPoolExecutor(1) as ahead:
        prepared = {module: ahead.submit(_prepare, module, order, total) for module, order in orders.items()}
        try:
            for module, order in orders.items():
                with locked(module, console):
                    _build(module, order, prepared[module], total)
        finally:
            for future in prepared.values():
                future.cancel()
    console.print(f"tools: done in {measured(total.elapsed)}; kept in {cache()}", highlight=False, soft_wrap=True)


def files(module: Module, wanted: Files) -> Path:
    """The folder that holds `wanted`, fetched if it is not there."""
    target = folder(module) / "files" / wanted.name
    if target.exists():
        return target
    if not shutil.which("go"):
        raise ToolsError(NO_GO.format(names=wanted.name, variable="TENANCY_TOOL_KUEUE"))
    asked = _run(
        ["go", "mod", "download", "-json", f"{wanted.module}@{_version(module, wanted.module)}"], pins() / module.name
    )
    source = Path(json.loads(asked)["Dir"])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        copy = Path(scratch) / wanted.name
        for part in wanted.paths:
            (copy / part).parent.mkdir(parents=True, exist_ok=True)
            if (source / part).is_dir():
                shutil.copytree(source / part, copy / part, copy_function=shutil.copyfile)
            else:
                shutil.copyfile(source / part, copy / part)
        for directory, _, _ in os.walk(copy):  # Go's module cache is read-only; a cache must be easy to remove
            os.chmod(directory, os.stat(directory).st_mode | stat.S_IWUSR)
        if not target.exists():
            os.replace(copy, target)
    return target


def _version(module: Module, path: str) -> str:
    """What go.mod requires of a dependency, also where a `replace` puts something else in its place."""
    pinned = re.search(
        rf"^(?:require)?\s+{re.escape(path)} (v\S+)", (pins() / module.name / "go.mod").read_text(), re.MULTILINE
    )
    assert pinned, path
    return pinned[1]


def _prepare(module: Module, order: Order, progress: Progress) -> set[str]:
    """Fetches what the order needs; the packages that must be compiled."""
    packages = [package for package, _ in order.values()]
    fields = "ImportPath,Stale,StaleReason"
    command = ["go", "list", *FLAGS, "-ldflags", module.link, "-deps", f"-json={fields}", *packages]
    fetched = 0

    def heard(line: str) -> None:
        nonlocal fetched
        if line.startswith("go: downloading"):
            fetched += 1
            progress.note(f"{module.name}: fetched {fetched} Go modules, now {line.split()[2]}")

    listing = _run(command, _sources(module), heard)
    decode, position, stale = json.JSONDecoder().raw_decode, 0, set()
    while position < len(listing):
        package, position = decode(listing, position)
        position += len(listing[position:]) - len(listing[position:].lstrip())
        if package.get("Stale") and "in build cache" not in package.get("StaleReason", ""):
            stale.add(package["ImportPath"])
    return stale


def _sources(module: Module) -> Path:
    """A copy of the pinned folder with the files that it needs from its dependencies; the checkout stays clean."""
    pinned, here = pins() / module.name, folder(module) / "src"
    for file in pinned.rglob("*"):
        if file.name in ("go.mod", "go.sum") or file.suffix == ".go":
            write(here / file.relative_to(pinned), file.read_bytes())
    for wanted in module.files:
        files(module, wanted)
    for path, kept in module.sources.items():
        source = folder(module) / "files" / kept
        for file in [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]:
            write(here / path / file.relative_to(source), file.read_bytes())
    return here


def _build(module: Module, order: Order, prepared: Future[set[str]], progress: Progress) -> None:
    target = folder(module) / "bin"
    order = {name: what for name, what in order.items() if not (target / name).exists()}
    if not order:
        return
    progress.note(f"{module.name}: listing the packages that {', '.join(order)} need")
    stale = prepared.result()
    target.mkdir(parents=True, exist_ok=True)
    for left in folder(module).glob("building-*"):  # by a build that was killed: we hold the lock, so nobody uses it
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder(module), prefix="building-") as scratch:
        packages = [package for package, _ in order.values()]
        command = ["go", "build", "-v", *FLAGS, "-ldflags", module.link, "-o", scratch + os.sep, *packages]
        with progress.part(module.name, tuple(order), stale) as part:
            _run(command, _sources(module), part.compiled)
        for name, (_, built_as) in order.items():
            os.replace(Path(scratch) / built_as, target / name)


def _run(command: list[str], where: Path, heard: Callable[[str], None] = lambda line: None) -> str:
    """Runs Go, telling `heard` each line it says meanwhile. A failure shows the command and the end of what was said."""
    env = COMPILER | dict(os.environ) | {"GOWORK": "off"}
    said: deque[str] = deque(maxlen=TAIL)
    process = subprocess.Popen(
        command, cwd=where, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    stdout, stderr = process.stdout, process.stderr
    assert stdout is not None
    assert stderr is not None
    output: list[str] = []
    reader = threading.Thread(target=lambda: output.append(stdout.read()))
    reader.start()
    try:
        for line in stderr:
            said.append(line.rstrip())
            heard(said[-1])
        code = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        reader.join()
    if code:
        shown = " ".join(f"'{word}'" if " " in word else word for word in command)
        ends = "\n".join(f"  {line}" for line in said) or "  (it said nothing)"
        raise ToolsError(
            f"this command failed with exit code {code}, in {where}:\n  {shown}\nIts output ended with:\n{ends}"
        )
    return output[0]
