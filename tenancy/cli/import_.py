"""`import`: what is on a cluster, or in files, as an agreement; and a list of all that it does not say."""

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
    from ..review.importing import Adoption, Object, Shape

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
        help="A flavor has N nodes of U units (GPUs, MIG slices or CPUs); may be given again. Default: as its nodes are.",
    ),
]


def adopt(
    files: Files = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    cohort: Annotated[
        str | None, typer.Option("--cohort", metavar="NAME", help="The root Cohort; default: the one of most queues.")
    ] = None,
    nodes: Nodes = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the agreement there; default: print it.")
    ] = None,
    pulumi: Annotated[
        Path | None,
        typer.Option(
            "--pulumi", metavar="FILE", help="Also write what `pulumi import --file FILE` takes; needs --stack."
        ),
    ] = None,
    stack: Annotated[
        str | None, typer.Option("--stack", metavar="NAME", help="The stack that --pulumi is for, of ./Pulumi.yaml.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the list, and the agreement, as JSON for a program to read.")
    ] = False,
) -> None:
    """Write the agreement that existing Kueue or KAI queues keep, and list all that it cannot say and what becomes of it.

    Exit 0 when the agreement says all, 1 when something is in the list.
    """
    from ..cluster.connection import Unreachable
    from ..review.importing import NothingThere, NotObjects, adopt

    if files and (given := [kubeconfig, context, lab]) != [None] * len(given):
        common.stop("--kubeconfig, --context and --lab say which cluster: give them, or files")
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
        found = adopt(objects, source=source, cohort=cohort, shapes=shapes, nodes=there)
    except (NotObjects, NothingThere, Unreachable) as error:
        common.stop(str(error), WRONG_INPUT)
    if pulumi and stack:
        _write_records(found, pulumi, stack)
    _write(found, out, json)
    if found.unsaid:
        raise typer.Exit(NO)


def _write(found: Adoption, out: Path | None, json: bool) -> None:
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


def _write_records(found: Adoption, file: Path, stack: str) -> None:
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


def _tell(found: Adoption) -> None:
    from ..review.importing import Fate, words

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    if found.skipped:
        say(f"not read, since no agreement says them: {words.skipped(found.skipped)}")
    if found.new:
        say(f"new beside what is there: {', '.join(found.new)}")
    if not found.unsaid:
        say(f"the agreement says all of {len(found.given)} objects")
        return
    say(f"what the agreement does not say, and what becomes of it when it is adopted ({len(found.unsaid)}):")
    for line in words.lines(found.unsaid):
        say(f"  {line}")
    if found.owners_unknown and any(difference.fate is Fate.KEPT and difference.path for difference in found.unsaid):
        say("files do not say who wrote a field: what stays as it is goes after all where kubectl wrote it")


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
        common.stop(f"--nodes {text}: write a flavor, its nodes and what one has, such as h100=4x8")
    return name, Shape(int(nodes), int(units), exact=True)
