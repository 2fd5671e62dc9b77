"""What `import --pulumi` calls the objects is what the components call them."""

from __future__ import annotations

import pytest
from recorder import run
from stack_agreements import AGREEMENTS

from components import TenancyAgreement, TenancyAgreementArgs
from components.objects import WRITE_ANNOTATIONS, written
from tenancy.agreement.plan import make_plan
from tenancy.objects import kai, kueue
from tenancy.objects.access import namespaces
from tenancy.objects.identity import reference
from tenancy.objects.loading import load
from tenancy.review.importing import import_agreement, records


@pytest.mark.parametrize("name", AGREEMENTS)
def test_every_record_is_a_resource_that_the_program_registers(name: str) -> None:
    file, schedulers = AGREEMENTS[name]
    agreement = load(file).agreement
    assert agreement
    plan = make_plan(agreement)
    made = run(lambda: TenancyAgreement(records.NAME, TenancyAgreementArgs(agreement=agreement, schedulers=schedulers)))
    by_urn = {resource.urn: (resource.type, resource.name) for resource in made}
    registered = {(resource.type, resource.name, by_urn.get(resource.parent)) for resource in made}

    bodies = [*kueue.objects(plan), *kai.objects(plan)]
    for team in plan.teams:
        bodies += [queue for name in team.namespaces for queue in namespaces.local_queues(plan, team, name)]
    given = {reference(body): body for body in bodies}
    stack = records.Stack("test")
    found = records.bulk(plan, given, stack)["resources"]

    names = {entry["name"]: (entry["type"], entry["logicalName"]) for entry in found}
    for item in found:
        assert (item["type"], item["logicalName"], names.get(item.get("parent", ""))) in registered
    assert len({entry["name"] for entry in found}) == len(found)
    assert {entry["name"] for entry in found if "id" in entry} == set(given)


def test_what_tells_the_provider_how_to_write_is_nothing_that_an_agreement_would_say() -> None:
    agreement = load(AGREEMENTS["lab"][0]).agreement
    assert agreement
    objects = [written(entry) for entry in kueue.objects(make_plan(agreement))]
    assert all(WRITE_ANNOTATIONS.items() <= entry["metadata"]["annotations"].items() for entry in objects)
    assert import_agreement(objects, source="a stack").not_expressed == ()
