"""What compiled traversals call: kernels for numba, and generated code as machine code.

They need numba (``pip install dgltrees[fast]``), a folder for its machine code, and the BLAS
routines of torch's own library; :func:`available` says whether all are there. On other devices and
without them cells run level by level by calls of torch.

Generated code is written to a file whose name is a checksum of it and of the kernels that it calls;
numba keeps its machine code next to that. A file of that name with another text is not run but
replaced.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import sys
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from dgltrees._files import replacing

__all__ = ["available", "compiled", "compiles", "decided", "folder", "machine_code"]

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
    """Compile cells, or do not, in this thread within a ``with`` block, whatever their batches."""
    before = decided()
    _state.on = on
    try:
        yield
    finally:
        _state.on = before


def decided() -> bool | None:
    """Whether cells are compiled in this ``with`` block; None outside of :func:`compiled`."""
    on: bool | None = getattr(_state, "on", None)
    return on


def compiles(like: Tensor) -> bool:
    """Whether kernels are not off, available, and support the device and dtype of ``like``."""
    supported = like.device.type == "cpu" and like.dtype in (torch.float32, torch.float64)
    return supported and decided() is not False and available()


# Torch's own BLAS.

ROUTINES = ("sgemm_", "dgemm_")


@cache
def address_of(name: str) -> int | None:
    """The address of a Fortran BLAS routine in torch's library, or None if it is not exported."""
    folder = Path(torch.__file__).parent / "lib"
    for path in (folder / "libtorch_cpu.so", folder / "libtorch_cpu.dylib"):
        if path.exists():
            routine = getattr(ctypes.CDLL(str(path)), name, None)
            return ctypes.cast(routine, ctypes.c_void_p).value if routine else None
    return None


def sources() -> int:
    """A checksum of the kernels, for the key of numba's cache."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return zlib.crc32(b"".join(file.read_bytes() for file in files))


def has_products() -> bool:
    """Whether torch's library exports the matrix products of both precisions."""
    return all(address_of(name) is not None for name in ROUTINES)


# Generated code.

HEAD = '''"""A cell of a user, compiled: see dgltrees.cells.compiled."""

import numpy as np
from numba import njit, prange

from dgltrees.cells.compiled.kernels.numbers import *
from dgltrees.cells.compiled.kernels.rows import *

STAMP = {stamp!r}


'''
TAIL = """

@njit(parallel={parallel}, cache=True, **LOOPS)
def {name}(threads, shards, {arguments}):
    for thread in prange(threads):
        for shard in range(np.int64(thread), shards, threads):
            {name}_shard(shard, {call})
"""


@cache
def folder() -> Path | None:
    """The folder for generated code, or None if there is none that can be written."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        path = Path(base).expanduser() / "dgltrees"
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):  # the second where there is no home
        return None
    return path if os.access(path, os.W_OK) else None


@cache
def machine_code(body: str, name: str, arguments: str, threaded: bool) -> Any:
    """The compiled function of all shards, ``up`` or ``down``.

    Arguments:
        body: Python code of ``up_shard`` or ``down_shard``.
        name: ``up`` or ``down``.
        arguments: what the function gets after the number of threads and of shards.
        threaded: whether several threads share the shards.
    """
    call = arguments if name == "up" else arguments.replace("plan", "np.int64(thread), plan", 1)
    for_thread = call if name == "up" else _own_memory(call)
    tail = TAIL.format(parallel=threaded, name=name, arguments=arguments, call=for_thread)
    text = HEAD.format(stamp=sources()) + body + tail
    return getattr(_module(text), name)


def _own_memory(call: str) -> str:
    return call.replace(" G,", " G[thread],").replace(" H,", " H[thread],")


def _module(text: str) -> ModuleType:
    """Import a text as a module, from a file that holds it."""
    name = "dgltrees_cell_" + hashlib.sha256(text.encode()).hexdigest()[:24]
    path = (folder() or Path()) / f"{name}.py"
    try:
        same = path.read_text(encoding="utf-8") == text
    except OSError:
        same = False
    if not same:
        with replacing(path) as file:
            file.write(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba looks it up
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module
