"""`render` owns its folder: all of the new files or all of the old, nobody else's work touched, every difference told."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from renders import ONE, OTHER
from samples import LAB, PRODUCTION, ROOT, plan

from tenancy.review import atomic_replace as swap
from tenancy.review.render import HEADER, Difference, RenderRefused, differences, rendered, write


def content(folder: Path) -> dict[str, str]:
    """Every file in a folder by its path there."""
    return {str(path.relative_to(folder)): path.read_bytes().decode() for path in folder.rglob("*") if path.is_file()}


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir() if path != folder)


# --- what is written ------------------------------------------------------------------------------------------------


def test_one_file_for_the_cluster_one_for_each_team_and_the_report() -> None:
    teams = [f"team-{name}.yaml" for name in ("training", "research", "inference")]
    kueue, kai = (
        [f"kueue/{name}" for name in ("cluster.yaml", *teams)],
        [f"kai/{name}" for name in ("shared.yaml", *teams)],
    )
    assert list(ONE) == [*kueue, *kai, "fidelity.md"]


def test_this_repos_own_rendered_files_are_what_its_agreement_says() -> None:
    own = rendered(plan((ROOT / "tenancy.toml").read_text()))
    assert [difference.file for difference in differences(ROOT / "rendered", own)] == []


def test_the_same_agreement_gives_the_same_bytes() -> None:
    assert rendered(plan(PRODUCTION.read_text())) == rendered(plan(PRODUCTION.read_text()))


def test_a_change_of_one_team_is_a_change_of_its_files_only() -> None:
    changed = rendered(plan(LAB.replace("guaranteed = 16\nlendable = 8", "guaranteed = 16\nlendable = 7")))
    assert [name for name in ONE if ONE[name] != changed[name]] == [
        "kueue/team-training.yaml",
        "kai/shared.yaml",
        "kai/team-training.yaml",
        "fidelity.md",
    ]


def test_a_new_folder_holds_the_files_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "a" / "out", ONE)
    assert content(tmp_path / "a" / "out") == ONE
    assert beside(tmp_path / "a" / "out") == []


def test_files_that_the_agreement_no_longer_makes_go(tmp_path: Path) -> None:
    write(tmp_path / "out", ONE)
    write(tmp_path / "out", OTHER)
    assert content(tmp_path / "out") == OTHER
    assert beside(tmp_path / "out") == []


def test_the_folder_has_the_rights_a_new_folder_has(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    write(tmp_path / "out", ONE)
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("name", ["ordner mit ümläuten 🚀", "[a]*?", "-x", "..a"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, ONE)
    write(tmp_path / name, OTHER)
    assert content(tmp_path / name) == OTHER and beside(tmp_path / name) == []


def test_through_a_link_the_folder_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", ONE)
    assert (tmp_path / "link").is_symlink() and content(tmp_path / "real") == ONE


# --- what is refused ------------------------------------------------------------------------------------------------


def refusal(folder: Path, files: Mapping[str, str] = OTHER) -> str:
    """Why a folder is refused; it is then as it was, and nothing lies beside it."""
    before, neighbours = content(folder) if folder.is_dir() else folder.read_bytes(), beside(folder)
    with pytest.raises(RenderRefused) as refused:
        write(folder, files)
    assert (content(folder) if folder.is_dir() else folder.read_bytes()) == before
    assert beside(folder) == neighbours
    return str(refused.value).removeprefix(f"{folder} ")


def test_a_folder_with_somebodys_file_is_refused_by_its_name(tmp_path: Path) -> None:
    write(tmp_path / "out", ONE)
    (tmp_path / "out" / "kueue" / "mine.yaml").write_text("kind: Mine\n")
    assert refusal(tmp_path / "out") == (
        "holds kueue/mine.yaml, which render did not make; move it away or name another --out"
    )


def test_a_folder_with_a_hidden_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / ".git").mkdir(parents=True)
    (tmp_path / "out" / ".git" / "HEAD").write_text("x")
    assert refusal(tmp_path / "out").startswith("holds .git/HEAD")


def test_a_link_in_the_folder_is_somebodys(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kai").symlink_to(tmp_path / "elsewhere")
    assert refusal(tmp_path / "out").startswith("holds kai, which render did not make")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    assert refusal(tmp_path / "out") == "is a file; name a folder as --out"


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("out")
    with pytest.raises(RenderRefused, match="is a symbolic link to itself"):
        write(tmp_path / "out", ONE)
    assert (tmp_path / "out").is_symlink() and beside(tmp_path / "out") == []


def test_the_folder_one_stands_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RenderRefused, match="the folder you are in"):
        write(Path(), ONE)
    assert content(tmp_path) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o555)
    assert refusal(tmp_path / "out") == "is read-only"


# --- differences ----------------------------------------------------------------------------------------------------


def test_a_folder_as_written_has_no_difference(tmp_path: Path) -> None:
    write(tmp_path / "out", ONE)
    assert list(differences(tmp_path / "out", ONE)) == []


def test_a_folder_that_is_not_there_misses_every_file(tmp_path: Path) -> None:
    found = differences(tmp_path / "out", ONE)
    assert {difference.kind for difference in found} == {"missing"}


def test_an_edited_number_is_shown_with_both_values(tmp_path: Path) -> None:
    write(tmp_path / "out", ONE)
    file = tmp_path / "out" / "kai" / "team-research.yaml"
    file.write_text(file.read_text().replace("quota: 8", "quota: 9"))
    (found,) = differences(tmp_path / "out", ONE)
    assert (found.file, found.kind) == ("kai/team-research.yaml", "changed")
    assert [line for line in found.lines if line[:1] in "+-"][2:] == ["-      quota: 9", "+      quota: 8"]


def test_other_line_ends_are_a_difference(tmp_path: Path) -> None:
    write(tmp_path / "out", ONE)
    file = tmp_path / "out" / "fidelity.md"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert [difference.kind for difference in differences(tmp_path / "out", ONE)] == ["changed"]


def test_a_file_that_should_not_be_there_is_a_difference(tmp_path: Path) -> None:
    write(tmp_path / "out", ONE)
    (tmp_path / "out" / "kueue" / "extra.yaml").write_text(HEADER)
    assert list(differences(tmp_path / "out", ONE)) == [Difference("kueue/extra.yaml", "unexpected")]


# --- faults ---------------------------------------------------------------------------------------------------------

LOOP = """
import sys; sys.path[:0] = sys.argv[2:]
from pathlib import Path
from renders import ONE, OTHER
from tenancy.review.render import write
print("ready", flush=True)
while True:
    write(Path(sys.argv[1]), ONE)
    write(Path(sys.argv[1]), OTHER)
"""


def loop(folder: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", LOOP, str(folder), str(ROOT), str(ROOT / "tests")], stdout=subprocess.PIPE
    )
    assert process.stdout and process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.slow
def test_a_killed_render_leaves_the_old_files_or_the_new_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    folder, chance, seen = tmp_path / "out", random.Random(3), set()
    write(folder, ONE)
    for _ in range(12):
        process = loop(folder)
        time.sleep(chance.random() / 20)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = content(folder)
        assert found in (ONE, OTHER)
        seen.update(beside(folder))
    assert seen, "no kill hit a render half-way: make the loop longer"
    write(folder, ONE)
    assert beside(folder) == []


def test_two_renders_at_once_leave_one_whole_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"

    def work(files: Mapping[str, str]) -> None:
        for _ in range(40):
            write(folder, files)

    with ThreadPoolExecutor() as pool:
        works = [pool.submit(work, files) for files in (ONE, OTHER, ONE)]
        while not all(work.done() for work in works):
            if folder.exists() and (found := present(folder)) is not None:
                assert found in (sorted(ONE), sorted(OTHER))
    assert [work.exception() for work in works] == [None, None, None]
    assert content(folder) in (ONE, OTHER) and beside(folder) == []


def present(folder: Path) -> list[str] | None:
    """The names in the folder that is at this path now, held open so that a swap does not change it under us."""
    held = os.open(folder, os.O_RDONLY)
    try:
        before = os.fstat(held).st_ino
        names = [
            os.path.relpath(os.path.join(root, name), f"/proc/self/fd/{held}")
            for root, _, files in os.walk(f"/proc/self/fd/{held}/.")
            for name in files
        ]
        same = os.stat(folder).st_ino == before
        return sorted(names) if same else None
    except FileNotFoundError:
        return None
    finally:
        os.close(held)


def test_without_an_exchange_of_names_two_renames_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "_exchange", lambda one, other: False)
    write(tmp_path / "out", ONE)
    write(tmp_path / "out", OTHER)
    assert content(tmp_path / "out") == OTHER and beside(tmp_path / "out") == []


def test_what_cannot_be_written_leaves_all_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "out", ONE)
    with pytest.raises(OSError, match="File name too long"):
        write(tmp_path / "out", {"x" * 300: "too long a name"})
    assert content(tmp_path / "out") == ONE and beside(tmp_path / "out") == []


def test_a_full_disk_leaves_all_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "out", ONE)

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "out", OTHER)
    assert content(tmp_path / "out") == ONE and beside(tmp_path / "out") == []


def test_another_folders_left_over_is_not_ours_to_remove(tmp_path: Path) -> None:
    (tmp_path / ".other.new-1").mkdir()
    write(tmp_path / "out", ONE)
    shutil.rmtree(tmp_path / ".other.new-1")  # still there
