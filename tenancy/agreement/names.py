"""What a cluster accepts as a name, a label and a label value, as a table of rules.

Sources: Kubernetes "Object Names and IDs" and "Labels and Selectors"; Kueue's LocalQueue and WorkloadPriorityClass names
are label values too, hence 63 (facts of the v1beta2 CRDs).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

AGREEMENT_LABEL = "tenancy.dev/agreement"


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of name: what it must match, how long it may be, and the words for both."""

    pattern: re.Pattern[str]
    longest: int
    words: str


_ALNUM = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = Rule(
    re.compile(rf"{_ALNUM}(\.{_ALNUM})*", re.ASCII),
    253,
    "lower-case letters, digits, '-' and '.', a letter or digit at both ends",
)
LABEL_NAME = Rule(SUBDOMAIN.pattern, 63, SUBDOMAIN.words)
NAMESPACE = Rule(re.compile(_ALNUM, re.ASCII), 63, "lower-case letters, digits and '-', a letter or digit at both ends")
LABEL_VALUE = Rule(
    re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", re.ASCII),
    63,
    "letters, digits, '-', '_' and '.', a letter or digit at both ends",
)
_KEY_NAME = Rule(re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII), 63, LABEL_VALUE.words)
# What stands in no YAML that Go writes (go-yaml: "control characters are not allowed"), and what breaks a line of a table.
UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def text_problem(text: str) -> tuple[str, str] | None:
    """What is wrong with a text to show to people: characters that cannot be shown; None when nothing is."""
    if found := UNWRITABLE.search(text):
        return f"contains the control character U+{ord(found[0]):04X}", "write it as one line of plain text"
    return None


def name_problem(name: str, rule: Rule) -> tuple[str, str] | None:
    """What a cluster would say against `name`, and what would be right; None when it would take it."""
    if not rule.pattern.fullmatch(name):
        return f"{name[:80]!r} is not a name that a cluster accepts", f"use {rule.words}{_hint(name, rule)}"
    if len(name) > rule.longest:
        return f"{name[:20] + '…'!r} has {len(name)} characters", f"at most {rule.longest} are allowed"
    return None


def label_key_problem(key: str) -> tuple[str, str] | None:
    """The same for a label key: an optional DNS prefix, a slash, and a name of at most 63 characters."""
    prefix, slash, name = key.rpartition("/")
    if slash and (problem := name_problem(prefix, SUBDOMAIN)):
        return f"{key[:80]!r} has no DNS name before its '/'", problem[1]
    if problem := name_problem(name, _KEY_NAME):
        return f"{key[:80]!r} is not a label key", problem[1]
    return None


def _hint(name: str, rule: Rule) -> str:
    """The nearest acceptable spelling, when there is an obvious one."""
    near = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    return (
        f", for instance {near!r}" if near and near != name and rule.pattern.fullmatch(near) and len(near) <= 63 else ""
    )
