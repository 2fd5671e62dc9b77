"""`tenancy diff`: what it compares with what, its exit codes as gates, and a sentence for all that can be wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from samples import LAB
from typer.testing import CliRunner

from tenancy.cli import app

LESS = LAB.replace("guaranteed = 16", "guaranteed = 12")

STORY = "4 GPUs are no longer guaranteed to anybody and are open to all teams: all from training.\n"
WITH_LEADS = LAB.replace("guaranteed = 16", 'leads = ["training-leads"]\nguaranteed = 16')


def run(*arguments: str, given: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["diff", *arguments], input=given, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose last commit has the lab's agreement, at the top and in a folder; the files now say less."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    git(tmp_path, "init", "--initial-branch=main")
    (tmp_path / "sub").mkdir()
    for file in ("tenancy.toml", "sub/other.toml"):
        (tmp_path / file).write_text(LAB)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message=first")
    for file in ("tenancy.toml", "sub/other.toml"):
        (tmp_path / file).write_text(LESS)
    return tmp_path


# --- what is compared with what


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("tenancy.toml",),
        ("sub/other.toml",),
        ("main",),
        ("HEAD:tenancy.toml",),
        ("main:sub/other.toml",),
        ("main:tenancy.toml", "tenancy.toml"),
        ("HEAD:sub/other.toml", "tenancy.toml"),
        (":tenancy.toml", "tenancy.toml"),
    ],
    ids=" ".join,
)
def test_a_file_is_compared_with_its_last_commit_or_with_what_is_named(here: Path, names: tuple[str, ...]) -> None:
    code, out, err = run(*names)
    assert (code, err) == (0, "") and out.startswith(STORY)


def test_paths_count_from_where_one_is(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here / "sub")
    for names in (("other.toml",), ("HEAD:./other.toml",), ("HEAD:tenancy.toml",), ("../tenancy.toml",)):
        assert run(*names)[1].startswith(STORY), names


def test_standard_input_is_one_of_the_two(here: Path) -> None:
    assert run("-", "tenancy.toml", given=LAB)[1].startswith(STORY)
    assert run("HEAD:tenancy.toml", "-", given=LESS)[1].startswith(STORY)


def test_a_file_with_a_colon_in_its_name_is_a_file(here: Path) -> None:
    Path("a:b").write_text(LAB)
    assert run("a:b", "tenancy.toml")[1].startswith(STORY)


def test_no_change_says_so(here: Path) -> None:
    assert run("main:tenancy.toml", "main:tenancy.toml") == (0, "Nothing changes.\n", "")


# --- what can be wrong


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ("nope:tenancy.toml", "tenancy.toml"),
            "nope:tenancy.toml: git knows no revision 'nope'; see git branch --all",
        ),
        (("main:tenanci.toml", "tenancy.toml"), "main has no file 'tenanci.toml'; did you mean main:tenancy.toml?"),
        (("main:zzz", "tenancy.toml"), "main has no file 'zzz'; a path counts from the top of the repository"),
        (("main:sub", "tenancy.toml"), "main has no file 'sub'"),
        (("main:", "tenancy.toml"), "main:: names no file; write main:tenancy.toml"),
        (("main", "tenancy.toml"), "main is a revision and no file: name a file of it, such as main:tenancy.toml"),
        (("--", "-x:tenancy.toml", "tenancy.toml"), "git knows no revision '-x'"),
        (("no.toml",), "no.toml: there is no such file, and git knows no revision of that name"),
        (("no.toml", "tenancy.toml"), "no.toml:1:1: cannot be read: No such file or directory"),
        (("-", "-"), "- is one agreement: name the other one too"),
        (("-",), "- is one agreement: name the other one too"),
        (("--markdown", "--owners"), "give one of them"),
        (("--scheduler", "slurm"), "--scheduler slurm: choose kueue or kai"),
        (("--namespaces", "x"), "--namespaces x: choose listed or operator"),
        (("--fail-on", "above"), "--fail-on above: which cluster?"),
        (("--kubeconfig", "no.yaml"), "there is no kubeconfig at no.yaml"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_2(here: Path, names: tuple[str, ...], said: str) -> None:
    code, out, err = run(*names)
    assert (code, out) == (2, "") and said in err and "Traceback" not in err


def test_outside_of_a_repository_two_files_do_and_a_revision_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for file, text in (("a.toml", LAB), ("b.toml", LESS)):
        Path(file).write_text(text)
    assert run("a.toml", "b.toml")[1].startswith(STORY)
    for names in (("b.toml",), ("HEAD:a.toml", "b.toml"), ()):
        code, out, err = run(*names)
        assert (code, out) == (2, "") and "git cannot be asked here: not a git repository" in err


def test_without_git_two_files_do(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert run() == (2, "", "there is no git on this machine: name two files\n")
    assert run("tenancy.toml", "sub/other.toml")[0] == 0


def test_what_is_wrong_with_either_agreement_is_said_with_its_place(here: Path) -> None:
    Path("tenancy.toml").write_text(LAB.replace("lendable = 8", "lendable = 80", 1))
    code, out, err = run()
    assert (code, out) == (2, "") and err.startswith("tenancy.toml:10:12: teams.training.lendable: 80 is more than")


def test_a_shallow_clone_says_how_to_get_the_other_revision(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(here, "commit", "--all", "--message=second")
    git(here, "clone", "--depth=1", f"file://{here}", "shallow")
    monkeypatch.chdir(here / "shallow")
    code, _, err = run("HEAD^1:tenancy.toml", "tenancy.toml")
    assert code == 2 and "this clone is shallow: fetch it first" in err


# --- gates


def test_a_change_alone_is_no_failure(here: Path) -> None:
    assert run()[0] == 0


@pytest.mark.parametrize(
    ("now", "gate", "code"),
    [
        (LESS, "change", 1),
        (LAB, "change", 0),
        (LESS, "less", 1),
        (LAB.replace("nodes = 4", "nodes = 5"), "less", 0),
        (LAB.replace("nodes = 4", "nodes = 5"), "change", 1),
        (LESS, "refused", 0),
    ],
)
def test_each_gate_is_its_own(here: Path, now: str, gate: str, code: int) -> None:
    Path("tenancy.toml").write_text(now)
    assert run("--fail-on", gate)[0] == code


def test_an_object_that_the_cluster_would_refuse_is_a_gate(here: Path) -> None:
    packed = (
        LAB.replace("nodes = 4", 'nodes = 4\ntopology = "t"')
        + '[topologies.t]\nlevels = ["a/b", "kubernetes.io/hostname"]\n'
    )
    Path("a.toml").write_text(packed)
    Path("b.toml").write_text(packed.replace('"a/b", ', ""))
    code, out, _ = run("a.toml", "b.toml", "--fail-on", "refused")
    assert code == 1 and "Topology/t: refused: the cluster lets nobody change spec.levels" in out


def test_several_gates_fail_on_any(here: Path) -> None:
    assert run("--fail-on", "refused", "--fail-on", "less")[0] == 1


# --- what is printed


def test_markdown_is_the_comment(here: Path) -> None:
    _, out, _ = run("--markdown")
    assert out.startswith("<!-- tenancy diff -->\n### The agreement of lab: what changes\n")


def test_json_is_json(here: Path) -> None:
    _, out, _ = run("--json")
    assert json.loads(out)["story"][0] == STORY.strip()


def test_one_scheduler_s_objects_only(here: Path) -> None:
    assert json.loads(run("--json", "--scheduler", "kai")[1])["objects"].keys() == {"kai"}


def test_owners_are_a_list_for_a_program_and_those_missing_are_said(here: Path) -> None:
    Path("a.toml").write_text(WITH_LEADS)
    Path("b.toml").write_text(WITH_LEADS.replace("guaranteed = 16", "guaranteed = 12").replace("[teams.research]\nguaranteed = 8", "[teams.research]\nguaranteed = 12"))  # fmt: skip
    assert run("a.toml", "b.toml", "--owners") == (
        0,
        "training-leads\n",
        "research: its numbers change, but the agreement names no leads and no members for it\n",
    )
    assert json.loads(run("a.toml", "b.toml", "--owners", "--json")[1]) == {
        "training": ["training-leads"],
        "research": [],
    }
