"""What holds for every test."""

from __future__ import annotations

import pytest
from hypothesis import settings

# How long an example may take is nothing that a test says of a machine that does other things too.
settings.register_profile("any machine", settings(), deadline=None)
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where files are tested side by side COLUMNS is that of the terminal; without it what is no terminal is wide."""
    monkeypatch.delenv("COLUMNS", raising=False)
