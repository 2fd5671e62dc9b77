"""A job on KAI: what its pods, its PodGroup and the events on that say, by the table of reasons and the queues' own numbers.

KAI 0.12 takes each pod of a Job for itself, unless a PodGroup says that they start together: so a job may run in part. Of a
queue that is not there it says nothing at all. Who was stopped for whom stands in events only, which a cluster keeps an hour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

from ...agreement.hardware import Hardware
from ...agreement.plan import Plan, TeamPlan
from ...cluster import requests
from ...cluster.jobs import KAI_QUEUE as QUEUE_LABEL
from ...cluster.jobs import POD_GROUP, PodSet
from ...cluster.requests import ZERO
from ...objects import kai
from ...text.counts import counted
from ...text.quantity import whole
from .admitted import Admitted, of_kai
from .amounts import Requests
from .availability import holds, listed, of_guaranteed
from .find import Target
from .model import Answer, Holder, Reason, Said, State, When
from .reasons import Match, explain, match
from .snapshot import (
    NONE,
    Object,
    Snapshot,
    annotations_of,
    condition,
    created,
    event_time,
    is_true,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    spec_of,
    status_of,
    uid_of,
)
from .table import EVICT, KAI, SCHEDULED
from .times import since
from .when import NEVER

KUEUE_LABEL = "kueue.x-k8s.io/queue-name"
DEFAULT_PRIORITY = "train"  # of pods that name none; Deployments get inference
# What the podgrouper calls the PodGroup of a pod: pg-<pod>-<uid of its owner>
GROUP = re.compile(r"^pg-(?P<pod>.+?)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
EXCLUDED = re.compile(r"(?P<count>\d+) (?P<what>node\(s\)[^.]*)")


UNSEEN = (
    "You may not list the Queues and pods of the whole cluster, so this answer does not say which team has what the job lacks, from which team "
    "it may take it back, or when it starts. Ask whoever runs the platform to run this command for your job."
)


def answer(plan: Plan, snapshot: Snapshot, target: Target) -> Answer:
    return Case(plan, snapshot, target).answer()


@dataclass(frozen=True)
class Case:
    plan: Plan
    snapshot: Snapshot
    target: Target

    # --- what is there

    @cached_property
    def pods(self) -> list[Object]:
        def mine(pod: Object) -> bool:
            if uid_of(pod) in self.target.uids or any(entry["uid"] in self.target.uids for entry in owners_of(pod)):
                return True
            return annotations_of(pod).get(POD_GROUP) in self.groups

        return [pod for pod in self.snapshot.of("Pod") if namespace_of(pod) == self.target.namespace and mine(pod)]

    @cached_property
    def groups(self) -> set[str]:
        """Names of its PodGroups: of a gang there is one, and a Job has one a pod."""
        mine = (group for group in self.snapshot.of("PodGroup") if namespace_of(group) == self.target.namespace)
        names = {
            name_of(entry)
            for entry in mine
            if uid_of(entry) in self.target.uids or any(one["uid"] in self.target.uids for one in owners_of(entry))
        }
        named = (pod for pod in self.snapshot.of("Pod") if uid_of(pod) in self.target.uids)
        return names | {annotations_of(entry)[POD_GROUP] for entry in named if POD_GROUP in annotations_of(entry)}

    @property
    def running(self) -> list[Object]:
        return [pod for pod in self.pods if status_of(pod).get("phase") == "Running"]

    @property
    def waiting(self) -> list[Object]:
        return [pod for pod in self.pods if status_of(pod).get("phase") in (None, "Pending")]

    @property
    def wanted(self) -> int:
        """How many pods it is to have."""
        spec = spec_of(self.target.body) if self.target.body else NONE
        return int(spec.get("parallelism") or spec.get("minMember") or len(self.pods) or 1)

    @property
    def suspended(self) -> bool:
        return spec_of(self.target.body or NONE).get("suspend") is True

    @property
    def named(self) -> str:
        return f"{self.target} ({self.target.kind})"

    @property
    def state(self) -> State:
        body = self.target.body
        if body and any(is_true(body, entry) for entry in ("Complete", "Failed")):
            return State.FINISHED
        if not self.pods:
            return State.OUTSIDE if not self.groups and not self.queue_name else State.WAITING
        if len(self.running) >= self.wanted:
            return State.RUNNING
        if self.running:
            return State.STARTING
        if all(status_of(pod).get("phase") in ("Succeeded", "Failed") for pod in self.pods):
            return State.FINISHED
        return State.STOPPED if self.evictions else State.WAITING

    @cached_property
    def asks(self) -> Requests:
        """Of a Job its template, as often as it wants pods; else its pods, those that ask for the same together."""
        template = spec_of(self.target.body or NONE).get("template") or NONE
        if self.target.kind == "Job" and template:
            spec = template.get("spec") or NONE
            each = requests.of_pod(spec, (template.get("metadata") or NONE).get("annotations") or {})
            return Requests((PodSet("", self.wanted, each, spec.get("nodeSelector") or {}),))
        kinds: dict[str, list[PodSet]] = {}
        for pod in self.pods:
            each = requests.of(pod)
            kinds.setdefault(str(sorted(each.items())), []).append(
                PodSet("", 1, each, spec_of(pod).get("nodeSelector") or {})
            )
        return Requests(tuple(replace(several[0], count=len(several)) for several in kinds.values()))

    # --- queues

    @cached_property
    def queue_name(self) -> str:
        """As its pods say it, or what makes them."""
        bodies = [*self.pods, *([self.target.body] if self.target.body else [])]
        for body in bodies:
            template = (spec_of(body).get("template") or NONE).get("metadata") or NONE
            named = labels_of(body).get(QUEUE_LABEL) or (template.get("labels") or NONE).get(QUEUE_LABEL) or ""
            named = named or (spec_of(body).get("queue") if self.target.kind == "PodGroup" else "") or ""
            if named:
                return str(named)
        return ""

    @cached_property
    def queues(self) -> dict[str, Object]:
        return {name_of(queue): queue for queue in self.snapshot.of("Queue")}

    @cached_property
    def place(self) -> tuple[TeamPlan, Hardware] | None:
        """The team and the flavor of its queue."""
        for team in self.plan.teams:
            for flavor in self.plan.flavors:
                if self.queue_name in kai.job_queues(self.plan, team, flavor):
                    return team, flavor
        return None

    @property
    def owner(self) -> str:
        space = self.snapshot.get("Namespace", self.target.namespace)
        return labels_of(space).get(self.plan.team_label, "") if space else ""

    def right_queues(self) -> str:
        team = self.plan.team.get(self.owner)
        if team is None:
            return f"one of its team (namespace {self.target.namespace} has no label {self.plan.team_label})"
        names = [name for flavor in self.plan.flavors for name in kai.job_queues(self.plan, team, flavor)]
        return " or ".join(names)

    def numbers(self, name: str) -> tuple[int, int, int]:
        """Quota, limit (−1: none) and what is in use of a queue, in GPUs. A Queue's own status comes late: pods are counted."""
        result = self.queues.get(name, NONE)
        gpu = (spec_of(result).get("resources") or NONE).get("gpu") or NONE
        below = {name, *(one for one, body in self.queues.items() if spec_of(body).get("parentQueue") == name)}
        return int(float(gpu.get("quota") or 0)), int(float(gpu.get("limit") or 0)), self.used(below)

    def used(self, queues: AbstractSet[str]) -> int:
        resource = self.place[1].resource if self.place else "nvidia.com/gpu"
        running = (pod for pod in self.snapshot.of("Pod") if status_of(pod).get("phase") == "Running")
        mine = (entry for entry in running if labels_of(entry).get(QUEUE_LABEL) in queues)
        return whole(sum((requests.of(entry).get(resource, ZERO) for entry in mine), ZERO))

    def queue_text(self) -> str:
        if not self.queue_name or "Queue" in self.snapshot.unseen:
            return self.queue_name or "none is named"
        if self.queue_name not in self.queues:
            return f"{self.queue_name}, which does not exist"
        quota, limit, used = self.numbers(self.queue_name)
        parent = str(spec_of(self.queues[self.queue_name]).get("parentQueue") or "")
        text = f"{self.queue_name}: {used} in use, quota {quota}" + (f", limit {limit}" if limit >= 0 else "")
        if parent in self.queues:
            above, most, all_of_it = self.numbers(parent)
            text += f"; in {parent}: {all_of_it} in use, quota {above}" + (f", limit {most}" if most >= 0 else "")
        return text

    # --- why

    def answer(self) -> Answer:
        state = self.state
        about = Answer(
            job=str(self.target),
            kind=self.target.kind,
            scheduler="kai",
            state=state,
            headline=self.headline(state),
            asks=self.asks.in_words(self.plan) if self.pods else "",
            queue=self.queue_text() if state is not State.FINISHED else "",
            history=tuple(self.history()) if state is not State.FINISHED else (),
        )
        if state in (State.RUNNING, State.FINISHED):
            return about
        matches, said = self.told()
        reasons = [explain(match, self.context(match)) for match in matches]
        if not reasons and said:
            reasons = [Reason("unknown", "This version does not know KAI's message; it is shown in full below.")]
        elif not reasons and self.suspended:
            by = (
                "; its label names a queue of Kueue, which starts it"
                if labels_of(self.target.body or NONE).get(KUEUE_LABEL)
                else ""
            )
            reasons = [
                Reason("suspended", f"The {self.target.kind} is suspended, so it has no pods for KAI to look at{by}.")
            ]
        elif not reasons and (gone := self.wanted - len(self.pods)) > 0 and not self.waiting:
            text = f"{counted(gone, 'pod')} of it do not exist: they were evicted, and the {self.target.kind} has not made them again yet."
            reasons = [Reason("no-pods", text)]
        elif not reasons:
            reasons = [Reason("not-told", "KAI has not said why.")]
        never = any(match.row.never for match in matches)
        blind = bool(self.snapshot.unseen & {"Pod", "Queue"})
        if blind and not never:
            return replace(
                about,
                queue=self.queue_name,
                reasons=tuple(reasons),
                help=tuple(dict.fromkeys(reason.help for reason in reasons if reason.help)),
                said=tuple(said),
                unseen=UNSEEN,
            )
        return replace(
            about,
            reasons=tuple(reasons),
            holders=() if never else tuple(self.holders({reason.key for reason in reasons})),
            reclaim=() if never else tuple(self.reclaims(matches)),
            help=tuple(dict.fromkeys(reason.help for reason in reasons if reason.help)),
            when=When(NEVER, NEVER, True) if never else self.when(matches),
            said=tuple(said),
        )

    def headline(self, state: State) -> str:
        if state is State.FINISHED:
            return f"{self.named} has ended."
        if state is State.OUTSIDE:
            return f"{self.named} has no pods, and names no queue of KAI."
        if state is State.RUNNING:
            return f"{self.named} runs: {counted(len(self.running), 'pod')}."
        if state is State.STARTING:
            return f"{self.named} runs in part: {len(self.running)} of {counted(self.wanted, 'pod')} run, {self.wanted - len(self.running)} wait."
        times = [time for one in [self.target.body, *self.pods] if one and (time := created(one))]
        age = since(min(times), self.snapshot.now) if times else "at an unknown time"
        if state is State.STOPPED:
            return f"{self.named} was evicted, and waits to start again."
        return f"{self.named} waits. It was submitted {age}."

    def told(self) -> tuple[list[Match], list[Said]]:
        """By the queue that it names, its PodGroup's events, and what is said of its pods; the same of several pods once."""
        found: list[Match] = list(self._of_queue())
        said: list[Said] = []
        for event in self.snapshot.of("Event"):
            about = event.get("involvedObject") or NONE
            if (
                event.get("reason") == "NotReady"
                and about.get("name") in self.groups
                and about.get("namespace") == self.target.namespace
            ):
                message = str(event.get("message") or "")
                found += [
                    entry
                    for entry in match(KAI, "NotReady", "NotReady", message)
                    if len(self.pods) < int(entry.groups["pods"])
                ][:1]
                said.append(Said("KAI", "event on its PodGroup", "NotReady", message))
        for pod in self.waiting:
            result = condition(pod, SCHEDULED)
            if result.get("status") == "False" and result.get("message"):
                message = str(result["message"])
                found += match(KAI, SCHEDULED, str(result.get("reason")), message)
                said.append(Said("KAI", f"pod {name_of(pod)}", str(result.get("reason") or ""), message))
        rows = {match.row.key: match for match in reversed(found)}
        words = {entry.message.replace(entry.where.removeprefix("pod "), ""): entry for entry in reversed(said)}
        return [rows[key] for key in dict.fromkeys(match.row.key for match in found)], list(words.values())[::-1]

    def _of_queue(self) -> Iterator[Match]:
        if "Queue" in self.snapshot.unseen:
            return
        if self.queue_name and self.queue_name not in self.queues:
            yield from match(KAI, "Queue", "", "no queue")
        elif not self.queue_name and "default-queue" not in self.queues:
            yield from match(KAI, "Queue", "", "no label")
        elif (
            any(spec_of(queue).get("parentQueue") == self.queue_name for queue in self.queues.values())
            and self.queue_name
        ):
            yield from match(KAI, "Queue", "", "parent")

    def context(self, found: Match) -> dict[str, str]:
        named = found.groups.get("queue", self.queue_name)
        priority = next(
            (str(spec_of(pod).get("priorityClassName")) for pod in self.pods if spec_of(pod).get("priorityClassName")),
            "",
        )
        lacking = [f"{match['count']} {match['what']}" for match in EXCLUDED.finditer(found.groups.get("why", ""))]
        return {
            "queue": named,
            "queues": self.right_queues(),
            "limit": self._limit(named),
            "priority": priority or DEFAULT_PRIORITY,
            "nodes": f" ({', '.join(lacking)})" if lacking else "",
            "exist": str(len(self.pods)),
        }

    def _limit(self, named: str) -> str:
        """Whose limit it is, in the agreement's words. KAI calls a queue by its display name."""
        by_name = {str(spec_of(queue).get("displayName") or name): name for name, queue in self.queues.items()}
        name = by_name.get(named, named)
        if name not in self.queues or self.place is None:
            return f"The queue {named} is full:"
        team, flavor = self.place
        if any(spec_of(queue).get("parentQueue") == name for queue in self.queues.values()):
            return f"All teams share one pool of lendable and unguaranteed units (queue {named}):"
        if name == kai.reserved(self.plan, team, flavor):
            return f"{name} has only what {team.name} reserves and never lends:"
        if name in kai.prod_queues(self.plan, team, flavor):
            return f"{name} has only the prod slice of {team.name}:"
        return f"{name} has what {team.name} lends and may borrow:"

    # --- who has it, and who must give it back

    @cached_property
    def held(self) -> list[Admitted]:
        return of_kai(self.plan, self.snapshot)

    def holders(self, keys: set[str]) -> Iterator[Holder]:
        if self.place is None or not keys & {"limit", "over-quota", "no-pods", "not-told", "unknown"}:
            return
        mine, flavor = self.place
        own = keys == {"over-quota"}
        used = {
            team.name: sum(held.units(flavor.name) for held in self.held if held.job.team == team.name)
            for team in self.plan.teams
        }
        teams = (
            [mine]
            if own
            else sorted(self.plan.teams, key=lambda team: team.shares[flavor.name].guaranteed - used[team.name])
        )
        for team in teams:
            kept = kai.reserved(self.plan, team, flavor)
            idle = team.shares[flavor.name].reserved - self.used({kept}) if kept and team is not mine else 0
            if idle > 0 and not own:
                yield Holder(
                    team.name, flavor.name, 0, f"{team.name} reserves {flavor.count(idle)} that are idle and never lent"
                )
            if amount := used[team.name]:
                jobs = [held for held in self.held if held.job.team == team.name]
                text = holds(team.name, flavor, amount, of_guaranteed(team, flavor, amount), jobs, self.snapshot.now)
                yield Holder(team.name, flavor.name, amount, text)

    def reclaims(self, matches: Sequence[Match]) -> Iterator[str]:
        if self.place is None or not self.waiting or {match.row.key for match in matches} & {"gang", "no-node"}:
            return
        team, flavor = self.place
        quota, limit, used = self.numbers(self.queue_name)
        if used >= quota:
            has = f"has all {flavor.count(quota)} of its quota in use" if quota else "has no quota of its own"
            borrows = 0 <= limit <= quota or any(match.row.key == "over-quota" for match in matches)
            yield f"The queue {self.queue_name} {has}. {'It may not borrow more.' if borrows else 'It must borrow more, and waits for it.'}"
            return
        above = [
            f"{entry.name} ({flavor.count(more)})"
            for entry in self.plan.teams
            if entry is not team and (more := self._above(entry, flavor)) > 0
        ]
        left = flavor.count(quota - used)
        if above:
            yield f"{left} of its queue's quota are not in use: KAI preempts pods of {listed(above)} for it, in seconds."
        else:
            yield f"{left} of its queue's quota are not in use, and no other queue uses more than its own."

    def _above(self, team: TeamPlan, flavor: Hardware) -> int:
        quota, _, used = self.numbers(kai.regular(self.plan, team, flavor))
        return used - quota

    def when(self, matches: Sequence[Match]) -> When:
        keys = {match.row.key for match in matches}
        if self.suspended:
            return When(f"when the {self.target.kind} is no longer suspended", "no bound")
        if not self.waiting:
            return When(
                f"when the {self.target.kind} makes its pods again; it waits longer after each eviction", "no bound"
            )
        if keys & {"gang", "no-node"}:
            return When(
                "when pods end, or are evicted, on the nodes that its pods need",
                "no bound: what ends first may be elsewhere",
            )
        quota, _, used = self.numbers(self.queue_name)
        if self.place and used < quota and "over-quota" not in keys and self.queue_name in self.queues:
            return When(
                "in seconds: its queue has quota left, and KAI takes it back for it",
                "no bound, if nodes have no room for it",
            )
        return When("when pods that use the quota end; KAI does not know when", "no bound")

    # --- what happened to it

    @cached_property
    def evictions(self) -> list[Object]:
        """Events on its PodGroups, also those of pods that are gone: the latest first."""
        found = [
            event
            for event in self.snapshot.of("Event")
            if event.get("reason") == EVICT and self._about_it(event.get("involvedObject") or NONE)
        ]
        return sorted(found, key=lambda entry: event_time(entry) or self.snapshot.now, reverse=True)

    def _about_it(self, about: Object) -> bool:
        if about.get("namespace") != self.target.namespace:
            return False
        name = str(about.get("name") or "")
        return name in self.groups or any(name.endswith(uid) for uid in self.target.uids if uid)

    def history(self) -> Iterator[str]:
        """Each who stopped it once, with how many pods."""
        told: dict[str, int] = {}
        latest: dict[str, str] = {}
        for event in self.evictions:
            for entry in match(KAI, EVICT, EVICT, str(event.get("message") or "")):
                by, team = self._by(entry.groups["group"])
                text = explain(
                    entry, {"by": by, "by_team": team, "team": self.place[0].name if self.place else "its team"}
                ).text
                told[text] = told.get(text, 0) + 1
                latest.setdefault(text, since(event_time(event), self.snapshot.now))
        for text, count in told.items():
            yield f"{latest[text]}, {counted(count, 'pod')}: {text}"

    def _by(self, group: str) -> tuple[str, str]:
        """The job whose PodGroup that is, and its team."""
        namespace, _, name = group.partition("/")
        space = self.snapshot.get("Namespace", namespace)
        team = labels_of(space).get(self.plan.team_label, namespace) if space else namespace
        for pod in self.snapshot.of("Pod"):
            if namespace_of(pod) == namespace and annotations_of(pod).get(POD_GROUP) == name:
                owner = next(iter(owners_of(pod)), None)
                return f"{namespace}/{owner['name'] if owner else name_of(pod)}", team
        match = GROUP.match(name)
        return f"{namespace}/{match['pod'] if match else name}", team
