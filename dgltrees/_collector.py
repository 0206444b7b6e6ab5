"""Python's garbage collector, where many objects are made that contain no cycle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Make objects without the collector, which would look through all there are again and again.

    Objects without cycles go by their reference counts, when they are no longer needed. While JSON
    is read, the collector takes half of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
