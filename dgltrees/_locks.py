"""Locks on files, which the operating system gives up when their process ends, however it ends."""

from __future__ import annotations

import sys
from typing import IO, Any

__all__ = ["try_lock"]

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[Any]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    _TAKEN: tuple[type[OSError], ...] = (PermissionError,)
else:
    import fcntl

    def _lock(file: IO[Any]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)

    _TAKEN = (BlockingIOError,)


def try_lock(file: IO[Any]) -> bool:
    """Whether the lock on an open file is ours now; no other process has it then.

    The lock holds until the file is closed or the process ends.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        _lock(file)
    except _TAKEN:
        return False
    return True
