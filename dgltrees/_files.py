"""Files that are written completely or not at all; names of files; checksums."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from filelock import lock_descriptor

PathLike = str | os.PathLike[str]

_ENDING = ".writing"
_MINUTE = 60.0
_LOCK = ".lock"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk, for which the system does not name the file."""

_LONGEST = 150
"""Bytes of a file name that is not cut off, with room for temporary endings."""

STANDARD_INPUT = "-"
"""The name of standard input in place of a file."""


class Lines(os.PathLike[str]):
    """Lines in memory, which readers of text accept in place of a file.

    Arguments:
        lines: with or without line ends.
        name: the name of the file in errors.
    """

    def __init__(self, lines: Iterable[str], name: str = "<lines>") -> None:
        self.data = "".join(line.rstrip("\r\n") + "\n" for line in lines).encode()
        self.name = name

    def __fspath__(self) -> str:
        return self.name


def in_file(path: PathLike) -> bool:
    """Return whether a path names a file or folder that can be read twice.

    Standard input, lines in memory, pipes and devices are read once.
    """
    if isinstance(path, Lines) or os.fspath(path) == STANDARD_INPUT:
        return False
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # which opening it reports
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


@contextmanager
def replacing(path: PathLike, mode: str = "w") -> Iterator[IO[Any]]:
    r"""Open a temporary file next to ``path`` and rename it to ``path`` at the end.

    If the body raises, ``path`` is unchanged and the temporary file is removed. Temporary files of
    killed processes are removed too. A link at ``path`` is replaced, not followed. Text is UTF-8
    with ``\n`` line ends on every machine.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            check_is_file(path)
        remove_leftovers(path.parent, path.name, age=_MINUTE)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_ENDING)
    except FileNotFoundError:  # the folder is there, or would be now, but such as /proc
        raise OSError(errno.EACCES, "no file can be created there", os.fspath(path)) from None
    except (FileExistsError, NotADirectoryError):  # a file in place of its folder, by its name
        raise
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with open(handle, mode, **text) as file:  # type: ignore[call-overload]
            with contextlib.suppress(OSError):  # where there are no locks, the age alone counts
                lock_descriptor(file.fileno(), blocking=False)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        full = isinstance(error, OSError) and error.errno in _FULL and error.filename is None
        if isinstance(error, OSError) and (full or error.filename == name):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def temporary_folder(owner: object) -> Path:
    """Make a folder that is deleted with its owner."""
    folder = tempfile.mkdtemp(prefix="dgltrees-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@contextmanager
def draft_folder(parent: Path, name: str) -> Iterator[Path]:
    """Create a temporary folder for files that are moved to the folder ``name``; then remove it.

    Temporary folders of killed processes are removed too.
    """
    for old in parent.glob(f".{glob.escape(name)}.*{_ENDING}"):
        with contextlib.suppress(OSError):
            with open(old / _LOCK, "rb") as file:
                dead = time.time() - os.fstat(file.fileno()).st_mtime >= _MINUTE
                dead = dead and lock_descriptor(file.fileno(), blocking=False)
            if dead:
                shutil.rmtree(old)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(dir=parent, prefix=f".{name}.", suffix=_ENDING)
        )
        draft = Path(folder)
        lock = stack.enter_context(open(draft / _LOCK, "wb"))
        with contextlib.suppress(OSError):
            lock_descriptor(lock.fileno(), blocking=False)
        yield draft


def remove_leftovers(folder: Path, name: str = "", age: float = 0.0) -> None:
    """Remove the temporary files of killed processes from a folder.

    Files that a running process writes are kept.
    """
    if not folder.is_dir():
        return
    for entry in os.scandir(folder):
        if not (entry.name.startswith(f".{name}") and entry.name.endswith(_ENDING)):
            continue
        with contextlib.suppress(OSError):
            old = time.time() - entry.stat(follow_symlinks=False).st_mtime >= age
            if old and entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as file:
                    dead = lock_descriptor(file.fileno(), blocking=False)
                if dead:
                    os.unlink(entry.path)


def file_names(strings: Iterable[str]) -> dict[str, str]:
    """Convert strings to file names that are valid and different on every machine.

    If a string differs from an earlier one by upper and lower case only, all its bytes are escaped:
    on some disks these names are equal. ``unquote`` is the inverse for all but the empty string,
    halves of characters, and long strings, which end in a checksum.
    """

    def escaped(text: str) -> str:
        return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))

    names: dict[str, str] = {}
    taken: set[str] = set()
    for text in strings:
        special = r'[%/\\:*?"<>|\x00-\x1f\x7f\ud800-\udfff]'
        name = re.sub(special, lambda match: escaped(match[0]), text) or "%"
        if name.casefold() in taken:
            name = escaped(text)
        if len(name.encode()) > _LONGEST:
            start = name.encode()[:_LONGEST].decode(errors="ignore")
            name = f"{start}%{checksum([escaped(text).encode()])[:16]}"
        taken.add(name.casefold())
        names[text] = name
    return names


def check_is_file(path: PathLike) -> None:
    """Check that a path is a file or a link to one, not a pipe or device, which might never end."""
    if not os.path.isfile(path):
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        raise OSError(errno.EINVAL, "it is not a file", os.fspath(path))


def _umask() -> int:
    """Return the umask of the process, for the final file; temporary files are private."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


_KEY = "checksum"


def checksum(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of concatenated bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def file_checksum(*paths: Path) -> str:
    """Return the SHA-256 of one file, or of several concatenated files."""
    return checksum(block for path in paths for block in _blocks(path))


def _blocks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from iter(lambda: file.read(1 << 20), b"")


def check_sum(actual: str, expected: str) -> None:
    """Check that a file is unchanged since it was written."""
    if actual != expected:
        raise ValueError(
            f"it has changed since it was written: SHA-256 was {expected[:12]}…, is {actual[:12]}…"
        )


def with_checksum(values: Mapping[str, Any], previous: str = "") -> dict[str, Any]:
    """Return values for JSON together with their checksum."""
    return {**values, _KEY: _of_values(values, previous)}


def checked_values(values: Mapping[str, Any], previous: str = "") -> tuple[dict[str, Any], str]:
    """Check values that were written :func:`with_checksum`; return them and their checksum."""
    others = {name: value for name, value in values.items() if name != _KEY}
    expected = str(values[_KEY])
    check_sum(_of_values(others, previous), expected)
    return others, expected


def _of_values(values: Mapping[str, Any], previous: str) -> str:
    return checksum([previous.encode(), json.dumps(values, sort_keys=True).encode("ascii")])
