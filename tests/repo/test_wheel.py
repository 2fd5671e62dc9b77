"""The package as others install it: a wheel in an empty environment, beside packages that have the names of our folders."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest
import wheels
from samples import ROOT

LAB = ROOT / "tenancy.toml"
# `tenancy` on PyPI is a lease calculator; `components` could be anybody's.
OTHERS = {"tenancy": "def lease(): return 12", "components": "class Button: pass"}
SHIPPED = (
    ("tenancy", "gpu_tenancy"),
    ("components", "gpu_tenancy/components"),
    ("tools/go", "gpu_tenancy/_tools/go"),
    ("tools/hosts", "gpu_tenancy/_tools/hosts"),
)
LIBRARY = """
import components, tenancy
from gpu_tenancy.objects.loading import load
from gpu_tenancy.agreement.plan import make_plan
from gpu_tenancy.components import TenancyAgreementArgs, agreement_from_file
from gpu_tenancy.objects import kueue

assert tenancy.lease() == 12 and components.Button
agreement = agreement_from_file("tenancy.toml")
assert agreement == load("tenancy.toml").agreement
made = TenancyAgreementArgs(agreement=agreement).objects()
assert [body for body in kueue.objects(make_plan(agreement)) if body not in made] == []
"""
PAGE = """
import sys
from gpu_tenancy.verify.evidence.model import Run
from gpu_tenancy.verify.evidence.page import page
sys.stdout.write(page(Run("tenancy.toml", "lab", "2026-11-29", 1.0, ())))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an agreement and `venv`: our wheel, the others, and what ours depends on from the environment here."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / LAB.name).write_text(LAB.read_text())
    others = [other(folder / "others" / name, name, text) for name, text in OTHERS.items()]
    python = wheels.environment(folder, "--no-deps", "--offline", wheels.built(folder), *others)
    paths = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]  # a path in a .pth brings no .pth of its own
    (site(python) / "dependencies.pth").write_text("\n".join(paths))
    return folder


def other(folder: Path, name: str, text: str) -> Path:
    """The wheel of another distribution, with one package of its name."""
    folder.mkdir(parents=True)
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}/__init__.py", text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(
            f"{info}/RECORD", f"{name}/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"
        )
    return wheel


def site(python: Path) -> Path:
    (found,) = python.parents[1].glob("lib/python*/site-packages")
    return found


def run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of the environment, in a folder with nothing of the repo in it."""
    return subprocess.run(
        [folder / "venv" / "bin" / program, *arguments],
        cwd=folder,
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("ours", "there"), SHIPPED)
def test_every_file_of_the_package_is_in_it(folder: Path, ours: str, there: str) -> None:
    every = [file for file in (ROOT / ours).rglob("*") if file.is_file() and file.parent.name != "__pycache__"]
    assert every
    installed = site(folder / "venv" / "bin" / "python") / there
    assert not [file for file in every if not (installed / file.relative_to(ROOT / ours)).is_file()]


def test_it_brings_one_package_and_leaves_others_theirs(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    assert {name.partition("/")[0] for name in ZipFile(wheel).namelist()} == {
        "gpu_tenancy",
        "gpu_tenancy-0.1.0.dist-info",
    }
    for name, text in OTHERS.items():
        assert (site(folder / "venv" / "bin" / "python") / name / "__init__.py").read_text() == text


def test_a_library_program_runs_beside_packages_with_our_folders_names(folder: Path) -> None:
    done = run(folder, "python", "-c", LIBRARY)
    assert done.returncode == 0, done.stderr


def test_a_checkout_has_the_modules_by_the_same_name() -> None:
    """No copies: what an editable install gives by the wheel's name is the module of the folder."""
    program = """
import gpu_tenancy.components.order, gpu_tenancy.agreement.plan
from gpu_tenancy import components as ours
from gpu_tenancy.objects.kueue import objects
import components.order, tenancy.agreement.plan, tenancy.objects.kueue
assert gpu_tenancy.agreement.plan is tenancy.agreement.plan
assert gpu_tenancy.components.order is components.order and ours is components
assert objects is tenancy.objects.kueue.objects
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command", [["check"], ["show"], ["render", "--out", "out"], ["verify", "--list"], ["diff", LAB.name]], ids=" ".join
)
@pytest.mark.parametrize("program", [["tenancy"], ["python", "-m", "gpu_tenancy"]], ids=["tenancy", "python -m"])
def test_commands_run(folder: Path, program: list[str], command: list[str]) -> None:
    done = run(folder, *program, *command, LAB.name)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_finds_what_the_tools_are_built_from(folder: Path) -> None:
    where = "from gpu_tenancy.lab import gobuild; print(gobuild.sources())"
    assert run(folder, "python", "-c", where).stdout.rstrip().endswith("/site-packages/gpu_tenancy/_tools")


def test_it_has_the_parts_of_the_page(folder: Path) -> None:
    done = run(folder, "python", "-c", PAGE)
    assert done.returncode == 0, done.stderr
    assert "<style>" in done.stdout and "<script>" in done.stdout


@pytest.mark.parametrize("command", [["status"], ["verify"], ["lab", "status"], ["lab", "up"]], ids=" ".join)
def test_without_the_extra_a_command_that_needs_it_says_so(folder: Path, command: list[str]) -> None:
    missing = "import sys; sys.modules |= dict.fromkeys(('lightkube', 'httpx2', 'psutil', 'trustme'))"
    main = f"from gpu_tenancy.cli import main; sys.argv = ['tenancy', *{command!r}]; main()"
    done = run(folder, "python", "-c", f"{missing}; {main}")
    assert done.returncode == 2
    assert done.stderr.endswith("is not installed: commands that need a cluster need pip install 'gpu-tenancy[lab]'\n")
    assert len(done.stderr.splitlines()) == 1
