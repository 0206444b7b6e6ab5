"""Rows of goldens: how they are made, stored and compared."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from dgltrees.cli import main

FOLDER = Path(__file__).parent
SAMPLES = FOLDER.parents[1] / "datasets" / "samples"
MOST_LINES = 12
"""Of one row's differences; the rest is counted."""


def names() -> list[str]:
    """The goldens there are."""
    files = sorted(FOLDER.glob("*.py"))
    return [file.stem for file in files if re.search(r"(?m)^def record\(", file.read_text("utf-8"))]


def recorded(name: str, function: str = "record") -> dict[str, Any] | None:
    """The rows of a golden as they are now, as JSON returns them; None without that function."""
    record: Callable[[], dict[str, Any]] | None
    record = getattr(importlib.import_module(f"{__package__}.{name}"), function, None)
    if record is None:
        return None
    torch.set_num_threads(1)
    with quiet():
        rows: dict[str, Any] = json.loads(json.dumps(record()))
    return rows


def stored(name: str) -> dict[str, Any]:
    """The rows of a golden as they were."""
    path = FOLDER / f"{name}.json"
    rows: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return rows


def store(name: str, rows: Mapping[str, Any]) -> None:
    """Write the rows of a golden, one per line."""
    lines = [
        f"{json.dumps(key, ensure_ascii=False)}: "
        + json.dumps(rows[key], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        for key in sorted(rows)
    ]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Lines on the rows that are missing, new or changed."""
    lines = [f"missing  {key}" for key in sorted(before.keys() - after.keys())]
    lines += [f"new      {key}" for key in sorted(after.keys() - before.keys())]
    for key in sorted(before.keys() & after.keys()):
        if before[key] != after[key]:
            lines.append(f"changed  {key}")
            changes = list(_changes("", before[key], after[key]))
            lines += [f"    {line}" for line in changes[:MOST_LINES]]
            if len(changes) > MOST_LINES:
                lines.append(f"    and {len(changes) - MOST_LINES} more lines")
    return lines


def _changes(place: str, before: Any, after: Any) -> Iterator[str]:
    if before == after:
        return
    start = f"{place}: " if place else ""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{place}/{key}" if place else key
            if key not in after:
                yield f"{inner} is missing"
            elif key not in before:
                yield f"{inner} is new: {_short(after[key])}"
            else:
                yield from _changes(inner, before[key], after[key])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after)):
            yield from _changes(f"{place}[{index}]", one, other)
    elif isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        pairs = difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
        yield from (f"{start}{line}" for line in list(pairs)[2:] if not line.startswith("@@"))
    else:
        yield f"{start}{_short(before)} -> {_short(after)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else f"{text[:200]}..."


def sha(data: torch.Tensor | bytes | str, digits: int = 8) -> str:
    """The first digits of the SHA-256 of a tensor's values, of bytes or of a text."""
    if isinstance(data, torch.Tensor):
        data = data.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
    data = data.encode() if isinstance(data, str) else data
    return hashlib.sha256(data).hexdigest()[:digits]


def rounded(value: Any, digits: int) -> Any:
    """The same value with its floats rounded, in lists and dicts too."""
    if isinstance(value, float):
        return round(value, digits) + 0.0  # no minus zero
    if isinstance(value, Mapping):
        return {key: rounded(each, digits) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(each, digits) for each in value]
    return value


def run(argv: Sequence[str], folder: Path | None = None, typed: str = "") -> dict[str, Any]:
    """What a command prints, on both streams, and its status unless that is 0.

    Paths of the folder and of the samples are shortened to FOLDER and SAMPLES.
    """
    out, err = io.StringIO(), io.StringIO()
    typing = io.BufferedReader(io.BytesIO(typed.encode()))
    keyboard = io.TextIOWrapper(typing, encoding="utf-8")
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with quiet(), mock.patch("sys.stdin", keyboard), streams[0], streams[1]:
        status = main(list(argv))
    texts = {"out": shortened(out.getvalue(), folder), "err": shortened(err.getvalue(), folder)}
    row: dict[str, Any] = {key: text for key, text in texts.items() if text}
    return {**row, "status": status} if status else row


def shortened(text: str, folder: Path | None = None) -> str:
    """A text without the paths of this machine."""
    if folder is not None:
        text = text.replace(str(folder), "FOLDER")
    return text.replace(str(SAMPLES), "SAMPLES")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Every warning is shown once, and lines are 80 columns wide, whatever the process is."""
    with warnings.catch_warnings(), mock.patch.dict(os.environ, {"COLUMNS": "80"}):
        warnings.simplefilter("default")
        yield
