"""The agreement as types: what the file may say, and nothing else.

Every table refuses keys it does not know, every value is strict (no text that looks like a number, no 8.0 for 8), and
the result is frozen. What one table says about another (a team's flavor, a sum against a capacity) is not judged here
but in `checks`, so that a person sees every problem of a file at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, PlainValidator, Tag
from pydantic_core import PydanticCustomError

from . import quantity

MAX_NODES = 1_000_000
MAX_AMOUNT = 10**9
SCALAR, TABLE = "(scalar)", "(table)"
_AMOUNT = re.compile(r"(?P<count>[0-9]+)( +(?P<unit>gpu|slice|cpu)s?)?")
_AMOUNT_EXAMPLE = 'write a whole number such as 8, or "640 cpu"'


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of GPUs, slices or CPUs as the file wrote it; `unit` is empty where it wrote a bare number."""

    count: int
    unit: Literal["", "gpu", "slice", "cpu"] = ""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, str_max_length=4096, defer_build=True)


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
                f"{shown(value)} is zero, and a job without it could never be admitted", f"write one such as {example}"
            )
        return number

    return read


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
_CPU_SCHEMA = {
    "anyOf": [
        {"type": "integer", "exclusiveMinimum": 0, "maximum": quantity.MAX_QUANTITY},
        {"type": "string", "pattern": f"^[0-9]{{1,19}}([.][0-9]{{1,9}})?(m|{_SUFFIXES})?$"},
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
Cpu = Annotated[int, PlainValidator(_quantity(quantity.parse_milli, '14 or "1500m"')), _Schema(_CPU_SCHEMA)]
Memory = Annotated[int, PlainValidator(_quantity(quantity.parse_bytes, '"120Gi"')), _Schema(_MEMORY_SCHEMA)]


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class Cluster(_Table):
    """`[cluster]`: the cluster the agreement is for."""

    name: str = Field(description="The cluster's name, also the name of Kueue's root Cohort.", examples=["lab"])
    team_label: str = Field(
        default="tenancy.dev/team",
        description="A namespace belongs to the team that this label of it names.",
    )
    guarantee_on: Literal["cohort", "queue"] = Field(
        default="cohort",
        description="Where the guarantee of a team with a prod slice stands: on the team's Cohort, or on its regular queue.",
    )


class Topology(_Table):
    """`[topologies.NAME]`: node labels from the widest domain to the narrowest."""

    levels: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = Field(
        description="Node label keys, widest first; `kubernetes.io/hostname` only last. 1 to 16.",
        examples=[["topology.kubernetes.io/zone", "kubernetes.io/hostname"]],
    )


class Mig(_Table):
    """`mig = {…}`: how each GPU of a flavor is cut."""

    gpu: str = Field(description="The GPU product in NVIDIA's MIG table.", examples=["A100-80GB"])
    profile: str = Field(description="The profile each GPU is cut into.", examples=["1g.10gb"])
    strategy: Literal["mixed", "single"] = Field(
        default="mixed",
        description="The device plugin's MIG strategy: slices are `nvidia.com/mig-…` (mixed) or `nvidia.com/gpu` (single).",
    )
    slices: int | None = Field(
        default=None, ge=1, le=64, description="Slices cut per GPU; default: as many of the profile as fit."
    )


class Taint(_Table):
    """`taints = [{…}]`: a taint of the flavor's nodes; jobs that are given the flavor get the matching toleration."""

    key: str = Field(description="The taint's key.", examples=["nvidia.com/gpu"])
    value: str = Field(default="", description="The taint's value.", examples=["present"])
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(description="What the taint does.")


class Flavor(_Table):
    """`[flavors.NAME]`: a kind of hardware, in whole nodes, and how CPU and memory follow its GPUs."""

    nodes: int = Field(ge=0, le=MAX_NODES, description="Nodes of this flavor.")
    gpus_per_node: int = Field(default=0, ge=0, le=1024, description="GPUs per node; 0 or absent: a CPU flavor.")
    cpu_per_node: Cpu | None = Field(default=None, description="CPUs per node that jobs may use.")
    memory_per_node: Memory | None = Field(default=None, description="Memory per node that jobs may use.")
    cpu_per_gpu: Cpu | None = Field(default=None, description="CPUs that go with each GPU of quota.")
    memory_per_gpu: Memory | None = Field(default=None, description="Memory that goes with each GPU of quota.")
    cpu_per_slice: Cpu | None = Field(default=None, description="CPUs that go with each MIG slice of quota.")
    memory_per_slice: Memory | None = Field(default=None, description="Memory that goes with each MIG slice of quota.")
    mig: Mig | None = Field(default=None, description="Cut every GPU of the flavor into MIG slices.")
    node_labels: dict[str, str] = Field(
        default_factory=dict,
        description="Labels that every node of the flavor carries, and no other node; default: `tenancy.dev/flavor` = its name.",
    )
    taints: Annotated[tuple[Taint, ...], BeforeValidator(_as_tuple)] = Field(
        default=(), description="Taints of the flavor's nodes."
    )
    topology: str | None = Field(default=None, description="The topology its nodes are labelled for.")


class Department(_Table):
    """`[departments.NAME]`: a group of teams; their capacity is summed in a Cohort of its own."""

    display_name: str | None = Field(default=None, description="The name to show to people.")


class Team(_Table):
    """`[teams.NAME]`: what a team is promised. Amounts are a number (one flavor) or a table by flavor."""

    display_name: str | None = Field(default=None, description="The name to show to people.")
    department: str | None = Field(default=None, description="The department the team belongs to.")
    guaranteed: Amounts = Field(
        default_factory=dict, description="Available to the team whenever it asks, within the time a reclaim takes."
    )
    lendable: Amounts = Field(
        default_factory=dict,
        description="The part of guaranteed that others may use while it is idle; default: all of it.",
    )
    borrowable: Amounts = Field(
        default_factory=dict,
        description="How far above guaranteed the team may go on what others lend; default: no limit.",
    )
    prod: Amounts = Field(
        default_factory=dict,
        description="A slice of guaranteed for jobs that never borrow and take it back at once; default: 0.",
    )


class Agreement(_Table):
    """The whole file: a cluster, its flavors, and what each team is promised of them."""

    cluster: Cluster = Field(description="The cluster the agreement is for.")
    topologies: dict[str, Topology] = Field(default_factory=dict, description="How nodes are packed, by name.")
    flavors: dict[str, Flavor] = Field(description="The kinds of hardware, in the order jobs try them.")
    priorities: dict[str, Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]] = Field(
        default_factory=dict, description="WorkloadPriorityClasses by name; a value is an int32, higher goes first."
    )
    departments: dict[str, Department] = Field(default_factory=dict, description="Groups of teams.")
    teams: dict[str, Team] = Field(default_factory=dict, description="The teams, in the order of the file.")
