"""Kernels for numba, and the compilation of generated code.

They need numba (``pip install dgltrees[compile]``) and the BLAS routines of torch's own library;
:func:`available` says whether both are there. On other devices and without them cells run level by
level by calls of torch.
"""

from __future__ import annotations

import ctypes
import importlib.util
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltrees.cells.compiled.kernels.storage import module_of

__all__ = ["available", "compiled", "compiles", "decided", "machine_code"]

_state = threading.local()


@cache
def available() -> bool:
    """Return whether the kernels can be compiled on this machine."""
    numba = importlib.util.find_spec("numba")
    return numba is not None and all(address_of(name) is not None for name in ROUTINES)


@contextmanager
def compiled(on: bool) -> Iterator[None]:
    """Compile cells, or do not, in this thread within a ``with`` block, for batches of any size."""
    before = decided()
    _state.on = on
    try:
        yield
    finally:
        _state.on = before


def decided() -> bool | None:
    """Return whether cells are compiled in this ``with`` block; None outside :func:`compiled`."""
    return getattr(_state, "on", None)


def compiles(like: Tensor) -> bool:
    """Return whether kernels are on, available, and support the device and dtype of ``like``."""
    supported = like.device.type == "cpu" and like.dtype in (torch.float32, torch.float64)
    return supported and decided() is not False and available()


# Torch's own BLAS.

ROUTINES = ("sgemm_", "dgemm_")


@cache
def address_of(name: str) -> int | None:
    """Return the address of a Fortran BLAS routine in torch's library; None if not exported."""
    folder = Path(torch.__file__).parent / "lib"
    for path in (folder / "libtorch_cpu.so", folder / "libtorch_cpu.dylib"):
        if path.exists():
            routine = getattr(ctypes.CDLL(str(path)), name, None)
            return ctypes.cast(routine, ctypes.c_void_p).value if routine else None
    return None


def sources() -> int:
    """Return a checksum of the kernels, for the key of numba's cache."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return zlib.crc32(b"".join(file.read_bytes() for file in files))


# Generated code.

HEAD = '''"""A cell of a user, compiled: see dgltrees.cells.compiled."""

import numpy as np
from numba import njit, prange

from dgltrees.cells.compiled.kernels.numbers import *
from dgltrees.cells.compiled.kernels.rows import *

STAMP = {stamp!r}


'''
TAIL = """

@njit(parallel={parallel}, cache={{cache}}, **LOOPS)
def {name}(threads, shards, {arguments}):
    for thread in prange(threads):
        for shard in range(np.int64(thread), shards, threads):
            {name}_shard(shard, {call})
"""


@cache
def machine_code(body: str, name: str, arguments: str, threaded: bool) -> Any:
    """Compile the function of all shards, ``up`` or ``down``."""
    call = arguments
    if name == "down":  # each thread has memory of its own
        call = call.replace("plan", "np.int64(thread), plan", 1)
        call = call.replace(" G,", " G[thread],").replace(" H,", " H[thread],")
    tail = TAIL.format(parallel=threaded, name=name, arguments=arguments, call=call)
    text = HEAD.format(stamp=sources()) + body + tail
    return getattr(module_of(text), name)
