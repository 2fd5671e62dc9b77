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
from tenancy.review.importing import adopt, records


@pytest.mark.parametrize("name", AGREEMENTS)
def test_every_record_is_a_resource_that_the_program_registers(name: str) -> None:
    file, schedulers = AGREEMENTS[name]
    agreement = load(file).agreement
    assert agreement
    plan = make_plan(agreement)
    made = run(lambda: TenancyAgreement(records.NAME, TenancyAgreementArgs(agreement=agreement, schedulers=schedulers)))
    by_urn = {it.urn: (it.type, it.name) for it in made}
    registered = {(it.type, it.name, by_urn.get(it.parent)) for it in made}

    bodies = [*kueue.objects(plan), *kai.objects(plan)]
    for team in plan.teams:
        bodies += [it for name in team.namespaces for it in namespaces.local_queues(plan, team, name)]
    given = {reference(it): it for it in bodies}
    stack = records.Stack("test")
    found = records.bulk(plan, given, stack)["resources"]

    names = {it["name"]: (it["type"], it["logicalName"]) for it in found}
    for it in found:
        assert (it["type"], it["logicalName"], names.get(it.get("parent", ""))) in registered
    assert len({it["name"] for it in found}) == len(found)
    assert {it["name"] for it in found if "id" in it} == set(given)


def test_what_tells_the_provider_how_to_write_is_nothing_that_an_agreement_would_say() -> None:
    agreement = load(AGREEMENTS["lab"][0]).agreement
    assert agreement
    objects = [written(it) for it in kueue.objects(make_plan(agreement))]
    assert all(WRITE_ANNOTATIONS.items() <= it["metadata"]["annotations"].items() for it in objects)
    assert adopt(objects, source="a stack").unsaid == ()
