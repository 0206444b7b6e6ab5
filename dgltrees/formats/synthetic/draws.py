"""Random draws that come out alike on every machine and under every Python.

Only ``random.Random.random`` is used, whose sequence for an integer seed is fixed by Python's
documentation; the algorithms behind ``randrange``, ``choice`` and ``shuffle`` are not.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any, Callable, Optional

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from dgltrees.errors import ConfigError

__all__ = ["below", "distinct", "shuffle", "stream", "table"]

PATIENCE = 10_000
"""So many draws in a row without anything new, and `distinct` gives up."""


def stream(*key: object) -> random.Random:
    """A generator of its own for every key, such as ``("logic", seed, 3)``.

    The seed is the SHA-256 of the key's parts as text, so that neighbouring keys have nothing in
    common.
    """
    text = " ".join(str(part) for part in key)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def below(rng: random.Random, n: int) -> int:
    """A whole number drawn from 0..n-1, even to within 2^-53 (for 0 < n < 2^53 never n)."""
    return int(rng.random() * n)


def table(rng: random.Random, rows: int, columns: int) -> NDArray[np.float64]:
    """``(rows, columns)`` numbers from 0 to 1, row after row what ``rng.random()`` gives."""
    drawn = np.fromiter(iter(rng.random, None), np.float64, rows * columns)
    return drawn.reshape(rows, columns)


def shuffle(rng: random.Random, items: list[Any]) -> None:
    """Put ``items`` into a random order in place (Fisher and Yates, from the last to the first)."""
    for last in range(len(items) - 1, 0, -1):
        other = below(rng, last + 1)
        items[last], items[other] = items[other], items[last]


def distinct(draw: Callable[[], Optional[str]], count: int, what: str) -> list[str]:
    """Draw until ``count`` different texts are there, in the order of their first appearance.

    Arguments:
        draw: gives a text, or None for a draw that does not count.
        count: how many are wanted.
        what: their name in the progress bar and in the error, in the plural.

    Raises:
        ConfigError: when ``PATIENCE`` draws in a row gave nothing new, because there are not
            that many different ones, or the last of them are too rare to wait for.
    """
    found: dict[str, None] = {}
    idle = 0
    with tqdm(total=count, desc=what, disable=None, leave=False) as bar:
        while len(found) < count:
            text = draw()
            if text is not None and text not in found:
                found[text] = None
                idle = 0
                bar.update()
            elif (idle := idle + 1) == PATIENCE:
                raise ConfigError(
                    f"{count:,} distinct {what} were asked for in all splits together, but after "
                    f"{len(found):,} the next {PATIENCE:,} draws gave nothing new; ask for fewer"
                )
    return list(found)
