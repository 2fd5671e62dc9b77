"""Two folders change places in one step, so that a reader or a crash sees the old one or the new one, never a mix.

POSIX renames a folder over an empty one only. Linux (renameat2 with RENAME_EXCHANGE) and macOS (renamex_np with
RENAME_SWAP) exchange two names at once; where neither works, two renames come close: a crash between them leaves no
folder, and the old one beside it under a name that says so.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h
_RENAME_SWAP = 2  # macOS sys/stdio.h
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def swap(fresh: Path, target: Path) -> None:
    """`fresh` takes the place of `target`; what was there, if anything, is then at `fresh`. Raises OSError."""
    if not target.exists():
        os.rename(fresh, target)
    elif not _exchange(os.fsencode(fresh), os.fsencode(target)):
        aside = target.with_name(f".{target.name}.old")
        os.rename(target, aside)
        os.rename(fresh, target)
        os.rename(aside, fresh)


def _exchange(one: bytes, other: bytes) -> bool:
    """Whether the system exchanged the two; False where it does not know how."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        failed = libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(one, other, _RENAME_SWAP)
    else:
        return False
    code = ctypes.get_errno()
    if failed and code not in _NOT_HERE:
        raise OSError(code, os.strerror(code), os.fsdecode(other))
    return not failed
