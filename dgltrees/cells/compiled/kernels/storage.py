"""The folder of compiled code, which is used only if other users cannot write to it.

An entry is a file of generated code, whose name is a checksum of the file and of the kernels that
it calls; its machine code in numba's cache; and a list of the checksums of these files. An entry
with a wrong checksum is removed and compiled again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import threading
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from dgltrees._files import file_checksum, replacing

LIMIT = 2**29
"""Bytes of the folder; the least recently used entries are removed first."""

_lock = threading.Lock()
_sealed: dict[str, int] = {}  # by entry, how many versions of its functions have checksums


@cache
def folder() -> Path | None:
    """Return the cache folder: ``dgltrees`` in NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        path = Path(base).expanduser() / "dgltrees"
        for each in (*reversed(path.parents), path):  # mkdir gives parents the mode of the umask
            if not each.is_dir():
                each.mkdir(exist_ok=True, mode=0o700)
        path = path.resolve()
        reason = _danger(path) if os.access(path, os.W_OK) else f"{path} cannot be written"
    except (OSError, RuntimeError) as error:  # the second where there is no home
        reason = str(error)
    if reason:
        warnings.warn(
            f"compiled cells are not kept on disk, and every process compiles them again: {reason}"
            "; set NUMBA_CACHE_DIR to a folder that only you can write",
            stacklevel=2,
        )
        return None
    return path


def _danger(path: Path) -> str:
    """Return why other users may write in a folder, by the rule of ssh; empty if they may not.

    The folder and its parents must belong to the user or to root, and nobody else may write there.
    A parent with the sticky bit, such as ``/tmp``, may be written by all.
    """
    if not hasattr(os, "geteuid"):
        return ""  # Windows keeps the folders of users apart
    for each in (path, *path.parents):
        state = each.stat()
        if state.st_uid not in (0, os.geteuid()) or (each == path and state.st_uid != os.geteuid()):
            return f"{each} belongs to another user"
        sticky = each != path and state.st_mode & stat.S_ISVTX
        if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
            return f"others may write to {each}"
    return ""


def module_of(text: str) -> ModuleType:
    """Import generated code as a module, from its entry, or from memory if there is no folder."""
    import numba

    place = folder()
    text = text.replace("{cache}", str(place is not None))
    name = "dgltrees_cell_" + hashlib.sha256(text.encode()).hexdigest()[:24]
    path = "<compiled cell>"
    with _lock:
        if place is not None:
            file = place / f"{name}.py"
            path = str(file)
            if not _is_whole(file, text):
                _remove(file)
                with replacing(file) as out:
                    out.write(text)
            with suppress(OSError):  # of a new entry
                os.utime(file.with_suffix(".json"))  # it is used
        module = ModuleType(name)
        module.__file__ = path
        sys.modules[name] = module  # numba looks it up
        base, numba.config.CACHE_DIR = numba.config.CACHE_DIR, ""  # next to the file, not elsewhere
        try:
            exec(compile(text, path, "exec"), module.__dict__)
        finally:
            numba.config.CACHE_DIR = base
        return module


def seal(kernel: Any) -> None:
    """Write the checksums of an entry after numba has compiled a version of its function."""
    name, versions = kernel.py_func.__module__, len(kernel.overloads)
    if _sealed.get(name) == versions:
        return
    _sealed[name] = versions
    place = folder()
    if place is None or not name.startswith("dgltrees_cell_"):
        return
    with _lock, suppress(OSError):  # another process may have removed what it found damaged
        file = place / f"{name}.py"
        sums = {each.name: file_checksum(each) for each in _files(file) if each.suffix != ".json"}
        with replacing(file.with_suffix(".json")) as out:
            json.dump(sums, out)
        _bound(place)


def _is_whole(file: Path, text: str) -> bool:
    """Return whether an entry has this code, and all its files have their checksums."""
    try:
        sums = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        found = {each.name: file_checksum(each) for each in _files(file) if each.suffix != ".json"}
        return bool(found == sums and file.read_text(encoding="utf-8") == text)
    except (OSError, ValueError):
        return False


def _files(file: Path) -> list[Path]:
    """Return the files of an entry, given that of its code."""
    own = [each for each in (file, file.with_suffix(".json")) if each.exists()]
    return [*own, *sorted((file.parent / "__pycache__").glob(f"{file.stem}.*"))]


def _remove(file: Path) -> None:
    for each in reversed(_files(file)):
        each.unlink(missing_ok=True)


def _bound(place: Path) -> None:
    """Remove the oldest entries of a folder that is too large, except for the newest."""
    lists = sorted(place.glob("dgltrees_cell_*.json"), key=lambda file: file.stat().st_mtime)
    entries = [each.with_suffix(".py") for each in lists]
    sizes = [sum(each.stat().st_size for each in _files(file)) for file in entries]
    total = sum(sizes)
    for file, size in zip(entries[:-1], sizes):
        if total <= LIMIT:
            return
        _remove(file)
        total -= size
