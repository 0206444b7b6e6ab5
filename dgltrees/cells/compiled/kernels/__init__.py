"""Compiled ways through all levels, for processors: numba makes machine code of Python loops.

They are there where numba is installed (``pip install dgltrees[fast]``) and torch's own library
lends them its matrix products; :func:`available` tells. On other devices and without numba the
same tables are filled by calls of torch, level by level.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor

from dgltrees.cells.compiled.kernels.library import has_products

__all__ = ["available", "compiled", "compiles", "shards_for"]

SMALLEST_SHARD = 64
"""Nodes below which a thread of its own is not worth waking."""
NARROWEST = 8
"""Rows below which a level's matrix product becomes slower by the row."""
CACHE, TABLES = 2**21, 13
"""Bytes of the cache that a core has to itself; numbers of size c that a node needs there."""

_state = threading.local()


@cache
def available() -> bool:
    """Whether there are compiled ways on this machine."""
    return importlib.util.find_spec("numba") is not None and has_products()


@contextmanager
def compiled(on: bool) -> Iterator[None]:
    """Within this context of this thread, whether compiled ways are taken where there are any."""
    before = getattr(_state, "on", True)
    _state.on = on
    try:
        yield
    finally:
        _state.on = before


def compiles(like: Tensor) -> bool:
    """Whether cells go a compiled way for such tensors now."""
    known = like.device.type == "cpu" and like.dtype in (torch.float32, torch.float64)
    return known and getattr(_state, "on", True) and available()


def shards_for(nodes: int, levels: int, width: int, itemsize: int) -> int:
    """Into how many shards a batch is cut, so that one fits a cache.

    At least one a thread, and no more than leave :data:`NARROWEST` rows to a level, of which a
    matrix product still makes good use.

    Arguments:
        nodes: of the batch.
        levels: of its deepest tree.
        width: c, the size of a state.
        itemsize: bytes of a number.
    """
    by_cache = nodes * width * TABLES * itemsize // CACHE + 1
    by_width = nodes // (max(levels, 1) * NARROWEST)
    threads = min(torch.get_num_threads(), nodes // SMALLEST_SHARD)
    return max(1, threads, min(by_cache, by_width))
