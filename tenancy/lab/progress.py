"""Says how far a long build is: one moving line on a terminal, a plain line now and then in a log.

It counts packages: how many are compiled, of how many, and the time so far. A log gets a line at least every 15 seconds,
also while one package or a linker takes its time, so that nobody wonders whether it hangs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from ..text.durations import measured

EVERY = 15.0  # seconds between lines of a log


class Part:
    """One module's build. Its programs are linked when the last package is compiled."""

    def __init__(self, name: str, programs: tuple[str, ...], packages: Collection[str]) -> None:
        self.name, self.programs, self.packages = name, programs, set(packages)
        self.total, self.last, self.began = len(packages), "", time.monotonic()

    def compiled(self, line: str) -> None:
        """A line of `go build -v`: the package whose turn it is."""
        if line in self.packages:
            self.packages.remove(line)
            self.last = line

    def __str__(self) -> str:
        if left := len(self.packages):
            what = f"{self.total - left}/{self.total} packages, at {self.last or 'the first'}"
        else:
            what = f"linking {', '.join(self.programs)}"
        return f"building {self.name}: {what}; {measured(time.monotonic() - self.began)} so far"


class Progress:
    """What several parts have in common: where it is shown, and since when."""

    def __init__(self, console: Console) -> None:
        self.console, self.began = console, time.monotonic()
        self._said, self._part = 0.0, False
        self._lock = threading.Lock()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def note(self, text: str) -> None:
        """Something by the way: shown in a log if nothing was for a while, and not while a part is shown."""
        with self._lock:
            if not self._part and time.monotonic() - self._said >= EVERY:
                self._say(text)

    @contextmanager
    def part(self, name: str, programs: tuple[str, ...], packages: Collection[str]) -> Iterator[Part]:
        part = Part(name, programs, packages)
        self._part = True
        self._say(f"building {name}: {', '.join(programs)}; {len(packages)} packages to compile")
        stop = threading.Event()
        status = Status(str(part), console=self.console)
        thread = threading.Thread(target=self._watch, args=(part, stop, status), daemon=True)
        thread.start()
        try:
            yield part
            self._finish(stop, thread, status)
            self._say(f"built {name} in {measured(time.monotonic() - part.began)}: {', '.join(programs)}")
        finally:
            self._finish(stop, thread, status)
            self._part = False

    def _finish(self, stop: threading.Event, thread: threading.Thread, status: Status) -> None:
        stop.set()
        thread.join()
        status.stop()

    def _watch(self, part: Part, stop: threading.Event, status: Status) -> None:
        live = self.console.is_terminal
        if live:
            status.start()
        while not stop.wait(0.5 if live else min(1.0, EVERY)):
            if live:
                status.update(str(part))
            elif time.monotonic() - self._said >= EVERY:
                self._say(str(part))

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        self.console.print(f"tools: {text}", highlight=False, markup=False, soft_wrap=True)
