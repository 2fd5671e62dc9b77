"""The commands: exit 0 fine, 1 the answer is no, 2 the input is wrong; what a program reads is JSON; no traceback."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run
from samples import LAB, ONE_FLAVOR, PRODUCTION, ROOT, plan

from tenancy.review.render import rendered

GOLDEN = ROOT / "tests" / "golden"
WRONG = LAB.replace("lendable = 8", "lendable = 80")
SMALL = ONE_FLAVOR + (
    "[departments.speech]\n"
    "[teams.asr]\ndepartment = 'speech'\ndisplay_name = 'Speech to Text'\n"
    "guaranteed = 16\nlendable = 12\nborrowable = 4\nprod = 8\n"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the lab's agreement in its usual place."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tenancy.toml").write_text(LAB)
    return tmp_path


# --- check ----------------------------------------------------------------------------------------------------------


def test_check_sums_up_a_right_agreement(here: Path) -> None:
    assert run("check") == (0, "tenancy.toml: fine: 3 teams, 1 flavor, 32 of 32 GPUs guaranteed\n", "")


def test_check_counts_each_kind_of_unit() -> None:
    _, out, _ = run("check", str(PRODUCTION))
    assert out.endswith("768 of 896 GPUs guaranteed, 124 of 288 MIG slices guaranteed, 960 of 2560 CPUs guaranteed\n")


def test_check_says_every_problem_and_exits_2(here: Path) -> None:
    (here / "tenancy.toml").write_text(WRONG)
    code, out, _ = run("check")
    assert (code, out.splitlines()) == (
        2,
        [
            (
                "tenancy.toml:10:12: teams.training.lendable: 80 is more than guaranteed (16); "
                "write at most 16, or raise guaranteed"
            ),
            (
                "tenancy.toml:13:12: teams.research.lendable: 80 is more than guaranteed (8); "
                "write at most 8, or raise guaranteed"
            ),
        ],
    )


def test_check_with_advice_exits_0(here: Path) -> None:
    (here / "tenancy.toml").write_text(ONE_FLAVOR)
    code, out, _ = run("check")
    assert code == 0 and out.startswith("tenancy.toml:1:1: advice: teams: has no teams")


def test_check_as_json_is_a_list_of_findings(here: Path) -> None:
    (here / "tenancy.toml").write_text(WRONG)
    code, out, _ = run("check", "--json")
    assert code == 2 and json.loads(out)[0] == {
        "file": "tenancy.toml",
        "line": 10,
        "column": 12,
        "path": "teams.training.lendable",
        "severity": "error",
        "message": "80 is more than guaranteed (16)",
        "remedy": "write at most 16, or raise guaranteed",
    }


def test_check_of_a_right_agreement_as_json_is_an_empty_list(here: Path) -> None:
    assert run("check", "--json") == (0, "[]\n", "")


def test_check_live_without_a_cluster_exits_2(here: Path) -> None:
    code, out, err = run("check", "--live", "--kubeconfig", "no.yaml")
    assert (code, out) == (2, "") and err.startswith("there is no kubeconfig at no.yaml")


def test_check_live_of_a_wrong_agreement_asks_no_cluster(here: Path) -> None:
    (here / "tenancy.toml").write_text(WRONG)
    code, out, err = run("check", "--live", "--kubeconfig", "no.yaml")
    assert (code, err) == (2, "") and "80 is more than guaranteed (16)" in out


def test_a_cluster_without_live_is_a_mistake(here: Path) -> None:
    code, out, err = run("check", "--context", "prod")
    assert (code, out) == (2, "") and "add --live" in err


def test_check_loads_no_cluster_client(here: Path) -> None:
    """It answers in half the time of one that does."""
    text = "import sys; from tenancy.cli import app; app(['check'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert not {"lightkube", "rich.table", "tenancy.review.nodes", "tenancy.cluster", "tenancy.lab"} & set(
        done.stdout.split()
    )


@pytest.mark.parametrize("command", ["check", "show", "render"])
def test_a_file_that_is_not_there_exits_2(here: Path, command: str) -> None:
    code, out, err = run(command, "no.toml")
    assert code == 2 and "no.toml:1:1: cannot be read: No such file or directory" in out + err


# --- show, schema ---------------------------------------------------------------------------------------------------


def test_show_says_what_each_team_can_reach(here: Path) -> None:
    code, out, _ = run("show")
    rows = [line.split()[2:10] for line in out.splitlines()]
    assert code == 0
    assert ["training", "16", "8", "8", "–", "no", "limit", "24"] in rows
    assert ["research", "8", "0", "8", "–", "no", "limit", "16"] in rows
    assert ["inference", "8", "8", "0", "–", "no", "limit", "24"] in rows


@pytest.mark.parametrize("name", ["[/]", "[bold]x", "[link=http://a]b", ":smile:", "\\\\[x]", "é 🚀"])
def test_a_name_to_show_is_shown_as_it_is(here: Path, name: str) -> None:
    (here / "tenancy.toml").write_text(ONE_FLAVOR + f'[teams.a]\nguaranteed = 8\ndisplay_name = "{name}"\n', "utf-8")
    code, out, _ = run("show")
    assert code == 0 and name.replace("\\\\", "\\") in out


def test_show_as_json_has_the_numbers_the_objects_and_the_fidelity(here: Path) -> None:
    code, out, _ = run("show", "--json")
    shown = json.loads(out)
    assert code == 0
    assert shown["flavors"]["gpu"]["capacity"] == 32
    assert shown["teams"]["training"]["shares"]["gpu"] == {
        "guaranteed": 16,
        "lendable": 8,
        "borrowable": None,
        "prod": 0,
        "reach": 24,
        "reserved": 8,
    }
    assert shown["objects"] == {"kueue": {"ResourceFlavor": 1, "Cohort": 1, "ClusterQueue": 3}, "kai": {"Queue": 8}}
    assert {entry["level"] for entry in shown["fidelity"]} == {"exact", "approximate"}


def test_show_of_a_wrong_agreement_says_why_and_exits_2(here: Path) -> None:
    (here / "tenancy.toml").write_text(WRONG)
    code, out, err = run("show")
    assert (code, out) == (2, "") and "80 is more than guaranteed (16)" in err


def test_schema_is_a_json_schema() -> None:
    code, out, _ = run("schema")
    assert code == 0 and {"cluster", "flavors", "teams"} <= json.loads(out)["properties"].keys()


# --- render ---------------------------------------------------------------------------------------------------------


def test_render_writes_the_folder(here: Path) -> None:
    assert run("render", "--out", "out") == (0, "out: 9 files\n", "")
    assert (here / "out" / "kueue" / "team-training.yaml").exists()


def test_render_leaves_namespaces_to_the_operator_where_it_is_told(here: Path) -> None:
    assert run("render", "--out", "out", "--namespaces", "operator") == (0, "out: 10 files\n", "")
    assert "kind: NamespaceConfig" in Path("out/access/cluster.yaml").read_text()
    code, out, _ = run("render", "--out", "out", "--check")
    assert code == 1 and "out/access/cluster.yaml: should not be there" in out


def test_render_names_both_who_may_write_what_a_namespace_gets(here: Path) -> None:
    assert run("render", "--namespaces", "none") == (2, "", "--namespaces none: choose listed or operator\n")


def test_render_check_agrees_with_what_render_wrote(here: Path) -> None:
    run("render", "--out", "out")
    assert run("render", "--out", "out", "--check") == (0, "out: 9 files agree\n", "")


def test_render_check_shows_a_change_of_the_agreement_and_exits_1(here: Path) -> None:
    run("render", "--out", "out")
    (here / "tenancy.toml").write_text(LAB.replace("guaranteed = 8\nlendable = 0", "guaranteed = 8\nlendable = 4"))
    code, out, _ = run("render", "--out", "out", "--check")
    assert code == 1
    assert "out/kueue/team-inference.yaml: differs" in out
    assert ["+", "lendingLimit:", '"4"'] in [line.split() for line in out.splitlines()]
    assert out.endswith("`tenancy render` without --check fixes it\n")


def test_render_check_writes_nothing(here: Path) -> None:
    assert run("render", "--out", "out", "--check")[0] == 1
    assert not (here / "out").exists()


def test_render_check_names_a_file_that_should_not_be_there(here: Path) -> None:
    run("render", "--out", "out")
    (here / "out" / "extra.txt").write_text("mine")
    code, out, _ = run("render", "--out", "out", "--check")
    assert code == 1 and "out/extra.txt: should not be there" in out


def test_render_into_somebodys_folder_exits_2_and_touches_nothing(here: Path) -> None:
    (here / "out").mkdir()
    (here / "out" / "mine.txt").write_text("mine")
    code, _, err = run("render", "--out", "out")
    assert code == 2 and "out holds mine.txt, which render did not make" in err
    assert [path.name for path in (here / "out").iterdir()] == ["mine.txt"]


def test_render_of_a_wrong_agreement_leaves_the_folder_as_it_was(here: Path) -> None:
    run("render", "--out", "out")
    before = {path: path.read_bytes() for path in (here / "out").rglob("*") if path.is_file()}
    (here / "tenancy.toml").write_text(WRONG)
    assert run("render", "--out", "out")[0] == 2
    assert {path: path.read_bytes() for path in (here / "out").rglob("*") if path.is_file()} == before


def test_strict_is_content_with_the_lab(here: Path) -> None:
    assert run("render", "--out", "out", "--strict")[0] == 0


def test_strict_exits_1_where_a_promise_is_refused(here: Path) -> None:
    refused(here)
    code, _, err = run("render", "--out", "out", "--strict")
    assert code == 1
    assert err.startswith("kai refuses usage: with one flavor there is only the shard of KAI's chart")


def test_a_refused_promise_alone_does_not_fail_a_render(here: Path) -> None:
    refused(here)
    assert run("render", "--out", "out")[0] == 0


def refused(here: Path) -> None:
    """An agreement of which KAI gets its objects, and cannot keep one promise."""
    (here / "tenancy.toml").write_text(LAB + "[sharing.usage]\nhalf_life = '2d'\n")


@pytest.mark.parametrize("options", [(), ("--check",), ("--scheduler", "kai"), ("--strict",)])
def test_a_scheduler_that_is_left_out_because_it_refuses_is_named_and_exits_1(
    here: Path, options: tuple[str, ...]
) -> None:
    one_pool(here)
    run("render", "--out", "out", *(option for option in options if option != "--check"))
    code, out, err = run("render", "--out", "out", *options)
    assert code == 1
    assert out in ("out: 3 files\n", "out: 1 files\n", "out: 3 files agree\n")
    why = "flavors gpu, fast are one node pool 'one', and a KAI Queue has one GPU number for all of it"
    assert f"out/kai was not written: KAI refuses this agreement: {why}; --scheduler kueue leaves it out" in err
    assert not (here / "out" / "kai").exists()


def test_a_scheduler_that_is_left_out_on_purpose_is_fine(here: Path) -> None:
    one_pool(here)
    assert run("render", "--out", "out", "--scheduler", "kueue") == (0, "out: 3 files\n", "")
    assert run("render", "--out", "out", "--scheduler", "kueue", "--check") == (0, "out: 3 files agree\n", "")
    assert (here / "out" / "kueue" / "team-a.yaml").exists()


def test_render_for_one_scheduler_says_nothing_of_the_other(here: Path) -> None:
    run("render", "--out", "both")
    assert run("render", "--out", "out", "--scheduler", "kai")[0] == 0
    assert sorted(path.name for path in (here / "out").iterdir()) == ["fidelity.md", "kai"]
    same = [path.relative_to(here / "out") for path in (here / "out" / "kai").iterdir()]
    assert [(here / "out" / path).read_text() for path in same] == [(here / "both" / path).read_text() for path in same]
    assert "kueue" not in (here / "out" / "fidelity.md").read_text()


def test_render_may_name_both_schedulers(here: Path) -> None:
    run("render", "--out", "both")
    assert run("render", "--out", "both", "--check", "--scheduler", "kai", "--scheduler", "kueue")[0] == 0


def one_pool(here: Path) -> None:
    """An agreement of which KAI gets nothing: its two flavors are one node pool."""
    flavor = "[flavors.{0}]\nnodes = 1\ngpus_per_node = 8\nnode_labels = {{ 'kai.scheduler/node-pool' = 'one', a = '{0}' }}\n"
    text = '[cluster]\nname = "lab"\n' + flavor.format("gpu") + flavor.format("fast") + "[teams.a]\n"
    (here / "tenancy.toml").write_text(text + "guaranteed = { gpu = 8 }\n")


# --- the whole text of a small file, to be read in a review ---------------------------------------------------------


def test_a_team_with_prod_in_a_department_is_rendered_so() -> None:
    assert rendered(plan(SMALL))["kueue/team-asr.yaml"] == (GOLDEN / "team-asr.yaml").read_text()


# --- a Python without our packages --------------------------------------------------------------------------------------


def bare_python(checkout: Path) -> subprocess.CompletedProcess[str]:
    """`python -m tenancy check` by a Python that finds no installed package (-S)."""
    command = [sys.executable, "-S", "-m", "tenancy", "check", str(ROOT / "tenancy.toml")]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def test_without_packages_it_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tenancy", tmp_path / "tenancy")
    done = bare_python(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is missing; run `make setup`" in done.stderr


@pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "python").exists(), reason="this checkout has no .venv")
def test_without_packages_a_checkouts_own_environment_takes_over() -> None:
    done = bare_python(ROOT)
    assert (done.returncode, done.stderr) == (0, "")
