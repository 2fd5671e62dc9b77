"""The import name of the installed wheel, for a checkout: `gpu_tenancy.x` is the module `tenancy.x`, and
`gpu_tenancy.components.x` the module `components.x`. An editable install puts this file in its environment (`hook.py`)."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Alias(MetaPathFinder, Loader):
    """Finds a module under its second name, and gives the one that has the first: never a copy with types of its own."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__.removeprefix(f"{__name__}.")
        first = name if name.partition(".")[0] == "components" else f"tenancy.{name}"
        sys.modules[module.__name__] = import_module(first)  # Python's import takes what stands here in the end


sys.meta_path.insert(0, Alias())  # before the finder that would make a copy from the package's own folder
