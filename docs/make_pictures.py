"""Writes `docs/pictures/*.svg` from the agreements and the imports of this repo, so that no picture shows what they do not say.

`python docs/make_pictures.py` writes them, `--check` exits 1 where one is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import make_rooms

from tenancy.agreement.plan import make_plan
from tenancy.objects.loading import load
from tenancy.review.show.svg import draw
from tenancy.review.show.tree import cohort_tree

ROOT = Path(__file__).parent.parent
FOLDER = Path(__file__).parent / "pictures"


def picture(agreement: str) -> str:
    """What `tenancy show AGREEMENT --svg -` prints; raises ValueError with the findings of an agreement with errors."""
    found = load(str(ROOT / agreement))
    if found.agreement is None:
        raise ValueError("\n".join(map(str, found.findings)))
    return draw(cohort_tree(make_plan(found.agreement)))


PICTURES: Mapping[str, Callable[[], str]] = {
    "lab": partial(picture, "tenancy.toml"),
    "production": partial(picture, "examples/production.toml"),
    "rooms": make_rooms.draw,
}


def main() -> int:
    stale = []
    FOLDER.mkdir(exist_ok=True)
    for name, draw_it in PICTURES.items():
        file, text = FOLDER / f"{name}.svg", draw_it()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(str(file.relative_to(ROOT)))
            if "--check" not in sys.argv[1:]:
                file.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"stale: {', '.join(stale)}: run make pictures", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
