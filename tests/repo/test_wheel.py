"""The package as others install it: built into a wheel, with all that it reads, and run from there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from samples import ROOT

LAB = ROOT / "tenancy.toml"
PAGE = """
import sys
from tenancy.verify.evidence.model import Run
from tenancy.verify.evidence.page import page
sys.stdout.write(page(Run("tenancy.toml", "lab", "2026-11-29", 1.0, ())))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, as an installer lays them out."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / LAB.name).write_text(LAB.read_text())
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder with nothing of the repo in it."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=installed.parent,
        env={"PYTHONPATH": str(installed), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_file_of_the_package_is_in_it(installed: Path) -> None:
    for folder, there in (("tenancy", "tenancy"), ("components", "components"), ("tools/go", "tenancy/_tools/go")):
        every = (it for it in (ROOT / folder).rglob("*") if it.is_file() and it.parent.name != "__pycache__")
        ours = {it.relative_to(ROOT / folder) for it in every}
        assert ours
        assert not {it for it in ours if not (installed / there / it).is_file()}


def test_python_takes_it_from_there(installed: Path) -> None:
    assert str(installed) in run(installed, "-c", "import tenancy; print(tenancy.__file__)").stdout


@pytest.mark.parametrize(
    "command", [["check"], ["show"], ["render", "--out", "out"], ["verify", "--list"], ["diff", LAB.name]], ids=" ".join
)
def test_commands_run(installed: Path, command: list[str]) -> None:
    done = run(installed, "-m", "tenancy", *command, LAB.name)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_has_the_parts_of_the_page(installed: Path) -> None:
    done = run(installed, "-c", PAGE)
    assert done.returncode == 0, done.stderr
    assert "<style>" in done.stdout and "<script>" in done.stdout


@pytest.mark.parametrize("command", [["status"], ["verify"], ["lab", "status"], ["lab", "up"]], ids=" ".join)
def test_without_the_extra_a_command_that_needs_it_says_so(installed: Path, command: list[str]) -> None:
    missing = "import sys; sys.modules |= dict.fromkeys(('lightkube', 'httpx2', 'psutil', 'trustme'))"
    main = f"from tenancy.cli import main; sys.argv = ['tenancy', *{command!r}]; main()"
    done = run(installed, "-c", f"{missing}; {main}")
    assert done.returncode == 2
    assert done.stderr.endswith("here: for what needs a cluster, pip install 'tenancy[lab]'\n")
    assert len(done.stderr.splitlines()) == 1
