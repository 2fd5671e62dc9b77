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
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


def swap(fresh: Path, target: Path) -> None:
    """The folder `fresh` takes the place of `target`; what was there, if anything, is then at `fresh`. Raises OSError.

    Another process may make or take away `target` at any moment, so what it is now is learned by trying.
    """
    while True:
        try:
            if _exchange(os.fsencode(fresh), os.fsencode(target)):
                return
            break
        except FileNotFoundError:
            if not fresh.exists():
                raise
        try:
            os.rename(fresh, target)
            return
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
    aside = fresh.with_name(f"{fresh.name}.old")
    if target.exists():
        os.rename(target, aside)
    os.rename(fresh, target)
    if aside.exists():
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
