"""A Node.js language host for Pulumi, for machines where the official one cannot be had; see `language_host`.

It runs TypeScript programs through the runner in their own `@pulumi/pulumi`, and does for `pulumi install` and `pulumi package
add` what the official host does: writes a package's SDK, adds it to `package.json`, calls npm. The SDK is written by
Pulumi's own generator (`tools/go/languages/generate-nodejs`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from language_host import Children, Host, serve
from pulumi.runtime.proto import language_pb2 as lang
from pulumi.runtime.proto import plugin_pb2

RUNNER = Path("node_modules", "@pulumi", "pulumi", "cmd", "run", "index.js")


def packages(program: Path) -> list[plugin_pb2.PackageDependency]:
    """Providers that installed npm packages ask for: each says so under `pulumi` in its `package.json`."""
    found = []
    folder = program / "node_modules"
    for file in sorted([*folder.glob("*/package.json"), *folder.glob("@*/*/package.json")]):
        wanted = json.loads(file.read_text()).get("pulumi", {})
        if wanted.get("resource"):
            found.append(
                plugin_pb2.PackageDependency(
                    name=wanted.get("name") or file.parent.name,
                    kind="resource",
                    version=wanted.get("version", ""),
                    server=wanted.get("server", ""),
                )
            )
    return found


class NodeHost(Host):
    """`generator` is the program that writes SDKs."""

    def __init__(self, engine: str, children: Children, generator: Path) -> None:
        super().__init__(engine, children)
        self.generator = generator

    def GetRequiredPackages(self, request: Any, context: Any) -> lang.GetRequiredPackagesResponse:
        return lang.GetRequiredPackagesResponse(packages=packages(Path(request.info.program_directory)))

    def Run(self, request: lang.RunRequest, context: grpc.ServicerContext) -> lang.RunResponse:
        program = Path(request.info.program_directory)
        runner = next((path / RUNNER for path in (program, *program.parents) if (path / RUNNER).exists()), None)
        if runner is None:
            return lang.RunResponse(error=f"@pulumi/pulumi is not installed in {program}; run `pulumi install` there")
        options = {
            "monitor": request.monitor_address,
            "engine": self.engine,
            "organization": request.organization,
            "project": request.project,
            "root-directory": request.info.root_directory,
            "stack": request.stack,
            "pwd": request.pwd,
            "parallel": str(request.parallel),
        }
        args = [_found("node"), str(runner), *(["--dry-run"] if request.dryRun else [])]
        for name, value in options.items():
            if value:
                args += [f"--{name}", value]
        entry = str(program / (request.info.entry_point or "."))
        return self.run([*args, entry], request, context, {"PULUMI_NODEJS_TYPESCRIPT": "true"})

    def InstallDependencies(
        self, request: lang.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[lang.InstallDependenciesResponse]:
        folder = request.info.program_directory or request.directory
        for heard in self.listen([_found("npm"), "install", "--no-fund", "--no-audit"], context, os.environ, folder):
            if isinstance(heard, int):
                if heard:
                    context.abort(grpc.StatusCode.INTERNAL, f"npm install failed with exit code {heard} in {folder}")
            else:
                yield lang.InstallDependenciesResponse(**{heard[0]: heard[1]})

    def GeneratePackage(
        self, request: lang.GeneratePackageRequest, context: grpc.ServicerContext
    ) -> lang.GeneratePackageResponse:
        command = [str(self.generator), request.directory, request.loader_target]
        done = subprocess.run(command, input=request.schema, capture_output=True, text=True, check=False)
        if done.returncode:
            context.abort(grpc.StatusCode.INTERNAL, done.stderr.strip())
        for name, content in request.extra_files.items():
            Path(request.directory, name).write_bytes(content)
        return lang.GeneratePackageResponse()

    def Link(self, request: lang.LinkRequest, context: grpc.ServicerContext) -> lang.LinkResponse:
        """Adds generated SDKs to the program's dependencies; a file that says so already stays as it is."""
        folder = Path(request.info.program_directory)
        manifest = json.loads((folder / "package.json").read_text())
        before, names = dict(manifest.get("dependencies", {})), []
        for package in request.packages:
            names.append(json.loads((folder / package.path / "package.json").read_text())["name"])
            manifest.setdefault("dependencies", {})[names[-1]] = f"file:{package.path}"
        if manifest.get("dependencies", {}) != before:
            (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
        return lang.LinkResponse(import_instructions="\n".join(f'import * as … from "{name}";' for name in names))


def _found(program: str) -> str:
    if path := shutil.which(program):
        return path
    raise FileNotFoundError(f"{program} is not on PATH; a TypeScript program needs Node.js 20 or newer")


def main(argv: list[str]) -> int:
    """`node_host --generator FILE [flags of the engine] ENGINE_ADDRESS`"""
    if len(argv) < 2 or argv[0] != "--generator":
        print("usage: node_host --generator FILE ENGINE_ADDRESS", file=sys.stderr)
        return 2
    engine, generator = argv[-1] if len(argv) > 2 else "", Path(argv[1])
    serve(lambda children: NodeHost(engine, children, generator))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
