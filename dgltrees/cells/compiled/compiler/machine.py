"""Machine code of generated Python, kept on disk for the next process.

The code is written to a file whose name is a checksum of it and of the kernels that it calls; numba
keeps its machine code beside that. A file of that name with another text is not run but replaced.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from dgltrees._files import replacing
from dgltrees.cells.compiled.kernels.library import sources

__all__ = ["folder", "kernels"]

HEAD = '''"""A cell of a user, compiled: see dgltrees.cells.compiled.compiler."""

from dgltrees.cells.compiled.kernels.numbers import *

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
def kernels(body: str, name: str, arguments: str, threaded: bool) -> Any:
    """The compiled function of all shards, ``up`` or ``down``.

    Arguments:
        body: Python code of ``up_shard`` or ``down_shard``.
        name: ``up`` or ``down``.
        arguments: what the function gets beside the number of threads and of shards.
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
