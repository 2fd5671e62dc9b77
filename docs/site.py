"""What the site has beside the pages of this folder: hooks of MkDocs (https://www.mkdocs.org/user-guide/configuration/#hooks).

The README is the tour, its links to `docs/` become the site's own. The decisions get a list. A file or folder of the repo that
a page points to is a page too, so no link leaves the site and `--strict` sees each that is wrong.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
TOUR, DECISIONS, SHOWN = "index.md", "decisions/index.md", "repo"
LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".ts": "typescript", ".json": "json"}


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are not files of docs/."""
    files.append(File.generated(config, TOUR, content=(ROOT / "README.md").read_text()))
    files.append(File.generated(config, DECISIONS, content=_decisions()))
    for path in _pointed_to():
        files.append(File.generated(config, _page_of(path), content=_shown(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lets links of a page point into the site, wherever in the repo they point."""
    source: str = page.file.src_uri
    folder = _folder_in_repo(source)

    def link(found: re.Match[str]) -> str:
        return found[1] + _in_site(found[2], folder, source) + found[3]

    return LINK.sub(link, markdown)


def _folder_in_repo(source: str) -> Path:
    """The folder that a page's links start from."""
    if source == TOUR:
        return ROOT
    if source.startswith(f"{SHOWN}/"):
        shown = ROOT / source.removeprefix(f"{SHOWN}/").removesuffix(".md")
        return shown if shown.is_dir() else shown.parent
    return (DOCS / source).parent


def _in_site(target: str, folder: Path, source: str) -> str:
    if "://" in target or target.startswith("mailto:"):
        return target
    path = (folder / target).resolve()
    if path == DOCS / "decisions":
        page = DECISIONS
    elif path.is_relative_to(DOCS):
        page = path.relative_to(DOCS).as_posix()
    elif path.exists():
        page = _page_of(path)
    else:
        return target  # wrong, and --strict says so
    return posixpath.relpath(page, posixpath.dirname(source) or ".")


def _pointed_to() -> list[Path]:
    """What of the repo, outside docs/, pages point to."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), ROOT / "examples" / "README.md"]
    targets = [
        (page.parent / found[2]).resolve()
        for page in pages
        for found in LINK.finditer(page.read_text())
        if "://" not in found[2]
    ]
    outside = {
        path for path in targets if path.exists() and path.is_relative_to(ROOT) and not path.is_relative_to(DOCS)
    }
    return sorted(outside - {ROOT / "README.md"})


def _page_of(path: Path) -> str:
    if path == ROOT / "README.md":
        return TOUR
    name = f"{SHOWN}/{path.relative_to(ROOT).as_posix()}".replace("/.", "/dot-")  # MkDocs leaves dot files out
    return name if name.endswith(".md") else f"{name}.md"


def _shown(path: Path) -> str:
    if path.suffix == ".md":
        return path.read_text()
    files = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
    return f"# {path.relative_to(ROOT)}\n\n" + "\n".join(map(_listing, files))


def _listing(path: Path) -> str:
    text = path.read_text()
    fence = "`" * (3 + max((len(run) for run in re.findall("`{3,}", text)), default=0))
    return f"## {path.name}\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text}\n{fence}\n"


def _decisions() -> str:
    lines = []
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        title = path.read_text().splitlines()[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return (
        "# Decisions\n\nWhy it is as it is, numbered; what was tried, what was measured, what was taken.\n\n"
        + "\n".join(lines)
    )
