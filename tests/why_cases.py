"""The cases of `why` that were recorded on a real Kueue and a real KAI: tests/status/why/NAME.json."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.loading import load
from tenancy.status.why import Answer, Snapshot, Wanted, explain

CASES = Path(__file__).parent / "status" / "why"

NAMES = sorted(path.stem for path in CASES.glob("*.json"))


@cache
def plan_of(name: str) -> Plan:
    agreement = load(str(CASES / f"{name}.toml")).agreement
    assert agreement
    return make_plan(agreement)


@cache
def case(name: str) -> tuple[Plan, Snapshot, Wanted, str]:
    body: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    snapshot = Snapshot(datetime.fromisoformat(body["now"]), body["objects"])
    return plan_of(body["agreement"]), snapshot, Wanted.parse(body["wanted"]), body["scheduler"]


@cache
def answer(name: str) -> Answer:
    return explain(*case(name))
