"""A run as JUnit XML, as CI systems read it: a suite for each scheduler, a testcase for each check.

A broken promise is a failure whose text is the evidence; a check that was not run is skipped, and says why.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ...text.plain import plain
from .model import Outcome, Run, Verdict
from .words import counts, story


def junit(run: Run) -> str:
    """The file's text; ends in a newline."""
    root = Element(
        "testsuites", {"name": plain(f"tenancy verify {run.agreement}"), **_totals(run.outcomes, run.seconds)}
    )
    for scheduler in dict.fromkeys(outcome.check.scheduler for outcome in run.outcomes):
        mine = tuple(outcome for outcome in run.outcomes if outcome.check.scheduler == scheduler)
        spent = max(outcome.started + outcome.seconds for outcome in mine) - min(outcome.started for outcome in mine)
        totals = {"errors": "0", **_totals(mine, spent), "skipped": str(counts(mine)[Verdict.NOT_RUN])}
        began = (
            plain(run.began).partition("+")[0].rstrip("Z")
        )  # the schema's dateTime of CI systems has no zone; it is UTC
        suite = SubElement(
            root, "testsuite", {"name": scheduler, "timestamp": began, "hostname": "localhost", **totals}
        )
        properties = SubElement(suite, "properties")
        for name, value in {"agreement": run.agreement, "cluster": run.cluster, "stopped": run.stopped}.items():
            if value:
                SubElement(properties, "property", {"name": name, "value": plain(value)})
        for outcome in mine:
            _case(suite, outcome)
    indent(root, " ")
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text.decode() + "\n"


def _totals(outcomes: tuple[Outcome, ...], spent: float) -> dict[str, str]:
    found = counts(outcomes)
    return {"tests": str(len(outcomes)), "failures": str(found[Verdict.BROKEN]), "time": f"{spent:.3f}"}


def _case(suite: Element, outcome: Outcome) -> None:
    check = outcome.check
    name = plain("/".join(part for part in (check.team, check.flavor) if part) or check.promise)
    named = {"classname": plain(f"{check.scheduler}.{check.kind}"), "name": name, "time": f"{outcome.seconds:.3f}"}
    case = SubElement(suite, "testcase", named)
    why = plain(outcome.why)
    if outcome.verdict is Verdict.BROKEN:
        failure = SubElement(case, "failure", {"message": why, "type": "broken promise"})
        failure.text = "\n".join([plain(check.promise), *story(outcome)])
    elif outcome.verdict is Verdict.NOT_RUN:
        SubElement(case, "skipped", {"message": why})
    else:
        SubElement(case, "system-out").text = "\n".join([plain(check.promise), *story(outcome)])
