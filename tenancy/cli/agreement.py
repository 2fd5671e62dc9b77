"""`check` and `schema`: what needs nothing but the file; `check --live` also the nodes of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import common
from .common import NO, WRONG_INPUT, File, FileOption, Json
from .where import Context, Kubeconfig, Lab, kubeconfig_of

if TYPE_CHECKING:
    from ..agreement import Loaded

Live = Annotated[bool, typer.Option("--live", help="Also compare the flavors with the nodes of a cluster.")]


def check(
    file: File = None,
    named: FileOption = None,
    live: Live = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    lab: Lab = None,
    json: Json = False,
) -> None:
    """Find every problem of an agreement: file:line:col, path, what is wrong, what would be right.

    With --live also what is not so on the nodes of a cluster, and which team's promise is short: exit 1 then.
    """
    if not live and (given := [kubeconfig, context, lab]) != [None] * len(given):
        common.stop("--kubeconfig, --context and --lab say which cluster: add --live")
    name = common.file_of(file, named)
    found = common.loaded(name)
    if live and found.agreement is not None:
        _live(name, found, kubeconfig_of(kubeconfig, context, lab), context, json)
        return
    if json:
        common.print_json([finding.as_json() for finding in found.findings])
    else:
        for finding in found.findings:
            print(finding)
        if found.agreement is not None:
            from ..review.show import summary

            print(f"{name}: {summary(found.agreement)}")
    if found.agreement is None:
        raise typer.Exit(WRONG_INPUT)


def _live(file: str, found: Loaded, kubeconfig: str | None, context: str | None, json: bool) -> None:
    """The agreement's own findings, then what the nodes are like."""
    from ..agreement.findings import Finding
    from ..agreement.plan import make_plan
    from ..agreement.positions import Positions
    from ..cluster import clients
    from ..cluster import connection as reach
    from ..cluster import read_nodes as nodes
    from ..review.nodes import compare, show

    assert found.agreement is not None
    plan = make_plan(found.agreement)
    try:
        with open(file, encoding="utf-8") as stream:
            positions = Positions(stream.read())
        report = compare(plan, nodes.read(clients.connect(kubeconfig, context)))
    except (reach.Unreachable, nodes.Unreadable, OSError) as error:
        common.stop(str(error), WRONG_INPUT)

    def place(finding: Finding) -> Finding:
        return finding.at(file, *positions.of(finding.path, key=finding.on_key))

    if json:
        common.print_json(
            {"findings": [finding.as_json() for finding in found.findings], **show.as_json(report, place)}
        )
    else:
        for finding in found.findings:
            print(finding)
        show.print_report(report, place)
    if not report.as_agreed:
        raise typer.Exit(NO)


def schema() -> None:
    """Print the JSON Schema of tenancy.toml, for editors and other programs."""
    from ..agreement import Agreement

    common.print_json(Agreement.model_json_schema(mode="validation"))
