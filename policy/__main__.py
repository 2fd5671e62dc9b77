"""A policy pack: `pulumi preview --policy-pack policy`. The rules and their arithmetic are `tenancy.review.rules`.

The agreement is the stack's `tenancy:agreement`, or the key `agreement` of a policy in `--policy-pack-config`, for stacks
that have no such key. Without one to hold a stack against, a policy says so and fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # of this checkout, whatever else is called `tenancy`

from tenancy.agreement import errors
from tenancy.agreement.plan import Plan, make_plan
from tenancy.objects.loading import load
from tenancy.review import rules

AGREEMENT = PolicyConfigSchema({"agreement": {"type": "string"}})
STACKS = PolicyConfigSchema({"stacks": {"type": "array", "items": {"type": "string"}}})


class NoAgreement(Exception):
    """There is none to hold the stack against; says why."""


@dataclass(frozen=True)
class Held:
    """An agreement, and the queues it makes."""

    plan: Plan
    queues: frozenset[str]


def held(config: Mapping[str, Any]) -> Held:
    """Raises NoAgreement."""
    return read(str(config.get("agreement") or pulumi.Config("tenancy").get("agreement") or ""))


@cache
def read(name: str) -> Held:
    remedy = "name the file in --policy-pack-config, as {policy: {agreement: /its/path}}"
    if not name:
        raise NoAgreement(
            f"this stack has no tenancy:agreement to compare it with; {remedy}, or disable the policy there"
        )
    folder = project_folder()
    if not Path(name).is_absolute() and not folder:
        raise NoAgreement(f"{name} is relative to the project's folder, which was not found; {remedy}")
    loaded = load(Path(folder or "", name))
    if loaded.agreement is None:
        raise NoAgreement("\n".join(map(str, errors(loaded.findings))))
    plan = make_plan(loaded.agreement)
    return Held(plan, rules.queues_of(plan))


def project_folder() -> Path | None:
    """The engine starts a pack in the pack's folder, or in the project's, and does not tell which project that is but by its
    name. So it is looked for where the engine itself stands and where the user did."""
    for place in (Path.cwd(), Path(f"/proc/{os.getppid()}/cwd"), Path(os.environ.get("PWD", "."))):
        for folder in (place.resolve(), *place.resolve().parents):
            file = folder / "Pulumi.yaml"
            if file.exists() and (yaml.safe_load(file.read_text()) or {}).get("name") == pulumi.get_project():
                return folder
    return None


def objects(args: StackValidationArgs) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The queues of a stack and their URNs, by reference."""
    queues = [resource for resource in args.resources if rules.is_queue(resource.props)]
    return {f"{queue.props['kind']}/{queue.props['metadata']['name']}": (queue.urn, queue.props) for queue in queues}


def report_all(
    found: Iterable[rules.Violation], report: ReportViolation, queues: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> None:
    for violation in found:
        report(violation.message, queues[violation.reference][0] if violation.reference in queues else None)


def lending(args: StackValidationArgs, report: ReportViolation) -> None:
    queues = objects(args)
    report_all(rules.lends_more_than_it_has(body for _, body in queues.values()), report, queues)


def capacity(args: StackValidationArgs, report: ReportViolation) -> None:
    queues = objects(args)
    try:
        plan = held(args.get_config()).plan
    except NoAgreement as error:
        report(str(error), None)
        return
    report_all(rules.promises_more_than_there_is((body for _, body in queues.values()), plan), report, queues)


def membership(args: ResourceValidationArgs, report: ReportViolation) -> None:
    if not rules.is_queue(args.props, (*rules.QUEUES, "LocalQueue")):
        return
    try:
        result = held(args.get_config())
    except NoAgreement as error:
        report(str(error), None)
        return
    if violation := rules.outside(args.props, result.plan.cluster, result.queues):
        report(violation.message, None)


def protection(args: ResourceValidationArgs, report: ReportViolation) -> None:
    stack = pulumi.get_stack()
    if stack in args.get_config().get("stacks", ["prod"]) and rules.is_queue(args.props) and not args.opts.protect:
        name = f"{args.props['kind']}/{args.props['metadata']['name']}"
        report(
            f'{name} is not protected in stack {stack}, so `pulumi destroy` would end its team\'s jobs; set tenancy:protect: "true", '
            "or protect in its resource's options",
            None,
        )


PolicyPack(
    "tenancy",
    [
        StackValidationPolicy("no-lending-above-quota", "No queue lends more than it has.", lending),
        StackValidationPolicy(
            "no-guarantee-above-capacity",
            "The guarantees of a flavor add up to at most its capacity.",
            capacity,
            config_schema=AGREEMENT,
        ),
        ResourceValidationPolicy(
            "no-queue-outside-agreement",
            "No queue is created that the agreement does not have.",
            membership,
            config_schema=AGREEMENT,
        ),
        ResourceValidationPolicy(
            "no-unprotected-queue-in-prod",
            "In production no queue can be deleted before somebody lifts its protection.",
            protection,
            config_schema=STACKS,
        ),
    ],
    EnforcementLevel.MANDATORY,
)
