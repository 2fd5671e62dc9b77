"""A check of an agreement that nobody calls finds nothing: every one of them is in the list that `check` goes through."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import get_type_hints

from tenancy.agreement import Agreement, checks
from tenancy.agreement.findings import Finding


def written() -> dict[str, object]:
    """Every public function of the package that takes an agreement and yields findings, by `module.name`."""
    found = {}
    for module in (
        importlib.import_module(f"{checks.__name__}.{one.name}") for one in pkgutil.iter_modules(checks.__path__)
    ):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_") and _is_check(function):
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = function
    return found


def _is_check(function: object) -> bool:
    hints = get_type_hints(function)
    return hints == {"agreement": Agreement, "return": Iterator[Finding]}


def test_every_check_is_in_the_list() -> None:
    assert [name for name, check in written().items() if check not in checks.CHECKS] == []


def test_the_list_holds_nothing_else_and_each_once() -> None:
    assert len(checks.CHECKS) == len(set(checks.CHECKS)) == len(written())
