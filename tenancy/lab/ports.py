"""Free ports, such that two labs that start at once do not take the same ones.

A port is free only until somebody binds it, and a lab's processes bind theirs seconds after they were chosen. So one lab
at a time, of all labs of a machine, chooses ports and waits until its processes have bound them. The lock is on the
system's folder for temporary files, which is there anyway: it leaves no file, and it ends with its process.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .folder import LabError

HOST = "127.0.0.1"
FIRST, LAST = 20_000, 32_767  # below the ports that Linux gives to outgoing connections (ip_local_port_range)
PATIENCE = 180.0  # seconds to wait for another lab's start


@contextmanager
def one_lab_at_a_time() -> Iterator[None]:
    """Held while ports are chosen and bound. Raises LabError when another lab takes too long."""
    handle = os.open(tempfile.gettempdir(), os.O_RDONLY)
    deadline = time.monotonic() + PATIENCE
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LabError(f"another lab on this machine has been starting for {PATIENCE:.0f} s") from None
                time.sleep(0.1)
        yield
    finally:
        os.close(handle)


def choose(names: Iterable[str], taken: dict[str, int]) -> dict[str, int]:
    """`taken` with a free port for each name that has none. Raises LabError when the machine has none left."""
    ports = dict(taken)
    for name in names:
        if name not in ports:
            ports[name] = _free(set(ports.values()))
    return ports


def _free(taken: set[int]) -> int:
    for port in random.sample(range(FIRST, LAST + 1), 500):
        if port not in taken and _is_free(port):
            return port
    raise LabError(f"no free port between {FIRST} and {LAST}")


def _is_free(port: int) -> bool:
    """Whether nobody listens on it, on loopback or on all addresses."""
    for host in (HOST, ""):
        with socket.socket() as one:
            try:
                one.bind((host, port))
            except OSError:
                return False
    return True
