"""The YAML we write is read alike by YAML 1.1 (PyYAML) and by the library Kubernetes uses (through kubectl)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from samples import LAB, ONE_FLAVOR, PRODUCTION, plan

from tenancy.agreement.names import UNWRITABLE
from tenancy.objects import kai, kueue
from tenancy.objects.manifest import dump_all

KUBECTL = Path(sys.executable).parent / "kubectl"

# Text that a YAML reader takes for something else where it stands bare.
HOSTILE = (
    *("no", "No", "NO", "yes", "y", "n", "on", "off", "true", "TRUE", "null", "Null", "~", "", " ", "a ", " a", "\t"),
    *(
        "1",
        "01",
        "1e3",
        "0x1f",
        "0o7",
        "0b1",
        "1_000",
        "1.",
        ".5",
        "-1",
        "+1",
        "inf",
        ".inf",
        "-.INF",
        ".nan",
        "nan",
        "1:30",
    ),
    *(
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "12:30:45",
        "=",
        "<<",
        "---",
        "...",
        "- a",
        "-",
        "? a",
        ": a",
        "a: b",
        "a:",
    ),
    *(
        "#",
        "a #b",
        "[a]",
        "{a: b}",
        "!a",
        "&a",
        "*a",
        "|",
        ">",
        "%a",
        "@a",
        "`a`",
        "'",
        '"',
        "''",
        '"a"',
        "\\",
        "\\n",
        "a\\",
    ),
    *(
        "\n",
        "a\nb",
        "a\n",
        "\na",
        "\r\n",
        "\u0085",
        "\u2028",
        "\u2029",
        "\ufeff",
        "\u00a0",
        "\u200b",
        "\u202e",
        "\ufffd",
    ),
    *(
        "\x00",
        "\x01",
        "\x1b[31m",
        "\x7f",
        "\x9f",
        "é",
        "日本",
        "🚀",
        "\U0010ffff",
        "a" * 5000,
        "{{ .Name }}",
        "$(A)",
        "${A}",
    ),
)


def read(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_comes_back_as_it_was(text: str) -> None:
    made = {"a": text, "d": [text], **({text: "c"} if len(text) < 1000 else {})}  # YAML's longest key is 1,024
    assert read(dump_all([made])) == [made]


@pytest.mark.parametrize(
    "word", ["y", "Y", "n", "yes", "No", "on", "OFF", "true", "null", "~", "1e3", "0x1f", "12:30", ".inf", ""]
)
def test_a_word_that_yaml_1_1_types_is_in_quotes(word: str) -> None:
    """Also those that PyYAML itself would take for text."""
    assert dump_all([{"a": word}]) == f'a: "{word}"\n'


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    made = {"a": text, **({text: "b"} if len(text) < 100 else {})}  # escaped, a key may have 1,024 characters
    assert read(dump_all([made])) == [made]


def test_values_of_every_kind_come_back_as_they_were() -> None:
    body = {"i": 8, "n": None, "t": True, "f": False, "e": {}, "l": [], "s": "", "deep": [{"a": [{"b": 1, "c": "x"}]}]}
    assert read(dump_all([body, body])) == [body, body]


LINES = (
    "a\nb\n",
    "- a: {{ .b }}\n\n  # c\n---\n!d\n",
    "#\n \nx\n",
    "a \n b:\n\tc\nd\n",
    " a\nb\n",
    "a\nb\n\n",
    "é\nb\n",
)


@pytest.mark.parametrize("text", LINES, ids=ascii)
def test_text_of_several_lines_comes_back_as_it_was(text: str) -> None:
    made = {"a": {"b": text, "c": [{"d": text, "e": "f"}]}}
    assert read(dump_all([made, made])) == [made, made]


@given(text=st.text(" -#:{}|\n'\"ab\t"))
def test_any_text_of_several_lines_comes_back_as_it_was(text: str) -> None:
    assert read(dump_all([{"a": {"b": f"{text}\n"}, "c": 1}])) == [{"a": {"b": f"{text}\n"}, "c": 1}]


def test_people_read_lines_as_lines() -> None:
    assert dump_all([{"a": {"b": "if x\n  y\n\nend\n"}}]) == "a:\n  b: |\n    if x\n      y\n\n    end\n"


def test_keys_keep_their_order() -> None:
    assert dump_all([{"z": 1, "a": {"d": 2, "b": 3}}]) == "z: 1\na:\n  d: 2\n  b: 3\n"


def test_what_needs_no_quotes_has_none() -> None:
    assert (
        dump_all([{"name": "training", "quota": "16Gi", "label": "a/b"}])
        == 'name: training\nquota: "16Gi"\nlabel: a/b\n'
    )


@pytest.mark.parametrize("text", [LAB, PRODUCTION.read_text()], ids=["lab", "production"])
def test_what_we_render_is_what_we_made(text: str) -> None:
    made = [*kueue.objects(plan(text)), *kai.objects(plan(text))]
    assert read(dump_all(made)) == made


def test_kubectl_reads_what_we_wrote(tmp_path: Path) -> None:
    """One ConfigMap for each text that an agreement may hold: `check` refuses what kustomize could not write again."""
    kubectl = str(KUBECTL) if KUBECTL.exists() else shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not here")
    made = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}, "data": {"text": text}}
        for number, text in enumerate((*HOSTILE, *LINES))
        if not UNWRITABLE.search(text) and text not in ("=", "<<")  # which PyYAML does not read bare, as Go writes them
    ]
    (tmp_path / "all.yaml").write_text(dump_all(made), encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("resources: [all.yaml]\n")
    out = subprocess.run([kubectl, "kustomize", str(tmp_path)], capture_output=True, check=False)
    assert out.returncode == 0, out.stderr.decode()
    came_back = {one["metadata"]["name"]: one["data"]["text"] for one in read(out.stdout.decode())}
    assert came_back == {one["metadata"]["name"]: one["data"]["text"] for one in made}


@pytest.mark.parametrize("name", ["no", "on", "y", "1e3", "0x1f", "null", "true", "1", "007", "1.5"])
def test_a_team_may_have_a_name_that_yaml_takes_for_something_else(name: str) -> None:
    made = kueue.objects(plan(ONE_FLAVOR + f'[teams."{name}"]\nguaranteed = 8\nlendable = 4\nprod = 4\n'))
    assert read(dump_all(made)) == made
    assert {"ClusterQueue", "Cohort"} == {one["kind"] for one in made if one["metadata"]["name"] == name}
