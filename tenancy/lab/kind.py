"""The lab on kind."""

from __future__ import annotations


def delete(name: str) -> None:
    raise NotImplementedError
