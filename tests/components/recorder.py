"""A Pulumi engine for unit tests: it refuses what the real one refuses, and keeps what Pulumi's own mocks forget.

Pulumi's mock monitor takes the same URN twice without a word and shows no test the options of a resource; both are where
components go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi.runtime import mocks, set_mocks


@dataclass(frozen=True)
class Registered:
    """One registration as the engine gets it. `inputs` are the plain values that go over the wire."""

    urn: str
    type: str
    name: str
    parent: str
    inputs: dict[str, Any]
    depends_on: tuple[str, ...]
    protect: bool
    provider: str
    timeouts: tuple[str, str, str]
    delete_before_replace: bool
    replace_on_changes: tuple[str, ...]
    retained: bool | None
    """None: as the parent, which the engine sees to."""
    outputs: dict[str, Any]

    @property
    def is_object(self) -> bool:
        return self.type.startswith("kubernetes:")


class _Echo(mocks.Mocks):
    """Each resource comes out as it went in."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        return {}


class Recorder(mocks.MockMonitor):
    def __init__(self) -> None:
        super().__init__(_Echo())
        self.made: dict[str, Registered] = {}

    def RegisterResource(self, request: Any) -> Any:
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == "pulumi:pulumi:Stack":
            return super().RegisterResource(request)
        if urn in self.made:
            raise AssertionError(f"Duplicate resource URN {urn!r}; try giving it a unique name")
        timeouts = request.customTimeouts
        self.made[urn] = Registered(
            urn=urn,
            type=request.type,
            name=request.name,
            parent=request.parent,
            inputs=json_format.MessageToDict(request.object),
            depends_on=tuple(request.dependencies),
            protect=request.protect,
            provider=request.provider,
            timeouts=(timeouts.create, timeouts.update, timeouts.delete),
            delete_before_replace=request.deleteBeforeReplace,
            replace_on_changes=tuple(request.replaceOnChanges),
            retained=request.retainOnDelete if request.HasField("retainOnDelete") else None,
            outputs={},
        )
        return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:
        if request.urn in self.made:
            self.made[request.urn].outputs.update(json_format.MessageToDict(request.outputs), _registered=True)
        return super().RegisterResourceOutputs(request)


def run(program: Callable[[], object]) -> list[Registered]:
    """Runs a program and returns what it registered, in the order in which the engine got it."""
    monitor = Recorder()
    set_mocks(mocks=monitor.mocks, project="tenancy", stack="test", preview=False, monitor=monitor)

    @pulumi.runtime.test
    def in_a_loop() -> None:
        program()

    in_a_loop()
    return list(monitor.made.values())


def plain(value: Any) -> Any:
    """A value as it comes back from protobuf, which knows only one kind of number."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
