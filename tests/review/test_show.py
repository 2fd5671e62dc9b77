"""`tenancy show`: the cohort tree is Kueue's, its numbers are the plan's, and its text fits the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import run
from hypothesis import given, settings
from large import FILES, many_teams, plan_of
from rich.cells import cell_len
from samples import LAB, ONE_FLAVOR, PRODUCTION, ROOT, plan
from strategies import agreements, as_agreement

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects import kueue
from tenancy.objects.kueue import PROD_SUFFIX
from tenancy.quota.kueue_model import KueueModel
from tenancy.review.show.text import ASCII, NARROW, WIDE, tree_lines
from tenancy.review.show.tree import Node, cohort_tree

MANY = settings(max_examples=60, deadline=None)


def text_of(the_plan: Plan, width: int, **filters: Any) -> list[str]:
    return ["".join(text for text, _ in line) for line in tree_lines(cohort_tree(the_plan, **filters), width)]


def nodes(root: Node) -> dict[tuple[str, str], Node]:
    return {(node.kind, node.name): node for _, node in root.walk()}


# --- the tree -------------------------------------------------------------------------------------------------------


@MANY
@given(values=agreements())
def test_the_tree_is_that_of_the_kueue_objects(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))

    def edges(node: Node, parent: str | None = None) -> set[tuple[str, str, str | None]]:
        below = (edges(child, node.name) for child in node.children)
        return {(node.kind, node.name, parent)}.union(*below)

    made = {
        (one["kind"], one["metadata"]["name"], one.get("spec", {}).get("parentName") or one["spec"].get("cohortName"))
        for one in kueue.objects(the_plan)
        if one["kind"] in ("Cohort", "ClusterQueue")
    }
    assert edges(cohort_tree(the_plan)) == made


@MANY
@given(values=agreements())
def test_what_a_node_can_reach_is_what_kueue_gives_all_queues_below_it_together(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for flavor in the_plan.flavors:
        for node in nodes(cohort_tree(the_plan, flavors=[flavor.name])).values():
            queues = [value for _, value in node.walk() if value.kind == "ClusterQueue"]
            if not node.amounts or not queues or node.role == "root":
                continue
            model = KueueModel(the_plan, flavor.name)
            # First what each team is guaranteed, or a team that borrows from its sibling would leave the rest outside.
            ran = sum(
                model.run(node.name, the_plan.team[node.name].shares[flavor.name].guaranteed)
                for node in queues
                if node.name in the_plan.team
            )
            ran += sum(
                model.run(node.name.removesuffix(PROD_SUFFIX), prod=node.name not in the_plan.team) for node in queues
            )
            assert ran == node.amounts[0].reach, node


@MANY
@given(values=agreements())
def test_the_numbers_of_a_team_are_those_of_the_plan(values: dict[str, Any]) -> None:
    the_plan = make_plan(as_agreement(values))
    for flavor in the_plan.flavors:
        made = [node for node in nodes(cohort_tree(the_plan, flavors=[flavor.name])).values() if node.role == "team"]
        assert (
            [node.name for node in made] and {node.name for node in made} == set(the_plan.team)
        ) or not the_plan.teams
        for node in made:
            (amounts,), share = node.amounts, the_plan.team[node.name].shares[flavor.name]
            assert (amounts.guaranteed, amounts.lendable, amounts.reserved) == (
                share.guaranteed,
                share.lendable,
                share.reserved,
            )
            assert (amounts.borrowable, amounts.prod) == (share.borrowable, share.prod)


def test_a_department_sums_its_teams_and_the_root_all_and_the_pool() -> None:
    made = nodes(cohort_tree(plan_of(ROOT / "examples" / "departments.toml")))
    a100, h100 = made["Cohort", "search"].amounts
    assert (a100.guaranteed, a100.reserved, a100.lendable, a100.prod, a100.reach) == (40, 8, 32, 8, 64)
    assert (h100.guaranteed, h100.reach) == (8, 32)
    a100, h100 = made["Cohort", "departments"].amounts
    assert (a100.guaranteed, a100.pool, h100.guaranteed, h100.pool) == (64, 0, 24, 8)


def test_of_many_flavors_a_team_lists_those_it_has_something_of() -> None:
    made = nodes(cohort_tree(plan_of(PRODUCTION)))
    assert [amounts.flavor.name for amounts in made["Cohort", "tts"].amounts] == [
        "a100-40g",
        "h100",
        "hgx-h100",
        "h100-10gb",
    ]
    assert len(made["Cohort", "tts"].others) == 7
    assert [amounts.flavor.name for amounts in made["ClusterQueue", "tts-prod"].amounts] == ["h100"]
    assert made["ClusterQueue", "tts"].amounts == ()


def test_the_regular_queue_lists_what_it_owns_where_the_agreement_puts_the_guarantee_on_it() -> None:
    text = ONE_FLAVOR.replace('name = "lab"', 'name = "lab"\nguarantee_on = "queue"')
    made = nodes(cohort_tree(plan(text + "[teams.a]\nguaranteed = 16\nprod = 4\n")))
    (amounts,) = made["ClusterQueue", "a"].amounts
    assert (amounts.guaranteed, amounts.reach) == (12, 32)


# --- text -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120, 160])
@pytest.mark.parametrize("file", [*FILES, None], ids=lambda entry: entry.stem if entry else "100 teams, 11 flavors")
def test_no_line_is_wider_than_the_terminal(file: Path | None, width: int) -> None:
    lines = text_of(plan_of(file) if file else many_teams(), width)
    assert max(map(cell_len, lines)) <= width


def test_the_lab_in_80_cells() -> None:
    """`lines` as a person sees them; the numbers are those of the issue."""
    assert [line.rstrip() for line in text_of(plan(LAB), 80)][:6] == [
        "                           guaran-     re-  lend-         borrow-    can",
        "                              teed  served   able  prod      able  reach",
        "Cohort lab                      32      16     16     –               32",
        "├─ ClusterQueue training        16       8      8     –  no limit     24",
        "├─ ClusterQueue research         8       0      8     –  no limit     16",
        "└─ ClusterQueue inference        8       8      0     –  no limit     24",
    ]


def test_a_bar_is_to_scale_where_there_is_room() -> None:
    lines = text_of(plan(LAB), 160)
    (bar,) = (line.split()[-1] for line in lines if "training" in line)
    assert (bar.count("█"), bar.count("▓"), bar.count("┄")) == (12, 12, 12)  # 8, 8 and 8 of 32 on 48 cells
    assert "█" in lines[-1] and "reserved" in lines[-1]


def test_the_bar_of_a_prod_queue_is_its_slice_of_all_there_is() -> None:
    lines = text_of(plan(LAB + "prod = 4\n"), 160)
    (bar,) = (line.split()[-1] for line in lines if "inference-prod" in line)
    assert bar == "▚" * 6  # 4 of 32 on 48 cells


def test_what_is_little_has_a_cell_all_the_same() -> None:
    lines = text_of(plan(ONE_FLAVOR.replace("nodes = 4", "nodes = 4000") + "[teams.a]\nguaranteed = 1\n"), 120)
    (bar,) = (line.split()[-1] for line in lines if "Queue a " in line)
    assert bar.startswith("▓┄")


@pytest.mark.parametrize("width", [80, 120])
def test_every_team_and_flavor_has_its_numbers_on_a_line(width: int) -> None:
    the_plan = plan_of(PRODUCTION)
    lines = [line.replace("│", " ").replace("├─", " ").split() for line in text_of(the_plan, width)]
    for team in the_plan.teams:
        for name, share in team.shares.items():
            if share.guaranteed:
                prod, limit = (
                    str(share.prod or "–"),
                    ["no", "limit"] if share.borrowable is None else [str(share.borrowable)],
                )
                numbers = [str(share.guaranteed), str(share.reserved), str(share.lendable), prod, *limit]
                assert any(line[: len(numbers) + 1] == [name, *numbers] for line in lines), (team.name, name)


def test_only_the_teams_and_flavors_asked_for() -> None:
    lines = text_of(plan_of(PRODUCTION), 120, teams=["tts"], flavors=["h100"])
    text = "\n".join(lines)
    assert [word for word in ("asr", "ranking", "search", "hgx-h100", "also") if word in text] == []
    assert "Cohort speech" in text and "ClusterQueue tts-prod" in text


def test_a_flavor_asked_for_is_listed_for_teams_that_may_only_borrow_it() -> None:
    (line,) = (entry for entry in text_of(plan_of(PRODUCTION), 120, flavors=["h100"]) if "platform" in entry)
    assert line.split()[2:9] == ["platform", "0", "0", "0", "–", "no", "limit"]


LONG = "x" * 63
NAMES = {
    "long": f"[teams.{LONG}]\nguaranteed = 8\ndisplay_name = '{'y' * 200}'\n",
    "wide": "[teams.a]\nguaranteed = 8\ndisplay_name = '検索チーム 🚀'\n",
    "turned": '[teams.a]\nguaranteed = 8\ndisplay_name = "\\u202eevil"\n',
}


@pytest.mark.parametrize("name", NAMES)
def test_numbers_stand_in_their_columns_whatever_a_name_is(name: str) -> None:
    lines = text_of(plan(ONE_FLAVOR + NAMES[name] + "[teams.b]\nguaranteed = 8\n"), 80)
    rows = [line for line in lines if " no limit " in line]
    columns = {cell_len(line[: line.index(" no limit ")]) for line in rows}
    assert len(rows) == 2 and len(columns) == 1
    assert "\u202e" not in "".join(lines)
    if name == "long":
        assert any(LONG in line and "y" * 200 in line for line in lines)


def test_letters_for_a_terminal_that_has_only_ascii() -> None:
    lines = tree_lines(cohort_tree(plan_of(PRODUCTION)), 120, ASCII)
    assert "".join(text for line in lines for text, _ in line).isascii()


def test_captions_are_the_same_words_on_one_line_and_on_two() -> None:
    assert [
        f"{a.removesuffix('-')}{'' if a.endswith('-') or not a else ' '}{b}" for a, b in zip(*NARROW, strict=True)
    ] == [*WIDE[0]]


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tenancy.toml").write_text(LAB)


def test_svg_to_standard_output_is_the_picture_and_nothing_else() -> None:
    code, out, err = run("show", "--svg", "-")
    assert (code, err) == (0, "") and ElementTree.fromstring(out).tag == "{http://www.w3.org/2000/svg}svg"


def test_svg_to_a_file_is_the_same_picture() -> None:
    code, out, _ = run("show", "--svg", "lab.svg")
    assert (code, out) == (0, "lab.svg: the cohort tree of lab\n")
    assert Path("lab.svg").read_text() == run("show", "--svg", "-")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--svg", "tenancy.toml"), "--svg: 'tenancy.toml' is not the name of a picture; use one that ends in .svg"),
        (("--svg", "no/where.svg"), "--svg: no/where.svg: cannot be written: No such file or directory"),
        (("--svg", "-", "--json"), "--svg and --json: give one of them"),
        (("--team", "trainign"), "--team: 'trainign' is not a team of this agreement; did you mean 'training'?"),
        (("--flavor", "v5e"), "--flavor: 'v5e' is not a flavor of this agreement; known are gpu"),
    ],
    ids=lambda entry: " ".join(entry) if isinstance(entry, tuple) else "",
)
def test_what_cannot_be_meant_exits_2_and_writes_nothing(arguments: tuple[str, ...], says: str) -> None:
    code, out, err = run("show", *arguments)
    assert (code, out) == (2, "") and err.startswith(says)
    assert Path("tenancy.toml").read_text() == LAB


def test_with_a_team_only_the_tree_is_printed() -> None:
    code, out, _ = run("show", "--team", "training")
    assert code == 0 and "training" in out and "research" not in out and "How exactly" not in out


def test_json_of_a_team_and_a_flavor_holds_only_these() -> None:
    shown = json.loads(run("show", str(PRODUCTION), "--json", "--team", "tts", "--flavor", "h100")[1])
    assert list(shown["teams"]) == ["tts"] and list(shown["teams"]["tts"]["shares"]) == list(shown["flavors"]) == [
        "h100"
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_columns_says_how_wide_the_whole_answer_is(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run("show", str(PRODUCTION))
    assert code == 0 and max(map(cell_len, out.splitlines())) <= width
    assert "\x1b" not in out
