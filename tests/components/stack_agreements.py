"""Agreements that a stack is made of, and the schedulers they are for."""

from __future__ import annotations

from samples import ROOT

from tenancy.objects.schedulers import Scheduler

KUEUE, KAI = Scheduler.KUEUE, Scheduler.KAI

AGREEMENTS = {
    "lab": (ROOT / "tenancy.toml", (KUEUE, KAI)),
    "departments and prod": (ROOT / "examples" / "departments.toml", (KUEUE, KAI)),
    "venus": (ROOT / "examples" / "venus.toml", (KUEUE, KAI)),
    "production": (ROOT / "examples" / "production.toml", (KUEUE, KAI)),
    "namespaces": (ROOT / "tests" / "agreements" / "namespaces.toml", (KUEUE, KAI)),
    "one flavor, prod, department": (ROOT / "tests" / "agreements" / "prod-on-kai.toml", (KUEUE, KAI)),
}
