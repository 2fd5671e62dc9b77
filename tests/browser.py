"""A real browser for tests of pages: the Chromium of the machine, driven by playwright. `tools/browser` puts one there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, (os.environ.get("CHROMIUM", ""), *NAMES))), None)
    if program is None:
        pytest.skip("there is no Chromium on PATH, and tools/browser could not install one")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=as_root)
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page, and what went wrong in it: console errors, exceptions, dialogs, and requests for anything but itself."""

    page: Page
    wrong: list[str] = field(default_factory=list)

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def shown(self) -> int:
        return self.page.locator("details.check:visible").count()


def opened(browser: Browser, path: Path, width: int = 1200, **more: Any) -> Opened:
    page = Opened(browser.new_page(viewport={"width": width, "height": 800}, **more))
    page.page.on("console", lambda message: page.wrong.append(f"console: {message.text}"))
    page.page.on("pageerror", lambda error: page.wrong.append(f"exception: {error}"))
    page.page.on("dialog", lambda dialog: page.wrong.append(f"dialog: {dialog.message}"))
    page.page.on("request", lambda request: page.wrong.append(request.url) if request.url != path.as_uri() else None)
    page.page.goto(path.as_uri())
    return page
