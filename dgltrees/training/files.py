"""The files of a run: values and tensors with checksums, and a lock for one writing process."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import lock_descriptor
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from dgltrees._files import (
    PathLike,
    check_is_file,
    check_sum,
    checksum,
    remove_leftovers,
    replacing,
)
from dgltrees.errors import ConfigError

_ERRORS = (
    SafetensorError,
    AttributeError,
    LookupError,
    OSError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
)


_DAMAGED = "is damaged", "train it again or restore it"
_OF_OTHER_CODE = (
    "was written by other code",
    "use the code that trained it (--import MODULE, if it is in a custom module), or train again",
)


class _DamagedError(ConfigError):
    """An error that names its file already."""


@contextmanager
def checking(path: Path, *, with_code: bool = False) -> Iterator[None]:
    """Turn errors of the body, which reads a file of a run directory, into one clear error."""
    try:
        yield
    except _DamagedError:  # of a file in this folder
        raise
    except _ERRORS as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        if isinstance(error, FileNotFoundError):
            what = f"missing {Path(error.filename or path).name}"
        fault, cure = _DAMAGED
        if with_code and not isinstance(error, KeyError):  # which a missing vocabulary is
            fault, cure = _OF_OTHER_CODE
        raise _DamagedError(f"{path} {fault}: {what:.300}; {cure}") from None


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON, atomically."""
    with replacing(path) as file:
        file.write(json_text(value))


def read_json(path: Path) -> Any:
    """Return the value in a JSON file; see :func:`checking` for its errors."""
    check_is_file(path)
    return json.loads(path.read_text(encoding="utf-8"))


def json_text(value: Any) -> str:
    """Return ``value`` as readable JSON."""
    return json.dumps(value, indent=1) + "\n"


_TEXTS, _CHECKSUM = "texts", "checksum"


def write_tensors(
    path: PathLike, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Write tensors and strings to one file, atomically."""
    content = tensor_bytes(tensors, metadata)
    with replacing(path, "wb") as file:
        file.write(content)


def tensor_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Return the content of a file of tensors and strings."""
    plain = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    texts = {**metadata, _CHECKSUM: checksum(_parts(plain, metadata))}
    # safetensors writes several entries in any order
    return save(plain, {_TEXTS: json.dumps(texts, sort_keys=True)})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return tensors and strings of :func:`write_tensors`; raise ConfigError if damaged."""
    with checking(path):
        check_is_file(path)
        with safe_open(path, framework="pt") as file:
            texts: dict[str, str] = json.loads(file.metadata()[_TEXTS])
            tensors: dict[str, Tensor] = {
                name: file.get_tensor(name)
                for name in file.keys()  # noqa: SIM118
            }
        expected = texts.pop(_CHECKSUM)
        check_sum(checksum(_parts(tensors, texts)), expected)
    return tensors, texts


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """Return the names of the tensors with a value that is NaN or infinite."""
    return [name for name, t in tensors.items() if not bool(torch.isfinite(t).all())]


def _parts(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> Iterator[bytes]:
    about = {name: [str(t.dtype), list(t.shape)] for name, t in tensors.items()}
    yield json.dumps([about, dict(texts)], sort_keys=True).encode("ascii")
    for name in sorted(tensors):
        yield tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes()


_LOCK = ".dgltrees.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; create it, and remove it at the end if it is empty.

    The operating system releases the lock when the process ends for any reason. Temporary files of
    killed processes are removed.
    """
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _LOCK
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o666), "r+", encoding="utf-8") as file:
        try:
            ours = lock_descriptor(file.fileno(), blocking=False)
            # whoever held it may have removed the file meanwhile
            ours = ours and path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        except OSError as error:
            warnings.warn(
                f"cannot lock {folder} ({error}): make sure that only one process trains there at "
                "a time",
                stacklevel=3,
            )
            ours = True
        if not ours:
            raise ConfigError(
                f"another process trains in {folder}{_holder(path)}; wait until it ends, or "
                "choose another directory"
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
