"""The program on a real control plane: what it refuses, what it makes, and what an accident leaves of it."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenancy.objects import kueue
from tenancy.objects.manifest import dump_all

from .conftest import plan_of
from .stacks import Project, lacking

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SMALL = """
[cluster]
name = "small"
[flavors.gpu]
nodes = 4
gpus_per_node = 8
[teams.training]
guaranteed = 16
lendable = 8
[teams.research]
guaranteed = 8
borrowable = 4
prod = 2
"""
SKIP, SAVE = {"PULUMI_SKIP_CHECKPOINTS": "true"}, {"PULUMI_SKIP_CHECKPOINTS": "false"}
TEAMS = 24
HALF_WAY = 16  # ClusterQueues there when an update of 48 is killed


def many(teams: int) -> str:
    """Teams with prod: a Cohort and two ClusterQueues each."""
    flavor = f'[cluster]\nname = "small"\n[flavors.gpu]\nnodes = {TEAMS}\ngpus_per_node = 8\n'
    return flavor + "".join(
        f"[teams.t{number:02}]\nguaranteed = 8\nborrowable = 4\nprod = 2\n" for number in range(teams)
    )


@pytest.fixture
def project(empty: Path, tmp_path: Path) -> Iterator[Project]:
    """A stack that has never been updated, on a cluster with nothing on it."""
    result = Project(tmp_path, empty)
    result.agree(SMALL)
    yield result
    result.wipe()


def holds(project: Project, text: str) -> None:
    """The cluster has what the agreement makes, all of it and nothing else."""
    wanted = {f"{entry['kind']}/{entry['metadata']['name']}": entry for entry in kueue.objects(plan_of(text))}
    there = project.on_cluster()
    assert sorted(there) == sorted(wanted)
    assert [difference for name, value in wanted.items() for difference in lacking(value, there[name], name)] == []


# --- what is refused, before anything is written ------------------------------------------------------------------------


def test_a_cluster_that_does_not_answer_fails_the_preview(project: Project) -> None:
    project.set(kubeconfig=unanswering(project, project.kubeconfig.read_text()))
    for command in (project.preview, project.up):
        done = command()
        assert done.code != 0
        assert "no cluster answers at https://127.0.0.1:1" in done.said
        assert "tenancy lab up" in done.said
        assert "Traceback" not in done.said


def test_a_cluster_that_no_longer_answers_fails_the_preview_of_what_is_there(project: Project) -> None:
    """The record of an earlier update is no reason to believe that nothing has changed."""
    project.up().ok()
    project.set(kubeconfig=unanswering(project, project.kubeconfig.read_text()))
    done = project.preview()
    assert done.code != 0
    assert "no cluster answers at https://127.0.0.1:1" in done.said
    assert "DELETE_UNREACHABLE" not in done.said


def unanswering(project: Project, config: str) -> str:
    """A kubeconfig of the same cluster on a port where nothing is."""
    port = config.partition("https://127.0.0.1:")[2].partition("\n")[0]
    path = project.folder / "unanswering"
    path.write_text(config.replace(f"127.0.0.1:{port}", "127.0.0.1:1"))
    return str(path)


def test_a_wrong_agreement_is_told_in_its_own_words(project: Project) -> None:
    project.agree(SMALL.replace("lendable = 8", "lendable = 17").replace("prod = 2", "prod = 9"))
    done = project.preview()
    assert done.code != 0
    assert "tenancy.toml:9:12: teams.training.lendable: 17 is more than guaranteed (16)" in done.said
    assert "tenancy.toml:13:8: teams.research.prod: 9 is more than guaranteed (8)" in done.said
    assert "Traceback" not in done.said


def test_an_unknown_scheduler_is_told_with_those_there_are(project: Project) -> None:
    project.set(schedulers='["kueu"]')
    done = project.preview()
    assert done.code != 0
    assert "tenancy:schedulers: 'kueu' is not a scheduler; choose from kueue, kai" in done.said
    assert "Traceback" not in done.said


def test_a_scheduler_that_is_not_installed_fails_the_preview(project: Project) -> None:
    project.set(schedulers='["kueue", "kai"]')
    done = project.preview()
    assert done.code != 0
    assert "the cluster does not serve Queue" in done.said


def test_objects_of_others_are_refused_by_name_and_left_alone(project: Project) -> None:
    for name in ("training", "research"):
        project.kubectl("create", "--filename=-", given=textwrap.dedent(foreign(name)))
    before = project.on_cluster()
    for command in (project.preview, project.up):
        done = command()
        assert done.code != 0
        assert "ClusterQueue/research, ClusterQueue/training: already on the cluster" in done.said
    assert project.on_cluster() == before


def test_objects_of_others_are_taken_over_where_the_stack_says_so(project: Project) -> None:
    project.kubectl("create", "--filename=-", given=textwrap.dedent(foreign("training")))
    project.set(adopt="true")
    project.up().ok()
    holds(project, SMALL)
    assert "unchanged" in project.preview("--expect-no-changes").ok().said


def foreign(name: str) -> str:
    return f"""
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {{name: {name}}}
        spec: {{cohortName: theirs, namespaceSelector: {{}}}}
    """


def test_what_kubectl_applied_of_ours_is_taken_over(project: Project) -> None:
    """Somebody used the rendered files first; later a limit goes, and it goes on the cluster too."""
    project.kubectl("apply", "--server-side", "--filename=-", given=dump_all(kueue.objects(plan_of(SMALL))))
    project.up().ok()
    project.agree(SMALL.replace("borrowable = 4\n", ""))
    project.up().ok()
    holds(project, SMALL.replace("borrowable = 4\n", ""))
    assert limits(project.on_cluster()["Cohort/research"]) == []


def test_a_field_that_nobody_may_change_is_refused_before_anything_is_written(project: Project) -> None:
    levels = '[topologies.zonal]\nlevels = ["zone", "kubernetes.io/hostname"]\n'
    text = SMALL.replace("gpus_per_node = 8\n", 'gpus_per_node = 8\ntopology = "zonal"\n')
    project.agree(text + levels)
    project.up().ok()
    project.agree((text + levels).replace('"zone"', '"rack"').replace("guaranteed = 16", "guaranteed = 8"))
    before = project.on_cluster()
    for command in (project.preview, project.up):
        done = command()
        assert done.code != 0
        assert "Topology/zonal: spec.levels" in done.said
    assert project.on_cluster() == before


def test_an_object_on_its_way_out_is_not_written(project: Project) -> None:
    project.up().ok()
    hold = '{"metadata": {"finalizers": ["tests.tenancy.dev/hold"]}}'
    project.kubectl("patch", "cohort", "research", "--type=merge", f"--patch={hold}")
    project.kubectl("delete", "cohort", "research", "--wait=false")
    done = project.up()
    project.kubectl("patch", "cohort", "research", "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    assert done.code != 0
    assert "Cohort/research: being deleted on the cluster" in done.said


# --- what is made -------------------------------------------------------------------------------------------------------


def test_up_makes_all_of_it_and_a_second_one_changes_nothing(project: Project) -> None:
    project.up().ok()
    holds(project, SMALL)
    before = {name: value["metadata"]["resourceVersion"] for name, value in project.on_cluster().items()}
    project.up("--expect-no-changes").ok()
    project.preview("--refresh", "--expect-no-changes").ok()
    assert {name: value["metadata"]["resourceVersion"] for name, value in project.on_cluster().items()} == before


def test_a_number_changed_by_hand_is_told_and_put_back(project: Project) -> None:
    """Without a refresh, which Pulumi's own record would need (tests/on_lab/test_day2.py has it with one)."""
    project.up().ok()
    quota = '[{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/2/nominalQuota", "value": "99"}]'
    project.kubectl("patch", "clusterqueue", "training", "--type=json", f"--patch={quota}")
    before = project.on_cluster()
    assert "training: guaranteed 16 → 99 GPUs" in project.preview().ok().said
    assert project.on_cluster() == before
    project.up().ok()
    holds(project, SMALL)


def test_objects_that_went_are_told_and_after_a_refresh_made_again(project: Project) -> None:
    """Somebody deleted them, or the lab is a new one with the name of the old."""
    project.up().ok()
    project.wipe()
    done = project.up()
    assert done.code != 0
    assert "ClusterQueue/training" in done.said
    assert "pulumi refresh" in done.said
    project.pulumi("refresh", "--yes").ok()
    project.up().ok()
    holds(project, SMALL)


def test_the_cluster_gets_another_name_and_every_queue_stays(project: Project) -> None:
    """Its name is in the label of each object, and is the root Cohort's."""
    project.up().ok()
    before = {name: value["metadata"]["uid"] for name, value in project.on_cluster().items()}
    renamed = SMALL.replace('name = "small"', 'name = "other"')
    project.agree(renamed)
    project.up().ok()
    holds(project, renamed)
    after = {name: value["metadata"]["uid"] for name, value in project.on_cluster().items()}
    assert {name for name in before if after.get(name) != before[name]} == {"Cohort/small"}


def test_a_team_gains_prod_and_loses_it(project: Project) -> None:
    for text in (SMALL, SMALL.replace("prod = 2\n", ""), SMALL):
        project.agree(text)
        project.up().ok()
        holds(project, text)


def test_protected_objects_stay_when_their_team_leaves_the_agreement(project: Project) -> None:
    project.set(protect="true")
    project.up().ok()
    project.agree(SMALL.partition("[teams.research]")[0])
    done = project.up()
    assert done.code != 0
    assert "protected" in done.said
    assert {"ClusterQueue/research", "ClusterQueue/research-prod", "Cohort/research"} <= set(project.on_cluster())


def test_destroy_leaves_nothing(project: Project) -> None:
    project.up().ok()
    project.pulumi("destroy", "--yes", "--suppress-progress").ok()
    assert project.on_cluster() == {}


# --- an update that is killed -------------------------------------------------------------------------------------------


def killed(project: Project, setting: dict[str, str], text: str = "") -> None:
    """An update of 24 teams, gone half-way; the lock it leaves is lifted as a person would do it."""
    project.agree(text or many(TEAMS))
    project.kill_up(lambda: len(project.names("clusterqueues")) >= HALF_WAY, env=setting)
    assert len(project.names("clusterqueues")) < 2 * TEAMS
    locked = project.up(env=setting)
    assert locked.code != 0
    assert "pulumi cancel" in locked.said
    project.pulumi("cancel", "--yes").ok()


@pytest.mark.parametrize("setting", [SAVE, SKIP], ids=["checkpoints", "no checkpoints"])
def test_a_killed_update_runs_again_and_converges(project: Project, setting: dict[str, str]) -> None:
    killed(project, setting)
    project.up(env=setting).ok()
    holds(project, many(TEAMS))
    assert project.recorded() == sorted(project.on_cluster())
    project.preview("--expect-no-changes").ok()


@pytest.mark.parametrize("setting", [SAVE, SKIP], ids=["checkpoints", "no checkpoints"])
def test_teams_that_left_in_between_are_not_left_over(project: Project, setting: dict[str, str]) -> None:
    killed(project, setting)
    fewer = many(5)
    project.agree(fewer)
    project.set(prune="true")
    project.up(env=setting).ok()
    gone(project, fewer)
    holds(project, fewer)
    assert project.recorded() == sorted(project.on_cluster())


def gone(project: Project, text: str) -> None:
    """What the cluster was asked to remove goes once Kueue lets go of it."""
    deadline = time.monotonic() + 60
    while len(project.on_cluster()) > len(kueue.objects(plan_of(text))) and time.monotonic() < deadline:
        time.sleep(0.2)


def test_leftovers_are_named_and_kept_where_nobody_asked_for_their_removal(project: Project) -> None:
    killed(project, SKIP)
    project.agree(many(0) + "[teams.t23]\nguaranteed = 8\n")
    before = sorted(project.on_cluster())
    done = project.up(env=SKIP)
    assert done.code != 0
    left = [entry for entry in before if entry.startswith("ClusterQueue/") and entry != "ClusterQueue/t23"]
    assert left and all(entry in done.said for entry in left)
    assert "left over from an update that was killed" in done.said
    assert sorted(project.on_cluster()) == before


def test_what_the_agreement_drops_after_a_killed_update_goes(project: Project) -> None:
    """No field may stay in the hands of a writer that nobody remembers."""
    taints = 'taints = [{ key = "gpu", value = "present", effect = "NoSchedule" }]\n'
    text = many(TEAMS).replace("gpus_per_node = 8\n", f"gpus_per_node = 8\n{taints}")
    killed(project, SKIP, text)
    project.up(env=SKIP).ok()
    text = text.replace(taints, "").replace("borrowable = 4\n", "")
    project.agree(text)
    project.up(env=SKIP).ok()
    holds(project, text)
    assert "tolerations" not in project.on_cluster()["ResourceFlavor/gpu"]["spec"]
    assert limits(project.on_cluster()["Cohort/t00"]) == []


@pytest.mark.parametrize("setting", [SAVE, SKIP], ids=["checkpoints", "no checkpoints"])
def test_an_agreement_taken_back_after_a_killed_update_holds_again(project: Project, setting: dict[str, str]) -> None:
    """The update had changed numbers that the state does not know: without a look at the cluster, nothing to do."""
    project.agree(many(TEAMS))
    project.up(env=SKIP).ok()
    project.agree(many(TEAMS).replace("borrowable = 4", "borrowable = 5"))
    project.kill_up(lambda: len(changed(project)) >= 5, env=setting)
    project.pulumi("cancel", "--yes").ok()
    project.agree(many(TEAMS))
    project.up(env=setting).ok()
    holds(project, many(TEAMS))


def changed(project: Project) -> list[str]:
    """The Cohorts that have the new limit."""
    return [
        name for name, value in project.on_cluster().items() if name.startswith("Cohort/t") and "5" in limits(value)
    ]


def limits(one: dict[str, Any]) -> list[str]:
    (group,) = one["spec"]["resourceGroups"]
    return [
        resource["borrowingLimit"]
        for flavor in group["flavors"]
        for resource in flavor["resources"]
        if "borrowingLimit" in resource
    ]
