"""Hypothesis strategies: agreements that are right, in numbers or in all their keys, and files that are damaged."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from samples import LAB, PRODUCTION

from tenancy.agreement import Agreement

# --- agreements without errors, with numbers a person can add up ------------------------------------------------------


@st.composite
def amounts(draw: st.DrawFn, flavors: dict[str, int], share: int) -> dict[str, int]:
    """What one team is guaranteed: of each flavor at most its share of the capacity."""
    return {name: draw(st.integers(0, capacity // share)) for name, capacity in flavors.items() if draw(st.booleans())}


@st.composite
def agreements(draw: st.DrawFn, most_flavors: int = 3) -> dict[str, Any]:
    """The values of a small agreement that has no error."""
    names = [f"f{number}" for number in range(draw(st.integers(1, most_flavors)))]
    teams = [f"t{number}" for number in range(draw(st.integers(1, 5)))]
    departments = [f"d{number}" for number in range(draw(st.integers(0, 2)))]
    flavors = {name: {"nodes": draw(st.integers(1, 4)), "gpus_per_node": draw(st.integers(1, 8))} for name in names}
    capacity = {name: flavor["nodes"] * flavor["gpus_per_node"] for name, flavor in flavors.items()}
    return {
        "cluster": {"name": "c", "guarantee_on": draw(st.sampled_from(["cohort", "queue"]))},
        "flavors": flavors,
        "departments": {name: {} for name in departments},
        "teams": {name: draw(team(capacity, len(teams), departments)) for name in teams},
    }


@st.composite
def team(draw: st.DrawFn, capacity: dict[str, int], share: int, departments: list[str]) -> dict[str, Any]:
    guaranteed = draw(amounts(capacity, share))

    def part(most: Callable[[str], int]) -> dict[str, int]:
        return {name: draw(st.integers(0, most(name))) for name in capacity if draw(st.booleans())}

    made: dict[str, Any] = {
        "guaranteed": guaranteed,
        "lendable": part(lambda name: guaranteed.get(name, 0)),
        "prod": part(lambda name: guaranteed.get(name, 0)),
        "borrowable": part(lambda name: capacity[name] + 2),
    }
    if departments and draw(st.booleans()):
        made["department"] = draw(st.sampled_from(departments))
    return made


# --- agreements that may say everything --------------------------------------------------------------------------------


def table(required: dict[str, Any] | None = None, /, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """A table with some of its optional keys. What is no strategy is a value that stays."""
    fixed, drawn = (
        {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in keys.items()}
        for keys in (required or {}, optional)
    )
    return st.fixed_dictionaries(fixed, optional=drawn)


SIZES = st.sampled_from(["1Gi", "15Gi", "64Gi"])
DURATIONS = st.sampled_from(["1s", "5m", "2h", "7d"])
WEIGHTS = st.sampled_from([0, 0.5, 1, 3])
NAMES_TO_SHOW = st.sampled_from(["One", "Zwei & drei", "四"])
STRATEGIES_OF_KUEUE = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
TAINTS = table(
    {"key": "nvidia.com/gpu", "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])},
    value="present",
)
FULL_FLAVORS = {
    "cpu": table(
        {"nodes": st.integers(1, 4), "cpu_per_node": 64, "memory_per_node": SIZES, "node_labels": {"pool": "cpu"}}
    ),
    "gpu": table(
        {"nodes": st.integers(1, 4), "gpus_per_node": 8, "node_labels": {"pool": "gpu"}},
        cpu_per_gpu=st.integers(1, 16),
        memory_per_gpu=SIZES,
        taints=st.lists(TAINTS, max_size=1),
        topology="racks",
    ),
    "cut": table(
        {
            "nodes": st.integers(1, 4),
            "gpus_per_node": 8,
            "node_labels": {"pool": "cut"},
            "mig": table(
                {
                    "gpu": st.sampled_from(["A100-80GB", "H100-80GB"]),
                    "profile": st.sampled_from(["1g.10gb", "1g.20gb"]),
                },
                strategy=st.sampled_from(["mixed", "single"]),
                slices=st.integers(1, 4),
            ),
        },
        cpu_per_slice=st.integers(1, 4),
        memory_per_slice=SIZES,
    ),
}
"""By name; every capacity is 8 or more, so that a team may be guaranteed 2 of each."""


def full_team(name: str) -> st.SearchStrategy[dict[str, Any]]:
    part = table(gpu=st.integers(0, 2), cut=st.integers(0, 2))
    return table(
        {"guaranteed": {"cpu": "2 cpu", "gpu": 2, "cut": 2}},
        display_name=NAMES_TO_SHOW,
        department="d",
        lendable=part,
        borrowable=part,
        prod=part,
        weight=WEIGHTS,
        highest_priority=st.sampled_from(["low", "high"]),
        members=st.just([f"{name}-people"]),
        leads=st.just([f"{name}-leads"]),
        namespaces=st.just([f"{name}-one", f"{name}-two"]),
        profiles=st.just({f"{name}-alice": "alice@example.com"}),
        machines=table(
            {"namespace": f"{name}-vms", "count": st.integers(0, 9), "vcpus": st.integers(1, 8), "memory": SIZES}
        ),
    )


def full_agreements() -> st.SearchStrategy[dict[str, Any]]:
    """The values of an agreement without an error, in which any key of the model may be said."""
    sharing = table(
        policy="fair",
        usage=table(half_life=DURATIONS, sampling_interval=DURATIONS, resource_weights={"cpu": 0.5}),
        preempt_min_runtime=DURATIONS,
        reclaim_min_runtime=DURATIONS,
    )
    fair = table({"policy": "fair"}, preemption_strategies=STRATEGIES_OF_KUEUE)
    access = table(
        {"platform_groups": ["platform"]},
        exempt_namespaces=["monitoring"],
        default_cpu=st.integers(1, 4),
        default_memory=SIZES,
    )
    cluster = table(
        {"name": "c"},
        team_label="example.com/team",
        guarantee_on=st.sampled_from(["cohort", "queue"]),
        prod_priority=st.sampled_from(["low", "high"]),
    )
    return table(
        {
            "cluster": cluster,
            "topologies": {"racks": {"levels": ["example.com/rack", "kubernetes.io/hostname"]}},
            "flavors": table(FULL_FLAVORS),
            "priorities": {"low": 1, "high": 1000},
            "departments": table({"d": table(display_name=NAMES_TO_SHOW, weight=WEIGHTS)}),
            "teams": table({name: full_team(name) for name in ("t0", "t1")}),
        },
        sharing=st.one_of(sharing, fair),
        access=access,
    )


def as_agreement(values: dict[str, Any]) -> Agreement:
    return Agreement.model_validate(values)


# --- damage ---------------------------------------------------------------------------------------------------------

DEEP = 10_000
# A value of each kind of TOML, and those that programs trip over.
VALUES = (
    *(
        "true",
        "false",
        "0",
        "-1",
        "8",
        "0x10",
        "0o7",
        "0b1",
        "1_000",
        "1e400",
        "8.0",
        "7.5",
        "-0.0",
        "inf",
        "-inf",
        "nan",
    ),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" + "0" * 30, "1" + "0" * 5000),
    "0x" + "f" * 8000,
    *("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "0000-00-00", "9999-12-31T23:59:60Z"),
    *(
        '""',
        "''",
        '"x"',
        '"8"',
        '"8 gpu"',
        '"640 cpu"',
        '"1e3"',
        '"120Gi"',
        '"-5Gi"',
        '"0x1f"',
        '"\\u0000"',
        '"\\ud800"',
    ),
    *('"\\U0001F680"', '"\\u2028"', '"\\u202e"', "'" + "x" * 10_000 + "'", '"{}"', '"%s"', '"[bold]"'),
    *(
        "[]",
        "{}",
        "[1]",
        "[[]]",
        "[{}]",
        "{ a = 1 }",
        "{ gpu = 8 }",
        "[1, 'a', 1.5, {}]",
        "{ gpu = { gpu = { gpu = 1 } } }",
    ),
    *('{ namespace = "x", count = 1, vcpus = 1, memory = "1Gi" }', '{ x = "y" }', '["x", "x"]', '"7d"', "0.5", "1e-9"),
    *("{ key = 1 }", "[{ key = 'a', effect = 'NoSchedule' }]", '{ "a b" = 8 }', '{ "" = 8 }'),
    *("[" * DEEP, "[" * DEEP + "]" * DEEP, "{a=" * DEEP, "{a=" * 200 + "1" + "}" * 200, "[" * 50 + "]" * 50),
)
KEYS = (
    *(
        "name",
        "nodes",
        "guaranteed",
        "lendable",
        "prod",
        "borrowable",
        "mig",
        "taints",
        "levels",
        "topology",
        "x",
        "gpu",
    ),
    *('""', "''", '"a b"', '"\\u0000"', "'é'", "1", "1.5", "true", "inf", "a" * 5000, ".".join("a" * DEEP)),
    *("weight", "namespaces", "members", "profiles", "machines", "policy", "usage", "half_life", "platform_groups"),
    *("a.b.c", "teams.a", "teams.training.guaranteed", "cluster.name", "flavors.gpu.nodes"),
)
HEADERS = (
    *("cluster", "flavors", "flavors.gpu", "teams", "teams.training", "teams.training.guaranteed", "departments", "x"),
    *("sharing", "sharing.usage", "access", "teams.training.machines", "teams.training.profiles"),
    *("priorities", "topologies", "flavors.gpu.mig", "flavors.gpu.taints", "teams.a.b.c.d", ".".join("t" * DEEP), '""'),
)
LINES = st.one_of(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)).map(" = ".join),
    st.sampled_from(HEADERS).map("[{}]".format),
    st.sampled_from(HEADERS).map("[[{}]]".format),
    st.sampled_from(
        ["#", "\t", "\ufeff", "=", "[", "]]", '"', "'''", '"""', "\\", "\x00", "\x1f", "a", "\r", "\u2028"]
    ),
    st.text(max_size=20),
)
BASES = (LAB, LAB, PRODUCTION.read_text("utf-8"))


def _parses(value: str) -> bool:
    try:
        return bool(tomllib.loads(f"x = {value}"))
    except (ValueError, RecursionError):
        return False


TOML_VALUES = tuple(filter(_parses, VALUES))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file after one to four injuries: to its values, its lines, its bytes. Every other is still TOML, mostly."""
    lines = draw(st.sampled_from(BASES)).split("\n")
    gentle = draw(st.booleans())
    values = TOML_VALUES if gentle else VALUES
    kinds = ["value", "value", "value", "delete"] + ([] if gentle else ["key", "insert", "double", "swap", "cut"])
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(kinds)):
            case "value" if "=" in lines[at] or not gentle:
                lines[at] = f"{lines[at].partition('=')[0] or 'x'}= {draw(st.sampled_from(values))}"
            case "key":
                lines[at] = f"{draw(st.sampled_from(KEYS))} ={lines[at].partition('=')[2] or ' 1'}"
            case "insert":
                lines.insert(at, draw(LINES))
            case "delete" if len(lines) > 1:
                del lines[at]
            case "double":
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
    text = "\n".join(lines)
    return text.encode("utf-8", "surrogatepass") if gentle else draw(encoded(text))


@st.composite
def encoded(draw: st.DrawFn, text: str) -> bytes:
    """The bytes of a text, one in ten in another encoding, one in ten with a few bytes changed."""
    how = draw(st.integers(0, 9))
    if how == 0:
        return text.encode(draw(st.sampled_from(["utf-16", "utf-32", "utf-8-sig"])), "replace")
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.integers(1, 3)) if how == 1 and data else 0):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


def paths(values: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in plain values, the whole included."""
    items = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    return [path, *(inner for key, value in items for inner in paths(value, (*path, key)))]
