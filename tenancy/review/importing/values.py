"""A draft as the values of an agreement that `check` accepts; what it refuses is left out, in its words.

An agreement has nodes and quotas have none. So the capacity of a flavor is what its quotas come to, cut into nodes of the
size that is known or likely: then the pool is what stands on the root, and what is rendered owns what was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from ...agreement import Agreement, Finding, errors
from ...agreement.hardware import CPU_PER_GPU, MEBIBYTE, MEMORY_PER_GPU
from ...agreement.mig import GEOMETRY, PRODUCT_LABEL
from ...agreement.model import MAX_NODES
from ...objects.loading import validate
from ...text.quantity import bytes_text, milli_text
from .draft import DEFAULT_MEMORY_PER_CPU, DEFAULT_TEAM_LABEL, Draft, FlavorDraft, Shape, ShareDraft, TeamDraft
from .kueue import SLICE, NothingThere

Values = dict[str, Any]
LIKELY = {"gpu": 8, "slice": 8, "cpu": 64}
"""Devices of a node, or CPUs, where nothing says how many."""


def fitted(draft: Draft, shapes: Mapping[str, Shape]) -> tuple[Values, Agreement]:
    """The values, and the agreement they are. What `check` refuses goes to `draft.left`. Raises NothingThere."""
    while True:
        values = _values(draft, shapes)
        agreement, findings = validate(values)
        wrong = errors(findings)
        if agreement is not None and not wrong:
            return values, agreement
        for finding in wrong:
            if not _leave_out(draft, finding):
                raise NothingThere(f"these objects cannot become an agreement: {finding}")


def _leave_out(draft: Draft, finding: Finding) -> bool:
    """Takes the part of the draft that a finding is about; False where there is none to take."""
    why = f"{finding.message}; {finding.remedy}" if finding.remedy else finding.message
    match finding.path:
        case ("teams", str(name), "namespaces", int(place)) if name in draft.teams:
            team = draft.teams[name]
            draft.teams[name] = replace(team, namespaces=(*team.namespaces[:place], *team.namespaces[place + 1 :]))
            return place < len(team.namespaces)
        case ("teams", str(name), *_) if name in draft.teams:
            del draft.teams[name]
            draft.left[f"ClusterQueue/{name}"] = draft.left[f"Queue/{name}"] = f"it cannot be a team: {why}"
        case ("departments", str(name), *_) if name in draft.departments:
            del draft.departments[name]
            draft.left[f"Cohort/{name}"] = draft.left[f"Queue/{name}"] = f"it cannot be a department: {why}"
            for member, team_draft in draft.teams.items():
                if team_draft.department == name:
                    draft.teams[member] = replace(team_draft, department=None)
        case ("flavors", str(name), "topology") if name in draft.flavors:
            draft.flavors[name] = replace(draft.flavors[name], topology=None)
        case ("flavors", str(name), "taints", int(place), *_) if place < len(draft.flavors[name].taints):
            taints = draft.flavors[name].taints
            draft.flavors[name] = replace(draft.flavors[name], taints=(*taints[:place], *taints[place + 1 :]))
        case ("flavors", str(name), *_) if name in draft.flavors:
            del draft.flavors[name]
            draft.left[f"ResourceFlavor/{name}"] = f"it cannot be a flavor: {why}"
        case ("topologies", str(name), *_) if name in draft.topologies:
            del draft.topologies[name]
            draft.left[f"Topology/{name}"] = f"it cannot be a topology: {why}"
            for flavor, hardware in draft.flavors.items():
                if hardware.topology == name:
                    draft.flavors[flavor] = replace(hardware, topology=None)
        case ("priorities", str(name), *_) if name in draft.priorities:
            del draft.priorities[name]
            draft.left[f"WorkloadPriorityClass/{name}"] = f"it cannot be a priority: {why}"
        case ("sharing", str(key), *_) if key in draft.sharing:
            del draft.sharing[key]
        case _:
            return False
    return True


def _values(draft: Draft, shapes: Mapping[str, Shape]) -> Values:
    """In the order of a file that a person would write."""
    cluster: Values = {"name": draft.cluster}
    if draft.team_label != DEFAULT_TEAM_LABEL:
        cluster["team_label"] = draft.team_label
    if draft.guarantee_on != "cohort":
        cluster["guarantee_on"] = draft.guarantee_on
    values: Values = {
        "cluster": cluster,
        "topologies": {name: {"levels": list(levels)} for name, levels in draft.topologies.items()},
        "flavors": {name: _flavor(draft, name, shapes.get(name)) for name in draft.flavors},
        "priorities": dict(draft.priorities),
        "sharing": dict(draft.sharing),
        "departments": {
            name: _named(department_draft.display_name, name) | _weight(department_draft.weight)
            for name, department_draft in draft.departments.items()
        },
        "teams": {name: _team(draft, name, team) for name, team in draft.teams.items()},
    }
    return {key: value for key, value in values.items() if value or key in ("cluster", "flavors")}


def _team(draft: Draft, name: str, team: TeamDraft) -> Values:
    made = _named(team.display_name, name)
    if team.department:
        made["department"] = team.department
    shares = {flavor: team.shares.get(flavor, ShareDraft()) for flavor in draft.flavors}
    promises = {
        "guaranteed": {
            flavor: share_draft.guaranteed for flavor, share_draft in shares.items() if share_draft.guaranteed
        },
        "lendable": {
            flavor: share_draft.lendable
            for flavor, share_draft in shares.items()
            if share_draft.lendable != share_draft.guaranteed
        },
        "borrowable": {
            flavor: share_draft.borrowable
            for flavor, share_draft in shares.items()
            if share_draft.borrowable is not None
        },
        "prod": {flavor: share_draft.prod for flavor, share_draft in shares.items() if share_draft.prod},
    }
    for promise, amounts in promises.items():
        if amounts:
            written = {flavor: _amount(amount, draft.flavors[flavor]) for flavor, amount in amounts.items()}
            made[promise] = next(iter(written.values())) if len(draft.flavors) == 1 else written
    made |= _weight(team.weight)
    if team.namespaces:
        made["namespaces"] = list(team.namespaces)
    return made


def _amount(amount: int, flavor: FlavorDraft) -> int | str:
    return f"{amount} cpu" if flavor.unit == "cpu" else amount


# --- flavors ----------------------------------------------------------------------------------------------------------


def _flavor(draft: Draft, name: str, shape: Shape | None) -> Values:
    flavor_draft = draft.flavors[name]
    capacity = flavor_draft.pool + sum(
        team.shares[name].guaranteed for team in draft.teams.values() if name in team.shares
    )
    slices, mig = _cut(flavor_draft, capacity) if flavor_draft.unit == "slice" else (1, {})
    known = replace(shape, units=max(shape.units // slices, 1)) if shape else None
    nodes, devices = _nodes(max(ceil(capacity / slices), 1), known, LIKELY[flavor_draft.unit])
    made: Values = {"nodes": nodes}
    match flavor_draft.unit:
        case "cpu":
            made["cpu_per_node"] = devices
            per_cpu = max((flavor_draft.memory or DEFAULT_MEMORY_PER_CPU) // MEBIBYTE, 1) * MEBIBYTE
            made["memory_per_node"] = _memory(per_cpu * devices)
        case "gpu":
            made["gpus_per_node"] = devices
            made |= _ratios(flavor_draft, "gpu", CPU_PER_GPU, MEMORY_PER_GPU)
        case "slice":
            made |= {"gpus_per_node": devices, "mig": mig}
            per_gpu = max(MEMORY_PER_GPU * devices // (devices * slices) // MEBIBYTE, 1) * MEBIBYTE
            made |= _ratios(flavor_draft, "slice", max(CPU_PER_GPU * devices // (devices * slices), 1), per_gpu)
    if flavor_draft.node_labels:
        made["node_labels"] = dict(flavor_draft.node_labels)
    if flavor_draft.taints:
        made["taints"] = [dict(taint) for taint in flavor_draft.taints]
    if flavor_draft.topology:
        made["topology"] = flavor_draft.topology
    return made


def _ratios(flavor: FlavorDraft, unit: str, cpu: int, memory: int) -> Values:
    """Only where they are not what an agreement takes anyway."""
    made: Values = {}
    if flavor.cpu and flavor.cpu != cpu:
        made[f"cpu_per_{unit}"] = flavor.cpu // 1000 if flavor.cpu % 1000 == 0 else milli_text(flavor.cpu)
    if flavor.memory and flavor.memory != memory:
        made[f"memory_per_{unit}"] = _memory(flavor.memory)
    return made


def _nodes(capacity: int, shape: Shape | None, likely: int) -> tuple[int, int]:
    """Nodes, and devices of one. Without a shape the largest size up to the likely one that leaves no rest."""
    if shape and shape.exact:
        return shape.nodes, shape.units
    if shape:
        return ceil(capacity / shape.units), shape.units
    per_node = next(number for number in range(min(likely, capacity), 0, -1) if capacity % number == 0)
    return (capacity // per_node, per_node) if capacity // per_node <= MAX_NODES else (1, capacity)


def _cut(flavor: FlavorDraft, capacity: int) -> tuple[int, Values]:
    """Slices of a GPU, and `mig`: of the products that can be cut so the one that the nodes' label names, and as many
    slices as fit, or fewer where only then the capacity is a number of whole GPUs."""
    profile = flavor.resource.removeprefix(SLICE)
    products = [value for value, profiles in GEOMETRY.items() if profile in profiles]
    label = flavor.node_labels.get(PRODUCT_LABEL, "")
    product = max(products, key=lambda product: all(part in label for part in product.split("-")), default="A100-80GB")
    most = GEOMETRY[product].get(profile, 1)
    slices = next((number for number in range(most, 0, -1) if capacity % number == 0), most)
    mig: Values = {"gpu": product, "profile": profile}
    return slices, mig | ({} if slices == most else {"slices": slices})


def _memory(amount: int) -> str:
    """Bytes as the agreement takes them, which wants a unit: less than a KiB is cut off where there is none."""
    text = bytes_text(amount)
    return bytes_text(max(amount // 1024, 1) * 1024) if text.isdigit() else text


def _named(display_name: str | None, name: str) -> Values:
    return {"display_name": display_name} if display_name and display_name != name else {}


def _weight(thousandths: int) -> Values:
    if thousandths == 1000:
        return {}
    return {"weight": thousandths // 1000 if thousandths % 1000 == 0 else thousandths / 1000}
