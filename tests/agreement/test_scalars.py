"""Amounts of CPU and memory, as the file may write them: fewer than Kubernetes reads, and never rounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenancy.agreement.scalars import cpu, memory
from tenancy.text.quantity import bytes_text, milli_text


@given(amount=st.integers(1, 2**63 - 1))
def test_what_is_written_is_read_as_it_was(amount: int) -> None:
    assert cpu(milli_text(amount)) == amount
    if not bytes_text(amount).isdigit():  # the file never writes bare bytes
        assert memory(bytes_text(amount)) == amount


@pytest.mark.parametrize(
    "text", ["", "x", "1.5.5", "1 Gi", "1gi", "-1", "+1", "1e3", "0x10", "1K", "1n", "NaN", "1" * 20]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        cpu(text)


@pytest.mark.parametrize("text", ["0.0001", "1.0005", "0.5m"])
def test_a_cpu_finer_than_a_milli_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="finer than 1m"):
        cpu(text)


@pytest.mark.parametrize("text", ["8Ei", "9223372036854775808k", "10E"])
def test_more_than_an_int64_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="more than an API server can hold"):
        memory(text)


def test_a_quantity_of_many_digits_is_not_rounded() -> None:
    assert memory("1.000000001Gi".replace("Gi", "G")) == 1_000_000_001
    with pytest.raises(ValueError, match="finer than one byte"):
        memory("7.999999999Ei")
