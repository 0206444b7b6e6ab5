"""Random draws and folders of files, the same on every machine and under every version of Python.

Only ``random.Random.random`` is used, whose sequence for an integer seed is guaranteed by Python's
documentation; the algorithms of ``randrange``, ``choice`` and ``shuffle`` are not.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from dgltrees._files import PathLike, draft_folder
from dgltrees.errors import ConfigError

PATIENCE = 10_000
"""The number of successive draws without a new string after which `distinct` gives up."""


def stream(*key: object) -> random.Random:
    """Return an independent generator per key, such as ``("lrt", seed, 3)``.

    Its seed is the SHA-256 of the key's parts as text, so similar keys give unrelated draws.
    """
    text = " ".join(str(part) for part in key)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def below(rng: random.Random, n: int) -> int:
    """Draw an integer from 0 to n - 1, uniform to within 2^-53 (for 0 < n < 2^53)."""
    return int(rng.random() * n)


def table(rng: random.Random, rows: int, columns: int) -> NDArray[np.float64]:
    """Draw ``(rows, columns)`` successive values of ``rng.random()``, row after row."""
    values = np.fromiter(iter(rng.random, None), np.float64, rows * columns)
    return values.reshape(rows, columns)


def shuffle(rng: random.Random, items: list[Any]) -> None:
    """Shuffle ``items`` in place (Fisher and Yates, from the last item to the first)."""
    for last in range(len(items) - 1, 0, -1):
        other = below(rng, last + 1)
        items[last], items[other] = items[other], items[last]


def distinct(draw: Callable[[], str | None], count: int, what: str) -> list[str]:
    """Draw ``count`` different strings, in the order of their first draws.

    Arguments:
        draw: draws a string, or None, which is not counted.
        count: the number of strings.
        what: the name of the strings, in the plural, for the progress bar and the error.

    Raises:
        ConfigError: ``PATIENCE`` successive draws gave no new string, because there are fewer than
            ``count`` of them, or the last ones are too rare.
    """
    texts: dict[str, None] = {}
    idle = 0
    with tqdm(total=count, desc=what, disable=None, leave=False) as bar:
        while len(texts) < count:
            text = draw()
            if text is not None and text not in texts:
                texts[text] = None
                idle = 0
                bar.update()
            elif (idle := idle + 1) == PATIENCE:
                raise ConfigError(
                    f"expected {count:,} distinct {what} in all splits together, but after "
                    f"{len(texts):,} the next {PATIENCE:,} draws gave nothing new; ask for fewer"
                )
    return list(texts)


SPLITS = ("train", "valid", "test")
MANIFEST = "manifest.json"
_MOST = 10_000_000


def check_sizes(sizes: Sequence[int], what: str) -> None:
    """Check the sizes of the three splits.

    Arguments:
        sizes: in the order of ``SPLITS``.
        what: the name of the items, in the plural, for the error.

    Raises:
        ConfigError: a size is negative or above 10 million, which may not fit into memory, or all
            are 0.
    """
    for split, size in zip(SPLITS, sizes):
        if size < 0:
            raise ConfigError(f"{split}: expected 0 {what} or more, got {size}")
        if size > _MOST:
            raise ConfigError(f"{split}: expected at most {_MOST:,} {what}, got {size:,}")
    if not any(sizes):
        raise ConfigError("train, valid and test are all 0: there is nothing to write")


def check_folder(out: PathLike, overwrite: bool) -> Path:
    """Return the absolute path of a folder to write to; ConfigError for files in it, or a file."""
    folder = Path(os.path.abspath(out))
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{os.fspath(out)}: expected a folder to write to, found a file")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise ConfigError(
            f"{os.fspath(out)}: expected a new or an empty folder, found files in it; "
            "name another one, or set overwrite"
        )
    return folder


def cut(items: Sequence[str], sizes: Sequence[int], name: str) -> dict[str, Sequence[str]]:
    """Cut ``items`` into the files of the three splits.

    Arguments:
        items: those of all splits.
        sizes: in the order of ``SPLITS``.
        name: of a file, with ``{}`` in place of the name of its split.

    Returns:
        the items of each file, by name.
    """
    starts = itertools.accumulate(sizes, initial=0)
    return {
        name.format(split): items[start : start + size]
        for split, start, size in zip(SPLITS, starts, sizes)
    }


def write_folder(
    folder: Path, files: Mapping[str, Sequence[str]], header: Mapping[str, Any]
) -> dict[str, Path]:
    r"""Write text files and their manifest to a folder: all of them, or none if writing fails.

    Files are UTF-8 with ``\n`` after every line. Files that an older manifest in the folder lists
    are removed, so splits of two runs are never mixed. The manifest is removed first and written
    last.

    Arguments:
        folder: the folder; see `check_folder`.
        files: the lines of each file, without line ends, by file name; a file without lines is not
            written.
        header: further items of the manifest: generator, version, settings.

    Returns:
        the paths of the files and the manifest, by file name without its suffix.

    Raises:
        ConfigError: the folder has a manifest that is not one of a generated data set.
    """
    stale = _listed(folder)
    written = {name: lines for name, lines in files.items() if lines}
    beside = folder if folder.is_dir() else folder.parent
    beside.mkdir(parents=True, exist_ok=True)
    with draft_folder(beside, folder.name) as draft:
        entries = {name: _write(draft / name, lines) for name, lines in written.items()}
        manifest = json.dumps({**header, "files": entries}, indent=2, ensure_ascii=False)
        _write(draft / MANIFEST, [manifest])
        folder.mkdir(exist_ok=True)
        for name in [MANIFEST, *(name for name in stale if name not in written)]:
            (folder / name).unlink(missing_ok=True)
        for name in [*written, MANIFEST]:
            os.replace(draft / name, folder / name)
    return {Path(name).stem: folder / name for name in [*written, MANIFEST]}


def _write(path: Path, lines: Sequence[str]) -> dict[str, Any]:
    """Write a file and return its entry in the manifest."""
    data = "".join(f"{line}\n" for line in lines).encode("utf-8")
    path.write_bytes(data)
    return {"lines": len(lines), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _listed(folder: Path) -> list[str]:
    """Return the names of the files in the folder's manifest; none if there is no manifest."""
    path = folder / MANIFEST
    if not path.exists():
        return []
    try:
        names = list(json.loads(path.read_text(encoding="utf-8"))["files"])
    except (ValueError, KeyError, TypeError):
        names = [""]
    if any(name in ("", ".", "..") or Path(name).name != name for name in names):
        raise ConfigError(
            f"{path}: expected the manifest of a generated data set, found something else; "
            "name another folder, or remove this file"
        )
    return names
