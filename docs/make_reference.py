"""Writes `docs/reference.md` from the model, so that the reference cannot say what the loader does not do.

`python docs/make_reference.py` writes it, `--check` exits 1 where it is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tenancy.agreement import Agreement

PAGE = Path(__file__).parent / "reference.md"
HEADINGS = {
    "Cluster": "[cluster]",
    "Flavor": "[flavors.NAME]",
    "Mig": "mig = { … }",
    "Taint": "taints = [{ … }]",
    "Topology": "[topologies.NAME]",
    "Department": "[departments.NAME]",
    "Team": "[teams.NAME]",
    "Machines": "[teams.NAME.machines]",
    "Sharing": "[sharing]",
    "UsageSharing": "[sharing.usage]",
    "Access": "[access]",
}


def page() -> str:
    schema = Agreement.model_json_schema(mode="validation")
    lines = [
        "# Reference: tenancy.toml",
        "",
        "Made from the model by `python docs/make_reference.py`. Keys that are not here are refused.",
        "The same as a JSON Schema, for editors: `tenancy schema`.",
        "",
        'An *amount* is a whole number of GPUs or MIG slices (`8`), or text with its unit (`"640 cpu"`, `"8 gpu"`, `"14 slices"`);',
        "of a flavor without GPUs only the latter. A *quantity* is as Kubernetes writes it (`120Gi`, `1500m`). A *duration* is days,",
        "hours, minutes and seconds in that order (`90s`, `5m`, `1h30m`, `7d`).",
        "",
        "## The whole file",
        "",
        *_table(schema),
    ]
    for name, heading in HEADINGS.items():
        definition = schema["$defs"][name]
        lines += ["", f"## {heading}", "", _sentence(definition), "", *_table(definition)]
    return "\n".join(lines) + "\n"


def _table(definition: dict[str, Any]) -> Iterator[str]:
    yield "| key | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for key, field in definition["properties"].items():
        default = "**required**" if key in definition.get("required", []) else _default(field)
        example = f" Example: `{_toml(field['examples'][0])}`." if field.get("examples") else ""
        yield f"| `{key}` | {_type(field)} | {default} | {field.get('description', '')}{example} |"


def _type(field: dict[str, Any]) -> str:
    match field:
        case {"enum": values}:
            return " or ".join(f'`"{value}"`' for value in values)
        case {"$ref": ref}:
            return f"table, see {HEADINGS[ref.rsplit('/', 1)[1]]}"
        case {"anyOf": [{"type": "integer"}, {"pattern": _}]}:
            return "amount"
        case {"anyOf": choices} | {"oneOf": choices}:
            return " or ".join(dict.fromkeys(_type(choice) for choice in choices if choice.get("type") != "null"))
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
        case {"type": "number"}:
            return f"number{_bounds(field)}"
        case {"type": "string", "pattern": str(pattern)} if "d)" in pattern and "h)" in pattern:
            return "duration"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"table of {_type(values)}"
        case {"type": "integer"}:
            return f"whole number{_bounds(field)}"
        case {"type": "string"}:
            return "text"
        case _:
            raise ValueError(f"the reference has no word for {field}")


def _bounds(field: dict[str, Any]) -> str:
    low, high = field.get("minimum", field.get("exclusiveMinimum")), field.get("maximum")
    if low is None and high is None:
        return ""
    return f" ≥ {low}" if high is None else f" {low} … {high}"


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "–" if default in (None, [], {}, "") else f"`{_toml(default)}`"


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(entry)}" for key, entry in value.items()) + " }"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else f'"{key}"'


def _sentence(definition: dict[str, Any]) -> str:
    text = str(definition.get("description", "")).partition(": ")[2]
    return text[:1].upper() + text[1:]


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE} is stale: run python docs/make_reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
