"""The agreement, the cluster and the scheduler are named alike in every command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from commands import run
from samples import LAB

from tenancy.cli import app


def commands(group: Any, path: str = "") -> dict[str, Any]:
    """Each command by its whole name, `lab play`."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        found |= commands(command, f"{path}{name} ") if hasattr(command, "commands") else {f"{path}{name}": command}
    return found


COMMANDS = commands(typer.main.get_command(app))
CLUSTER = {"--kubeconfig", "--context", "--lab"}
# Of no agreement: `schema` prints the format, `import` writes an agreement, and a lab is by its name.
OF_NO_AGREEMENT = {"schema", "import", "lab down", "lab status"}


def options(command: str) -> set[str]:
    return {option for param in COMMANDS[command].params for option in param.opts}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_an_agreement_takes_it_by_file(command: str) -> None:
    assert ({"--file", "-f"} <= options(command)) is (command not in OF_NO_AGREEMENT)


@pytest.mark.parametrize("command", COMMANDS)
def test_whoever_reads_a_cluster_names_it_by_the_same_three_options(command: str) -> None:
    given = options(command) & CLUSTER
    assert given in (set(), CLUSTER) or (command.startswith("lab ") and given == {"--lab"})


@pytest.mark.parametrize("command", [entry for entry in COMMANDS if "--scheduler" in options(entry)])
def test_a_scheduler_is_one_of_a_few_and_may_be_given_again(command: str) -> None:
    (option,) = [param for param in COMMANDS[command].params if "--scheduler" in param.opts]
    assert option.multiple and str(option.metavar).startswith("kueue|kai")
    arguments = ["job"] if command == "why" else []
    code, out, err = run(*command.split(), *arguments, "--scheduler", "kai", "--scheduler", "slurm")
    assert (code, out) == (2, "") and err.startswith("--scheduler slurm: choose kueue") and err.count("\n") == 1


@pytest.mark.parametrize("command", [("check",), ("show",), ("render", "--out", "out"), ("verify", "--list")])
def test_an_agreement_is_the_same_as_an_argument_and_by_option(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text(LAB)
    assert run(*command, "a.toml") == run(*command, "-f", "a.toml") == run(*command, "a.toml", "--file", "a.toml")
    code, _, err = run(*command, "a.toml", "--file", "b.toml")
    assert (code, err) == (2, "a.toml and b.toml: name one agreement, as FILE or by --file\n")
    assert run(*command)[0] == 2  # there is no tenancy.toml


def test_diff_takes_the_new_agreement_by_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.toml").write_text(LAB)
    Path("new.toml").write_text(LAB.replace("lendable = 0", "lendable = 4"))
    done = run("diff", "old.toml", "new.toml")
    assert done[0] == 0 and "inference" in done[1]
    assert run("diff", "old.toml", "-f", "new.toml") == done
    assert run("diff", "new.toml", "-f", "old.toml")[1] != done[1]
