"""How the wheel is laid out: under one import name that is free, `gpu_tenancy`, while the folders here keep theirs.

On PyPI `tenancy` is somebody else's package, and `components` could be anybody's; two packages of one name in one
environment overwrite each other without a word (docs/decisions/0034). So the wheel installs `tenancy/` as `gpu_tenancy/` and
`components/` as `gpu_tenancy/components/`, with the imports between the two rewritten. An editable install takes the
folders as they are and adds `alias.py`, so that a program imports by the same name from a checkout and from a wheel.
"""

from __future__ import annotations

import ast
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gpu_tenancy"
INSTALLED = {"tenancy": PACKAGE, "components": f"{PACKAGE}.components"}  # folder → import name
SHIPPED = {
    "tools/go": f"{PACKAGE}/_tools/go",
    "tools/hosts": f"{PACKAGE}/_tools/hosts",
}  # what tenancy.lab.tools builds from
UNWANTED = shutil.ignore_patterns("__pycache__", "*.pyc")


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling calls `initialize` before a build and `finalize` after it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version == "editable":
            build_data["force_include_editable"][str(root / "tools/wheel/alias.py")] = f"{PACKAGE}/__init__.py"
            return
        self.scratch = tempfile.TemporaryDirectory()
        for folder, name in INSTALLED.items():
            target = Path(self.scratch.name, *name.split("."))
            shutil.copytree(root / folder, target, ignore=UNWANTED, dirs_exist_ok=True)
        for file in Path(self.scratch.name).rglob("*.py"):
            file.write_text(relocated(file.read_text(encoding="utf-8"), str(file)), encoding="utf-8")
        for folder, path in SHIPPED.items():
            shutil.copytree(root / folder, Path(self.scratch.name, path), ignore=UNWANTED)
        build_data["force_include"][str(Path(self.scratch.name, PACKAGE))] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.scratch.cleanup()


def relocated(source: str, file: str) -> str:
    """The module with its absolute imports of ours by the installed name. Raises SyntaxError for a form that this would
    change the meaning of: `import tenancy.x` binds the name `tenancy`."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source, file)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in INSTALLED:
                    raise SyntaxError(f"{file}:{node.lineno}: write `from {alias.name} import …`; the wheel renames it")
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            folder, dot, rest = node.module.partition(".")
            if name := INSTALLED.get(folder):
                line = node.lineno - 1
                lines[line] = lines[line].replace(f"from {node.module} ", f"from {name}{dot}{rest} ", 1)
    return "".join(lines)
