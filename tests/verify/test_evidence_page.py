"""The page of a run, in a real browser: it opens without an error or a request, filters, fits a phone, and shows hostile text as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Opened, chromium, opened
from playwright.sync_api import Browser, expect
from runs import HOSTILE, hostile, run

from tenancy.text.plain import plain
from tenancy.verify.evidence.model import Run, Verdict
from tenancy.verify.evidence.page import page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as result:
        yield result


def written(tmp_path: Path, run: Run) -> Path:
    path = tmp_path / "evidence.html"
    path.write_text(page(run), encoding="utf-8")
    return path


@pytest.fixture
def evidence(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    found = opened(browser, written(tmp_path, run()))
    yield found
    found.page.close()


def test_it_opens_and_needs_nothing_else(evidence: Opened) -> None:
    for summary in evidence.page.locator("details.check > summary").all():
        summary.click()
    assert evidence.wrong == []
    assert evidence.shown() == len(run().outcomes)
    assert evidence.page.title() == "Promises of tenancy.toml"
    told = evidence.page.locator("details.check").first.inner_text()
    for words in ("owner: 16 should run and 12 do", "16 × ", "never", "Pending: insufficient", "clusterqueue/"):
        assert words in told


def test_broken_promises_come_first(evidence: Opened) -> None:
    verdicts = [str(one.get_attribute("data-verdict")) for one in evidence.page.locator("details.check").all()]
    assert list(dict.fromkeys(verdicts)) == ["broken", "not run", "held"]


@pytest.mark.parametrize("key", ["verdict", "scheduler", "kind", "team", "flavor"])
def test_each_filter_shows_what_has_its_value(evidence: Opened, key: str) -> None:
    there = Counter(str(one.verdict) if key == "verdict" else str(getattr(one.check, key)) for one in run().outcomes)
    assert set(there) == set(
        evidence.page.locator(f"select[name={key}] option").evaluate_all("all => all.map(o => o.value)")
    ) - {""}
    for value, count in there.items():
        evidence.page.select_option(f"select[name={key}]", value)
        assert evidence.shown() == count
        assert evidence.page.locator("output").inner_text() == f"{count} of {len(run().outcomes)} promises"
    evidence.page.get_by_role("button", name="Show all").click()
    expect(evidence.page.locator("details.check[hidden]")).to_have_count(0)
    assert evidence.wrong == []


def test_words_are_searched_in_all_the_evidence_and_filters_add_up(evidence: Opened) -> None:
    evidence.page.fill("[name=text]", "16 should RUN")
    broken = [one for one in run().outcomes if one.verdict is Verdict.BROKEN]
    assert evidence.shown() == len(broken)
    evidence.page.select_option("select[name=team]", "research")
    assert evidence.shown() == len([one for one in broken if one.check.team == "research"])
    evidence.page.fill("[name=text]", "no such words")
    assert evidence.shown() == 0


def test_a_cell_of_the_table_shows_its_checks(evidence: Opened) -> None:
    evidence.page.get_by_role("button", name="reclaim of training").click()
    expect(evidence.page.locator("output")).to_have_text("1 of 24 promises")
    shown = evidence.page.locator("details.check:visible")
    assert (shown.get_attribute("data-kind"), shown.get_attribute("data-team")) == ("reclaim", "training")


def test_it_is_usable_by_keyboard(evidence: Opened) -> None:
    """From the last filter on: Tab to the buttons, to the first check, Enter opens it."""
    evidence.page.focus("[name=text]")
    evidence.page.keyboard.type("broken-promise-of-nobody")
    assert evidence.shown() == 0
    for key in ("Control+A", "Delete", "Tab", "Tab", "Tab", "Tab", "Enter"):
        evidence.page.keyboard.press(key)
    assert evidence.page.locator("details.check[open]").count() == 1
    assert evidence.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize("made", [run, hostile])
def test_at_a_phones_width_nothing_is_wider_than_the_window(browser: Browser, tmp_path: Path, made: object) -> None:
    assert callable(made)
    found = opened(browser, written(tmp_path, made()), width=360)
    assert found.overflow() == 0
    found.page.get_by_role("button", name="Open shown").click()
    assert found.page.locator("details.check[open]").count() == found.shown()
    assert found.overflow() == 0
    found.page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(browser: Browser, tmp_path: Path, scheme: str) -> None:
    """WCAG AA: a contrast of 4.5 for the page's words and for each verdict's."""
    found = opened(browser, written(tmp_path, run()), color_scheme=scheme)
    for selector in ("body", ".dim", ".verdict.held", ".verdict.broken", ".verdict.not-run"):
        assert found.page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector
    dark = found.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    found.page.close()


CONTRAST = """element => {
  const channels = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => channels(color).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  let behind = element;
  while (channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor].map(light);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    found = opened(browser, written(tmp_path, hostile()))
    found.page.get_by_role("button", name="Open shown").click()
    assert found.wrong == []
    assert found.page.locator("img").count() == 0
    assert found.page.locator("script").count() == 1
    assert plain(HOSTILE) in found.page.locator("h1").inner_text()
    assert plain(HOSTILE) in found.page.locator("details.check .promise").inner_text()
    found.page.select_option("select[name=team]", index=1)
    assert found.shown() == 1
    found.page.close()


def test_it_tells_all_where_scripts_do_not_run(browser: Browser, tmp_path: Path) -> None:
    found = opened(browser, written(tmp_path, run()), java_script_enabled=False)
    found.page.locator("details.check > summary").first.click()
    assert "owner: 16 should run and 12 do" in found.page.locator("details.check").first.inner_text()
    assert not found.page.locator("form").is_visible()
    found.page.close()


def test_a_thousand_checks_stay_usable(browser: Browser, tmp_path: Path) -> None:
    teams = tuple(f"team-{number}" for number in range(17))
    result = run(teams, flavors=tuple(f"flavor-{number}" for number in range(10)))
    assert len(result.outcomes) > 1000
    found = opened(browser, written(tmp_path, result), width=360)
    found.page.fill("[name=text]", "team-11 flavor-7")
    mine = [one for one in result.outcomes if "team-11" in one.check.name and "flavor-7" in one.check.name]
    assert found.shown() == len(mine) > 0
    assert found.overflow() == 0 and found.wrong == []
    found.page.close()
