"""Kubernetes quantities, read exactly and written in the form the API server would rewrite them to.

A quantity that is not in canonical form comes back from the server changed (`'1000'` returns as `1k`), which looks like
drift for ever after. So amounts are kept as integers (GPUs, slices, milli-CPUs, bytes) and become text here, once.
Grammar and canonical form: k8s.io/apimachinery `pkg/api/resource/quantity.go`.
"""

from __future__ import annotations

import re

BINARY = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
MAX_QUANTITY = 2**63 - 1  # a Quantity is an int64 at the API server

_PATTERN = re.compile(
    r"(?P<whole>\d{1,19})(?:\.(?P<parts>\d{1,9}))?(?P<suffix>m|Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?", re.ASCII
)


def parse_milli(text: str) -> int:
    """A CPU quantity (`14`, `0.5`, `1500m`) in milli-CPUs. Raises ValueError when it is none or finer than 1m."""
    return _whole(text, 1000, "1m")


def parse_bytes(text: str) -> int:
    """A memory quantity (`120Gi`, `64G`) in bytes. Raises ValueError when it is none, has no unit or not whole bytes."""
    if text.isascii() and text.isdigit():
        raise ValueError(f"{text[:40]} has no unit, which would mean bytes")
    if text.endswith("m"):
        raise ValueError(f"{text[:40]!r} is not a quantity of memory: m counts thousandths of a byte")
    return _whole(text, 1, "one byte")


def count_text(count: int) -> str:
    """An amount of whole things (GPUs, slices, CPUs) as canonical text: 16 → `16`, 1000 → `1k`."""
    for suffix in reversed(DECIMAL):
        if count and count % DECIMAL[suffix] == 0:
            return f"{count // DECIMAL[suffix]}{suffix}"
    return str(count)


def milli_text(milli: int) -> str:
    """Milli-CPUs as canonical text: 14000 → `14`, 1500 → `1500m`."""
    return count_text(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def bytes_text(amount: int) -> str:
    """Bytes as canonical text in powers of 1024: 120 × 2^30 → `120Gi`, 2048 × 2^30 → `2Ti`."""
    for suffix in reversed(BINARY):
        if suffix and amount and amount % BINARY[suffix] == 0:
            return f"{amount // BINARY[suffix]}{suffix}"
    return count_text(amount)


def _whole(text: str, smallest_per_one: int, smallest: str) -> int:
    """The quantity in its smallest part, in whole numbers only: a Decimal would round at 28 digits."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a quantity")
    digits, parts, suffix = match["whole"], match["parts"] or "", match["suffix"] or ""
    factor = 1 if suffix == "m" else smallest_per_one * (BINARY.get(suffix) or DECIMAL[suffix])
    number, rest = divmod(int(digits + parts) * factor, int("1" + "0" * len(parts)))
    if rest:
        raise ValueError(f"{text!r} is finer than {smallest}")
    if number > MAX_QUANTITY:
        raise ValueError(f"{text!r} is more than an API server can hold (2^63 - 1)")
    return number
