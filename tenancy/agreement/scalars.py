"""The scalars of an agreement: what a number, a quantity or a duration may look like in the file, and its JSON Schema.

Each is read by a function of its own, so that what is wrong with it comes with what would be right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, PlainValidator, Tag
from pydantic_core import PydanticCustomError

from ..text import quantity

MAX_AMOUNT = 10**9
SCALAR, TABLE = "(scalar)", "(table)"
_AMOUNT = re.compile(r"(?P<count>[0-9]+)( +(?P<unit>gpu|slice|cpu)s?)?")
_AMOUNT_EXAMPLE = 'write a whole number such as 8, or "640 cpu"'


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of GPUs, slices or CPUs as the file wrote it; `unit` is empty where it wrote a bare number."""

    count: int
    unit: Literal["", "gpu", "slice", "cpu"] = ""


def _amount(value: object) -> Amount:
    if isinstance(value, Amount):
        return value
    if isinstance(value, str):
        return _amount_text(value)
    if isinstance(value, bool) or not isinstance(value, int):
        whole = isinstance(value, float) and abs(value) <= MAX_AMOUNT and value.is_integer()
        remedy = f"write {value:.0f}" if whole else _AMOUNT_EXAMPLE
        raise _problem(f"{shown(value)} is not a whole number of GPUs, slices or CPUs", remedy)
    return _amount_in_range(value, "")


def _amount_text(text: str) -> Amount:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise _problem(f"{shown(text)} is not a quantity of GPUs, slices or CPUs", _AMOUNT_EXAMPLE)
    digits, unit = match["count"].lstrip("0") or "0", match["unit"] or ""
    if len(digits) > 12:
        raise _problem(f"{shown(text)} is too large", f"at most {MAX_AMOUNT} is possible")
    return _amount_in_range(int(digits), unit)  # type: ignore[arg-type]


def _amount_in_range(count: int, unit: Literal["", "gpu", "slice", "cpu"]) -> Amount:
    if count < 0:
        raise _problem(f"{shown(count)} is negative", "write 0 or more")
    if count > MAX_AMOUNT:
        raise _problem(f"{shown(count)} is too large", f"at most {MAX_AMOUNT} is possible")
    return Amount(count, unit)


def _quantity(parse: Callable[[str], int], example: str) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise _problem(f"{shown(value)} is not a quantity", f"write one such as {example}")
        if isinstance(value, int) and abs(value) > quantity.MAX_QUANTITY:
            raise _problem(f"{shown(value)} is too large", f"write one such as {example}")
        try:
            number = parse(str(value))
        except ValueError as error:
            raise _problem(str(error), f"write one such as {example}") from None
        if number == 0:
            raise _problem(
                f"{shown(value)} is zero, and Kueue could never admit a job then", f"write one such as {example}"
            )
        return number

    return read


def cpu(text: str) -> int:
    """`14`, `0.5` or `1500m` in milli-CPUs. Raises ValueError when it is none or finer than 1m."""
    return _whole(text, 1000, "1m")


def memory(text: str) -> int:
    """`120Gi` or `64G` in bytes. Raises ValueError when it is none, has no unit or not whole bytes."""
    if text.isascii() and text.isdigit():
        raise ValueError(f"{text[:40]} has no unit and would mean bytes")
    if text.endswith("m"):
        raise ValueError(f"{text[:40]!r} is not a quantity of memory: m counts thousandths of a byte")
    return _whole(text, 1, "one byte")


def _whole(text: str, per_one: int, smallest: str) -> int:
    """A file may write fewer quantities than Kubernetes reads: those that a reader takes in at a glance."""
    if re.fullmatch(_CPU_PATTERN, text) is None:
        raise ValueError(f"{text[:40]!r} is not a quantity")
    number = quantity.parse(text) * per_one
    if number.denominator != 1:
        raise ValueError(f"{text!r} is finer than {smallest}")
    if number > quantity.MAX_QUANTITY:
        raise ValueError(f"{text!r} is more than an API server can hold (2^63 - 1)")
    return int(number)


def _by_shape(value: object) -> str:
    return TABLE if isinstance(value, Mapping) else SCALAR


def _problem(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("tenancy", "{message}", {"message": message, "remedy": remedy})


def shown(value: object) -> str:
    """A value as an error may quote it: short, whatever was in the file."""
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of more than 60 digits"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value) if isinstance(value, str | int | float) else f"a {_KIND.get(type(value), type(value).__name__)}"
    return text if len(text) <= 60 else text[:57] + "…"


_KIND: dict[type, str] = {dict: "table", list: "list", tuple: "list"}
_AMOUNT_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": MAX_AMOUNT},
        {"type": "string", "pattern": "^[0-9]+( +(gpu|slice|cpu)s?)?$"},
    ]
}
_SUFFIXES = "(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)"
_CPU_PATTERN = f"^[0-9]{{1,19}}([.][0-9]{{1,9}})?(m|{_SUFFIXES})?$"
_CPU_SCHEMA = {
    "anyOf": [
        {"type": "integer", "exclusiveMinimum": 0, "maximum": quantity.MAX_QUANTITY},
        {"type": "string", "pattern": _CPU_PATTERN},
    ]
}
_MEMORY_SCHEMA = {"type": "string", "pattern": f"^[0-9]{{1,19}}([.][0-9]{{1,9}})?{_SUFFIXES}$"}


class _Schema:
    """Gives a field read by our own function its JSON Schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return self.schema


OneAmount = Annotated[Amount, PlainValidator(_amount), _Schema(_AMOUNT_SCHEMA)]
Amounts = Annotated[
    Annotated[OneAmount, Tag(SCALAR)] | Annotated[dict[str, OneAmount], Tag(TABLE)],
    Discriminator(_by_shape),
]
Cpu = Annotated[int, PlainValidator(_quantity(cpu, '14 or "1500m"')), _Schema(_CPU_SCHEMA)]
Memory = Annotated[int, PlainValidator(_quantity(memory, '"120Gi"')), _Schema(_MEMORY_SCHEMA)]


def as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _duration(value: object) -> int:
    example = 'write one such as "90s", "5m", "1h30m" or "7d"'
    if not isinstance(value, str) or not value or (match := _DURATION.fullmatch(value)) is None:
        raise _problem(f"{shown(value)} is not a duration", example)
    seconds = sum(int(number) * SECONDS[unit] for unit, number in match.groupdict().items() if number)
    if seconds > MAX_SECONDS:
        raise _problem(f"{shown(value)} is too long", "at most 100 years are possible")
    return seconds


def _weight(value: object) -> int:
    example = "write a number such as 1, 2 or 0.5"
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise _problem(f"{shown(value)} is not a weight", example)
    if value < 0:
        raise _problem(f"{shown(value)} is negative", "write 0 or more")
    if value > MAX_WEIGHT:
        raise _problem(f"{shown(value)} is too large", f"at most {MAX_WEIGHT} is possible")
    thousandths = round(value * 1000)
    if abs(value * 1000 - thousandths) > 1e-6:
        raise _problem(f"{shown(value)} is finer than 0.001", example)
    return thousandths


MAX_SECONDS = 100 * 365 * 86400
MAX_WEIGHT = 1_000_000
_DURATION = re.compile(r"((?P<d>\d{1,9})d)?((?P<h>\d{1,9})h)?((?P<m>\d{1,9})m)?((?P<s>\d{1,9})s)?", re.ASCII)
SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION_SCHEMA = {
    "type": "string",
    "pattern": "^([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?$",
    "minLength": 2,
}
_WEIGHT_SCHEMA = {"type": "number", "minimum": 0, "maximum": MAX_WEIGHT, "multipleOf": 0.001}
Duration = Annotated[int, PlainValidator(_duration), _Schema(_DURATION_SCHEMA)]
"""Whole seconds."""
Weight = Annotated[int, PlainValidator(_weight), _Schema(_WEIGHT_SCHEMA)]
"""Thousandths."""
Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
