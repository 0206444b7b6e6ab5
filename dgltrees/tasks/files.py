"""The data files of a run, and their fingerprints."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgltrees._files import PathLike, checksum, file_checksum
from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.tasks.settings import DataSettings, Files

ROLES = ("train", "valid", "test")


def data_files(settings: DataSettings, role: str, flag: str | None = None) -> list[Path]:
    """Return the files of ``role``, sorted within each pattern; empty if none are set."""
    value: Files = getattr(settings, role)
    patterns = [value] if isinstance(value, str) else list(value or [])
    return find_files(patterns, settings.dir, flag or f"data.{role}")


def find_files(patterns: Sequence[PathLike], folder: str | None, flag: str) -> list[Path]:
    """Return the files that match patterns, in their order and sorted within each pattern."""
    folder = folder or os.environ.get("DGLTREES_DATA")
    paths: dict[Path, Path] = {}  # a file that several patterns match is read once
    for pattern in [os.fspath(each) for each in patterns]:
        bases = [Path(), *([Path(folder)] if folder else [])]
        tried = [os.path.join(base, os.path.expanduser(pattern)) for base in bases]
        matches = next(filter(None, map(_matches, tried)), [])
        if not matches:
            places = " and ".join(dict.fromkeys(map(os.path.abspath, tried)))
            cure = "; set data.dir or DGLTREES_DATA to the folder of the data"
            if folder or not flag.startswith("data."):
                cure = ""
            name = next(iter(Path(pattern).parts), "")  # of the folder of a data set
            folder = os.path.join(bases[-1], name)
            if flag.startswith("data.") and name in GENERATORS and not os.path.exists(folder):
                cure += f"{', or' if cure else ';'} make it: dgltrees make-data {name} {folder}"
            raise ConfigError(f"expected {flag} to name a file, found none at {places}{cure}")
        for path in map(Path, matches):
            paths.setdefault(path.resolve(), path)
    return [*paths.values()]


def _matches(pattern: str) -> list[str]:
    """Return the file with this exact name, or else those that match the pattern."""
    return [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern))


def fingerprint(path: Path, files: Sequence[Path] | None = None) -> dict[str, Any]:
    """Return the name, the size in bytes and the SHA-256 of a file.

    For a file that is read together with others, and for a folder, size and hash are over all
    files; of a folder also over their names, which may be labels.
    """
    if files is not None or not path.is_dir():
        files = [path] if files is None else files
        sums = file_checksum(*files)
    else:
        files = sorted(each for each in path.rglob("*") if each.is_file())
        lines = (f"{file_checksum(each)}  {each.relative_to(path).as_posix()}\n" for each in files)
        sums = checksum(line.encode() for line in lines)
    size = sum(file.stat().st_size for file in files)
    return {"name": path.name, "bytes": size, "sha256": sums}
