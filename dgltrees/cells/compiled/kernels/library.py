"""The addresses of the BLAS routines in torch's own library, for compiled code."""

from __future__ import annotations

import ctypes
import zlib
from functools import cache
from pathlib import Path

import torch

__all__ = ["address_of", "has_products", "sources"]

NAMES = ("sgemm_", "dgemm_")


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
    """A checksum of the source files of this package, for the key of numba's cache."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return zlib.crc32(b"".join(file.read_bytes() for file in files))


def has_products() -> bool:
    """Whether torch's library exports the matrix products of both precisions."""
    return all(address_of(name) is not None for name in NAMES)
