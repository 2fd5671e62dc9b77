"""The wheel of this checkout, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ROOT


def built(folder: Path) -> Path:
    """The wheel, built into this folder as its users build it."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path, *packages: str | Path) -> Path:
    """A new environment with these packages, installed by uv with its flags among them; its Python."""
    python = folder / "venv" / "bin" / "python"
    subprocess.run([_uv(), "venv", "--quiet", "--python", sys.executable, folder / "venv"], check=True)
    subprocess.run([_uv(), "pip", "install", "--quiet", "--python", python, *packages], cwd=folder, check=True)
    return python


def _uv() -> str:
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tenancy", "uv", "bin")
    found = shutil.which("uv") or shutil.which("uv", path=cached)
    if found is None:
        pytest.skip("uv is not installed (tools/setup gets it)")
    return found
