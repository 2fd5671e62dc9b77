"""Quantities mean to us what they mean to kubectl, which reads and rewrites them by apimachinery's own code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tenancy.text.quantity import MAX_QUANTITY, amount, bytes_text, count_text, milli_text, parse, whole

KUBECTL = Path(sys.executable).parent / "kubectl"
NUMBERS = {
    "8": 8,
    "0": 0,
    "007": 7,
    "+1": 1,
    "-1": -1,
    ".5": Fraction(1, 2),
    "-.5": Fraction(-1, 2),
    "5.": 5,
    "0.5": Fraction(1, 2),
    "1500m": Fraction(3, 2),
    "100u": Fraction(1, 10_000),
    "1n": Fraction(1, 10**9),
    "1k": 1000,
    "64G": 64 * 10**9,
    "1E": 10**18,
    "1e3": 1000,
    "12E2": 1200,
    "1e-3": Fraction(1, 1000),
    "1e+3": 1000,
    "1Ki": 1024,
    "2Gi": 2**31,
    "1.5Gi": 3 * 2**29,
    "4Ei": 2**62,
    "1.000000001G": 1_000_000_001,
    "10E": 10**19,
}
WRONG = {
    "": "no number before ''",
    "x": "no number before 'x'",
    "1K": "'K' is none of",
    "1ki": "'ki' is none of",
    "1 Gi": "' Gi' is none of",
    " 1": "no number before ' 1'",
    "1\n": "is none of",
    "1.5.5": "'.5' is none of",
    "1e": "'e' is none of",
    "1e+": "is none of",
    "1e3.5": "is none of",
    "1mKi": "'mKi' is none of",
    "0x10": "'x10' is none of",
    "1_0": "'_0' is none of",
    "--1": "no number before '-1'",
}
LENIENT = ("Ki", "m", "+", ".")
"""What apimachinery's code takes for 0 against its own grammar; the schema of a custom resource refuses them."""


def by_kubectl(quantities: Iterable[str]) -> list[str]:
    """The quantities as kubectl writes them after it has read them."""
    hard = ",".join(f"count/a{number}.example.com={text}" for number, text in enumerate(quantities))
    command = [KUBECTL, "create", "quota", "q", f"--hard={hard}", "--dry-run=client", "--output=yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr)
    written = yaml.load(done.stdout, yaml.BaseLoader)["spec"]["hard"]
    return [written[f"count/a{number}.example.com"] for number in range(len(written))]


@pytest.mark.parametrize(("text", "number"), NUMBERS.items())
def test_a_quantity_is_read_exactly(text: str, number: object) -> None:
    assert parse(text) == number


@pytest.mark.parametrize(("text", "why"), WRONG.items())
def test_what_is_no_quantity_is_refused_by_the_part_that_is_wrong(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity: ") as error:
        parse(text)
    assert why in str(error.value)


@pytest.mark.parametrize("text", LENIENT)
def test_a_suffix_or_sign_alone_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="it has no number"):
        parse(text)


def test_kubectl_reads_the_same_numbers() -> None:
    texts = [text for text in NUMBERS if not text.startswith("+")]
    assert [parse(text) for text in by_kubectl(texts)] == [NUMBERS[text] for text in texts]


@pytest.mark.parametrize("text", [text for text in WRONG if text not in ("", " 1", "1\n")])  # which its option strips
def test_kubectl_refuses_the_same_texts(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        by_kubectl([text])


@given(
    st.lists(
        st.from_regex(r"-?([0-9]{1,8}(\.[0-9]{0,6})?|\.[0-9]{1,6})(m|k|M|G|Ki|Mi|Gi|e-?[0-3])?", fullmatch=True),
        min_size=50,
    )
)
@settings(max_examples=5, deadline=None)
def test_kubectl_reads_any_quantity_as_the_same_number(texts: list[str]) -> None:
    assert [parse(text) for text in by_kubectl(texts)] == [parse(text) for text in texts]


@given(st.lists(st.integers(1, MAX_QUANTITY), min_size=50))
@settings(max_examples=5, deadline=None)
def test_kubectl_would_not_rewrite_what_we_write(numbers: list[int]) -> None:
    texts = [text(number) for number in numbers for text in (count_text, milli_text, bytes_text)]
    assert by_kubectl(texts) == texts


@given(st.fractions(max_denominator=1000).map(lambda number: number * 1000 / 10**9) | st.integers())
def test_what_is_written_is_read_as_it_was_or_as_the_next_billionth(number: Fraction | int) -> None:
    exact = Fraction(number)
    nano = exact if (exact * 10**9).denominator == 1 else Fraction(whole(exact * 10**9), 10**9)
    assert parse(count_text(exact)) == nano
    assert count_text(parse(count_text(exact))) == count_text(exact)


@given(st.text() | st.none() | st.booleans() | st.integers() | st.floats())
def test_of_any_value_there_is_an_amount(value: object) -> None:
    assert isinstance(amount(value), Fraction)


def test_an_object_may_give_an_amount_as_a_number() -> None:
    assert (amount(8), amount(0.5), amount("8"), amount(None)) == (8, Fraction(1, 2), 8, 0)


COUNTS = {0: "0", 8: "8", 999: "999", 1000: "1k", 1024: "1024", 1500: "1500", 2_000_000: "2M", 10**18: "1E"}
MILLIS = {0: "0", 1: "1m", 1500: "1500m", 14_000: "14", 1_000_000: "1k", 1_500_000: "1500", 10**9: "1M"}
BYTES = {
    0: "0",
    1000: "1k",
    1023: "1023",
    1024: "1Ki",
    1_500_000: "1500k",
    120 * 2**30: "120Gi",
    1024 * 2**30: "1Ti",
    1025 * 2**30: "1025Gi",
    2**62: "4Ei",
}


@pytest.mark.parametrize(("amount", "text"), COUNTS.items())
def test_a_count_is_canonical(amount: int, text: str) -> None:
    assert count_text(amount) == text


@pytest.mark.parametrize(("amount", "text"), MILLIS.items())
def test_milli_cpus_are_canonical(amount: int, text: str) -> None:
    assert milli_text(amount) == text


@pytest.mark.parametrize(("amount", "text"), BYTES.items())
def test_bytes_are_canonical(amount: int, text: str) -> None:
    assert bytes_text(amount) == text
