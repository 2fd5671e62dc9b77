"""The team's label, and names to show. What objects are called is checked by the objects themselves (`objects.names`)."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding
from ..model import Agreement
from ..names import AGREEMENT_LABEL, label_key_problem, text_problem

TAKEN_LABELS = (AGREEMENT_LABEL, "kubernetes.io/metadata.name")


def team_label(agreement: Agreement) -> Iterator[Finding]:
    """A label key, and one that says nothing else."""
    label = agreement.cluster.team_label
    if problem := label_key_problem(label):
        yield Finding(("cluster", "team_label"), *problem)
    elif label in TAKEN_LABELS:
        message = f"{label!r} is a namespace label that already has another meaning"
        yield Finding(("cluster", "team_label"), message, "use one such as tenancy.dev/team")


def display_names(agreement: Agreement) -> Iterator[Finding]:
    """Names to show: any text, in one line."""
    for table in ("departments", "teams"):
        for name, part in getattr(agreement, table).items():
            if part.display_name and (problem := text_problem(part.display_name)):
                yield Finding((table, name, "display_name"), *problem)
