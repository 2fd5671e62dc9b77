"""A Pulumi project of its own on a cluster: what a test does with it, and what is there after.

The state, the configuration and the agreement lie in a temporary folder. The program is this repo's (`Project`), or any.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tenancy.lab import tools

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ("Pulumi.yaml", "__main__.py", "components", "tenancy")
KINDS = ("topologies", "resourceflavors", "workloadpriorityclasses", "cohorts", "clusterqueues")
PATIENCE = 180.0

Objects = dict[str, Any]


@dataclass(frozen=True)
class Done:
    """What a command said, and how it ended."""

    code: int
    said: str

    def ok(self) -> Done:
        assert self.code == 0, self.said
        return self


@dataclass
class Stack:
    """A stack of the program in `folder`, on the cluster of `kubeconfig`. `settings` are its `tenancy:` keys."""

    folder: Path
    kubeconfig: Path
    settings: dict[str, str] = field(default_factory=dict)
    stack: str = "test"
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        (self.folder / "state").mkdir()
        self.environment = {
            **tools.environment("pulumi", "kubectl", *self.languages),
            "KUBECONFIG": str(self.kubeconfig),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}?metadata=skip",  # docs/decisions/0003
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        self.pulumi("stack", "init", self.stack).ok()

    def set(self, **settings: str) -> None:
        """Configuration, written at once (`pulumi config set` takes a second for each key)."""
        self.settings |= settings
        lines = [f"  tenancy:{key}: {json.dumps(value)}" for key, value in self.settings.items()]
        file = self.folder / f"Pulumi.{self.stack}.yaml"
        salt = [line for line in file.read_text().splitlines() if line.startswith("encryptionsalt")]
        file.write_text("\n".join([*salt, "config:", *lines]) + "\n")

    def pulumi(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        return self._done(["pulumi", *arguments, "--non-interactive"], env)

    def up(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        return self.pulumi("up", "--yes", "--skip-preview", "--suppress-progress", *arguments, env=env)

    def preview(self, *arguments: str) -> Done:
        return self.pulumi("preview", "--suppress-progress", *arguments)

    def kill_up(self, when: Callable[[], bool], env: Mapping[str, str] | None = None) -> None:
        """`pulumi up`, ended by SIGKILL as soon as `when` is true. Its provider would outlive it for ever, so it goes too."""
        with self.start_up(env) as update:
            deadline = time.monotonic() + PATIENCE
            while not when():
                assert update.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline
            children = psutil.Process(update.pid).children(recursive=True)
            os.kill(update.pid, signal.SIGKILL)
            assert update.wait() == -signal.SIGKILL
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()

    def start_up(self, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """`pulumi up` beside the test; what it says is in `log`."""
        command = ["pulumi", "up", "--yes", "--skip-preview", "--suppress-progress", "--non-interactive"]
        with self.log.open("wb") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env={**self.environment, **(env or {})}, stdout=log, stderr=log
            )

    @property
    def log(self) -> Path:
        return self.folder / "up.log"

    def recorded(self) -> list[str]:
        """The objects in the state."""
        export = json.loads(self.pulumi("stack", "export").ok().said)
        found = [
            resource["outputs"]
            for resource in export["deployment"].get("resources", [])
            if resource["type"].startswith("kubernetes:")
        ]
        return sorted(f"{entry['kind']}/{entry['metadata']['name']}" for entry in found)

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(command, env=self.environment, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def names(self, kind: str) -> list[str]:
        return self.kubectl("get", kind, "--output=name").split()

    def on_cluster(self) -> Objects:
        """Everything of our kinds, by `Kind/name`."""
        found = json.loads(self.kubectl("get", ",".join(KINDS), "--output=json"))["items"]
        return {f"{entry['kind']}/{entry['metadata']['name']}": entry for entry in found}

    def wipe(self) -> None:
        """Leaves nothing of our kinds; queues first, which hold the flavors."""
        for kind in reversed(KINDS):
            self.kubectl("delete", kind, "--all", "--cascade=background")

    def _done(self, command: list[str], env: Mapping[str, str] | None) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout)


@dataclass
class Project(Stack):
    """This repo's program, with an agreement of the test."""

    def __post_init__(self) -> None:
        for name in PROGRAM:
            (self.folder / name).symlink_to(ROOT / name)
        super().__post_init__()
        self.set(kubeconfig=str(self.kubeconfig), agreement="tenancy.toml", timeout="2m")

    def agree(self, text: str) -> None:
        (self.folder / "tenancy.toml").write_text(text)


def lacking(wanted: Any, there: Any, path: str = "") -> Iterable[str]:
    """Where what is there is not what is wanted; what the server adds is no difference."""
    if isinstance(wanted, Mapping):
        for key, value in wanted.items():
            yield from lacking(value, (there or {}).get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(there, list) and len(wanted) == len(there):
        for number, (one, other) in enumerate(zip(wanted, there, strict=True)):
            yield from lacking(one, other, f"{path}[{number}]")
    elif wanted != there:
        yield f"{path}: {there!r} instead of {wanted!r}"
