"""A stack's configuration as types: the `tenancy:` keys of `Pulumi.<stack>.yaml`.

Scalars only; what they decide about is in the agreement. A key that does not exist is refused with the nearest one that does, since
Pulumi itself would take `tenancy:protct` and protect nothing.
"""

from __future__ import annotations

import difflib
import json
import os
from dataclasses import dataclass, fields
from typing import Any

import pulumi

from tenancy.objects.access import Namespaces
from tenancy.objects.schedulers import Scheduler


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
    retain: bool = False
    """Whether objects stay on the cluster when they leave the stack."""
    checkpoints: bool = False
    """Whether an update without Pulumi's record at each step (PULUMI_SKIP_CHECKPOINTS) is refused."""
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
        wrong = [f"tenancy:{key} is not a setting; {_nearest(key, known)}" for key in given if key not in known]
        schedulers = _texts(config.get("schedulers"))
        wrong += [
            f"tenancy:schedulers: {scheduler!r} is not a scheduler; choose from {', '.join(Scheduler)}"
            for scheduler in schedulers
            if scheduler not in set(Scheduler)
        ]
        namespaces = config.get("namespaces") or cls.namespaces
        if namespaces not in set(Namespaces):
            wrong.append(f"tenancy:namespaces: {namespaces!r} is not one of {', '.join(Namespaces)}")
        if not config.get("agreement"):
            wrong.append("tenancy:agreement is not set: pulumi config set tenancy:agreement tenancy.toml")
        if config.get_bool("checkpoints") and _skips_checkpoints() and not pulumi.runtime.is_dry_run():
            wrong.append(
                "tenancy:checkpoints wants the record saved at each step, and PULUMI_SKIP_CHECKPOINTS is set: unset it "
                "for this stack"
            )
        if wrong:
            raise pulumi.RunError("\n".join(wrong))
        return cls(
            agreement=config.require("agreement"),
            schedulers=tuple(dict.fromkeys(map(Scheduler, schedulers))) or cls.schedulers,
            namespaces=Namespaces(namespaces),
            kubeconfig=config.get("kubeconfig"),
            context=config.get("context"),
            protect=bool(config.get_bool("protect")),
            retain=bool(config.get_bool("retain")),
            checkpoints=bool(config.get_bool("checkpoints")),
            adopt=bool(config.get_bool("adopt")),
            prune=bool(config.get_bool("prune")),
            timeout=config.get("timeout"),
        )

    def options(self, provider: pulumi.ProviderResource) -> pulumi.ResourceOptions:
        """What the stack's objects are registered with."""
        one = self.timeout
        return pulumi.ResourceOptions(
            provider=provider,
            protect=self.protect,
            retain_on_delete=self.retain,
            custom_timeouts=pulumi.CustomTimeouts(create=one, update=one, delete=one) if one else None,
        )


def _skips_checkpoints() -> bool:
    return os.environ.get("PULUMI_SKIP_CHECKPOINTS", "").lower() in ("1", "t", "true")


def _texts(value: str | None) -> list[str]:
    """A list as Pulumi hands it over (JSON), or what `pulumi config set tenancy:schedulers kueue,kai` leaves."""
    try:
        found: Any = json.loads(value or "[]")
    except ValueError:
        found = [part.strip() for part in (value or "").split(",")]
    return [str(entry) for entry in found] if isinstance(found, list) else [str(found)]


def _nearest(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean tenancy:{near[0]}?" if near else f"known are {', '.join(known)}"
