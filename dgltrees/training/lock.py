"""One process at a time trains in a run directory."""

from __future__ import annotations

import contextlib
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import lock_descriptor

from dgltrees._files import remove_leftovers
from dgltrees.errors import ConfigError

__all__ = ["locked"]

_NAME = ".dgltrees.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; it is made, and removed if it is empty in the end.

    The operating system gives up the lock of a process that ends, however it ends, so no lock is
    ever left. Temporary files of killed processes are removed.

    Raises:
        ConfigError: another process holds the folder.
    """
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _NAME
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o666), "r+", encoding="utf-8") as file:
        try:
            ours = lock_descriptor(file.fileno(), blocking=False)
            # whoever held it may have removed the file meanwhile
            ours = ours and path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        except OSError as error:
            warnings.warn(
                f"cannot lock {folder} ({error}): see to it that one process trains there at a "
                "time",
                stacklevel=3,
            )
            ours = True
        if not ours:
            raise ConfigError(
                f"another process trains in {folder}{_holder(path)}; wait for its end, or choose "
                "another directory"
            )
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        try:
            remove_leftovers(folder)
            remove_leftovers(folder / "vocabulary")
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
            for each in created:  # those that are empty
                with contextlib.suppress(OSError):
                    each.rmdir()


def _holder(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if text := path.read_text(encoding="utf-8"):
            return f" ({text:.100})"
    return ""
