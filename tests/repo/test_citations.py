"""What a comment, a docstring or a page names as a file of this repo is there.

A reader who follows a name to nothing stops believing the next one. Only names count that can be of this repo: pages (`*.md`), Python
files, and paths under `tests/`. Other projects' files are cited with their project or by a link, which is not looked at here.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from samples import ROOT

CITED = re.compile(r"(?<![\w./-])(?:[\w.-]+/)*[\w-]+\.(?:md|py)\b(?![\w/-])|(?<![\w./-])tests/[\w./-]*[\w/]")
COMMENT = re.compile(r"(?:^|\s)#.*")
LINKS = re.compile(r"https?://\S+")
PLACEHOLDER = re.compile(r"(^|[/_.-])[A-Z]{2,}([/_.-]|$)")  # DIR/fidelity.md, tests/status/why/NAME.json
MADE = {
    "diff.md": "what `tenancy diff --markdown > diff.md` writes",
    "my-policy/__main__.py": "a reader's own",
}
"""Names of files that people or commands make, and no part of the repo."""

TRACKED = [ROOT / name for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()]
FILES = {str(path.relative_to(ROOT)) for path in TRACKED if path.exists()}
SOURCES = [path for path in TRACKED if path.exists() and path.suffix in (".py", ".md", ".toml", ".yml", ".yaml")]
PLACES = FILES | {str(parent) for file in FILES for parent in Path(file).parents}
ENDINGS = {place.split("/", start)[-1] for place in PLACES for start in range(place.count("/") + 1)}
"""Every way to name a file or folder by the end of its path: `diff/facts.py` is tenancy/review/diff/facts.py."""


def prose(path: Path) -> Iterator[str]:
    """Of a page all of it, of a Python file its comments and docstrings, of any other file its comments."""
    text = path.read_text("utf-8")
    if not CITED.search(text):
        return
    if path.suffix != ".py":
        yield from [text] if path.suffix == ".md" else COMMENT.findall(text)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def is_here(cited: str, source: Path) -> bool:
    """By the end of its path, or from the file's own folder (a link with `..`)."""
    if cited.startswith("tests/"):
        return cited.rstrip("/") in PLACES
    path = (source.parent / cited).resolve()
    return cited.removeprefix("./") in ENDINGS or (path.is_relative_to(ROOT) and str(path.relative_to(ROOT)) in PLACES)


def citations(text: str) -> Iterator[str]:
    for found in CITED.findall(LINKS.sub("", text)):
        if found not in MADE and not PLACEHOLDER.search(found):
            yield found


@pytest.mark.parametrize("folder", sorted({path.relative_to(ROOT).parts[0] for path in SOURCES}))
def test_every_file_that_is_named_is_here(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {cited}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] == folder
        for text in prose(path)
        for cited in citations(text)
        if not is_here(cited, path)
    ]
    assert wrong == []


def test_a_wrong_name_is_seen() -> None:
    here = ROOT / "docs" / "agreement.md"
    cited = list(
        citations("see docs/nowhere.md, tests/why and `gone.py`; not https://example.com/a.md or DIR/fidelity.md")
    )
    assert cited == ["docs/nowhere.md", "tests/why", "gone.py"]
    assert not any(is_here(one, here) for one in cited)
    assert is_here("reference.md", here) and is_here("tests/repo", here) and is_here("docs/access.md", ROOT / "x.py")
