"""Verdicts as text."""

from __future__ import annotations

from ...agreement.plan import Plan
from ...text.counts import some
from .verdict import Verdict


def markdown(plan: Plan, found: list[Verdict]) -> str:
    """The report kept beside the manifests."""
    lines = [
        f"# How exactly the promises of {plan.cluster} are kept",
        "",
        "Made by `tenancy render`; one row for all teams a promise is kept alike for.",
        "",
        "| scheduler | promise | kept | for | how |",
        "| --- | --- | --- | --- | --- |",
    ]
    for verdict in found:
        lines.append(
            f"| {verdict.scheduler} | {verdict.promise} | {verdict.level} | {subjects_text(verdict)} | {verdict.how.replace('|', '/')} |"
        )
    return "\n".join(lines) + "\n"


def subjects_text(verdict: Verdict, most: int = 12) -> str:
    """Whom a verdict is for, short enough to read."""
    if not verdict.subjects:
        return "all"
    return some(verdict.subjects, most)
