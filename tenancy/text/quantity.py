"""Kubernetes quantities, read exactly and written in the form the API server would rewrite them to.

A quantity that is not in canonical form comes back from the server changed (`'1000'` returns as `1k`), which looks like
drift for ever after. So amounts are numbers (GPUs, slices, milli-CPUs, bytes) and become text here, once. Everything that
an API server writes is read here too, as a Fraction: a Decimal would round at 28 digits, and a float at 16.

Grammar, suffixes and canonical form: k8s.io/apimachinery `pkg/api/resource/quantity.go` and `suffix.go` (0.36.3). Its code is
more lenient than its grammar in one point: it reads a sign or a suffix alone (`-`, `Ki`) as 0. Nobody means that, and the
schema of a custom resource refuses it; so does `parse`.
"""

from __future__ import annotations

import re
from fractions import Fraction

DECIMAL: dict[str, Fraction] = {
    value: Fraction(10) ** power for value, power in zip("num", (-9, -6, -3), strict=True)
} | {value: Fraction(10) ** power for value, power in zip(("", *"kMGTPE"), range(0, 19, 3), strict=True)}
BINARY: dict[str, Fraction] = {f"{value}i": Fraction(2) ** (10 * power) for power, value in enumerate("KMGTPE", 1)}
SUFFIXES: dict[str, Fraction] = {**DECIMAL, **BINARY}
MAX_QUANTITY = 2**63 - 1  # a Quantity is an int64 at the API server

_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<parts>[0-9]*))?")
_EXPONENT = re.compile(r"[eE](?P<power>[+-]?[0-9]{1,3})")


def parse(text: str) -> Fraction:
    """The number that a quantity means, exactly: `1500m` → 3/2, `1Ki` → 1024, `.5` → 1/2, `1e3` → 1000.

    Raises ValueError, which names the part that is wrong.
    """
    match = _NUMBER.match(text)
    assert match is not None  # all of it may be absent
    whole, parts, suffix = match["whole"], match["parts"] or "", text[match.end() :]
    if not whole and not parts:
        raise ValueError(f"{_shown(text)} is not a quantity: it has no number before {_shown(suffix)}")
    if len(whole + parts) > 1000:
        raise ValueError(f"{_shown(text)} is not a quantity: its number has more than 1000 digits")
    if suffix in SUFFIXES:
        scale = SUFFIXES[suffix]
    elif exponent := _EXPONENT.fullmatch(suffix):
        scale = Fraction(10) ** int(exponent["power"])
    else:
        known = ", ".join(entry for entry in SUFFIXES if entry)
        raise ValueError(f"{_shown(text)} is not a quantity: {_shown(suffix)} is none of {known}, or e and an exponent")
    number = Fraction(int(whole + parts), 10 ** len(parts)) * scale
    return -number if match["sign"] == "-" else number


def amount(value: object) -> Fraction:
    """The number that an object of the API means, which gives it as text or as a number; 0 where it gives none."""
    try:
        return parse(str(value))
    except ValueError:
        return Fraction(0)


def whole(number: Fraction) -> int:
    """A part of one counts as one."""
    return -(-number.numerator // number.denominator)


def count_text(count: int | Fraction) -> str:
    """An amount of whole things (GPUs, slices, CPUs) as canonical text: 16 → `16`, 1000 → `1k`, 3/2 → `1500m`."""
    number = Fraction(count)
    for suffix, scale in reversed(DECIMAL.items()):
        if number and number % scale == 0:
            return f"{number / scale}{suffix}"
    return f"{whole(number / DECIMAL['n'])}n" if number else "0"  # finer than any suffix: as the server, up to the next


def milli_text(milli: int) -> str:
    """Milli-CPUs as canonical text: 14000 → `14`, 1500 → `1500m`."""
    return count_text(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def bytes_text(size: int) -> str:
    """Bytes as canonical text in powers of 1024: 120 × 2^30 → `120Gi`, 2048 × 2^30 → `2Ti`."""
    for suffix, scale in reversed(BINARY.items()):
        if size and size % scale == 0:
            return f"{size // scale}{suffix}"
    return count_text(size)


def _shown(text: str) -> str:
    return repr(text[:40])
