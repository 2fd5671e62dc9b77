"""A Python language host for Pulumi, for machines where the official one cannot be had.

Pulumi's engine does not run Python: it asks a small gRPC server, `pulumi-language-python`, to run the program and its
plugins. The official host comes with Pulumi's own download. Its Go source left the SDK module after v3.68.0, and that old
release cannot run plugins for today's engine; so where Pulumi was built from its Go module (`tenancy.lab.tools`) there is none.
The protocol is public and the Python SDK carries it, so a host is little work: answer five calls, start children, pass
their output on, and never leave one behind. `tenancy.lab.tools` puts this host in place only where the official one is absent.

The engine's side, which shapes this file: the first line on our standard output is our port; what follows there is shown
to the user; exit code 32 of a program means "the user has been told" (Pulumi's `pulumi-language-python-exec`, 2018).
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import IO, Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2 as lang
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2

VERSION = "0.1.0"
TOLD_THE_USER = 32
PATIENCE = 5.0  # seconds between asking a child to end and ending it


def interpreter(info: lang.ProgramInfo) -> Path:
    """The Python of the program: its `virtualenv` option, else the one this host runs in."""
    options = dict(info.options)
    if name := options.get("virtualenv"):
        python = Path(info.root_directory, str(name), "bin", "python")
        if python.exists():
            return python
    return Path(sys.executable)


def packages(python: Path) -> list[plugin_pb2.PackageDependency]:
    """Providers that installed Pulumi packages ask for: each says so in its `pulumi-plugin.json`."""
    found = []
    for file in sorted(python.parent.parent.glob("lib/python*/site-packages/*/pulumi-plugin.json")):
        wanted = json.loads(file.read_text())
        if wanted.get("resource"):
            name = wanted.get("name") or file.parent.name.removeprefix("pulumi_")
            found.append(
                plugin_pb2.PackageDependency(
                    name=name, kind="resource", version=wanted.get("version", ""), server=wanted.get("server", "")
                )
            )
    return found


class Children:
    """The processes started for the engine. All are ended, quietly, when it cancels, goes away or hangs up."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen[bytes]] = set()

    def start(self, args: list[str], **how: Any) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(args, stdin=subprocess.DEVNULL, start_new_session=True, **how)
        self.running.add(child)
        return child

    def end(self, child: subprocess.Popen[bytes]) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(child.pid, number)
                child.wait(PATIENCE)
                break
            except subprocess.TimeoutExpired:
                continue
            except ProcessLookupError:
                break
        self.running.discard(child)

    def end_all(self) -> None:
        for child in list(self.running):
            self.end(child)


class Host(language_pb2_grpc.LanguageRuntimeServicer):
    """What a host of any language does."""

    def __init__(self, engine: str, children: Children) -> None:
        self.engine, self.children = engine, children

    def Handshake(self, request: Any, context: Any) -> lang.LanguageHandshakeResponse:
        self.engine = request.engine_address or self.engine
        return lang.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    def run(
        self, args: list[str], request: lang.RunRequest, context: grpc.ServicerContext, extra: Mapping[str, str] = {}
    ) -> lang.RunResponse:
        """Runs a program to its end. Its output is ours, which the engine shows."""
        env = {
            **os.environ,
            **extra,
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        child = self.children.start([*args, *request.args], env=env, cwd=request.pwd or None)
        context.add_callback(lambda: self.children.end(child))
        code = child.wait()
        if code == 0:
            return lang.RunResponse()
        if code == TOLD_THE_USER:
            return lang.RunResponse(bail=True)
        return lang.RunResponse(error=f"the program ended with exit code {code}")

    def listen(
        self, args: list[str], context: grpc.ServicerContext, env: Mapping[str, str], cwd: str
    ) -> Iterator[tuple[str, bytes] | int]:
        """Runs a child to its end: what it says, each line with the name of its stream, and at last its exit code."""
        child = self.children.start(args, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        context.add_callback(lambda: self.children.end(child))
        said: queue.Queue[tuple[str, bytes] | None] = queue.Queue()

        def listen(name: str, stream: IO[bytes]) -> None:
            for line in stream:
                said.put((name, line))
            said.put(None)

        assert child.stdout and child.stderr
        for name, stream in (("stdout", child.stdout), ("stderr", child.stderr)):
            threading.Thread(target=listen, args=(name, stream), daemon=True).start()
        silent = 0
        while silent < 2:
            message = said.get()
            if message is None:
                silent += 1
            else:
                yield message
        code = child.wait()
        self.children.running.discard(child)
        yield max(code, 0)

    def Cancel(self, request: Any, context: Any) -> Empty:
        self.children.end_all()
        return Empty()


class PythonHost(Host):
    """`runner` is the SDK's `pulumi-language-python-exec`."""

    def __init__(self, engine: str, children: Children, runner: Path) -> None:
        super().__init__(engine, children)
        self.runner = runner

    def GetRequiredPackages(self, request: Any, context: Any) -> lang.GetRequiredPackagesResponse:
        return lang.GetRequiredPackagesResponse(packages=packages(interpreter(request.info)))

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[lang.InstallDependenciesResponse]:
        """Nothing: programs and plugins run in an environment that is there already."""
        return iter(())

    def Run(self, request: lang.RunRequest, context: grpc.ServicerContext) -> lang.RunResponse:
        options = {
            "monitor": request.monitor_address,
            "engine": self.engine,
            "project": request.project,
            "root_directory": request.info.root_directory,
            "stack": request.stack,
            "pwd": request.pwd,
            "dry_run": "true" if request.dryRun else "false",
            "parallel": str(request.parallel),
            "organization": request.organization,
        }
        args = [str(interpreter(request.info)), "-u", str(self.runner)]
        for name, value in options.items():
            if value:
                args += [f"--{name}", value]
        program = Path(request.info.program_directory, request.info.entry_point or request.program)
        return self.run([*args, str(program)], request, context)

    def RunPlugin(
        self, request: lang.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[lang.RunPluginResponse]:
        """Runs a plugin (a component provider, a policy pack) and streams what it says until it ends."""
        module = ["-m", "pulumi.policy"] if request.kind == "analyzer" else []
        program = [str(Path(request.info.program_directory))]
        args = list(request.args)
        ordered = [*args[:1], *program, *args[1:]] if module else [*program, *args]
        env = dict(entry.split("=", 1) for entry in request.env) or dict(os.environ)
        command = [str(interpreter(request.info)), "-u", *module, *ordered]
        for heard in self.listen(command, context, env, request.pwd or request.info.program_directory):
            if isinstance(heard, int):
                yield lang.RunPluginResponse(exitcode=heard)
            else:
                yield lang.RunPluginResponse(**{heard[0]: heard[1]})  # type: ignore[arg-type]


def serve(make: Callable[[Children], Host]) -> None:
    """Serves until the engine ends us, or ends itself: then our parent changes, and nobody would ever call again."""
    children = Children()
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=16), options=[("grpc.max_receive_message_length", 1 << 30)]
    )
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(make(children), server)
    port = server.add_insecure_port("127.0.0.1:0")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    parent = os.getppid()
    server.start()
    print(port, flush=True)
    while not stop.wait(0.5) and os.getppid() == parent:
        pass
    children.end_all()
    server.stop(grace=None).wait(timeout=1)


def main(argv: list[str]) -> int:
    """`language_host --runner FILE [flags of the engine] ENGINE_ADDRESS`"""
    if len(argv) < 2 or argv[0] != "--runner":
        print("usage: language_host --runner FILE ENGINE_ADDRESS", file=sys.stderr)
        return 2
    engine, runner = argv[-1] if len(argv) > 2 else "", Path(argv[1])
    serve(lambda children: PythonHost(engine, children, runner))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
