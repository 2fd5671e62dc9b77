"""Every line of docs/day-2.md names the tests that hold it, and they are there."""

from __future__ import annotations

import re

import pytest
from samples import ROOT

LAB = ROOT / "tests" / "on_lab"
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in (ROOT / "docs" / "day-2.md").read_text("utf-8").splitlines()
    if line.startswith("| ")
][2:]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_line_has_its_tests(row: list[str]) -> None:
    assert len(row) == 4, "what happened, what you see, what to do, test"
    file, found = "test_day2.py", 0
    for name in re.findall("`([^`]+)`", row[3]):
        if name.endswith(".py"):
            file = name
            assert (LAB / file).exists()
            found += 1
        else:
            tests = re.findall(r"^def (test_\w+)", (LAB / file).read_text("utf-8"), re.MULTILINE)
            assert [test for test in tests if name.strip("…") in test], f"{file} has no test …{name}…"
            found += 1
    assert found
