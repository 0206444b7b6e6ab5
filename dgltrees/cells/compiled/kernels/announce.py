"""One line before machine code is made, since the first training step then takes a minute."""

from __future__ import annotations

import sys
from functools import cache

from numba.core.event import Event, Listener, register
from tqdm import tqdm

__all__ = ["Announcement", "announce_compiling"]


class Announcement(Listener):  # type: ignore[misc]
    """Says once, on standard error, that numba compiles a function of a package.

    Code that numba loads from its cache on disk is not compiled, and nothing is said.

    Arguments:
        package: the name of the package.
    """

    def __init__(self, package: str = "dgltrees") -> None:
        self.package, self.done = package, False

    def on_start(self, event: Event) -> None:
        """Numba begins to compile a function."""
        if self.done or not event.data["dispatcher"].py_func.__module__.startswith(self.package):
            return
        self.done = True
        text = "compiling for this processor takes up to a minute; later runs load it from disk"
        tqdm.write(f"dgltrees: {text}", file=sys.stderr)

    def on_end(self, event: Event) -> None:
        """Numba has compiled a function."""


@cache
def announce_compiling() -> None:
    """Let numba tell an :class:`Announcement` of this process."""
    register("numba:compile", Announcement())
