"""A stack's configuration as types: the `tenancy:` keys of `Pulumi.<stack>.yaml`.

Scalars only; what they decide about is in the agreement. A key that does not exist is refused with the nearest one that does, since
Pulumi itself would take `tenancy:protct` and protect nothing.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, fields
from typing import Any

import pulumi

from tenancy.access import Namespaces
from tenancy.fidelity import Scheduler


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a stack may set. Every key has the name of its field."""

    agreement: str
    """The agreement's file, from the project's folder."""
    schedulers: tuple[Scheduler, ...] = (Scheduler.KUEUE,)
    """Which schedulers it is written for."""
    namespaces: Namespaces = Namespaces.LISTED
    """Who writes what a team's namespace gets: `listed`, this stack, for those in the agreement; `operator`, the namespace
    operator, for all that carry a team's label."""
    kubeconfig: str | None = None
    """A path from the project's folder, or the text of one; without it KUBECONFIG or the user's own."""
    context: str | None = None
    """A context in it; without it the current one."""
    protect: bool = False
    """Whether Pulumi refuses to delete the objects."""
    adopt: bool = False
    """Whether objects that others made are taken over, where they have a name of ours."""
    prune: bool = False
    """Whether objects are removed that an update made before it was killed, and that nobody wants any more."""
    timeout: str | None = None
    """How long one object is waited for, such as `5m`; without it the provider's ten minutes."""

    @classmethod
    def of_stack(cls) -> Settings:
        """Raises RunError, with everything that is wrong."""
        config = pulumi.Config("tenancy")
        known = [field.name for field in fields(cls)]
        given = [key.removeprefix("tenancy:") for key in pulumi.runtime.get_config_env() if key.startswith("tenancy:")]
        wrong = [f"tenancy:{key} is no setting; {_nearest(key, known)}" for key in given if key not in known]
        schedulers = _texts(config.get("schedulers"))
        wrong += [
            f"tenancy:schedulers: {it!r} is no scheduler; there are {', '.join(Scheduler)}"
            for it in schedulers
            if it not in set(Scheduler)
        ]
        namespaces = config.get("namespaces") or cls.namespaces
        if namespaces not in set(Namespaces):
            wrong.append(f"tenancy:namespaces: {namespaces!r} is none of {', '.join(Namespaces)}")
        if not config.get("agreement"):
            wrong.append("tenancy:agreement names no file; set it: pulumi config set tenancy:agreement tenancy.toml")
        if wrong:
            raise pulumi.RunError("\n".join(wrong))
        return cls(
            agreement=config.require("agreement"),
            schedulers=tuple(dict.fromkeys(map(Scheduler, schedulers))) or cls.schedulers,
            namespaces=Namespaces(namespaces),
            kubeconfig=config.get("kubeconfig"),
            context=config.get("context"),
            protect=bool(config.get_bool("protect")),
            adopt=bool(config.get_bool("adopt")),
            prune=bool(config.get_bool("prune")),
            timeout=config.get("timeout"),
        )

    @property
    def timeouts(self) -> pulumi.CustomTimeouts | None:
        one = self.timeout
        return pulumi.CustomTimeouts(create=one, update=one, delete=one) if one else None


def _texts(value: str | None) -> list[str]:
    """A list as Pulumi hands it over (JSON), or what `pulumi config set tenancy:schedulers kueue,kai` leaves."""
    try:
        found: Any = json.loads(value or "[]")
    except ValueError:
        found = [it.strip() for it in (value or "").split(",")]
    return [str(it) for it in found] if isinstance(found, list) else [str(found)]


def _nearest(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean tenancy:{near[0]}?" if near else f"there are {', '.join(known)}"
