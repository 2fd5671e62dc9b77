"""`import`: the objects of a cluster or of files as an agreement, and a list of all that the agreement does not express."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import common
from .common import NO, WRONG_INPUT
from .where import Context, Kubeconfig, Lab, kubeconfig_of

if TYPE_CHECKING:
    from ..cluster.nodes import Node
    from ..review.importing import Imported, Object, Shape

SUFFIXES = (".yaml", ".yml", ".json")

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE|DIR|-]...", help="YAML of objects; default: the cluster.", show_default=False),
]
Nodes = Annotated[
    list[str] | None,
    typer.Option(
        "--nodes",
        metavar="FLAVOR=NxU",
        help="A flavor has N nodes with U units each (GPUs, MIG slices or CPUs). Repeatable. Default: read from the cluster's nodes.",
    ),
]


def adopt(
    files: Files = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    cohort: Annotated[
        str | None,
        typer.Option("--cohort", metavar="NAME", help="The root Cohort; default: the one with the most queues."),
    ] = None,
    nodes: Nodes = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the agreement to FILE; default: print it.")
    ] = None,
    pulumi: Annotated[
        Path | None,
        typer.Option(
            "--pulumi", metavar="FILE", help="Also write the input of `pulumi import --file FILE`; needs --stack."
        ),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            "--stack", metavar="NAME", help="The stack that --pulumi is for (the project is that of ./Pulumi.yaml)."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the list and the agreement as JSON.")] = False,
) -> None:
    """Write the agreement that existing Kueue or KAI queues keep. List all that the agreement cannot express, and what happens to it.

    Exit 0 if the agreement expresses everything, 1 if the list has entries.
    """
    from ..cluster.connection import Unreachable
    from ..review.importing import NothingThere, NotObjects, import_agreement

    if files and (given := [kubeconfig, context, lab]) != [None] * len(given):
        common.stop("--kubeconfig, --context and --lab choose a cluster: give either these or files")
    if bool(pulumi) != bool(stack):
        common.stop("--pulumi FILE and --stack NAME go together: the file names the stack's provider")
    shapes = dict(map(_shape, nodes or ()))
    there: list[Node] = []
    try:
        if files:
            objects, source = [one for file in files for one in _objects(file)], ", ".join(files)
        else:
            from ..review.importing import read as live

            objects, there, source = live.read(kubeconfig_of(kubeconfig, context, lab), context)
        found = import_agreement(objects, source=source, cohort=cohort, shapes=shapes, nodes=there)
    except (NotObjects, NothingThere, Unreachable) as error:
        common.stop(str(error), WRONG_INPUT)
    if pulumi and stack:
        _write_records(found, pulumi, stack)
    _write(found, out, json)
    if found.not_expressed:
        raise typer.Exit(NO)


def _write(found: Imported, out: Path | None, json: bool) -> None:
    if out:
        try:
            out.write_text(found.text, encoding="utf-8")
        except OSError as error:
            common.stop(f"{out}: nothing was written: {error.strerror}", WRONG_INPUT)
    if json:
        common.print_json(found.as_json())
        return
    if not out:
        print(found.text, end="")
    _tell(found)


def _write_records(found: Imported, file: Path, stack: str) -> None:
    import json

    from ..review.importing import records

    where = records.Stack(stack, _project())
    text = json.dumps(records.bulk(found.plan, found.given, where), indent=2, ensure_ascii=False)
    try:
        file.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        common.stop(f"{file}: nothing was written: {error.strerror}", WRONG_INPUT)


def _project() -> str:
    """The name in the folder's Pulumi.yaml, else that of this repo's program."""
    import yaml

    try:
        said = yaml.safe_load(Path("Pulumi.yaml").read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return "tenancy"
    return str(said.get("name") or "tenancy") if isinstance(said, dict) else "tenancy"


def _tell(found: Imported) -> None:
    from ..review.importing import Outcome, words

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    if found.skipped:
        say(f"not read, because an agreement does not express these kinds: {words.skipped(found.skipped)}")
    if found.new:
        say(f"new objects: {', '.join(found.new)}")
    if not found.not_expressed:
        say(f"the agreement expresses everything in the {len(found.given)} objects")
        return
    say(
        f"what the agreement does not express, and what happens to it when the agreement is applied ({len(found.not_expressed)}):"
    )
    for line in words.lines(found.not_expressed):
        say(f"  {line}")
    if found.owners_unknown and any(
        difference.outcome is Outcome.KEEP and difference.path for difference in found.not_expressed
    ):
        say(
            "files do not say who wrote a field: fields last written by kubectl will be removed, even if they are listed as kept"
        )


def _objects(name: str) -> Iterator[Object]:
    """Of a file, of every YAML file in a folder, or of standard input."""
    from ..review.importing import NotObjects, parse

    path = Path(name)
    try:
        if name == "-":
            yield from parse(sys.stdin.read(), "standard input")
            return
        if not path.is_dir():
            yield from parse(path.read_text("utf-8"), name)
            return
        inside = sorted(entry for entry in path.rglob("*") if entry.suffix in SUFFIXES and entry.is_file())
        for item in inside:
            yield from parse(item.read_text("utf-8"), str(item))
    except UnicodeDecodeError as error:
        raise NotObjects(f"{name} holds a file that is not UTF-8: byte 0x{error.object[error.start]:02x}") from None
    except OSError as error:
        raise NotObjects(
            f"{error.filename or name} cannot be read: {error.strerror}; give YAML files or folders"
        ) from None
    if not inside:
        raise NotObjects(f"{name} holds no {', '.join(SUFFIXES)} file")


def _shape(text: str) -> tuple[str, Shape]:
    from ..review.importing import Shape

    name, _, size = text.rpartition("=")
    nodes, _, units = size.partition("x")
    if not (
        name
        and nodes.isascii()
        and nodes.isdigit()
        and units.isascii()
        and units.isdigit()
        and int(nodes)
        and int(units)
    ):
        common.stop(f"--nodes {text}: write a flavor, its number of nodes and the units of one node, such as h100=4x8")
    return name, Shape(int(nodes), int(units), exact=True)
