"""Every problem has its place: an unknown key its key, a value its value, a missing key its table."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import ONE_FLAVOR, findings

from tenancy.objects.loading import load, loads

# The place a finding has is where the file has this sign; columns count characters from 1.
HERE = "→"

# A part of a file → the only finding's path. The sign stands before what the finding points at.
PLACED: dict[str, tuple[str, str]] = {
    "a value": ("[teams.a]\nguaranteed = 8\nlendable = →9", "teams.a.lendable"),
    "a value in an inline table": ("[teams.a]\nguaranteed = { gpu = →'x' }", "teams.a.guaranteed.gpu"),
    "a value in an array of a flavor": (
        (
            "[flavors.cpu]\nnodes = 1\ngpus_per_node = 1\ntaints = [\n  { key = 'a', effect = 'NoExecute' }, # one\n"
            "  { key = 'b', effect = →'No' },\n]\n[teams.a]"
        ),
        "flavors.cpu.taints[1].effect",
    ),
    "a value in an array of tables": (
        (
            "[teams.a]\n[flavors.x]\nnodes = 1\ngpus_per_node = 1\n[[flavors.x.taints]]\nkey = 'a'\neffect = 'NoExecute'\n"
            "[[flavors.x.taints]]\nkey = 'b'\neffect = →'No'"
        ),
        "flavors.x.taints[1].effect",
    ),
    "a value under dotted keys": ("[teams]\na.guaranteed.gpu = →-1", "teams.a.guaranteed.gpu"),
    "an unknown key": ("[teams.a]\n→guarantee = 8", "teams.a.guarantee"),
    "an unknown key in an inline table": ("[teams]\na = { guaranteed = 8, →lend = 4 }", "teams.a.lend"),
    "an unknown table": ("[teams.a]\n[teams.a.→extra]\nx = 1", "teams.a.extra"),
    "an unknown flavor": ("[teams.a]\nguaranteed = { →gpus = 8 }", "teams.a.guaranteed.gpus"),
    "a name": ("[teams.→Research]\nguaranteed = 8", "teams.Research"),
    "a name in quotes": ('[teams. → "a b"]\nguaranteed = 8', 'teams."a b"'),
    "a name given by a dotted key": ("[teams]\n→Research.guaranteed = 8", "teams.Research"),
    "a missing key": ("[teams.a]\n[flavors.→x]\ngpus_per_node = 8", "flavors.x.nodes"),
    "a missing key of an inline table": (
        "[teams.a]\n[flavors.x]\nnodes = 1\ngpus_per_node = 1\nmig = →{ gpu = 'A100-80GB' }",
        "flavors.x.mig.profile",
    ),
    "a value after a tab": ("[teams.a]\n\tguaranteed\t=\t→-1", "teams.a.guaranteed"),
    "a value after letters of several bytes": (
        "[teams]\na = { display_name = 'Ärzte 🚀', guaranteed = →-1 }",
        "teams.a.guaranteed",
    ),
    "a value after text of several lines": (
        "[teams.a]\ndepartment = '''\\\n[teams.b]\\\n'''\nguaranteed = →-1",
        "teams.a.guaranteed",
    ),
    "a value that is written twice alike": (
        "[teams.a]\nguaranteed = 8\n[teams.b]\nguaranteed = 8\nlendable = →9",
        "teams.b.lendable",
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("case", PLACED)
def test_a_finding_points_at(case: str, newline: str) -> None:
    marked, path = PLACED[case]
    marked = (ONE_FLAVOR + marked).replace(" → ", " " + HERE)
    before = marked[: marked.index(HERE)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    (found,) = loads(marked.replace(HERE, "").replace("\n", newline).encode(), "x.toml").findings
    assert str(found).startswith(f"x.toml:{line}:{column}: {path}: ")


def test_findings_come_in_the_order_of_the_file() -> None:
    text = ONE_FLAVOR + "[teams.b]\nx = 1\n[teams.a]\nlendable = 'y'\n"
    assert [line.split(" ")[0] for line in findings(text, "f")] == ["f:8:1:", "f:10:12:"]


def test_a_table_that_is_not_there_is_the_files_problem() -> None:
    assert findings("[flavors.gpu]\nnodes = 1\ngpus_per_node = 1\n[teams.a]", "f") == [
        'f:1:1: cluster: is missing; begin with [cluster] and name = "…"'
    ]


# What is no TOML, or no text → how what is said of it begins (what tomllib itself says changes with Python).
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "an empty file": (b"", 'f:1:1: cluster: is missing; begin with [cluster] and name = "…"'),
    "a byte order mark": (
        b"\xef\xbb\xbf[cluster]",
        "f:1:1: starts with a byte order mark; save it as UTF-8 without one",
    ),
    "UTF-16": ("[cluster]".encode("utf-16"), "f:1:1: byte 0xff is not UTF-8; save the file as UTF-8"),
    "Latin-1 on the second line": (
        "# \u00e9\nname = 'caf\u00e9'".encode() + b"\nx = '\xe9'",
        "f:3:6: byte 0xe9 is not UTF-8; save the file as UTF-8",
    ),
    "a NUL": (b"a = '\0'", "f:1:6: is not TOML: "),
    "no value": (b"[cluster]\nname =\n", "f:2:7: is not TOML: "),
    "a table twice": (
        b"[a]\n[a]\n",
        "f:2:3: is not TOML: ",
    ),
    "an open string": (
        b"[cluster]\nname = 'lab",
        'f:2:12: is not TOML: expected "\'"; see toml.io for the format',
    ),
    "a surrogate": (
        b'a = "\\ud800"',
        "f:1:12: is not TOML: ",
    ),
    "a number of 5,000 digits": (
        b"[cluster]\nname = 1" + b"0" * 5000,
        "f:2:8: holds a number that is too large; amounts are whole numbers such as 8",
    ),
    "10,000 tables in each other": (
        b"[cluster]\n" + b"a." * 10_000 + b"a = 1",
        "f:2:1: is nested too deeply; an agreement is at most four tables deep",
    ),
    "10,000 arrays in each other": (
        b"a = " + b"[" * 10_000,
        "f:1:1: is nested too deeply; an agreement is at most four tables deep",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_said_with_a_place(case: str) -> None:
    data, expected = UNREADABLE[case]
    assert str(loads(data, "f").findings[0]).startswith(expected)


def test_a_huge_hexadecimal_number_is_quoted_shortly() -> None:
    assert findings(ONE_FLAVOR + "[teams.a]\nguaranteed = 0x1" + "0" * 9000) == [
        "teams.a.guaranteed: a number of more than 60 digits is too large; at most 1000000000 is possible"
    ]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    (found,) = load(tmp_path / "no.toml").findings
    assert (
        str(found)
        == f"{tmp_path}/no.toml:1:1: cannot be read: No such file or directory; name a file that contains an agreement"
    )


def test_a_folder_is_no_agreement(tmp_path: Path) -> None:
    (found,) = load(tmp_path).findings
    assert found.message == "cannot be read: Is a directory"


def test_a_name_no_file_can_have_is_said() -> None:
    (found,) = load("a\0b").findings
    assert found.message == "cannot be read: embedded null byte"


def test_a_file_of_more_than_16_megabytes_is_refused_unread() -> None:
    (found,) = loads(b"#" * (16 * 2**20 + 1)).findings
    assert found.message == "is larger than 16 MiB"
