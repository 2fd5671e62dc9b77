"""The checks of an agreement's virtual machines, with KubeVirt's controller: what its pods ask for, and what the quota says to it.

Where no team has machines the same is proved with the quota that the agreement would write for one machine of its first team,
so that a cluster can be tried before it is promised to anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...agreement.model import Machines
from ...agreement.plan import Plan, TeamPlan
from ...objects.access import quotas
from ...text.counts import counted
from ...text.quantity import bytes_text
from .model import Check, JobGroup, Machine, Scheduler, Step

MEMORY = "requests.memory"
DEFINED, RUNNING = "count/virtualmachines.kubevirt.io", "count/virtualmachineinstances.kubevirt.io"
EXCEEDED = "exceeded quota"
BOOT = 300.0  # seconds more: an image is pulled, and an emulated processor takes its time
ONE = Machines.model_validate({"namespace": "machines", "count": 1, "vcpus": 1, "memory": "1Gi"})


def kubevirt_checks(plan: Plan) -> tuple[Check, ...]:
    """Five of each team that has machines; of the first team where none has."""
    teams = [team for team in plan.teams if team.machines] or plan.teams[:1]
    return tuple(check for team in teams for check in _of_team(plan, team))


def machines_of(team: TeamPlan) -> Machines:
    """The team's machines, or the one that it would have."""
    return team.machines or ONE


def _of_team(plan: Plan, team: TeamPlan) -> Iterator[Check]:
    machines = machines_of(team)
    yield _check(
        team,
        "machine-memory",
        f"one counts for its {bytes_text(machines.memory)} and what KubeVirt adds",
        *_memory(team),
    )
    yield _check(team, "machine-second", "that many run at once, not one more, and none larger", *_second(team))
    yield _check(team, "machine-stopped", "a stopped one counts too", *_stopped(team))
    yield _check(team, "machine-no-gpu", "none takes a GPU, and no queue holds one", *_no_gpu(plan, team))
    yield _check(team, "machine-boot", "one boots", *_boot(team))


def _memory(team: TeamPlan) -> Iterator[Step]:
    if machines_of(team).count:
        counted = {MEMORY: _counted(team, 1)}
        yield Step(
            f"{team.display_name} starts a machine.", (_jobs(team, "machine"),), running={"machine": 1}, usage=counted
        )


def _second(team: TeamPlan) -> Iterator[Step]:
    """The last one makes room for a larger one, which is then as far over the quota as KubeVirt's kinds differ, and 1Mi."""
    machines = machines_of(team)
    others, last = _jobs(team, "others", machines.count - 1), _jobs(team, "last")
    started = tuple(jobs for jobs in (others, last) if jobs.count > 0 and machines.count)
    running = {jobs.name: jobs.count for jobs in started}
    if started:
        usage = {MEMORY: _counted(team, machines.count), RUNNING: {machines.count}}
        yield Step(
            f"{team.display_name} starts {counted(machines.count, 'machine')}.", started, running=running, usage=usage
        )
    more = _jobs(team, "more")
    yield Step(
        f"{team.display_name} starts one more.", (more,), running=running, refused=("more",), because={"more": EXCEEDED}
    )
    if started:
        memory = machines.memory + machines.count * (max(quotas.LAUNCHERS) - min(quotas.LAUNCHERS)) + quotas.MEBIBYTE
        larger = _jobs(team, "larger", memory=memory)
        yield Step(
            f"In place of the last, {team.display_name} starts one of {bytes_text(memory)}.",
            (larger,),
            remove=("last",),
            running={name: count for name, count in running.items() if name != "last"},
            because={"larger": EXCEEDED},
        )


def _stopped(team: TeamPlan) -> Iterator[Step]:
    machines = machines_of(team)
    if machines.count:
        stopped = _jobs(team, "stopped", machines.count, runs=False)
        yield Step(
            f"{team.display_name} makes {counted(machines.count, 'machine')} and starts none.",
            (stopped,),
            usage={DEFINED: {machines.count}},
        )
        more = _jobs(team, "more")
        yield Step(f"{team.display_name} starts one more.", (more,), refused=("more",), because={"more": EXCEEDED})


def _no_gpu(plan: Plan, team: TeamPlan) -> Iterator[Step]:
    running = {}
    if machines_of(team).count:
        running["machine"] = 1
        yield Step(
            f"{team.display_name} starts a machine, and Kueue lets its pod alone.",
            (_jobs(team, "machine"),),
            running=running,
        )
    of = {flavor.resource: flavor.name for flavor in reversed(plan.flavors)}
    devices = [resource for resource in plan.resources if resource not in ("cpu", "memory")]
    pods = [JobGroup(f"pod-{number}", team.name, of[resource], 1) for number, resource in enumerate(devices)]
    if names := [jobs.name for jobs in pods]:
        yield Step(
            f"A pod where machines are asks for {' or '.join(devices)}.",
            tuple(pods),
            running=running,
            refused=tuple(names),
            because=dict.fromkeys(names, EXCEEDED),
        )


def _boot(team: TeamPlan) -> Iterator[Step]:
    if machines_of(team).count:
        boots = _jobs(team, "machine", boots=True)
        yield Step(
            f"{team.display_name} starts a machine, and its guest runs.", (boots,), running={"machine": 1}, longer=BOOT
        )


def _check(team: TeamPlan, kind: str, promise: str, *steps: Step) -> Check:
    machines = machines_of(team)
    size = (
        f"{counted(machines.count, 'machine')} of {counted(machines.vcpus, 'vCPU')} and {bytes_text(machines.memory)}"
    )
    if team.machines:
        sentence = f"{team.display_name} has {size}: {promise}"
        look_at = f"resourcequota/{quotas.QUOTA} in namespace {machines.namespace}"
    else:
        sentence = f"the agreement gives no machines; where {team.display_name} had {size}: {promise}"
        look_at = f"the resourcequota that [teams.{team.name}.machines] would write"
    not_run = "" if steps else f"{team.display_name} is promised no machine"
    return Check(Scheduler.KUBEVIRT, kind, team.name, "", sentence, steps, look_at, not_run)


def _jobs(
    team: TeamPlan, name: str, count: int = 1, *, memory: int = 0, runs: bool = True, boots: bool = False
) -> JobGroup:
    machines = machines_of(team)
    return JobGroup(name, team.name, "", count, machine=Machine(machines.vcpus, memory or machines.memory, runs, boots))


def _counted(team: TeamPlan, count: int) -> Collection[int]:
    """What so many may count for in bytes: KubeVirt adds one amount or the other."""
    machines = machines_of(team)
    return [count * quotas.launcher_memory(machines.memory, machines.vcpus, launcher) for launcher in quotas.LAUNCHERS]
