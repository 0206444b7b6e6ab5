"""Python's garbage collector, switched off while many objects without cycles are created."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Switch the garbage collector off, which would search all existing objects again and again.

    Reference counts still delete objects without cycles. When JSON is read, the collector takes
    half of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
