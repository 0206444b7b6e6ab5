"""Random draws and folders of files, the same on every machine and under every version of Python.

Only ``random.Random.random`` is used, whose sequence for an integer seed is guaranteed by Python's
documentation; the algorithms of ``randrange``, ``choice`` and ``shuffle`` are not.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from dgltrees._files import PathLike, replacing
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


def write_folder(folder: Path, files: Mapping[str, Sequence[str]]) -> dict[str, Path]:
    r"""Write text files, in UTF-8 with ``\n`` after every line; return their paths by their stems.

    ``files`` has the lines of each file by its name; a file without lines is not written.
    """
    paths = {Path(name).stem: folder / name for name, lines in files.items() if lines}
    for path in paths.values():
        with replacing(path) as file:
            file.writelines(f"{line}\n" for line in files[path.name])
    return paths
