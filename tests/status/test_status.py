"""The agreement beside the truth: who lends to whom, what needs attention, and how it is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from boards import NOW, busy, late, seen, waits
from hypothesis import given, settings
from hypothesis import strategies as st
from large import many_teams
from prometheus_client.parser import text_string_to_metric_families
from rich.cells import cell_len
from rich.console import Console
from samples import LAB, ONE_FLAVOR, plan

from tenancy.cluster.nodes import Node
from tenancy.objects.schedulers import Place
from tenancy.quota.lending import POOL, Use
from tenancy.review.nodes import compare
from tenancy.status import (
    Attention,
    Eviction,
    Kind,
    Part,
    StatusReport,
    TeamStatus,
    Violation,
    board,
    changes,
    data,
    prometheus,
    terminal,
)
from tenancy.status.words import short_text

MANY = settings(max_examples=80, deadline=None)
# 40 GPUs, 36 guaranteed; a and b are a department's.
DEPARTMENTS = """
[cluster]
name = "lab"
[flavors.gpu]
nodes = 5
gpus_per_node = 8
[departments.d]
[teams.a]
department = "d"
guaranteed = 8
[teams.b]
department = "d"
guaranteed = 8
[teams.c]
guaranteed = 12
[teams.e]
guaranteed = 8
"""


def of(board: StatusReport, team: str, flavor: str = "gpu") -> TeamStatus:
    return next(one for one in board.statuses if (one.team.name, one.flavor_name) == (team, flavor))


def shown(board: StatusReport, width: int = 160, **options: object) -> str:
    out = Console(file=StringIO(), width=width, color_system=None)
    out.print(terminal.render(board, out, **options))  # type: ignore[arg-type]
    return out.file.getvalue()  # type: ignore[attr-defined]


# --- who lends to whom


def test_what_is_beyond_all_that_is_idle_is_nobodys() -> None:
    """After guarantees were lowered a team may use more than is there to lend."""
    result = board(plan(LAB), seen({"research": 20, "training": 8}))
    assert (of(result, "research").borrowed, of(result, "research").beyond, of(result, "training").lent) == (12, 4, 8)
    assert "8 training, 4 beyond what is idle" in shown(result)


def test_a_split_that_is_not_known_is_about() -> None:
    result = board(plan(DEPARTMENTS), seen({"a": 25}))
    assert of(result, "a").borrowed_from == (
        Part("b", 8, False),
        Part(POOL, 4, False),
        Part("c", 3, True),
        Part("e", 2, True),
    )
    assert (of(result, "c").lent_about, of(result, "b").lent_about) == (True, False)
    exact = board(plan(DEPARTMENTS), seen({"a": 40}))  # all that is there: nothing is shared out
    assert not any(part.about for part in of(exact, "a").borrowed_from) and of(exact, "c").lent == 12


# --- what needs attention


def attention(board: StatusReport) -> list[tuple[str, str]]:
    return [(one.team.name, one.attention) for one in board.statuses]


def test_what_most_needs_attention_comes_first() -> None:
    text = ONE_FLAVOR + "".join(f"[teams.t{number}]\nguaranteed = 4\n" for number in range(7))
    board = late(
        plan(text),
        seen(
            {"t1": 6, "t2": 4, "t3": 4},
            waiting=(waits("t2", 4, 5), waits("t4", 4, 1), waits("t5", 4, 9), waits("t6", 2, 600)),
            evictions=(Eviction("t3", "gpu", "t3/job", 2, ""),),
        ),
    )
    assert attention(board) == [
        ("t6", "short"),  # ten hours within its guarantee
        ("t5", "short"),
        ("t4", "below"),  # a minute: no longer than a reclaim may take
        ("t3", "evicted"),
        ("t2", "waiting"),  # its guarantee is all in use
        ("t1", "borrowing"),
        ("t0", "quiet"),
    ]
    assert board.attention is Attention.SHORT


def test_a_job_within_the_guarantee_is_late_only_when_it_was_seen_to_wait_so_before() -> None:
    """A job of the team may have ended a moment ago, and the one that waits starts now."""
    made, look = plan(LAB), seen({"research": 4}, waiting=(waits("research", 4, 60),))
    assert of(board(made, look), "research").attention is Attention.BELOW
    (short,) = of(late(made, look), "research").violations
    assert short.kind is Kind.LATE
    assert short.why == "1 job within the guarantee waits (4 of 8 in use), research/job-60 for 1h"
    assert not late(made, replace(look, waiting=(waits("research", 8, 60),))).all_violations  # it does not fit


def test_a_job_that_would_never_start_makes_no_promise_short() -> None:
    made, look = plan(LAB), seen(waiting=(waits("research", 4, 60, own_fault=True, why="no flavor"),))
    assert of(late(made, look), "research").attention is Attention.WAITING


@pytest.mark.parametrize(
    ("place", "use", "owed"),
    [
        (Place.PROD, Use(regular=8), True),
        (Place.PROD, Use(regular=8, prod=4), False),
        (Place.REGULAR, Use(prod=4), True),
        (Place.REGULAR, Use(regular=4), False),
    ],
)
def test_a_prod_slice_has_room_of_its_own(place: Place, use: Use, owed: bool) -> None:
    made = plan(ONE_FLAVOR + "[teams.a]\nguaranteed = 8\nprod = 4\n")
    result = board(made, seen({"a": use}, waiting=(waits("a", 4, 1, place=place),)))
    assert bool(of(result, "a").owed) is owed


def test_on_kai_a_job_has_room_in_its_own_queue_only() -> None:
    """training: 8 in the shared tree, 8 never lent. Its runtime before a reclaim is waited for as well."""
    made = plan(LAB + '[sharing]\nreclaim_min_runtime = "10m"\n')
    full = Use(regular=8, kept=0)
    for place, owed in ((Place.REGULAR, False), (Place.RESERVED, True)):
        look = seen({"training": full}, scheduler="kai", waiting=(waits("training", 4, 11, place=place),))
        board = late(made, look)
        assert bool(of(board, "training").owed) is owed and not board.all_violations
        assert bool(late(made, replace(look, at=NOW + timedelta(minutes=2))).all_violations) is owed


def test_a_stopped_queue_is_said_once() -> None:
    stopped = Violation(Kind.STOPPED, "research", "", "ClusterQueue/research is stopped")
    board = late(plan(LAB), seen(violations=(stopped,), waiting=(waits("research", 4, 60),)))
    assert of(board, "research").violations == (stopped,) == board.all_violations


def test_what_nodes_lack_is_said_of_the_flavor_and_of_whom_it_hits_for_certain() -> None:
    """8 of 32 GPUs are left: training lacks 8 of its 16 whatever the others do; who else lacks nobody knows."""
    made = plan(LAB)
    flavor = made.flavors[0]
    amounts = {"nvidia.com/gpu": 8, "cpu": 8 * flavor.cpu, "memory": 8 * flavor.memory}
    supply = compare(made, [Node("gpu-0", dict(flavor.node_labels), amounts)])
    result = board(made, seen(supply=supply))
    assert [(one.kind, one.team) for one in result.all_violations] == [(Kind.NODES, ""), (Kind.NODES, "training")]
    assert result.violations[0].why == "24 of 32 GPUs guaranteed cannot be kept at once: 8 are usable"
    assert result.flavors[0].usable == 8 and attention(result)[0] == ("training", "short")
    assert not board(made, seen(supply=compare(made, [
        Node(f"gpu-{number}", dict(flavor.node_labels), amounts) for number in range(4)
    ]))).all_violations  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "used", "minutes", "short"), [(4, 8, 9, False), (3, 8, 9, True), (3, 12, 9, False), (3, 8, 1, False)]
)
def test_jobs_within_the_guarantee_that_find_no_nodes_are_short(
    nodes: int, used: int, minutes: int, short: bool
) -> None:
    """The free pool of 8 is broken, and Kueue has lent it all the same: research has quota for its 8, and 4 have no node."""
    made = plan(LAB.replace("[teams.inference]\nguaranteed = 8\nlendable = 0\n", ""))
    flavor = made.flavors[0]
    amounts = {"nvidia.com/gpu": 8, "cpu": 8 * flavor.cpu, "memory": 8 * flavor.memory}
    supply = compare(made, [Node(f"gpu-{number}", dict(flavor.node_labels), amounts) for number in range(nodes)])
    result = board(
        made, seen({"research": used}, held_up=(waits("research", 4, minutes, why="WaitForStart"),), supply=supply)
    )
    assert [one.kind for one in of(result, "research").violations] == [Kind.NODES] * short
    if minutes > 2:
        assert f"has quota, pods not ready for {minutes}m  research/job-{minutes}: WaitForStart" in shown(
            result.only(["research"]), detail=True
        )


def test_what_is_of_no_flavor_has_a_standing_of_its_own() -> None:
    made = plan(LAB.replace("[flavors.gpu]", "[flavors.other]\nnodes = 1\ngpus_per_node = 8\nnode_labels = { a = 'b' }\n[flavors.gpu]")
                .replace("= 16\n", "= { gpu = 16 }\n").replace("guaranteed = 8", "guaranteed = { gpu = 8 }")
                .replace("lendable = 8", "lendable = { gpu = 8 }").replace("lendable = 0", "lendable = { gpu = 0 }"))  # fmt: skip
    result = board(made, seen(evictions=(Eviction("research", "", "research/gone", 1, ""),)))
    assert result.statuses[0].flavor is None and result.statuses[0].evicted == 1
    assert board(plan(LAB), seen(evictions=(Eviction("research", "", "gone", 1, ""),))).statuses[0].flavor


# --- what is shown


def test_a_small_agreement_is_shown_whole() -> None:
    out = shown(board(plan(LAB), seen({"research": 16}, waiting=(waits("research", 4, 7),))))
    rows = [line.split() for line in out.splitlines()]
    assert (
        "no promise violated, 1 job waits, the longest 7m, no evictions in the last hour, 16 of 32 GPUs in use" in out
    )
    assert ["waiting", "research", "8", "16", "–", "8", "training", "1", "(4", "GPUs)", "7m", "–"] in rows
    assert ["training", "16", "0", "8", "research", "–", "–", "–"] in rows
    assert any(row[:1] == ["inference"] for row in rows)


def test_a_hundred_teams_of_eleven_flavors_fit_on_a_page() -> None:
    made = many_teams()
    board = late(made, busy(made))
    assert len(board.statuses) >= 1100
    for width in (80, 100, 160):
        lines = shown(board, width).splitlines()
        assert len(lines) < 60 and all(cell_len(line) <= width for line in lines)
        order = [
            line.split()[0]
            for line in lines
            if line.split()[1:2] and line.split()[0] != "VIOLATED" and "team-" in line.split()[1]
        ]
        levels = [level.value for level in Attention]
        assert order == sorted(order, key=levels.index) and len(order) == terminal.MOST_ROWS
        assert any(line.startswith("VIOLATED team-3: ClusterQueue/team-3 is stopped") for line in lines)
        assert any(line.startswith("not shown: ") for line in lines)
    whole = shown(board, most=None)
    assert len(whole.splitlines()) > 1100 and "not shown" not in whole


def test_filters_leave_what_is_asked_for_and_name_jobs() -> None:
    made = many_teams(20)
    look = seen(
        {"team-1": 20}, flavor="a100-80-10gb", waiting=(waits("team-1", 8, 3, flavor="a100-80-10gb", why="no room"),)
    )
    out = shown(board(made, look).only(["team-1"], ["a100-80-10gb"]), detail=True)
    assert "waits 3m  team-1/job-3, 8 GPUs: no room" in out
    assert "team-2 " not in out and "a100-80-20gb" not in out


def test_what_is_short_of_nobody_stays_with_whom_it_is_promised() -> None:
    made = many_teams(3)
    violations = (
        Violation(Kind.CHANGED, "", "", "all"),
        Violation(Kind.CHANGED, "", "a100-80-10gb", "one"),
        Violation(Kind.CHANGED, "team-2", "", "a team"),
    )
    result = board(made, seen(violations=violations))
    assert [one.why for one in result.only(["team-1"]).all_violations] == ["all", "one"]
    assert [one.why for one in result.only(["team-2"], ["a100-80-20gb"]).all_violations] == ["all", "a team"]
    assert result.only(flavors=["a100-80-10gb"]).attention is Attention.SHORT
    quiet = board(made, seen(violations=violations[2:])).only(["team-1"])
    assert quiet.attention is Attention.QUIET and len(quiet.statuses) == 11


def test_names_and_messages_of_others_are_text() -> None:
    """Markup, a terminal's escapes, a text that turns around, and one without an end."""
    evil = "[bold red]x[/]\x1b[2J\u202e\n{}" + "y" * 5000
    look = seen(
        waiting=(waits("research", 4, 60, name=evil, why=evil),),
        violations=(Violation(Kind.CHANGED, "research", "", evil, evil),),
        evictions=(Eviction("research", "gpu", evil, 1, evil),),
        unread=(evil,),
    )
    result = late(plan(LAB), look)
    out = shown(result.only(["research"]), detail=True) + "".join(changes.changes(board(plan(LAB), seen()), result))
    assert "\x1b" not in out and "\u202e" not in out
    assert "[bold red]x[/]" in out and out.count("y") < 5000


def test_data_is_json_and_says_all_numbers() -> None:
    made = plan(DEPARTMENTS)
    result = board(
        made, seen({"a": 25}, waiting=(waits("a", 4, 2),), evictions=(Eviction("b", "gpu", "b/job", 2, "why"),))
    )
    found = json.loads(json.dumps(data.as_json(result)))
    assert all(part["violated"] == part["short"] for part in (found, *found["teams"]))
    assert [one["team"] for one in found["teams"]] == ["b", "a", "c", "e"]
    a = found["teams"][1]
    assert a["borrowed_from"][:3] == [
        {"team": "b", "units": 8, "about": False},
        {"team": None, "units": 4, "about": False},
        {"team": "c", "units": 3, "about": True},
    ]
    assert a["waiting"] == {"jobs": 1, "units": 4, "longest_seconds": 120, "within_guarantee": 0}
    assert found["teams"][0]["evictions"] == [{"job": "b/job", "times": 2, "why": "why"}]
    assert found["flavors"][0]["lent"] == 13 and found["flavors"][0]["from_pool"] == 4


def test_prometheus_reads_it_back() -> None:
    made = many_teams(20)
    board = late(made, busy(made))
    families = {one.name: one for one in text_string_to_metric_families(prometheus.text(board))}
    assert families.keys() == prometheus.HELP.keys()
    assert all(one.type == "gauge" and one.documentation for one in families.values())
    for name, number in (
        ("used", lambda one: one.use.total),
        ("lent", lambda one: one.lent),
        ("borrowed", lambda one: one.borrowed),
    ):
        read = {(one.labels["team"], one.labels["flavor"]): one.value for one in families[f"tenancy_{name}"].samples}
        assert {key: value for key, value in read.items() if value} == {
            (one.team.name, one.flavor_name): number(one) for one in board.statuses if number(one)
        }
    loaned = sum(one.value for one in families["tenancy_loan"].samples)
    assert loaned == sum(one.borrowed - one.beyond for one in board.statuses) > 0
    (short,) = families["tenancy_promise_short"].samples
    assert (short.labels["team"], short.labels["kind"], short.value) == ("team-3", "stopped", 1)


@given(st.text())
def test_labels_are_escaped(name: str) -> None:
    # A carriage return and the like end no line in Prometheus' format, but its Python parser splits there.
    name = "".join(char for char in name if char.isprintable() or char == "\n")
    line = prometheus._line("m", {"a": name, "b": "x"}, 1)
    assert "\n" not in line
    (family,) = text_string_to_metric_families(line + "\n")
    assert family.samples[0].labels == {"a": name, "b": "x"}


def test_changes_are_lines_of_what_became_different() -> None:
    made = plan(LAB)
    before = board(made, seen())
    stopped = Violation(Kind.STOPPED, "inference", "", "ClusterQueue/inference is stopped")
    after = board(made, seen({"research": 16}, waiting=(waits("research", 4, 1),), violations=(stopped,)))
    assert list(changes.changes(before, after)) == [
        "12:00:00 VIOLATED inference: ClusterQueue/inference is stopped",
        "12:00:00 research gpu: in use 0 → 16, borrowed 0 → 8 (8 training), jobs wait 0 → 1",
        "12:00:00 training gpu: lent 0 → 8 (8 research)",
    ]
    assert next(changes.changes(after, before)) == "12:00:00 no longer violated (stopped): inference"
    assert not list(changes.changes(after, after))
    assert not list(changes.changes(before.only(flavors=["other"]), after.only(flavors=["other"])))


def test_what_is_not_known_is_said() -> None:
    assert "not known: what nodes there are" in shown(board(plan(LAB), seen(unread=("what nodes there are: no",))))
    assert short_text("a\n b\tc") == "a b c"
