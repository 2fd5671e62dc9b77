"""What two agreements are rendered to."""

from __future__ import annotations

from samples import LAB, plan

from tenancy.review.render import rendered

ONE = rendered(plan(LAB))

OTHER = rendered(plan(LAB.replace("lendable = 8", "lendable = 4").replace("[teams.inference]", "[teams.serving]")))
