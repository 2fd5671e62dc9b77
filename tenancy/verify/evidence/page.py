"""A run as one HTML page that needs nothing else: all evidence, filters, and who held what when.

Everything is in the page's text, so it can be read where scripts do not run; the script only filters. Names and messages are
other people's: each is escaped where it enters, and no script but the page's own may run in it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from ...text.durations import measured
from ...text.plain import plain
from . import timeline
from .matrix import matrix
from .model import Outcome, Run, StepSeen, UsageInterval, Verdict
from .words import counts, facts, said

FIRST = (Verdict.BROKEN, Verdict.NOT_RUN, Verdict.HELD)
SIGNS = {Verdict.HELD: "✓", Verdict.BROKEN: "✗", Verdict.NOT_RUN: "–"}
MANY_ROWS = 24  # of the timeline of all; more are shown when asked for
MOST_CONDITIONS = 40  # different ones of a step; thousands would be nobody's reading


def page(run: Run) -> str:
    """The page's text."""
    style, script = _part("page.css"), _part("page.js")
    colors = timeline.colors(run.held)
    held: dict[str, list[UsageInterval]] = {}
    for entry in run.held:
        held.setdefault(entry.check, []).append(entry)
    ordered = sorted(run.outcomes, key=lambda outcome: FIRST.index(outcome.verdict))
    return Template(_part("page.html")).substitute(
        title=f"Promises of {_e(run.agreement)}",
        about=f"{_e(run.cluster)}; began {_e(run.began)}, took {measured(run.seconds)}. By <code>tenancy verify</code>.",
        stopped=f'<p class="why">Stopped before its end: {_text(run.stopped)}</p>' if run.stopped else "",
        sums="".join(
            f"<li>{_verdict(verdict, f'{count} {verdict}')}</li>" for verdict, count in counts(run.outcomes).items()
        ),
        matrix=_matrix(run.outcomes),
        timeline=_all_lanes(run, colors),
        selects="".join(_select(name, values) for name, values in _choices(run.outcomes).items()),
        checks="".join(_check(outcome, held.get(outcome.check.name, []), colors) for outcome in ordered),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
    )


def _check(outcome: Outcome, held: list[UsageInterval], colors: Mapping[str, int]) -> str:
    check = outcome.check
    data = {
        "verdict": outcome.verdict,
        "scheduler": check.scheduler,
        "kind": check.kind,
        "team": check.team,
        "flavor": check.flavor,
    }
    attributes = "".join(f' data-{name}="{_e(value)}"' for name, value in data.items())
    look = "why" if outcome.verdict is Verdict.BROKEN else "why not-run"
    why = f'<p class="{look}">{_text(outcome.why)}</p>' if outcome.why else ""
    steps = "".join(map(_step, outcome.steps))
    end = outcome.started + outcome.seconds
    marks = [step.ended for step in outcome.steps]
    lanes = _lanes(timeline.by_queue(held, colors), outcome.started, end, marks)
    lanes = f'<p class="dim">Who held what, when; a dotted line is the end of a step.</p>{lanes}' if lanes else ""
    return (
        f'<details class="check"{attributes}><summary>{_verdict(outcome.verdict)}'
        f'<span class="promise">{_text(check.promise)}<br><span class="name">{_e(check.name)}</span></span>'
        f'<span class="dim">{measured(outcome.seconds)}</span></summary>'
        f'<div class="evidence">{why}<ol>{steps}</ol>'
        f"<p>The object to look at: <code>{_e(check.look_at)}</code></p>{lanes}</div></details>\n"
    )


def _step(step: StepSeen) -> str:
    rows = "".join(f'<dt>{name}</dt><dd class="text">{escape(text)}</dd>' for name, text in facts(step).items())
    told = said(step.conditions)
    items = "".join(
        f"<li><b>{escape(said.who)}</b> <span class='text'>{escape(said.what)}</span></li>"
        for said in told[:MOST_CONDITIONS]
    )
    more = len(told) - MOST_CONDITIONS
    items += f"<li>and {more} other reasons</li>" if more > 0 else ""
    return f"<li>{_text(step.says)}<dl>{rows}</dl>" + (f'<ul class="said">{items}</ul>' if items else "") + "</li>"


def _matrix(outcomes: Iterable[Outcome]) -> str:
    result = matrix(outcomes)
    heads = "".join(f'<th scope="col">{_e(team) or "(all)"}</th>' for team in result.teams)
    rows = ""
    for scheduler, kind in result.rows:
        cells = ""
        for team in result.teams:
            found = result.cells.get((scheduler, kind, team))
            if not found:
                cells += "<td></td>"
                continue
            told = [(verdict, count) for verdict, count in found.items() if count]
            label = f"{kind} of {team or 'all'}: " + ", ".join(f"{count} {verdict}" for verdict, count in told)
            signs = "".join(
                f'<span class="{_class(verdict)}">{SIGNS[verdict]}{f" {count}" if sum(found.values()) > 1 else ""}</span>'
                for verdict, count in told
            )
            data = f'data-scheduler="{_e(scheduler)}" data-kind="{_e(kind)}" data-team="{_e(team)}"'
            cells += f'<td><button type="button" {data} aria-label="{_e(label)}">{signs}</button></td>'
        rows += f'<tr><td class="dim">{_e(scheduler)}</td><th scope="row">{_e(kind)}</th>{cells}</tr>'
    return f"<table><thead><tr><th></th><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _all_lanes(run: Run, colors: Mapping[str, int]) -> str:
    rows = timeline.by_team(run.held, colors)
    lanes = _lanes(rows, 0, run.seconds, ())
    if not lanes:
        return '<p class="dim">Nothing ran.</p>'
    note = (
        '<p class="dim">What the jobs of each team held in all checks together, in seconds since the run began. Checks that were '
        "played side by side have each their own copy of the nodes, so a sum may be more than there is. Each check has its own below.</p>"
    )
    if len(rows) <= MANY_ROWS:
        return note + lanes
    return f"{note}<details><summary>{len(rows)} rows, one for each flavor and team</summary>{lanes}</details>"


def _lanes(rows: Iterable[timeline.Row], start: float, end: float, marks: Iterable[float]) -> str:
    marks = list(marks)
    lanes = "".join(
        f"<div>{_e(row.name)} <span class='dim'>{_e(row.flavor)}, at most {row.most}</span></div>"
        f"<div>{timeline.svg(row, start, end, marks)}</div>"
        for row in rows
    )
    if not lanes:
        return ""
    axis = "".join(f"<span>{measured((end - start) * part / 4)}</span>" for part in range(5))
    return f'<div class="lanes">{lanes}<div class="axis" aria-hidden="true">{axis}</div></div>'


def _choices(outcomes: Iterable[Outcome]) -> dict[str, list[str]]:
    """What each filter can be set to: only what is there."""
    outcomes = list(outcomes)
    there = {outcome.verdict for outcome in outcomes}
    checks = [outcome.check for outcome in outcomes]
    return {
        "verdict": [verdict for verdict in FIRST if verdict in there],
        "scheduler": list(dict.fromkeys(str(check.scheduler) for check in checks)),
        "kind": list(dict.fromkeys(check.kind for check in checks)),
        "team": sorted({check.team for check in checks if check.team}),
        "flavor": sorted({check.flavor for check in checks if check.flavor}),
    }


def _select(name: str, values: Iterable[str]) -> str:
    options = "".join(f'<option value="{_e(value)}">{_e(value)}</option>' for value in values)
    return (
        f'<div><label for="f-{name}">{name}</label><select id="f-{name}" name="{name}"><option value="">all</option>'
        f"{options}</select></div>"
    )


def _verdict(verdict: Verdict, text: str = "") -> str:
    return f'<span class="verdict {_class(verdict)}">{text or verdict}</span>'


def _class(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def _text(text: str) -> str:
    """Other people's words, which are not to change how what stands around them is read."""
    return f'<span class="text">{_e(text)}</span>'


def _e(text: str) -> str:
    return escape(plain(text))


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
