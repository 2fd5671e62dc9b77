"""A template of the namespace operator, expanded by the engine that the operator uses: Go's, which kubectl carries.

`kubectl config view -o go-template` needs no cluster, and keeps what an extension of a kubeconfig holds; so each extension
is a namespace with the two fields that a template may read. What comes out is read as the operator reads it
(namespace-configuration-operator 1.2.6): a list is any number of objects, anything else must be one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

BETWEEN = "\n#-#-#\n"


def kubectl() -> str:
    """The wheel's, or the one on PATH."""
    own = Path(sys.executable).parent / "kubectl"
    found = str(own) if own.exists() else shutil.which("kubectl")
    if found is None:
        pytest.skip("kubectl is not here")
    return found


def expand(template: str, namespaces: Mapping[str, Mapping[str, str]]) -> dict[str, list[dict[str, Any]]]:
    """What the template makes in each namespace, given by name and labels."""
    extensions = [
        {"name": name, "extension": {"Name": name, "Labels": namespace}} for name, namespace in namespaces.items()
    ]
    each = f'{{{{define "t"}}}}{template}{{{{end}}}}{{{{range .extensions}}}}{{{{template "t" .extension}}}}{BETWEEN}{{{{end}}}}'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config")
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "extensions": extensions}))
        Path(folder, "template").write_text(each)
        source = f"--output=go-template-file={folder}/template"
        command = [kubectl(), "config", "view", "--raw", f"--kubeconfig={path}", source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # kubectl lists extensions by name.
    texts = dict(zip(sorted(namespaces), done.stdout.split(BETWEEN)[:-1], strict=True))
    return {name: _read(texts[name]) for name in namespaces}


def _read(text: str) -> list[dict[str, Any]]:
    found = yaml.safe_load(text)
    assert found is not None, "nothing at all: the operator would delete all that the namespace has"
    return found if isinstance(found, list) else [found]
