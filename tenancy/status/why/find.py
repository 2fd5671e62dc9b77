"""Which object a name means: a job of any kind, a Workload, a PodGroup, or one of its pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...text.spelling import similar
from .snapshot import Object, Snapshot, name_of, namespace_of, owners_of, uid_of

SHORT = {
    "wl": "workload",
    "po": "pod",
    "pods": "pod",
    "jobs": "job",
    "workloads": "workload",
    "pg": "podgroup",
    "jobsets": "jobset",
}
JOBS = (
    "Job",
    "JobSet",
    "TrainJob",
    "PodGroup",
    "Pod",
)  # kinds that a snapshot holds as such; others are known by their Workload
DEEP = 6  # owners of owners, at most


class NotFound(Exception):
    """One line: what there is none of, and which names are near."""


@dataclass(frozen=True)
class Wanted:
    """`kind` in lower case, `namespace`: both empty where they are not said."""

    name: str
    namespace: str = ""
    kind: str = ""

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Wanted:
        """`NAME`, `KIND/NAME`, `NAMESPACE/NAME`, or `NAMESPACE/KIND/NAME`. One word before a slash is a kind where it is one of a
        job and a namespace was given otherwise, or none has that name (`find` decides). Raises ValueError."""
        parts = text.split("/")
        if not all(parts) or len(parts) > 3:
            raise ValueError(
                f"{text!r} names no job: NAME, NAMESPACE/NAME or KIND/NAME, as in research/train or job/train"
            )
        if len(parts) == 1:
            return cls(parts[0], namespace)
        first = SHORT.get(parts[0].lower(), parts[0].lower())
        if len(parts) == 3:
            return cls(parts[2], parts[0], SHORT.get(parts[1].lower(), parts[1].lower()))
        if namespace or _is_kind(first):
            return cls(parts[1], namespace, first)
        return cls(parts[1], parts[0])

    def __str__(self) -> str:
        return "/".join(filter(None, (self.namespace, self.kind, self.name)))


def _is_kind(word: str) -> bool:
    return word in {"workload", *(entry.lower() for entry in JOBS)} or (word.endswith("job") and len(word) > 3)


@dataclass(frozen=True)
class Target:
    """What is asked about: the job that a person made, and what a scheduler made of it."""

    kind: str
    namespace: str
    name: str
    uids: frozenset[str]
    """Of the job, and of all that it owns and is owned by on the way to the object that was named."""
    body: Object | None = None
    """The job itself, where it was read."""
    workload: Object | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def find(snapshot: Snapshot, wanted: Wanted) -> Target:
    """Raises NotFound, also where it means several jobs."""
    targets: dict[tuple[str, str, str], Target] = {}
    for kind, entry in snapshot.all():
        if _named(kind, entry, wanted):
            one = _target(snapshot, kind, entry)
            targets.setdefault((one.namespace, one.kind, one.name), one)
        elif kind == "Workload" and (not wanted.namespace or namespace_of(entry) == wanted.namespace):
            for owner in owners_of(entry):
                if owner["name"] == wanted.name and wanted.kind in ("", owner["kind"].lower()):
                    one = _target(snapshot, kind, entry)
                    targets.setdefault((one.namespace, one.kind, one.name), one)
    if len(targets) == 1:
        return next(iter(targets.values()))
    if targets:
        several = [f"{target.namespace}/{target.kind.lower()}/{target.name}" for target in targets.values()]
        raise NotFound(f"{wanted} may be any of {', '.join(sorted(several)[:8])}: say which")
    raise NotFound(_absent(snapshot, wanted))


def _named(kind: str, body: Object, wanted: Wanted) -> bool:
    if kind not in (*JOBS, "Workload") or name_of(body) != wanted.name:
        return False
    if wanted.kind not in ("", kind.lower()):
        return False
    return not wanted.namespace or namespace_of(body) == wanted.namespace


def _target(snapshot: Snapshot, kind: str, body: Object) -> Target:
    """Upwards by owners, as far as there are any; downwards by them again for the Workload."""
    uids = {uid_of(body)}
    named = body
    for _ in range(DEEP):
        owner = next(iter(owners_of(body)), None)
        if owner is None:
            break
        uids.add(str(owner["uid"]))
        above = next(((above, one) for above, one in snapshot.all() if uid_of(one) == owner["uid"]), None)
        if above is None:
            return _with_workload(snapshot, owner["kind"], namespace_of(body), owner["name"], uids, None, kind, named)
        kind_above, body = above
        kind = kind_above
    return _with_workload(snapshot, kind, namespace_of(body), name_of(body), uids, body, kind, named)


def _with_workload(
    snapshot: Snapshot,
    kind: str,
    namespace: str,
    name: str,
    uids: set[str],
    body: Object | None,
    named_kind: str,
    named: Object,
) -> Target:
    for _ in range(DEEP):  # a TrainJob has JobSets, which have Jobs, which have pods
        below = {uid_of(value) for kind_of, value in snapshot.all() if kind_of in JOBS and _owned(value, uids)}
        if below <= uids:
            break
        uids |= below
    workloads = [workload for workload in snapshot.of("Workload") if uid_of(workload) in uids or _owned(workload, uids)]
    # One made anew for a changed job stands beside the finished one it replaces.
    workloads.sort(key=lambda workload: str(workload["metadata"].get("creationTimestamp")))
    return Target(kind, namespace, name, frozenset(uids), body, workloads[-1] if workloads else None)


def _owned(body: Object, uids: set[str]) -> bool:
    return any(owner["uid"] in uids for owner in owners_of(body))


def _absent(snapshot: Snapshot, wanted: Wanted) -> str:
    spaces = {name_of(namespace) for namespace in snapshot.of("Namespace")}
    if wanted.namespace and spaces and wanted.namespace not in spaces:
        near = similar(wanted.namespace, spaces, 3)
        return f"there is no namespace {wanted.namespace}" + (f"; there is {', '.join(near)}" if near else "")
    here = dict.fromkeys(_names(snapshot, wanted.namespace))
    kind = wanted.kind or "job, Workload or pod"
    said = f"there is no {kind} {wanted.name}" + (f" in namespace {wanted.namespace}" if wanted.namespace else "")
    by_name = {name.rpartition("/")[2]: name for name in reversed(here)}
    near = similar(wanted.name, by_name, 4, 0.5)
    shown = [by_name[name] for name in near]
    if shown:
        return f"{said}; there is {', '.join(shown)}"
    if here:
        return f"{said}; there is {', '.join(list(here)[:8])}{' and more' if len(here) > 8 else ''}"
    return f"{said}, nor any other job"


def _names(snapshot: Snapshot, namespace: str) -> Iterator[str]:
    for kind, entry in snapshot.all():
        if namespace and namespace_of(entry) != namespace:
            continue
        if kind == "Workload":
            yield from (f"{namespace_of(entry)}/{owner['name']}" for owner in owners_of(entry))
        if kind in JOBS and not owners_of(entry):
            yield f"{namespace_of(entry)}/{name_of(entry)}"
