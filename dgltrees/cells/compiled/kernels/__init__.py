"""What compiled traversals call, and whether numba can compile them on this machine.

They need numba (``pip install dgltrees[fast]``), a folder for its machine code, and the BLAS
routines of torch's own library; :func:`available` says whether all are there. On other devices and
without them the same tables are filled by calls of torch, level by level.
"""

from __future__ import annotations

import importlib.util
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor

from dgltrees.cells.compiled.kernels.library import has_products

__all__ = ["available", "compiled", "compiles"]

_state = threading.local()


@cache
def available() -> bool:
    """Whether the kernels can be compiled on this machine, and kept for the next process."""
    return importlib.util.find_spec("numba") is not None and has_products() and _has_folder()


def _has_folder() -> bool:
    """Whether numba finds a folder for the machine code of this package; if not, warn."""
    from numba import njit

    try:
        njit(cache=True)(_has_folder)  # looks for the folder; nothing is compiled
    except RuntimeError:
        warnings.warn(
            "numba finds no folder that it can write machine code to, so Tree-LSTMs run without, "
            "two to four times as slowly; set NUMBA_CACHE_DIR to a folder that can be written",
            stacklevel=2,
        )
        return False
    return True


@contextmanager
def compiled(on: bool) -> Iterator[None]:
    """Switch the kernels on or off for this thread within a ``with`` block."""
    before = getattr(_state, "on", True)
    _state.on = on
    try:
        yield
    finally:
        _state.on = before


def compiles(like: Tensor) -> bool:
    """Whether kernels are on, available, and support the device and dtype of ``like``."""
    supported = like.device.type == "cpu" and like.dtype in (torch.float32, torch.float64)
    return supported and getattr(_state, "on", True) and available()
