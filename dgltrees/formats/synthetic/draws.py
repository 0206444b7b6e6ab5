"""Random draws that are the same on every machine and under every version of Python.

Only ``random.Random.random`` is used, whose sequence for an integer seed is fixed by Python's
documentation; the algorithms behind ``randrange``, ``choice`` and ``shuffle`` are not.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from dgltrees.errors import ConfigError

__all__ = ["below", "distinct", "shuffle", "stream", "table"]

PATIENCE = 10_000
"""The number of successive draws without a new text after which `distinct` gives up."""


def stream(*key: object) -> random.Random:
    """An independent generator per key, such as ``("logic", seed, 3)``.

    Its seed is the SHA-256 of the key's parts as text, so that similar keys give unrelated draws.
    """
    text = " ".join(str(part) for part in key)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def below(rng: random.Random, n: int) -> int:
    """An integer from 0 to n - 1, uniform to within 2^-53 (for 0 < n < 2^53)."""
    return int(rng.random() * n)


def table(rng: random.Random, rows: int, columns: int) -> NDArray[np.float64]:
    """``(rows, columns)`` successive values of ``rng.random()``, row after row."""
    values = np.fromiter(iter(rng.random, None), np.float64, rows * columns)
    return values.reshape(rows, columns)


def shuffle(rng: random.Random, items: list[Any]) -> None:
    """Shuffle ``items`` in place (Fisher and Yates, from the last item to the first)."""
    for last in range(len(items) - 1, 0, -1):
        other = below(rng, last + 1)
        items[last], items[other] = items[other], items[last]


def distinct(draw: Callable[[], str | None], count: int, what: str) -> list[str]:
    """Draw ``count`` different texts; they are in the order of their first draws.

    Arguments:
        draw: draws a text, or None, which is not counted.
        count: the number of texts.
        what: what the texts are, in the plural, for the progress bar and the error.

    Raises:
        ConfigError: ``PATIENCE`` successive draws gave no new text, because there are fewer than
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
                    f"{count:,} distinct {what} were asked for in all splits together, but after "
                    f"{len(texts):,} the next {PATIENCE:,} draws gave nothing new; ask for fewer"
                )
    return list(texts)
