"""Checksums, by which a file that has changed since it was written is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["check_sum", "checked_values", "checksum", "file_checksum", "with_checksum"]

_KEY = "checksum"


def checksum(parts: Iterable[bytes]) -> str:
    """The SHA-256 of some bytes, one part after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def file_checksum(*paths: Path) -> str:
    """The SHA-256 of a file, or of some, one after the other."""
    return checksum(block for path in paths for block in _blocks(path))


def _blocks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from iter(lambda: file.read(1 << 20), b"")


def check_sum(actual: str, expected: str) -> None:
    """Check that a file is as it was written.

    Raises:
        ValueError: it is not.
    """
    if actual != expected:
        raise ValueError(
            f"it has changed since it was written: SHA-256 was {expected[:12]}…, is {actual[:12]}…"
        )


def with_checksum(values: Mapping[str, Any], previous: str = "") -> dict[str, Any]:
    """Values for JSON with the checksum of all of them as one more.

    Arguments:
        values: by name.
        previous: the checksum of the line before, in a file of lines, whose order counts.
    """
    return {**values, _KEY: _of_values(values, previous)}


def checked_values(values: Mapping[str, Any], previous: str = "") -> tuple[dict[str, Any], str]:
    """The values that :func:`with_checksum` got and JSON has kept, and their checksum.

    Arguments:
        values: as JSON has them, with their checksum.
        previous: see :func:`with_checksum`.

    Raises:
        KeyError: they have no checksum.
        ValueError: they have changed.
    """
    others = {name: value for name, value in values.items() if name != _KEY}
    expected = str(values[_KEY])
    check_sum(_of_values(others, previous), expected)
    return others, expected


def _of_values(values: Mapping[str, Any], previous: str) -> str:
    return checksum([previous.encode(), json.dumps(values, sort_keys=True).encode("ascii")])
